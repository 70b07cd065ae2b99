"""A statistic from outside the library, by the recipe of CONTRIBUTING: a class, a function that counts it, two lines.

Counts of each attribute with the next one in the order of the columns, and the Markov chain of attributes made of them:
P(c) P(x₁ | c) Π P(x_{j+1} | x_j, c).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray

import bayeskit
from bayeskit import TAN
from bayeskit._io.saved import SavedContent, read_saved, write_saved
from bayeskit._schema import Name
from bayeskit._statistics.part import Gone, left_of, weight_gone
from bayeskit._statistics.term import register
from bayeskit.errors import ModelFormatError, NotCounted
from bayeskit.extending import COUNTERS, Chunk, Conditional, ModelForm, ModelSpec
from bayeskit.statistics import CellTable, Embedding, Part, Pattern, Plan, Schema, Statistics, Term
from bayeskit.typing import Floats
from refusals import refuses

# -- the statistic


@dataclass(frozen=True, eq=False)
class Chains(Part):
    """n(x_j, x_{j+1}, c), missing a code like any other; ``blocks`` has shape (Σ (r_j + 1)(r_{j+1} + 1), K)."""

    kind = "chains"
    weight_arrays = "margin", "blocks"
    fixed_arrays = ("sizes",)

    margin: Floats
    blocks: Floats
    sizes: NDArray[np.int64]

    @classmethod
    def is_pattern(cls, schema: Schema, attributes: tuple[Any, ...]) -> bool:
        return attributes == cls.columns_of(schema)

    @classmethod
    def terms(cls, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[Term]:
        yield Term((schema.target.name,))
        yield from (Term((schema.target.name, *pair)) for pair in pairwise(attributes))

    @classmethod
    def zero(cls, schema: Schema, attributes: tuple[Name, ...]) -> Self:
        sizes = np.array([schema[name].size + 1 for name in attributes], np.int64)
        cells = int((sizes[:-1] * sizes[1:]).sum())
        return cls(np.zeros(schema.n_classes), np.zeros((cells, schema.n_classes)), sizes)

    def block(self, j: int) -> Floats:
        """Return the counts of attribute j with the next one: a view, axes x_j, x_{j+1}, class."""
        start = int((self.sizes[:j] * self.sizes[1 : j + 1]).sum())
        shape = int(self.sizes[j]), int(self.sizes[j + 1])
        return self.blocks[start : start + shape[0] * shape[1]].reshape(*shape, -1)

    def merge(self, other: Self) -> Self:
        return type(self)(self.margin + other.margin, self.blocks + other.blocks, self.sizes)

    def subtract(self, other: Self, gone: Gone | None = None) -> Self:
        lost = weight_gone(gone, other.margin)
        margin = left_of(self.margin, other.margin, self.margin, lost)
        return type(self)(margin, left_of(self.blocks, other.blocks, self.margin, lost), self.sizes)

    def scale(self, factor: float | Floats) -> Self:
        return type(self)(self.margin * factor, self.blocks * factor, self.sizes)

    def embed(self, embedding: Embedding) -> Self:
        names = tuple(v.name for v in embedding.old.categorical)
        moved = self.zero(embedding.new, names)
        classes = np.flatnonzero(embedding.classes >= 0)
        moved.margin[embedding.classes[classes]] = self.margin[classes]
        old, new = embedding.old.offsets.astype(int), embedding.new.offsets.astype(int)
        for j in range(len(names) - 1):
            places = [embedding.rows[old[i] : old[i + 1]] - new[i] for i in (j, j + 1)]
            alive = [np.flatnonzero(embedding.rows[old[i] : old[i + 1]] >= 0) for i in (j, j + 1)]
            into = np.ix_(places[0][alive[0]], places[1][alive[1]], embedding.classes[classes])
            moved.block(j)[into] = self.block(j)[np.ix_(*alive, classes)]
        return moved

    def deficit(self) -> float:
        return max(0.0, -float(self.blocks.min(initial=0.0)))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {"margin": self.margin, "blocks": self.blocks, "sizes": self.sizes}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(arrays["margin"], arrays["blocks"], arrays["sizes"])

    @classmethod
    def flaw(
        cls, arrays: Mapping[str, NDArray[Any]], schema: Schema, beside: Mapping[str, NDArray[Any]]
    ) -> str | None:
        held = cls.from_arrays(arrays)
        for j in range(len(held.sizes) - 1):
            if not np.allclose(held.block(j).sum(axis=(0, 1)), held.margin):
                return "its array chains/blocks does not count every row once"
        return None

    def cell_tables(self, schema: Schema, attributes: tuple[Name, ...]) -> Iterator[CellTable]:
        margin, *terms = self.terms(schema, attributes)
        yield CellTable.of_array(margin, self.margin)
        for j, term in enumerate(terms):
            yield CellTable.of_array(term, self.block(j).transpose(2, 0, 1))

    @classmethod
    def from_cell_tables(
        cls, schema: Schema, attributes: tuple[Name, ...], tables: Mapping[Term, CellTable]
    ) -> Self:
        found = cls.zero(schema, attributes)
        margin, *terms = cls.terms(schema, attributes)
        found.margin[:] = tables[margin].dense((schema.n_classes,))
        for j, term in enumerate(terms):
            shape = schema.n_classes, int(found.sizes[j]), int(found.sizes[j + 1])
            found.block(j)[:] = tables[term].dense(shape).transpose(1, 2, 0)
        return found


def count_chains(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> Chains:
    """Count one chunk."""
    found = Chains.zero(schema, attributes)
    target = np.asarray(chunk.target, np.intp)
    np.add.at(found.margin, target, chunk.row_weights)
    columns = [np.asarray(chunk.column(j), np.intp) for j in range(len(attributes))]
    for j, pair in enumerate(pairwise(columns)):
        np.add.at(found.block(j), (*pair, target), chunk.row_weights)
    return found


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The two lines of the recipe, undone after each test."""
    from bayeskit._statistics.term import PARTS

    register(Chains)
    COUNTERS["chains"] = count_chains
    yield
    del PARTS["chains"], COUNTERS["chains"]


