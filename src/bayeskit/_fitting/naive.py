"""Plain forms: naive Bayes, and what is counted before anything is chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.categorical import estimate_tables
from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._conditionals.conditional import Conditional
from bayeskit._conditionals.density import LARGEST_COUNT, ColumnSums, Density, families, family_of
from bayeskit._conditionals.presence import estimate_presence
from bayeskit._data.encoded import Chunk
from bayeskit._fitting.model import ModelForm, ModelSpec
from bayeskit._schema import Name, Schema
from bayeskit._statistics.moments import Moments
from bayeskit._statistics.row_sample import RowSample
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Pattern, Plan
from bayeskit.typing import Floats


class CountedAsNaive(ModelForm):
    """A form that counts what naive Bayes does, and of which the statistics determine nothing more."""

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        """Return the counts to take: each attribute with the class, and anything else that its family needs."""
        names = tuple(v.name for v in schema.numeric)
        patterns = {family: family_of(family).pattern for family in {spec.numeric, *spec.families.values()}}
        grids: tuple[Name, ...] = ()
        if "grids" in patterns.values():
            grids = tuple(n for n in names if patterns[spec.families.get(n, spec.numeric)] == "grids")
        return Plan.naive(schema, scatter=names if spec.covariance else (), grids=grids)

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        return self


@dataclass(frozen=True)
class Naive(CountedAsNaive):
    """P(c, x) = P(c) ∏ P(x_i | c), each attribute by the family of its kind."""

    is_naive: ClassVar[bool] = True
    smooths_by_rows: ClassVar[bool] = True

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        found = column_conditionals(statistics, spec)
        if statistics.schema.block is not None:
            found.append(_block(statistics, spec))
        return tuple(found)


def column_conditionals(statistics: Statistics, spec: ModelSpec) -> list[Any]:
    """Estimate the attributes that are columns, each given the class."""
    schema = statistics.schema
    found: list[Any] = []
    if schema.categorical:
        found.append(
            estimate_tables(
                statistics.tables.counts,
                schema,
                spec.smoothing,
                missing=spec.missing,
                unseen=spec.unseen,
                counts_low=statistics.tables.counts_low,
            )
        )
    return found + (numeric_conditionals(statistics, spec) if schema.numeric else [])


def presence_conditionals(statistics: Statistics, spec: ModelSpec) -> list[Any]:
    """If missing is a state, estimate P(missing | c) of the numeric attributes."""
    if spec.missing != "state" or not statistics.schema.numeric:
        return []
    presence = estimate_presence(statistics.moments.weight, statistics.class_counts, spec.alpha)
    return [] if presence is None else [presence]


def numeric_conditionals(statistics: Statistics, spec: ModelSpec) -> list[Any]:
    """Estimate the numeric attributes, each given the class, by their families."""
    schema = statistics.schema
    found = presence_conditionals(statistics, spec)
    if spec.covariance:
        from bayeskit._conditionals.covariance import estimate_covariance

        scatter: Any = statistics.parts["scatter"]
        found.append(estimate_covariance(scatter, np.arange(len(schema.numeric)), spec.covariance))
        return found
    by_family: dict[tuple[type[Density], Any], list[int]] = {}
    alpha, homes = (
        spec.alpha,
        {name: family_of(name) for name in {spec.numeric, *spec.families.values()}},
    )
    for j, variable in enumerate(schema.numeric):
        family = homes[spec.families.get(variable.name, spec.numeric)]
        prior = spec.smoothing.numeric_prior(variable.name) if family.takes_prior else None
        by_family.setdefault((family, prior), []).append(j)
    for (family, prior), places in by_family.items():
        columns = np.array(places, dtype=np.intp)
        sums = ColumnSums(statistics, columns, alpha, spec.unbiased, spec.absolute_floor, prior)
        found.append(family.estimate(sums))
    return found


def _block(statistics: Statistics, spec: ModelSpec) -> Any:
    totals: Any = statistics.parts["totals"]
    if spec.block_family == "complement":
        from bayeskit._conditionals.complement import estimate_complement

        return estimate_complement(totals, spec.block_alpha, spec.block_norm)
    if spec.block_family == "bernoulli":
        from bayeskit._conditionals.word_models import estimate_bernoulli_block

        return estimate_bernoulli_block(totals, spec.block_alpha, spec.block_above or 0.0)
    from bayeskit._conditionals.word_models import estimate_multinomial

    return estimate_multinomial(totals, spec.block_alpha)


@dataclass(frozen=True)
class Candidates:
    """The leave-one-out losses of one attribute, by family."""

    losses: dict[str, float] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The family with the lowest loss; in a tie, the Gaussian."""
        return (
            min(self.losses, key=lambda f: (self.losses[f], f != "gaussian")) if self.losses else "gaussian"
        )


