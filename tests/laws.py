"""The laws that statistics obey, for any plan and any way of counting.

``agree`` compares two statistics by their labels, so that the order in which states came does not matter;
the ``check_…`` functions state one law each. Rows are (cells, label, weight).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from bayeskit._counting.backend import count_rows
from bayeskit._data.encode import encode
from bayeskit._data.table import open_table
from bayeskit.statistics import Plan, Schema, Statistics, Variable

Row = tuple[tuple[Any, ...], Any, float]


@dataclass(frozen=True)
class Design:
    """The columns of random rows: a kind each, declared states, declared classes, what is counted."""

    kinds: tuple[str, ...]
    declared: tuple[tuple[str, ...], ...]
    classes: tuple[str, ...] = ()
    together: bool = False

    @property
    def schema(self) -> Schema:
        variables = (
            Variable(f"x{j}", kind, states, n_declared=len(states))
            for j, (kind, states) in enumerate(zip(self.kinds, self.declared, strict=True))
        )
        target = Variable("y", "categorical", self.classes, n_declared=len(self.classes))
        return Schema(tuple(variables), target)

    @property
    def plan(self) -> Plan:
        numeric = tuple(f"x{j}" for j, kind in enumerate(self.kinds) if kind == "numeric")
        return Plan.naive(self.schema, *((numeric, numeric) if self.together else ()))

    def encoded(self, rows: Sequence[Row], schema: Schema | None = None) -> Any:
        """Take rows through the door; the schema grows as they ask."""
        columns = {
            f"x{j}": np.array(
                [cells[j] for cells, _, _ in rows], dtype=float if kind == "numeric" else object
            )
            for j, kind in enumerate(self.kinds)
        }
        labels = np.array([label for _, label, _ in rows], dtype=object)
        weights = np.array([weight for _, _, weight in rows])
        start = self.schema if schema is None else schema
        return encode(open_table(columns), start, "grow", y=labels, weights=weights, with_target=True)

    def count(self, rows: Sequence[Row]) -> Statistics:
        """Count rows afresh; rows that weigh nothing are nothing."""
        if not any(weight > 0 for _, _, weight in rows):
            return Statistics.zero(self.schema, self.plan)
        return count_rows(self.encoded(rows), self.plan).pruned()


WHOLE = st.sampled_from([1.0, 2.0, 3.0, 0.0])
FRACTIONS = st.sampled_from([0.1, 0.2, 0.3, 0.5, 1 / 3, 2.5, 0.0])


@st.composite
def designs(draw: Any) -> Design:
    kinds = tuple(draw(st.lists(st.sampled_from(["categorical", "numeric"]), min_size=1, max_size=3)))
    words = st.sampled_from([(), (), ("b",), ("c", "a"), ("never", "b")])
    declared = tuple(draw(words) if kind == "categorical" else () for kind in kinds)
    return Design(
        kinds, declared, draw(st.sampled_from([(), (), ("yes",), ("z", "no")])), draw(st.booleans())
    )


def rows_of(design: Design, weights: Any, max_size: int = 8) -> Any:
    """Rows with missing cells, few states (so that they come and go) and numbers that repeat."""
    cell = {
        "categorical": st.sampled_from(["a", "b", "c", "d", "e", None]),
        "numeric": st.one_of(st.integers(-20, 20).map(lambda k: 0.37 * k), st.just(float("nan"))),
    }
    cells = st.tuples(*(cell[kind] for kind in design.kinds))
    return st.lists(st.tuples(cells, st.sampled_from(["no", "yes", "perhaps"]), weights), max_size=max_size)


@st.composite
def batches(draw: Any, number: int) -> tuple[Any, ...]:
    """A design and some batches of its rows, all with whole or all with fractional weights."""
    design, weights = draw(designs()), draw(st.sampled_from([WHOLE, FRACTIONS]))
    return design, *(draw(rows_of(design, weights)) for _ in range(number))


def space(statistics: Statistics) -> tuple[dict[Any, tuple[Any, ...]], tuple[Any, ...]]:
    """The states of every attribute and the classes, in their order."""
    schema = statistics.schema
    return {v.name: v.states for v in schema.attributes}, schema.target.states


def _close(a: Any, b: Any, tolerance: float) -> None:
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def _same_arrays(a: Any, b: Any, tolerance: float) -> None:
    first, second = a.arrays(), b.arrays()
    assert first.keys() == second.keys()
    for name in first:
        _close(first[name], second[name], tolerance)


def _same_moments(a: Any, b: Any, tolerance: float) -> None:
    _close(a.weight, b.weight, tolerance)
    _close(a.mean()[0], b.mean()[0], tolerance)
    _close(a.centred(), b.centred(), tolerance)


def _same_scatter(a: Any, b: Any, tolerance: float) -> None:
    _close(a.weight, b.weight, tolerance)
    _close(a.mean(), b.mean(), tolerance)
    _close(a.covariance(), b.covariance(), tolerance)


def _same_grids(a: Any, b: Any, tolerance: float) -> None:
    # Forgetting does not make cells finer again, so the two are compared on the wider cells.
    for j in range(len(a)):
        wider = max(a.grid(j).exponent, b.grid(j).exponent)
        first, second = (g.grid(j).coarsened(wider).compact() for g in (a, b))
        np.testing.assert_array_equal(first.ids, second.ids)
        _close(first.counts, second.counts, tolerance)


_SAME: dict[str, Callable[[Any, Any, float], None]] = {
    "moments": _same_moments,
    "scatter": _same_scatter,
    "grids": _same_grids,
}


def agree(a: Statistics, b: Statistics, tolerance: float = 1e-9) -> None:
    """The same states, the same classes, and every sum the same."""
    assert a.plan == b.plan
    assert space(a) == space(b)
    b = b.embed(a.schema)
    for kind, part in a.parts.items():
        _SAME.get(kind, _same_arrays)(part, b.parts[kind], 1e-12 if kind == "tables" else tolerance)


def check_merge(a: Statistics, b: Statistics, c: Statistics) -> None:
    """Merge is associative and commutative."""
    agree(a + b, b + a)
    agree((a + b) + c, a + (b + c))


def check_zero(a: Statistics, zero: Statistics) -> None:
    """Zero is the identity, and what is left when a is taken from itself."""
    agree(a + zero, a)
    agree(zero + a, a)
    agree(a - zero, a)
    agree((a - a).pruned(), zero.pruned())


def check_subtract(a: Statistics, b: Statistics) -> None:
    """Subtract undoes merge, down to the states and classes."""
    agree(((a + b) - b).pruned(), a.pruned())
    agree(((a + b) - a).pruned(), b.pruned())


def check_scale(a: Statistics, b: Statistics, factor: float) -> None:
    """Scale distributes over merge and over itself; one leaves all as it is."""
    agree(factor * (a + b), factor * a + factor * b)
    agree((a * factor) * 0.5, a * (factor * 0.5))
    agree(a * 1.0, a)
    agree(a * 2.0, a + a)


def check_faded(
    count: Callable[[Sequence[Row]], Statistics],
    kept: Sequence[Row],
    gone: Sequence[Row],
    factors: Sequence[float],
) -> None:
    """Rows that were scaled leave with the weights that they have by then, as doubles tell them: nothing is left."""
    total = count(kept) + count(gone)
    for factor in factors:
        total = total * factor
        kept, gone = ([(cells, label, w * factor) for cells, label, w in some] for some in (kept, gone))
    for row in gone:
        total = total - count([row])
    agree(total.pruned(), count(kept).pruned())


def check_split(
    count: Callable[[Sequence[Row]], Statistics], rows: Sequence[Row], cuts: Iterable[int]
) -> None:
    """Rows counted in pieces are the rows counted at once."""
    edges = [0, *sorted(cut % (len(rows) + 1) for cut in cuts), len(rows)]
    total = count(rows[:0])
    for start, stop in itertools.pairwise(edges):
        total = total + count(rows[start:stop])
    agree(total.pruned(), count(rows).pruned())


def check_embed(a: Statistics, larger: Schema) -> None:
    """More room changes nothing, and goes again when nothing moves in: ``larger`` declares nothing new."""
    wide = a.embed(a.schema.union(larger))
    assert wide.total == a.total
    agree(wide.embed(a.schema), a)
    agree(wide.pruned(), a.pruned())