# -- a model of it


@dataclass(frozen=True, eq=False)
class ChainConditional(Conditional):
    """Π P(x_{j+1} | x_j, c) with one imaginary row for each state; after a missing value a chain begins anew."""

    counted: Chains

    def add_log_prob(self, chunk: Chunk, out: Floats) -> None:
        self._add(chunk, np.zeros((chunk.n_rows, out.shape[1])), out)

    def add_left_out(self, chunk: Chunk, own: Floats, out: Floats) -> None:
        taken = np.zeros((chunk.n_rows, out.shape[1]))
        taken[np.arange(chunk.n_rows), np.asarray(chunk.target, np.intp)] = own
        self._add(chunk, taken, out)

    def _add(self, chunk: Chunk, taken: Floats, out: Floats) -> None:
        codes = np.asarray(chunk.codes, np.intp)
        for j in range(codes.shape[1]):
            size = int(self.counted.sizes[j]) - 1
            x, there = np.minimum(codes[:, j], size - 1), codes[:, j] < size
            alone = self.counted.block(j).sum(axis=1) if j == 0 else self.counted.block(j - 1).sum(axis=0)
            share = (alone[x] - taken + 1.0) / (alone[:size].sum(axis=0) - taken + size)
            if j:
                above = int(self.counted.sizes[j - 1]) - 1
                u, known = np.minimum(codes[:, j - 1], above - 1), codes[:, j - 1] < above
                block = self.counted.block(j - 1)[:above, :size]
                given = (block[u, x] - taken + 1.0) / (block[u].sum(axis=1) - taken + size)
                share = np.where(known[:, None], given, share)
            out += np.log(np.where(there[:, None], share, 1.0))


@dataclass(frozen=True)
class Chained(ModelForm):
    """The form: what to count, and the factor made of it."""

    def plan(self, schema: Schema, spec: ModelSpec) -> Plan:
        names = tuple(v.name for v in schema.categorical)
        return Plan((Pattern("tables", names), Pattern("chains", names)))

    def settled(self, statistics: Statistics, spec: ModelSpec) -> Chained:
        return self

    def conditionals(self, statistics: Statistics, spec: ModelSpec, prior: Any) -> tuple[Conditional, ...]:
        counted: Any = statistics.parts["chains"]
        return (ChainConditional(counted),)


class ChainNB(TAN):
    """The classifier: no more than its form."""

    def _form(self, schema: Schema) -> Any:
        return Chained()


def rows(n: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], n)
    X = np.array(["u", "v", "w", None], dtype=object)[rng.integers(0, 4, (n, 4))]
    X[:, 1] = np.where(y == "a", X[:, 0], X[:, 1])  # in one class the second follows the first
    return X, y


