"""The EM problem of a latent class model: naive Bayes with an unobserved class.

In the loops, arrays over components are flat and padded to a multiple of four, so that one register holds four sums.
Each numeric column has a kind: 1 is Gaussian, 2 is Poisson, 0 is not part of the density.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._counting.backend import in_order
from bayeskit._fitting.mixtures.components import exp
from bayeskit._fitting.mixtures.latent_model import (
    LatentRows,
    components_of,
    flat,
    hidden_class,
    log_prior_density,
    unflat,
    with_floor,
)
from bayeskit._fitting.model import Model, ModelSpec, estimate, plan_for
from bayeskit._messages import RowNumber
from bayeskit._numba import kernel
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.tables import Tables
from bayeskit.errors import DataError
from bayeskit.typing import Floats

# The number of rows in a tile. Their shares stay in the L1 cache between the two halves of a step.
TILE = 256


@kernel
def add_codes(codes: Any, start: int, stop: int, offsets: Any, table: Any, width: int, joint: Any) -> None:
    """Add log P(x_j | k) of the categorical columns of rows start … stop to ``joint``, of shape (TILE·width,)."""
    d = codes.shape[1]
    for i in range(start, stop):
        for c in range(np.uintp(0), np.uintp(width), np.uintp(4)):
            at = np.uintp((i - start) * width) + c
            s0, s1, s2, s3 = (
                joint[at],
                joint[at + np.uintp(1)],
                joint[at + np.uintp(2)],
                joint[at + np.uintp(3)],
            )
            for j in range(np.uintp(d)):
                cell = (offsets[j] + np.uintp(codes[i, j])) * np.uintp(width) + c
                s0 += table[cell]
                s1 += table[cell + np.uintp(1)]
                s2 += table[cell + np.uintp(2)]
                s3 += table[cell + np.uintp(3)]
            joint[at], joint[at + np.uintp(1)], joint[at + np.uintp(2)], joint[at + np.uintp(3)] = (
                s0,
                s1,
                s2,
                s3,
            )


@kernel
def add_values(
    values: Any, start: int, stop: int, kinds: Any, centre: Any, low: Any, scale: Any, norm: Any, absent: Any,
    width: int, joint: Any,
) -> None:  # fmt: skip
    """Add the log-densities of the numeric columns; the tables have shape (columns, width).

    Gaussian: norm − ((x − centre − low)·scale)². Poisson: norm + x·scale, where scale is the logarithm of the rate.
    """
    for i in range(start, stop):
        at = (i - start) * width
        for j in range(values.shape[1]):
            x = values[i, j]
            if np.isnan(x):
                for c in range(width):
                    joint[at + c] += absent[j, c]
            elif kinds[j] == 1:
                for c in range(width):
                    z = ((x - centre[j, c]) - low[j, c]) * scale[j, c]
                    joint[at + c] += norm[j, c] - z * z
            else:
                for c in range(width):
                    joint[at + c] += norm[j, c]
                # If the rate is zero, the log-rate is −inf, and only a count of zero is possible.
                if kinds[j] == 2 and x > 0.0:
                    for c in range(width):
                        joint[at + c] += x * scale[j, c]


@kernel
def share_rows(
    joint: Any, start: int, stop: int, weights: Any, k: int, width: int, hard: bool, out: Any
) -> int:
    """Turn log P(k, x) into the weight of each row in each component, and add the objective to ``out[0]``.

    The objective is Σ w log Σ_k P(k, x). With ``hard`` it is Σ w max_k log P(k, x), and the first of the best
    components gets the whole row. Return −1, or the first row that is impossible under every component.
    """
    value = 0.0
    for i in range(start, stop):
        at = (i - start) * width
        best, place = joint[at], 0
        for c in range(1, k):
            if joint[at + c] > best:
                best, place = joint[at + c], c
        if not best > -np.inf:
            return i
        value += weights[i] * best
        if hard:
            for c in range(width):
                joint[at + c] = 0.0
            joint[at + place] = weights[i]
        else:
            for c in range(width):
                joint[at + c] -= best
    if not hard:
        # One loop over all rows and components, so that vectors are full even with few components. The padding is
        # −∞ and becomes 0.
        for place in range(np.uintp((stop - start) * width)):
            joint[place] = exp(joint[place])
        for i in range(start, stop):
            at = (i - start) * width
            total = 0.0
            for c in range(width):
                total += joint[at + c]
            scale = weights[i] / total
            for c in range(width):
                joint[at + c] *= scale
            value += weights[i] * np.log(total)
    out[0] += value
    return -1


@kernel
def gather_codes(
    codes: Any, start: int, stop: int, offsets: Any, share: Any, width: int, margin: Any, counts: Any
) -> None:
    """Add the shares of rows start … stop to n(k) and n(v, k), flat arrays."""
    d = codes.shape[1]
    for c in range(np.uintp(0), np.uintp(width), np.uintp(4)):
        for i in range(start, stop):
            at = np.uintp((i - start) * width) + c
            s0, s1, s2, s3 = (
                share[at],
                share[at + np.uintp(1)],
                share[at + np.uintp(2)],
                share[at + np.uintp(3)],
            )
            margin[c] += s0
            margin[c + np.uintp(1)] += s1
            margin[c + np.uintp(2)] += s2
            margin[c + np.uintp(3)] += s3
            for j in range(np.uintp(d)):
                cell = (offsets[j] + np.uintp(codes[i, j])) * np.uintp(width) + c
                counts[cell] += s0
                counts[cell + np.uintp(1)] += s1
                counts[cell + np.uintp(2)] += s2
                counts[cell + np.uintp(3)] += s3


@kernel
def gather_values(values: Any, start: int, stop: int, share: Any, width: int, centre: Any, sums: Any) -> None:
    """Add Σ r, Σ r(x − centre) and Σ r(x − centre)² over the present cells to planes of shape (columns, width)."""
    for j in range(values.shape[1]):
        for i in range(start, stop):
            x = values[i, j]
            if np.isnan(x):
                continue
            at = (i - start) * width
            for c in range(width):
                r, y = share[at + c], x - centre[j, c]
                sums[0, j, c] += r
                sums[1, j, c] += r * y
                sums[2, j, c] += r * y * y


@kernel
def expect_rows(
    codes: Any, values: Any, weights: Any, start: int, stop: int, k: int, width: int, hard: bool,
    prior: Any, offsets: Any, table: Any, kinds: Any, centre: Any, low: Any, scale: Any, norm: Any, absent: Any,
    joint: Any, value: Any, margin: Any, counts: Any, sums: Any,
) -> int:  # fmt: skip
    """Add the expected sums of rows start … stop, one tile at a time. Return −1, or the first impossible row."""
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        for i in range(last - first):
            for c in range(width):
                joint[i * width + c] = prior[c]
        add_codes(codes, first, last, offsets, table, width, joint)
        add_values(values, first, last, kinds, centre, low, scale, norm, absent, width, joint)
        impossible: int = share_rows(joint, first, last, weights, k, width, hard, value)
        if impossible >= 0:
            return impossible
        gather_codes(codes, first, last, offsets, joint, width, margin, counts)
        gather_values(values, first, last, joint, width, centre, sums)
    return -1


@kernel
def gather_rows(
    codes: Any, values: Any, share: Any, start: int, stop: int, width: int, offsets: Any, centre: Any,
    margin: Any, counts: Any, sums: Any,
) -> None:  # fmt: skip
    """Add the sums of rows with given shares, of shape (n·width,)."""
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        part = share[first * width : last * width]
        gather_codes(codes, first, last, offsets, part, width, margin, counts)
        gather_values(values, first, last, part, width, centre, sums)


def padded_width(n_components: int) -> int:
    """Return the number of components, rounded up to a multiple of four.

    >>> padded_width(2), padded_width(5)
    (4, 8)
    """
    return 4 * -(-n_components // 4)


@dataclass(frozen=True, eq=False)
class LoopTables:
    """The tables of the loops: log P(k), log P(v | k) with a row for missing, and those of the numeric columns.

    :func:`add_values` shows what ``kinds`` to ``absent`` mean. If ``complete`` is false, the tables do not hold the
    whole model. The loops can then only compute its sums about ``centre``.
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
        """The tables, in the order of the arguments of the loops."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__ if name != "complete")


def loop_tables(model: Model, exponent: NDArray[np.int64], centre: Floats) -> LoopTables:
    """Return the tables of a model for values stored as x·2^−exponent. Sums are about the components' own centres.

    ``centre`` holds the centres of the columns that the tables cannot represent.
    """
    k, m = len(model.log_prior), len(model.schema.numeric)
    width = padded_width(k)
    prior = np.full(width, -np.inf)
    prior[:k] = model.log_prior
    table = np.zeros((int(model.schema.offsets[-1]), width))
    kinds = np.zeros(m, dtype=np.uint8)
    tables = LoopTables(prior, model.schema.offsets, table, kinds, *np.zeros((5, m, width)))
    tables.centre[:, :k] = centre[:, None]
    written = [component.write_tables(tables, exponent) for component in components_of(model)]
    return replace(tables, table=table.reshape(-1), complete=all(written))


# The number of rows in one task of a thread. It does not depend on the number of threads.
_ROWS = 16_384


class LatentProblem:
    r"""The log-likelihood of rows under K components, each a naive Bayes class.

    .. math:: \sum_i w_i \log \sum_k P(k) \prod_j P(x_{ij} \mid k)

    Missing cells have no factor. The expected statistics are those of naive Bayes with the hidden class as target: for
    component k, all rows with the weights

    .. math:: r_{ik} = w_i\, \frac{P(k) \prod_j P(x_{ij} \mid k)}{\sum_l P(l) \prod_j P(x_{ij} \mid l)}

    and the estimates are those of naive Bayes. With ``hard``, each row is assigned to its most probable component, and
    the objective is the log-likelihood of rows and components together. With smoothing, the log prior is added. Each
    variance is at least a fraction of the attribute's variance over all rows. The estimates maximise the likelihood
    under this bound, so the objective still cannot decrease.

    Parameters
    ----------
    rows : LatentRows
    spec : ModelSpec
        The specification of naive Bayes. Its families must be ``can_be_hidden``.
    n_components : int
    hard : bool
    floor : float
        That fraction, at least 1e-9.
    n_jobs : int, optional
    """

    def __init__(
        self,
        rows: LatentRows,
        spec: ModelSpec,
        n_components: int,
        *,
        hard: bool = False,
        floor: float = 1e-9,
        n_jobs: int | None = None,
    ) -> None:
        self.rows, self.spec, self.hard, self.floor, self.n_jobs = rows, spec, hard, floor, n_jobs
        self.schema = rows.schema.with_variables(rows.schema.attributes, hidden_class(n_components))
        self.plan = plan_for(self.schema, spec)
        self.n_components = n_components
        self.width = padded_width(n_components)

    @cached_property
    def whole(self) -> Model:
        """A model estimated from all rows in one component, as a template for the shapes of others."""
        return self.maximise(self.rows.pooled.embed(self.schema))

    def expect(self, parameters: Model) -> tuple[Statistics, float]:
        """Return the expected statistics and the objective, both at ``parameters``."""
        statistics, value = self._expected(parameters, self.hard)
        return statistics, value + log_prior_density(parameters, self.spec.alpha, self.rows.pooled)

    def log_likelihood(self, parameters: Model) -> float:
        """Return Σ w log P(x), even if the objective is another one."""
        return self._expected(parameters, False)[1]

    def _expected(self, parameters: Model, hard: bool) -> tuple[Statistics, float]:
        rows, tables = self.rows, loop_tables(parameters, self.rows.exponent, self.rows.centre)
        if not tables.complete:
            return self._expected_by_model(parameters, tables, hard)

        def task(start: int, stop: int, sums: tuple[Floats, ...]) -> int:
            joint = np.empty(TILE * self.width)
            impossible = expect_rows(
                rows.codes, rows.values, rows.weights, start, stop, self.n_components, self.width, hard,
                *tables.arrays, joint, *sums,
            )  # fmt: skip
            return int(impossible)

        value, statistics = self._summed(task, tables.centre)
        return statistics, value + rows.constant

    def _expected_by_model(
        self, parameters: Model, tables: LoopTables, hard: bool
    ) -> tuple[Statistics, float]:
        """Compute log P(k, x) by the conditionals themselves, for families without tables for the loops."""
        rows, k, width = self.rows, self.n_components, self.width

        def task(start: int, stop: int, sums: tuple[Floats, ...]) -> int:
            joint = np.full((stop - start, width), -np.inf)
            joint[:, :k] = parameters.joint_chunk(rows.chunk(start, stop))
            share = joint.reshape(-1)
            impossible = int(share_rows(share, start, stop, rows.weights, k, width, hard, sums[0]))
            if impossible >= 0:
                return impossible
            some = rows.codes[start:stop], rows.values[start:stop]
            gather_rows(*some, share, 0, stop - start, width, tables.offsets, tables.centre, *sums[1:])
            return -1

        value, statistics = self._summed(task, tables.centre)
        return statistics, value

    def flat_cells(self, parameters: Model, statistics: Statistics) -> list[tuple[int, int]]:
        """Return the (component, numeric attribute) pairs whose variance equals its floor.

        There, the likelihood is unbounded. Attributes without values in a component are left out.
        """
        if "moments" not in self.rows.pooled.parts:
            return []
        moments, weight = self.rows.pooled.moments, statistics.moments.weight
        found = (cell for component in components_of(parameters) for cell in component.on_floor(moments))
        return [cell for cell in found if weight[cell] > self.rows.nothing]

    def sound(self, parameters: Model) -> bool:
        """Whether no variance equals its floor."""
        if "moments" not in self.rows.pooled.parts:
            return True
        return not self.flat_cells(parameters, self._expected(parameters, self.hard)[0])

    def gather(self, share: Floats) -> Statistics:
        """Return the statistics for given weights of each distinct row in each component: shape (n, K)."""
        rows, tables = self.rows, loop_tables(self.whole, self.rows.exponent, self.rows.centre)
        wide = np.zeros((len(share), self.width))
        wide[:, : self.n_components] = share
        parts = wide.reshape(-1)

        def task(start: int, stop: int, sums: tuple[Floats, ...]) -> int:
            gather_rows(
                rows.codes,
                rows.values,
                parts,
                start,
                stop,
                self.width,
                tables.offsets,
                tables.centre,
                *sums[1:],
            )
            return -1

        return self._summed(task, tables.centre)[1]

    def maximise(self, statistics: Statistics) -> Model:
        """Return the estimates of naive Bayes."""
        return with_floor(estimate(statistics, self.spec), self.floor, self.rows.pooled)

    def flat(self, parameters: Model) -> Floats:
        """Return logarithms of probabilities, means in units of the overall spread, logarithms of deviations."""
        return flat(parameters, self.rows.pooled)

    def unflat(self, vector: Floats) -> Model:
        """Return the model that a vector represents."""
        return unflat(vector, self.whole, self.rows.pooled)

    def _summed(
        self, task: Callable[[int, int, tuple[Floats, ...]], int], centre: Floats
    ) -> tuple[float, Statistics]:
        """Run a task over ranges of rows, each with its own sums, and add these in order."""
        n, width = len(self.rows.weights), self.width
        cells, columns = int(self.schema.offsets[-1]), self.rows.values.shape[1]

        def one(start: int, stop: int) -> tuple[Floats, ...]:
            shapes = ((1,), (width,), (cells * width,), (3, columns, width))
            sums = tuple(np.zeros(shape) for shape in shapes)
            impossible = task(start, stop, sums)
            if impossible >= 0:
                raise DataError(
                    "{place} is impossible under every component: each of them gives some value in it probability "
                    "zero. Use another start, or smooth: smoothing above 0.",
                    place=RowNumber(self.rows.first[impossible], begins=True),
                )
            return sums

        bounds = [(start, min(start + _ROWS, n)) for start in range(0, n, _ROWS)]
        results = in_order(one, bounds, self.n_jobs)
        totals = next(results)
        for sums in results:
            for total, part in zip(totals, sums, strict=True):
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
