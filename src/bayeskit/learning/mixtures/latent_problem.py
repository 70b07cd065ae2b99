"""EM's problem for hidden classes: naive Bayes whose class was never seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.counting.backend import in_order
from bayeskit.errors import DataError
from bayeskit.learning.mixtures.kernels.latent import TILE, expect_rows, gather_rows, share_rows
from bayeskit.learning.mixtures.latent_model import (
    components_of,
    flat,
    log_prior_density,
    unflat,
    with_floor,
)
from bayeskit.learning.mixtures.latent_rows import LatentRows, hidden_class
from bayeskit.learning.model import Model, Recipe, estimate, plan_for
from bayeskit.statistics import Statistics
from bayeskit.statistics.moments import Moments
from bayeskit.statistics.tables import Tables
from bayeskit.typing import Floats


def padded_width(n_components: int) -> int:
    """Return the room for components: a multiple of four.

    >>> padded_width(2), padded_width(5)
    (4, 8)
    """
    return 4 * -(-n_components // 4)


@dataclass(frozen=True, eq=False)
class Look:
    """The tables of the loops: log P(k), log P(v | k) with a row for missing, and each numeric column's.

    See :mod:`bayeskit.learning.mixtures.kernels.latent` for what the five before the last mean. ``complete`` says that
    they hold all of the model: else only its sums can be taken by them, about ``centre``.
    """

    prior: Floats
    offsets: NDArray[np.uintp]
    table: Floats
    kinds: NDArray[np.uint8]
    centre: Floats
    low: Floats
    scale: Floats
    norm: Floats
    absent: Floats
    complete: bool = True

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The tables, in the order of the loops' arguments."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__ if name != "complete")


def look_of(model: Model, exponent: NDArray[np.int64], centre: Floats) -> Look:
    """Write a model out for values that are held as x·2^−exponent; sums are taken about the components' own centres.

    ``centre`` are those of columns that the tables have no place for.
    """
    k, m = len(model.log_prior), len(model.schema.numeric)
    width = padded_width(k)
    prior = np.full(width, -np.inf)
    prior[:k] = model.log_prior
    table = np.zeros((int(model.schema.offsets[-1]), width))
    kinds = np.zeros(m, dtype=np.uint8)
    look = Look(prior, model.schema.offsets, table, kinds, *np.zeros((5, m, width)))
    look.centre[:, :k] = centre[:, None]
    written = [component.write_look(look, exponent) for component in components_of(model)]
    return replace(look, table=table.reshape(-1), complete=all(written))


# The rows of one task of a thread; it does not depend on how many threads there are.
_ROWS = 16_384


class LatentProblem:
    r"""The log-likelihood of rows under K components, each a naive Bayes class.

    .. math:: \sum_i w_i \log \sum_k P(k) \prod_j P(x_{ij} \mid k)

    A cell that is missing has no factor. The expected statistics are those of naive Bayes with the hidden class for
    target: for component k the same rows, each with the weight

    .. math:: r_{ik} = w_i\, \frac{P(k) \prod_j P(x_{ij} \mid k)}{\sum_l P(l) \prod_j P(x_{ij} \mid l)}

    and the estimates are those of naive Bayes. With ``hard`` each row goes wholly to its most probable component, and
    what is climbed is the log-likelihood of rows and components together. With smoothing, the logarithm of its prior
    is added. No variance is below a share of the attribute's own over all rows: the largest likelihood under that bound
    is what the estimates find, so the value still cannot fall.

    Parameters
    ----------
    rows : LatentRows
    recipe : Recipe
        Of naive Bayes; its families are ``can_be_hidden``.
    n_components : int
    hard : bool
    floor : float
        That share, at least 1e-9.
    n_jobs : int, optional
    """

    def __init__(
        self,
        rows: LatentRows,
        recipe: Recipe,
        n_components: int,
        *,
        hard: bool = False,
        floor: float = 1e-9,
        n_jobs: int | None = None,
    ) -> None:
        self.rows, self.recipe, self.hard, self.floor, self.n_jobs = rows, recipe, hard, floor, n_jobs
        self.schema = rows.schema.with_variables(rows.schema.attributes, hidden_class(n_components))
        self.plan = plan_for(self.schema, recipe)
        self.n_components = n_components
        self.width = padded_width(n_components)

    @cached_property
    def whole(self) -> Model:
        """A model in which one component has all rows and the others are like it."""
        return self.maximise(self.rows.pooled.embed(self.schema))

    def expect(self, parameters: Model) -> tuple[Statistics, float]:
        """Return the expected statistics and the value of what is climbed, both at ``parameters``."""
        statistics, value = self._expected(parameters, self.hard)
        return statistics, value + log_prior_density(parameters, self.recipe.alpha, self.rows.pooled)

    def log_likelihood(self, parameters: Model) -> float:
        """Return Σ w log P(x), whatever it is that is climbed."""
        return self._expected(parameters, False)[1]

    def _expected(self, parameters: Model, hard: bool) -> tuple[Statistics, float]:
        rows, look = self.rows, look_of(parameters, self.rows.exponent, self.rows.centre)
        if not look.complete:
            return self._expected_by_model(parameters, look, hard)

        def task(start: int, stop: int, sums: tuple[Floats, ...]) -> int:
            joint = np.empty(TILE * self.width)
            impossible = expect_rows(
                rows.codes, rows.values, rows.weights, start, stop, self.n_components, self.width, hard,
                *look.arrays, joint, *sums,
            )  # fmt: skip
            return int(impossible)

        value, statistics = self._summed(task, look.centre)
        return statistics, value + rows.constant

    def _expected_by_model(self, parameters: Model, look: Look, hard: bool) -> tuple[Statistics, float]:
        """Take log P(k, x) from the conditionals themselves: for families that the loops have no tables of."""
        rows, k, width = self.rows, self.n_components, self.width

        def task(start: int, stop: int, sums: tuple[Floats, ...]) -> int:
            joint = np.full((stop - start, width), -np.inf)
            joint[:, :k] = parameters.joint_chunk(rows.chunk(start, stop))
            share = joint.reshape(-1)
            impossible = int(share_rows(share, start, stop, rows.weights, k, width, hard, sums[0]))
            if impossible >= 0:
                return impossible
            some = rows.codes[start:stop], rows.values[start:stop]
            gather_rows(*some, share, 0, stop - start, width, look.offsets, look.centre, *sums[1:])
            return -1

        value, statistics = self._summed(task, look.centre)
        return statistics, value

    def flat_cells(self, parameters: Model, statistics: Statistics) -> list[tuple[int, int]]:
        """Return (component, numeric attribute) where a variance stands on its floor.

        The likelihood has no bound there. Of attributes that a component has no value of, nothing is said.
        """
        if "moments" not in self.rows.pooled.parts:
            return []
        moments, weight = self.rows.pooled.moments, statistics.moments.weight
        found = (cell for component in components_of(parameters) for cell in component.on_floor(moments))
        return [cell for cell in found if weight[cell] > self.rows.nothing]

    def sound(self, parameters: Model) -> bool:
        """Whether no variance stands on its floor."""
        if "moments" not in self.rows.pooled.parts:
            return True
        return not self.flat_cells(parameters, self._expected(parameters, self.hard)[0])

    def gather(self, share: Floats) -> Statistics:
        """Return the statistics where each component's part of each distinct row is given: shape (n, K)."""
        rows, look = self.rows, look_of(self.whole, self.rows.exponent, self.rows.centre)
        wide = np.zeros((len(share), self.width))
        wide[:, : self.n_components] = share
        parts = wide.reshape(-1)

        def task(start: int, stop: int, sums: tuple[Floats, ...]) -> int:
            gather_rows(
                rows.codes, rows.values, parts, start, stop, self.width, look.offsets, look.centre, *sums[1:]
            )
            return -1

        return self._summed(task, look.centre)[1]

    def maximise(self, statistics: Statistics) -> Model:
        """Return the estimates of naive Bayes."""
        return with_floor(estimate(statistics, self.recipe), self.floor, self.rows.pooled)

    def flat(self, parameters: Model) -> Floats:
        """Return logarithms of probabilities, means in units of the overall spread, logarithms of deviations."""
        return flat(parameters, self.rows.pooled)

    def unflat(self, vector: Floats) -> Model:
        """Return the model that a vector stands for."""
        return unflat(vector, self.whole, self.rows.pooled)

    def _summed(
        self, task: Callable[[int, int, tuple[Floats, ...]], int], centre: Floats
    ) -> tuple[float, Statistics]:
        """Run a task over ranges of rows, each into sums of its own, and add these in order."""
        n, width = len(self.rows.weights), self.width
        cells, columns = int(self.schema.offsets[-1]), self.rows.values.shape[1]

        def one(start: int, stop: int) -> tuple[Floats, ...]:
            shapes = ((1,), (width,), (cells * width,), (3, columns, width))
            sums = tuple(np.zeros(shape) for shape in shapes)
            impossible = task(start, stop, sums)
            if impossible >= 0:
                raise DataError(
                    f"Row {self.rows.first[impossible]} (the first is 0) is impossible under every component: each "
                    "gives some value in it probability zero. Start elsewhere, or smooth: alpha above 0."
                )
            return sums

        bounds = [(start, min(start + _ROWS, n)) for start in range(0, n, _ROWS)]
        results = in_order(one, bounds, self.n_jobs)
        totals = next(results)
        for sums in results:
            for total, part in zip(totals, sums):
                total += part
        return float(totals[0][0]), self._statistics(centre, *totals[1:])

    def _statistics(self, centre: Floats, margin: Floats, counts: Floats, sums: Floats) -> Statistics:
        k = self.n_components
        parts: dict[Any, Any] = {"tables": Tables(margin[:k], counts.reshape(-1, self.width)[:, :k].copy())}
        if "moments" in self.rows.pooled.parts:
            weight, first, second = (plane[:, :k].T for plane in sums)
            moments = Moments.from_sums(weight, centre[:, :k].T, first, second)
            parts["moments"] = Moments(moments.cells, self.rows.exponent)
        return Statistics(self.schema, self.plan, parts)