def by_hand(X: Any, y: Any, asked: Any, weights: Any) -> Floats:
    """The same posterior, cell by cell."""
    states = [sorted({v for v in X[:, j] if v is not None}) for j in range(X.shape[1])]
    scores = np.empty((len(asked), 2))
    for k, label in enumerate(("a", "b")):
        mine, w = X[y == label], weights[y == label]
        for i, row in enumerate(asked):
            scores[i, k] = np.log((w.sum() + 1) / (weights.sum() + 2))
            for j, value in enumerate(row):
                if value is None:
                    continue
                given = np.ones(len(mine), bool)
                if j and row[j - 1] is not None:
                    given = mine[:, j - 1] == row[j - 1]
                there = given & np.array([v is not None for v in mine[:, j]])
                n = w[there & (mine[:, j] == value)].sum()
                scores[i, k] += np.log((n + 1) / (w[there].sum() + len(states[j])))
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def model() -> ChainNB:
    return ChainNB(smoothing=1.0, categorical_features="all")


def test_a_statistic_of_ones_own_gives_a_classifier() -> None:
    X, y = rows()
    fitted = model().fit(X, y)
    expected = by_hand(X, y, X[:40], np.ones(len(y)))
    np.testing.assert_allclose(fitted.predict_proba(X[:40]), expected, rtol=0, atol=1e-12)
    assert fitted.score(X, y) > 0.7


def test_it_is_counted_in_batches_faded_forgotten_and_merged() -> None:
    X, y = rows()
    batched = model().partial_fit(X[:100], y[:100], classes=["a", "b"])
    batched.partial_fit(X[100:250], y[100:250]).fade(0.5).forget(X[:50], y[:50], np.full(50, 0.5))
    batched.merge(model().fit(X[250:], y[250:]))
    weights = np.r_[np.full(200, 0.5), np.ones(50)]
    fresh = model().fit(X[50:], y[50:], weights)
    np.testing.assert_allclose(batched.predict_proba(X), fresh.predict_proba(X), rtol=0, atol=1e-12)
    with pytest.raises(NotCounted):
        batched.forget(X[:250], y[:250])


def test_it_meets_new_states_and_is_asked_lazily() -> None:
    X, y = rows()
    grown = model().partial_fit(X[:20, ::-1], y[:20]).partial_fit(X[20:, ::-1], y[20:])
    whole = model().fit(X[:, ::-1], y)
    np.testing.assert_allclose(
        grown.predict_proba(X[:, ::-1]), whole.predict_proba(X[:, ::-1]), rtol=0, atol=1e-12
    )
    lazy = model().lazy(X[:, ::-1], y)
    np.testing.assert_allclose(
        lazy.predict_proba(X[:, ::-1]), whole.predict_proba(X[:, ::-1]), rtol=0, atol=1e-12
    )


def test_a_row_is_left_out() -> None:
    X, y = rows(60)
    left = model().fit(X, y).leave_one_out(X, y)
    for i in range(0, 60, 7):
        rest = np.arange(60) != i
        alone = model().fit(X[rest], y[rest]).predict_proba(X[i : i + 1])
        np.testing.assert_allclose(left[i], alone[0], rtol=0, atol=1e-12)


def test_it_is_saved_and_a_damaged_file_is_refused(tmp_path: Any) -> None:
    X, y = rows()
    fitted, path = model().fit(X, y), tmp_path / "chain.bayes"
    fitted.save(path)
    again = bayeskit.load(path, classes=[ChainNB])
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    saved = read_saved(path, "model")
    arrays = {**saved.arrays, "chains/blocks": saved.arrays["chains/blocks"] + 1.0}
    write_saved(SavedContent("model", saved.content, arrays), path)
    with refuses(ModelFormatError, "chains/blocks"):
        bayeskit.load(path, classes=[ChainNB])


def test_cells_make_the_same_statistic() -> None:
    X, y = rows()
    counted = model().fit(X, y).statistics_
    part, names = counted.parts["chains"], counted.plan.patterns[1].attributes
    tables = {table.term: table for table in part.cell_tables(counted.schema, names)}
    again = Chains.from_cell_tables(counted.schema, names, tables)
    assert all(
        np.array_equal(a, b) for a, b in zip(part.arrays().values(), again.arrays().values(), strict=True)
    )


def test_the_order_of_columns_is_the_order_of_the_chain() -> None:
    """Else nothing above would tell a chain from naive Bayes."""
    X, y = rows()
    one, other = model().fit(X, y), model().fit(X[:, [0, 2, 1, 3]], y)
    assert abs(one.predict_proba(X) - other.predict_proba(X[:, [0, 2, 1, 3]])).max() > 0.05
