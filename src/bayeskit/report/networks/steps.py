"""Factors → sums over one variable after the other, in fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.report.networks.explanation import Fractions, Piece, Step
from bayeskit.schema import Label, Name


def connected(pieces: Sequence[Piece], target: Name) -> tuple[list[Piece], list[Piece]]:
    """Part the factors that a path of shared variables joins to the target from the others."""
    holding: dict[Name, list[Piece]] = {}
    for piece in pieces:
        for name in piece.names:
            holding.setdefault(name, []).append(piece)
    inside, stack = {target}, [target]
    while stack:
        found = {n for p in holding.get(stack.pop(), ()) for n in p.names} - inside
        inside |= found
        stack += found
    near = [p for p in pieces if inside.intersection(p.names)]
    return near, [p for p in pieces if not inside.intersection(p.names)]


def elimination_order(pieces: Sequence[Piece], target: Name, max_cells: int) -> list[Name]:
    """Return the variables in the order in which they are summed over: always the one of the smallest product.

    Raises SettingError where the products have more than ``max_cells`` cells together.
    """
    size = {name: len(states) for p in pieces for name, states in zip(p.names, p.states)}
    beside: dict[Name, set[Name]] = {name: set() for name in size}
    for p in pieces:
        for name in p.names:
            beside[name].update(p.names)
    cells = {v: math.prod(size[u] for u in beside[v]) for v in size if v != target}
    order, total, largest = list[Name](), size.get(target, 1), 0
    while cells:
        best = min(cells, key=cells.__getitem__)
        total, largest = total + cells[best], max(largest, cells.pop(best))
        order.append(best)
        for v in (around := beside.pop(best) - {best}):
            beside[v] = (beside[v] | around) - {best}
            if v != target:
                cells[v] = math.prod(size[u] for u in beside[v])
    if total > max_cells:
        raise SettingError(
            f"This answer sums over {len(order)} variables in tables of {total:,} cells together (the largest has "
            f"{largest:,}), and max_cells={max_cells:,} is what a page shows. Ask query(...) for the numbers alone, "
            "observe more nodes, or raise max_cells=."
        )
    return order


def eliminate(pieces: Sequence[Piece], order: Sequence[Name]) -> tuple[list[Step], list[Piece]]:
    """Sum over the variables one by one; return the steps, and the factors that are left."""
    alive, steps = list(pieces), list[Step]()
    for number, v in enumerate(order, 1):
        used = tuple(p for p in alive if v in p.names)
        names = (*dict.fromkeys(n for p in used for n in p.names if n != v), v)
        states = states_of(used)
        product = multiply(used, names, states)
        over = tuple(states[n] for n in names)
        title = f"Σ_{v} {' · '.join(p.label for p in used)}"
        result = Piece(f"g{number}", title, names[:-1], over[:-1], _object(product.sum(axis=-1)))
        steps.append(Step(v, used, Piece("", "", names, over, product), result))
        alive = [p for p in alive if v not in p.names] + [result]
    return steps, alive


def states_of(pieces: Sequence[Piece]) -> Mapping[Name, tuple[Label, ...]]:
    """Return the states of every variable of some factors."""
    return {name: states for p in pieces for name, states in zip(p.names, p.states)}


def multiply(pieces: Sequence[Piece], names: Sequence[Name], states: Mapping[Name, Any]) -> Fractions:
    """Multiply factors, the axes of the product in this order."""
    product = np.full([len(states[n]) for n in names], Fraction(1), dtype=object)
    for piece in pieces:
        product = product * spread(piece, names)
    return product


def spread(piece: Piece, names: Sequence[Name]) -> Fractions:
    """Return the numbers of a factor with an axis for each name, of length one where it has none."""
    mine = [n for n in names if n in piece.names]
    values = piece.values.transpose([piece.names.index(n) for n in mine])
    return values.reshape([len(piece.states[piece.names.index(n)]) if n in mine else 1 for n in names])


def _object(values: Any) -> Fractions:
    """Keep a sum without axes an array."""
    found = np.empty(np.shape(values), dtype=object)
    found[...] = values
    return found
