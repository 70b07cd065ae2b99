"""Missing as a state of numeric attributes: P(present | class)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.conditional import (
    Codes,
    Component,
    Conditional,
    DrawnRows,
    DrawRule,
    LatentTables,
    Nodes,
    ParameterPosterior,
    Profiles,
    WeightedTerms,
    Workings,
)
from bayeskit._conditionals.posterior_draws import Draws, log_dirichlet, log_normalised
from bayeskit._conditionals.scoring import IfPresent, Score, Sum, constant
from bayeskit._data.encoded import Chunk
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.part import never_counted
from bayeskit.typing import Floats


@dataclass(frozen=True)
class Presence(Component):
    """P(present | c) and P(missing | c) of numeric attributes: arrays of shape (d, K).

    ``present`` and ``missing`` are the weights they were estimated from, with ``alpha`` imaginary rows each.
    """

    columns: NDArray[np.intp]
    log_present: Floats
    log_missing: Floats
    present: Floats
    missing: Floats
    alpha: float

    parameters: ClassVar[tuple[str, ...]] = ("log_present", "log_missing", "present", "missing")
    class_axis: ClassVar[int] = 1
    is_separate: ClassVar[bool] = True

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        missing = np.isnan(chunk.values[:, self.columns])
        out += np.where(missing[:, :, None], self.log_missing, self.log_present).sum(axis=1)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        """Add the leave-one-out values of ``add_log_prob``, with the weight ``own`` of each row removed."""
        label = np.asarray(chunk.target, dtype=np.intp)
        missing = np.isnan(chunk.values[:, self.columns])
        terms = np.where(missing[:, :, None], self.log_missing, self.log_present)
        held = np.where(missing, self.missing[:, label].T, self.present[:, label].T)
        other = np.where(missing, self.present[:, label].T, self.missing[:, label].T)
        left = held - own[:, None]
        if (left < -1e-9 * (held + other)).any():
            raise never_counted(float(left.min()))
        # The weight of missing values is a difference, so clear its rounding error.
        left = np.where(left <= 4e-15 * (held + other), 0.0, left) + self.alpha
        total = left + other + self.alpha
        with np.errstate(divide="ignore"):
            mine = np.log(left / np.where(total > 0, total, 1.0))
        rows = np.arange(len(label))
        terms[rows, :, label] = np.where(own[:, None] > 0, mine, terms[rows, :, label])
        # If only this row has a missing value, missing would not be a state without it.
        everyone = self.missing.sum(axis=1)
        weight = (self.present + self.missing).sum(axis=1)
        alone = missing & (everyone - own[:, None] <= 1e-9 * np.maximum(weight - own[:, None], 1.0))
        terms[alone] = 0.0
        out += terms.sum(axis=1)

    def sample(self, classes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Draw 1.0 where present and NaN where missing: shape (n, d)."""
        draw = rng.random((len(classes), len(self.columns)))
        return np.where(draw < np.exp(self.log_present[:, classes]).T, 1.0, np.nan)

    def sample_into(self, rows: DrawnRows, rng: np.random.Generator) -> None:
        rows.absent.append((self.columns, np.isnan(self.sample(rows.classes, rng))))

    def with_attribute_weights(self, discrete: Floats, numeric: Floats) -> Conditional:
        from bayeskit._conditionals.weighted import WeightedPresence

        return WeightedPresence(self, numeric[self.columns])

    def put_terms(self, terms: WeightedTerms) -> None:
        terms.norm[self.columns] += self.log_present
        terms.missing[self.columns] += self.log_missing

    def posterior(self, rule: DrawRule) -> ParameterPosterior:
        return _PresencePosterior(self)

    def add_nodes(self, nodes: Nodes) -> None:
        tables = np.exp(np.stack([self.log_present, self.log_missing], axis=-1))
        for column, table in zip(self.columns.tolist(), tables, strict=True):
            nodes.add_missingness(column, table)

    def add_separate(self, chunk: Chunk, categorical: Codes, numeric: Codes, out: Floats) -> None:
        for i, column in enumerate(self.columns.tolist()):
            missing = np.isnan(chunk.values[:, column])[:, None]
            out[:, numeric[column]] += np.where(missing, self.log_missing[i], self.log_present[i])

    def score(self) -> Score:
        logs = zip(self.columns.tolist(), self.log_present, self.log_missing, strict=True)
        return Sum(tuple(IfPresent(j, constant(present), constant(missing)) for j, present, missing in logs))

    def explain(self, chunk: Chunk, page: Workings) -> None:
        for i, column in enumerate(self.columns.tolist()):
            missing = bool(np.isnan(chunk.values[0, column]))
            page.add_presence(column, missing, (self.log_missing if missing else self.log_present)[i])

    def log_prior(self, mean: Floats, alpha: float) -> float:
        return self.alpha * float((self.log_present + self.log_missing).sum())

    def describe(self, page: Profiles) -> None:
        for i, column in enumerate(self.columns.tolist()):
            page.add_missing("numeric", column, np.exp(self.log_missing[i]))

    def by_class(self) -> list[Floats]:
        return [np.exp(self.log_present)]

    def order_keys(self) -> None:
        return None

    def n_free(self) -> int:
        return len(self.columns)

    def flat(self, pooled: Moments | None) -> list[Floats]:
        return [self.log_present, self.log_missing]

    def unflat(self, take: Callable[[tuple[int, ...]], Floats], pooled: Moments | None) -> Self:
        shape = self.log_present.shape
        logs = log_normalised(np.stack([take(shape), take(shape)]))
        return self.moved(log_present=logs[0], log_missing=logs[1])

    def write_tables(self, tables: LatentTables, exponent: NDArray[np.int64]) -> bool:
        k = self.log_present.shape[1]
        tables.norm[self.columns, :k] += self.log_present
        tables.absent[self.columns, :k] = self.log_missing
        return True


@dataclass(frozen=True, eq=False)
class _PresencePosterior:
    """Beta distributions of P(present | c)."""

    presence: Presence

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        for i, column in enumerate(self.presence.columns.tolist()):
            counts = np.stack([self.presence.present[i], self.presence.missing[i]]) + self.presence.alpha
            drawn = draws.get((3, column), partial(log_dirichlet, counts=counts, draws=draws.n))
            out += drawn[np.isnan(chunk.values[:, column]).astype(np.intp)]


def estimate_presence(present: Floats, margin: Floats, alpha: float) -> Presence | None:
    """Estimate from Σw of present values (K, d) and n(c). Return None if no value is missing."""
    missing = np.maximum(margin[:, None] - present, 0.0)
    columns = np.flatnonzero(missing.sum(axis=0) > 1e-9 * max(margin.sum(), 1.0))
    if not len(columns):
        return None
    there, not_there = present[:, columns] + alpha, missing[:, columns] + alpha
    total = np.where(there + not_there > 0, there + not_there, 1.0)
    with np.errstate(divide="ignore"):
        logs = np.log(there / total).T.copy(), np.log(not_there / total).T.copy()
    return Presence(columns, *logs, present[:, columns].T, missing[:, columns].T, alpha)
