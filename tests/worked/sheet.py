"""A sheet of paper for models with arcs between attributes: rows counted one by one, fractions, no bayeskit.

Every table is estimated by :meth:`Sheet.given`; a model is a product of its tables, and a value that is missing
is summed over. A prior is a function of the r states and the q configurations of class and parents, and says what
imaginary count a cell has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

Cells = Mapping[str, Any]
Structure = Mapping[str, Sequence[str]]
Imaginary = Callable[[int, int], Fraction]
Edges = list[tuple[str, str]]

UNSEEN = "a value that no row has"


def add(alpha: Any) -> Imaginary:
    """Laplace and Lidstone: α a cell."""
    return lambda r, q: Fraction(alpha)


def m_estimate(m: Any) -> Imaginary:
    """m rows spread over the states."""
    return lambda r, q: Fraction(m) / r


def bdeu(ess: Any) -> Imaginary:
    """ess rows spread over the whole table."""
    return lambda r, q: Fraction(ess) / (r * q)


@dataclass(frozen=True)
class Sheet:
    """Rows with a class and a weight each; None is a hole. States and classes are held when rows leave."""

    columns: Mapping[str, Sequence[Any]]
    y: Sequence[Any]
    weights: Sequence[Any] | None = None
    states: Mapping[str, Sequence[Any]] | None = None
    classes: Sequence[Any] = ()

    def __post_init__(self) -> None:
        states = self.states or {n: sorted(set(v) - {None}) for n, v in self.columns.items()}
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "classes", tuple(self.classes or sorted(set(self.y))))

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        return [
            dict(zip(self.columns, cells, strict=True)) for cells in zip(*self.columns.values(), strict=True)
        ]

    def without(self, i: int) -> Sheet:
        """The sheet with row i crossed out: its states and classes stay."""
        weights = [0 if j == i else w for j, w in enumerate(self.weights or [1] * len(self.y))]
        return replace(self, weights=weights)

    def with_one_state_more(self) -> Sheet:
        """Every attribute has a state that was never seen."""
        return replace(self, states={name: [*states, UNSEEN] for name, states in self.states.items()})

    # Counting

    @cached_property
    def _counted(self) -> dict[Any, Fraction]:
        return {}

    def n(self, cells: Cells, label: Any = None) -> Fraction:
        """The weight of the rows with these cells, of one class or of all."""
        key = (frozenset(cells.items()), label)
        if key not in self._counted:
            weights = self.weights or [1] * len(self.y)
            self._counted[key] = sum(
                (
                    Fraction(weight)
                    for row, c, weight in zip(self.rows, self.y, weights, strict=True)
                    if label in (None, c) and all(row[name] == value for name, value in cells.items())
                ),
                Fraction(0),
            )
        return self._counted[key]

    # Tables

    def class_share(self, label: Any, prior: Imaginary) -> Fraction:
        """(n_c + a)/(N + K·a)."""
        a, k = prior(len(self.classes), 1), len(self.classes)
        return (self.n({}, label) + a) / (self.n({}) + k * a)

    def given(self, name: str, value: Any, parents: Cells, label: Any, prior: Imaginary) -> Fraction:
        """P(x = v | parents, c) = (n + a)/(Σ_v n + r·a), over the rows in which x and its parents are present."""
        r = len(self.states[name])
        a = prior(r, len(self.classes) * math.prod(len(self.states[p]) for p in parents))
        counts = {v: self.n({**parents, name: v}, label) for v in self.states[name]}
        total = sum(counts.values()) + r * a
        return (counts[value] + a) / total if total else Fraction(1, r)

    def together(self, cells: Cells, label: Any, prior: Imaginary) -> Fraction:
        """P(c, x_i, …) as one estimate: (n + a)/(N + K·r_i·…·a), over the rows in which they are present."""
        size = len(self.classes) * math.prod(len(self.states[name]) for name in cells)
        a = prior(size, 1)
        every = product(*(self.states[name] for name in cells))
        total = sum(self.n(dict(zip(cells, values, strict=True))) for values in every) + size * a
        return (self.n(cells, label) + a) / total if total else Fraction(1, size)

    def backed_off(
        self, name: str, value: Any, parents: Cells, label: Any, constants: Sequence[Any] | None
    ) -> Fraction:
        """p_l = (n_l + c_l·p_{l−1})/(N_l + c_l), a parent more at each level; without constants c is the
        number of states seen in the context (Witten and Bell)."""
        share = Fraction(1, len(self.states[name]))
        for level in range(len(parents) + 1):
            context = dict(list(parents.items())[:level])
            counts = {v: self.n({**context, name: v}, label) for v in self.states[name]}
            if constants is None:
                c = Fraction(sum(count > 0 for count in counts.values()))
            else:
                c = Fraction(constants[min(level, len(constants) - 1)])
            if sum(counts.values()) + c:
                share = (counts[value] + c * share) / (sum(counts.values()) + c)
        return share

    # Models: log-free, exact

    def network(
        self,
        structure: Structure,
        query: Cells,
        label: Any,
        prior: Imaginary,
        table: Callable[..., Fraction] | None = None,
    ) -> Fraction:
        """P(c)·Π P(x_i | parents, c), summed over the values that the query does not have."""
        table = table or (lambda *about: self.given(*about, prior))
        holes = [name for name in self.names if query.get(name) is None]
        total = Fraction(0)
        for values in product(*(self.states[name] for name in holes)):
            full = {**query, **dict(zip(holes, values, strict=True))}
            share = self.class_share(label, prior)
            for name in self.names:
                parents = {p: full[p] for p in structure.get(name, ())}
                share *= table(name, full[name], parents, label)
            total += share
        return total

    def super_parents(self, query: Cells, min_count: Any = 1, at_once: int = 1) -> list[tuple[str, ...]]:
        """The attributes, or pairs of them, that are present with values seen at least so often together."""
        present = [name for name in self.names if query.get(name) is not None]
        every = combinations(present, at_once)
        return [some for some in every if self.n({name: query[name] for name in some}) >= min_count]

    def averaged(
        self,
        query: Cells,
        label: Any,
        prior: Imaginary,
        min_count: Any = 1,
        at_once: int = 1,
        table: Callable[..., Fraction] | None = None,
    ) -> Fraction:
        """The sum over super-parents of P(c, x_i, …)·Π P(x_j | c, x_i, …), j none of them: AODE, A2DE.

        Without any, one less at once; with none at once it is naive Bayes.
        """
        table = table or (lambda *about: self.given(*about, prior))
        chosen = self.super_parents(query, min_count, at_once) if at_once else [()]
        if not chosen:
            return self.averaged(query, label, prior, min_count, at_once - 1, table)
        total = Fraction(0)
        for some in chosen:
            above = {name: query[name] for name in some}
            share = self.together(above, label, prior)
            for name in self.names:
                if name not in above and query.get(name) is not None:
                    share *= table(name, query[name], above, label)
            total += share
        return total

    # Information, in nats

    def information(self, i: str, j: str) -> float:
        """I(x_i; x_j | y) over the rows in which both are present."""
        both, cells = Fraction(0), []
        for c in self.classes:
            table = {(u, v): self.n({i: u, j: v}, c) for u, v in product(self.states[i], self.states[j])}
            both += sum(table.values())
            for (u, v), n in table.items():
                if n:
                    of_u = sum(table[u, w] for w in self.states[j])
                    of_v = sum(table[w, v] for w in self.states[i])
                    cells.append((n, n * sum(table.values()) / (of_u * of_v)))
        return math.fsum(float(n / both) * math.log(ratio) for n, ratio in cells)

    def class_information(self, i: str) -> float:
        """I(x_i; y) over the rows in which x_i is present."""
        table = {(u, c): self.n({i: u}, c) for u, c in product(self.states[i], self.classes)}
        total, terms = sum(table.values()), []
        for (u, c), n in table.items():
            if n:
                of_u = sum(table[u, d] for d in self.classes)
                of_c = sum(table[w, c] for w in self.states[i])
                terms.append(float(n / total) * math.log(n * total / (of_u * of_c)))
        return math.fsum(terms)

    def heaviest_first(self) -> list[tuple[float, str, str]]:
        edges = [(self.information(i, j), i, j) for i, j in combinations(self.names, 2)]
        return sorted(edges, key=lambda edge: -edge[0])

    def kdb(self, k: int) -> dict[str, tuple[str, ...]]:
        """Sahami: by I(x; y), each attribute takes the k earlier ones it shares most with."""
        order = sorted(self.names, key=lambda name: -self.class_information(name))
        return {
            name: tuple(sorted(order[:rank], key=lambda p: -self.information(name, p))[:k])
            for rank, name in enumerate(order)
        }


def spanning(edges: Iterable[tuple[float, str, str]]) -> tuple[Edges, Edges]:
    """Kruskal: take edges in this order unless they close a cycle; the taken and the refused ones."""
    island: dict[str, frozenset[str]] = {}
    taken: Edges = []
    refused: Edges = []
    for _, i, j in edges:
        here, there = (island.get(name, frozenset([name])) for name in (i, j))
        if here == there:
            refused.append((i, j))
            continue
        taken.append((i, j))
        island |= dict.fromkeys(here | there, here | there)
    return taken, refused


def directed(edges: Edges, root: str) -> dict[str, tuple[str, ...]]:
    """Child → (parent,), away from the root."""
    structure: dict[str, tuple[str, ...]] = {root: ()}
    while len(structure) <= len(edges):
        for i, j in edges:
            if i in structure and j not in structure:
                structure[j] = (i,)
            elif j in structure and i not in structure:
                structure[i] = (j,)
    return structure