def compare_families(
    chunks: Callable[[], Iterator[Chunk]], schema: Schema, statistics: Statistics, alpha: float
) -> dict[Name, Candidates]:
    r"""Return the leave-one-out loss of every numeric attribute under every family that allows its values.

    For one attribute and one family, the loss is :math:`-\sum_i \log P_{-i}(c_i \mid x_i)`. A row is scored after its
    own weight is removed from its class, without n fits.

    ``statistics`` must contain grids of all numeric attributes. ``chunks`` opens the rows again: once for all
    attributes, and once for each.
    """
    whole = _whole_columns(chunks, len(schema.numeric))
    found: dict[Name, Candidates] = {}
    for j, variable in enumerate(schema.numeric):
        sums = ColumnSums(statistics, np.array([j], dtype=np.intp), alpha)
        densities = [f.estimate(sums) for f in families() if f.suits(sums.moments, bool(whole[j]))]
        losses = dict.fromkeys((density.family for density in densities), 0.0)
        for chunk in chunks():
            for density in densities:
                losses[density.family] += _loss(chunk, j, density, sums.moments, statistics.class_counts)
        found[variable.name] = Candidates(losses)
    return found


def _whole_columns(chunks: Callable[[], Iterator[Chunk]], d: int) -> NDArray[np.bool_]:
    whole = np.ones(d, dtype=bool)
    for chunk in chunks():
        x = np.where(np.isnan(chunk.values), 0.0, chunk.values)
        whole &= ((x == np.rint(x)) & (x >= 0) & (x <= LARGEST_COUNT)).all(axis=0)
    return whole


def _loss(chunk: Chunk, j: int, density: Density, moments: Moments, margin: Floats) -> float:
    assert chunk.target is not None
    x = chunk.values[:, j]
    weights = chunk.row_weights
    rows = np.flatnonzero(~np.isnan(x) & (weights > 0))
    x, w, own = x[rows], weights[rows], chunk.target[rows].astype(np.intp)
    out = np.zeros((chunk.n_rows, len(margin)))
    density.add_log_prob(chunk, out)
    joint = out[rows]
    joint[np.arange(len(rows)), own] = _without(density, x, w, own, moments, joint)
    with np.errstate(divide="ignore"):
        counts = np.log(np.maximum(margin + 1.0, 1e-300))[None, :].repeat(len(rows), axis=0)
        counts[np.arange(len(rows)), own] = np.log(np.maximum(margin[own] - w, 0.0) + 1.0)
    joint += counts
    best = joint.max(axis=1, keepdims=True)
    if np.isneginf(best).any():  # a value that is impossible in every class
        return math.inf
    log_total = best[:, 0] + np.log(np.exp(joint - best).sum(axis=1))
    return float(w @ (log_total - joint[np.arange(len(rows)), own]))


def _without(
    density: Density, x: Floats, w: Floats, own: NDArray[np.intp], moments: Moments, joint: Floats
) -> Floats:
    """Return log p(x | own class) without the row's own weight, even if the class has no other rows."""
    score = density.left_out_alone(x, w, own, joint)
    if not density.in_use()[0]:
        return score
    alone = np.maximum(moments.weight[own, 0] - w, 0.0) <= 1e-9
    unit = max(float(moments.pooled().deviation()[0, 0]), 1e-300)
    return np.where(alone, -0.5 * math.log(2 * math.pi) - math.log(unit) - 1.0, score)


# What is counted before anything is chosen: classes, states and a sample of rows.
#
# Cut points, views and sets of attributes are chosen from it.

# The numbers, and the rows at least and at most, of the sample.
_SAMPLE_CELLS, _SAMPLE_LEAST, _SAMPLE_MOST = 2**23, 2**13, 2**17


@dataclass(frozen=True)
class TablesOnly(ModelForm):
    """Counts classes and states, and nothing of numbers: how many rows there are, and which columns."""

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        return Plan((Pattern("tables", tuple(v.name for v in schema.categorical)),))

    def settled(self, statistics: Statistics, spec: ModelSpec) -> ModelForm:
        return self

    def conditionals(
        self, statistics: Statistics, spec: ModelSpec, prior: ClassPrior
    ) -> tuple[Conditional, ...]:
        return ()


@dataclass(frozen=True)
class Sampling(TablesOnly):
    """Counts the same, and keeps a sample of rows: what choices are made from."""

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        n = _SAMPLE_CELLS // max(len(schema.attributes), 1)
        n = min(max(n, _SAMPLE_LEAST), _SAMPLE_MOST)
        return Plan((*super().plan(schema, spec).patterns, Pattern("row_sample", (n,))))


def sample_chunk(sample: RowSample, schema: Schema) -> Chunk:
    """Return the rows of a sample as a chunk."""
    codes = np.ascontiguousarray(sample.codes.astype(schema.code_dtype))
    values = np.ascontiguousarray(sample.values)
    return Chunk(
        len(sample.weight), codes, values, target=sample.target.astype(np.uint32), weights=sample.weight
    )
