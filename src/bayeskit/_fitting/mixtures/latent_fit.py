"""The fitted state of a latent class model: initial values, responsibilities of new rows, updates by batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bayeskit._conditionals.class_prior import normalise
from bayeskit._data.encode import encode, match_columns
from bayeskit._data.encoded import EncodedTable
from bayeskit._data.table import Table
from bayeskit._fitting.mixtures.latent_model import latent_rows, with_floor
from bayeskit._fitting.mixtures.latent_problem import LatentProblem
from bayeskit._fitting.model import Model, ModelSpec, estimate
from bayeskit._schema import Name
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import DataError
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class LatentFit:
    """The components of a latent class model, and the expected statistics behind them.

    Attributes
    ----------
    model : Model
    statistics : Statistics
        The expected statistics of all rows so far, by component.
    spec : ModelSpec
    names : tuple, or None if columns are identified by position
    floor : float
        The smallest variance of an attribute, as a fraction of its variance over all rows.
    """

    model: Model
    statistics: Statistics
    spec: ModelSpec
    names: tuple[Name, ...] | None
    floor: float

    def matched(self, table: Table) -> Table:
        """Return the table with its columns in the order of the training rows."""
        return match_columns(table, self.model.schema, self.names, "LatentClass")

    def joint(self, table: Table, n_jobs: int | None) -> Floats:
        """Return log P(k, x) of each row. Unseen values are treated as missing."""
        encoded = encode(self.matched(table), self.model.schema, "ignore")
        return self.model.joint(encoded, n_jobs)

    def shares(self, table: Table, n_jobs: int | None) -> tuple[Floats, int]:
        """Return P(k | x) of each row, and the number of impossible rows, which get P(k)."""
        joint = self.joint(table, n_jobs)
        impossible = int(normalise(joint, self.model.log_prior))
        return joint, impossible

    def moved(self, table: Table, weights: Floats | None, share: float, n_jobs: int | None) -> LatentFit:
        """Return the model after one step of online EM. The batch gets the weight ``share`` in the new statistics.

        The responsibilities of the rows are those of the current model, which treats new states as missing. The new
        states are counted.
        """
        table = self.matched(table)
        posterior, _ = self.shares(table, n_jobs)
        encoded: EncodedTable = replace(encode(table, self.model.schema, "grow"), weights=weights)
        rows = latent_rows(encoded, self.spec, n_jobs)
        problem = LatentProblem(rows, self.spec, len(self.model.log_prior), n_jobs=n_jobs)
        batch, seen = problem.gather(rows.spread(posterior)), self.statistics.total
        total = seen + rows.total
        kept = self.statistics.scale((1.0 - share) * total / seen)
        statistics = kept.merge(batch.scale(share * total / rows.total))
        model = estimate(statistics, self.spec)
        if "moments" in statistics.parts:
            pooled = replace(statistics, parts={**statistics.parts, "moments": statistics.moments.pooled()})
            model = with_floor(model, self.floor, pooled)
        return replace(self, statistics=statistics, model=model)


def check_shares(share: object, n_rows: int, n_components: int) -> Floats:
    """Check a start given as the share of each component in each row, and return it as an array."""
    try:
        array = np.array(share, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (n_rows, n_components):
        raise DataError(
            "start has shape {shape}; for {n_rows} rows and {n_components} components give the share of each "
            "component in each row, an array of shape {value}, or a fitted LatentClass.",
            shape=array.shape,
            n_rows=n_rows,
            n_components=n_components,
            value=(n_rows, n_components),
        )
    with np.errstate(invalid="ignore"):
        fine = (array >= 0.0).all(axis=1) & (abs(array.sum(axis=1) - 1.0) <= 1e-6)
    if not fine.all():
        row = int((~fine).argmax())
        raise DataError(
            "start gives row {row} the shares {array!r}. Give numbers from 0 to 1 that add up to 1.",
            row=row,
            array=array[row].tolist(),
        )
    return array


def shares_start(problem: LatentProblem, share: Floats) -> Model:
    """Estimate the components from the share of each component in each given row: shape (N, K)."""
    return problem.maximise(problem.gather(problem.rows.spread(share)))


def random_starts(problem: LatentProblem, n: int, seed: int) -> list[Callable[[], Model]]:
    """Return n starts, alternating between two kinds that fail on different data.

    The first draws the shares of every row from Dirichlet(1, …, 1). All components are then near the centre of the
    data, the nearer the more rows there are. The second draws each component towards one row. The components are then
    far apart, but the rows may be badly chosen.
    """
    kinds = (draw_shares, chosen_rows)
    streams = np.random.default_rng(seed).spawn(n)
    return [lambda kind=kinds[i % 2], rng=rng: kind(problem, rng) for i, rng in enumerate(streams)]  # type: ignore[misc]


def draw_shares(problem: LatentProblem, rng: np.random.Generator) -> Model:
    """Return a start with random responsibilities for every distinct row."""
    weights = problem.rows.weights
    share = rng.dirichlet(np.ones(problem.n_components), size=len(weights))
    return problem.maximise(problem.gather(share * weights[:, None]))


def chosen_rows(problem: LatentProblem, rng: np.random.Generator) -> Model:
    """Return a start in which each component is half all rows and half one row, drawn by weight."""
    weights, k = problem.rows.weights, problem.n_components
    total = weights.sum()
    share = np.repeat(weights[:, None] / (2.0 * k), k, axis=1)
    chosen = rng.choice(len(weights), size=k, replace=k > len(weights), p=weights / total)
    share[chosen, np.arange(k)] += total / (2.0 * k)
    return problem.maximise(problem.gather(share))
