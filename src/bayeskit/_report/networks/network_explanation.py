"""The explanation of P(target | evidence) in a network: its factors, each sum, and the normaliser."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._report.fractions import exact_text
from bayeskit._schema import Label, Name
from bayeskit._visible import json_text, plain
from bayeskit.errors import SettingError

# Arrays of fractions: to NumPy they are objects.
Fractions = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Piece:
    """A table of numbers: a factor of the network at the observed states, or the sum over a variable.

    Attributes
    ----------
    label : str
        f1, f2 … for the factors of the network, g1, g2 … for sums.
    title : str
        Its description, such as ``P(wet = yes | rain)``.
    names : tuple
        The unobserved variables, one axis each.
    states : tuple of tuples
    values : array of Fraction
    """

    label: str
    title: str
    names: tuple[Name, ...]
    states: tuple[tuple[Label, ...], ...]
    values: Fractions

    @property
    def called(self) -> str:
        """The label and the variables, as f1(rain)."""
        return f"{self.label}({', '.join(map(str, self.names))})" if self.names else self.label

    def to_dict(self) -> dict[str, Any]:
        numbers = np.array(self.values, dtype=np.float64)
        return {
            "label": self.label,
            "title": self.title,
            "variables": plain(self.names),
            "states": plain(self.states),
            "values": numbers.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Step:
    """One step of variable elimination: a variable is summed out.

    Attributes
    ----------
    variable : name
    used : tuple of Piece
        The factors that contain it.
    product : Piece
        Their product; its last axis is the variable's.
    result : Piece
        The sum over that axis.
    """

    variable: Name
    used: tuple[Piece, ...]
    product: Piece
    result: Piece


@dataclass(frozen=True, eq=False)
class NetworkExplanation:
    r"""An exact posterior with its arithmetic step by step. Print it or show it in a notebook.

    .. math:: P(t \mid e) = \frac{1}{Z} \prod_f f \sum_{x_1} \prod_f f \sum_{x_2} \cdots

    The numbers are fractions, not floats, so the posterior is exact for the tables as written.

    Attributes
    ----------
    target : name
    states : tuple of labels
    evidence : dict of node → its evidence
    factors : tuple of Piece
        The factors in use, at the observed states.
    steps : tuple of Step
        In the order of elimination.
    last : tuple of Piece
        The remaining factors, all over the target.
    product : tuple of Fraction
        Their product for each state, before normalising.
    cancelled : tuple of names
        Nodes whose factors are the same for every state of the target, and so cancel.
    barren : tuple of names
        Nodes that are not observed and have no observed descendants; they sum to one.
    is_evidence : bool
        Whether the normaliser equals P(evidence).
    lang : "en" or "zh"
    """

    target: Name
    states: tuple[Label, ...]
    evidence: dict[Name, Any]
    factors: tuple[Piece, ...]
    steps: tuple[Step, ...]
    last: tuple[Piece, ...]
    product: tuple[Fraction, ...]
    cancelled: tuple[Name, ...] = ()
    barren: tuple[Name, ...] = ()
    is_evidence: bool = True
    lang: str = "en"

    @property
    def order(self) -> tuple[Name, ...]:
        """The variables in the order in which they are summed out."""
        return tuple(step.variable for step in self.steps)

    @property
    def normaliser(self) -> Fraction:
        """The sum of the product over the states of the target."""
        return sum(self.product, Fraction(0))

    @property
    def exact_posterior(self) -> tuple[Fraction, ...]:
        """P(state | evidence) as fractions."""
        return tuple(p / self.normaliser for p in self.product)

    @property
    def posterior(self) -> tuple[float, ...]:
        """P(state | evidence) of each state."""
        return tuple(map(float, self.exact_posterior))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "target": plain(self.target),
            "states": plain(self.states),
            "evidence": {str(name): plain(value) for name, value in self.evidence.items()},
            "factors": [piece.to_dict() for piece in self.factors],
            "order": plain(self.order),
            "steps": [
                {
                    "variable": plain(step.variable),
                    "factors": [piece.label for piece in step.used],
                    "product": step.product.to_dict(),
                    "sum": step.result.to_dict(),
                }
                for step in self.steps
            ],
            "last": [piece.label for piece in self.last],
            "product": [float(p) for p in self.product],
            "normaliser": float(self.normaliser),
            "normaliser_is_probability_of_evidence": self.is_evidence,
            "posterior": list(self.posterior),
            "posterior_as_written": [exact_text(p) for p in self.exact_posterior],
            "cancelled": plain(self.cancelled),
            "barren": plain(self.barren),
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return :meth:`to_dict` as JSON."""
        return json_text(self.to_dict(), indent)

    def to_html(self) -> str:
        """Return all tables as escaped HTML, without styles or scripts."""
        from bayeskit._report.page_html import network_explanation_html

        return network_explanation_html(self, whole=True)

    def to_latex(self, document: bool = False) -> str:
        r"""Return LaTeX with fractions as ``\frac``; with ``document``, a complete document."""
        from bayeskit._report.latex.latex_page import network_latex

        return network_latex(self, document)

    def __str__(self) -> str:
        from bayeskit._display_table import aligned
        from bayeskit._report.networks.network_pages import pages_of

        lines, pages = pages_of(self)
        blocks = ["\n".join([page.title, *aligned((page.header, *page.rows))]) for page, _ in pages]
        return "\n\n".join(["\n".join(lines), *blocks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from bayeskit._report.page_html import network_explanation_html

        return network_explanation_html(self)


def connected(pieces: Sequence[Piece], target: Name) -> tuple[list[Piece], list[Piece]]:
    """Split the factors into those connected to the target by shared variables, and the others."""
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
    """Return the variables in the order of summation: always the one with the smallest product.

    Raises SettingError if the products have more than ``max_cells`` cells together.
    """
    size = {name: len(states) for p in pieces for name, states in zip(p.names, p.states, strict=True)}
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
            "This answer sums over {n} variables in tables of {total:,} cells together (the largest has "
            "{largest:,}), and max_cells={max_cells:,} is what a page shows. Ask query(...) for the numbers alone, "
            "observe more nodes, or raise max_cells=.",
            n=len(order),
            total=total,
            largest=largest,
            max_cells=max_cells,
        )
    return order


def eliminate(pieces: Sequence[Piece], order: Sequence[Name]) -> tuple[list[Step], list[Piece]]:
    """Sum over the variables one by one. Return the steps and the remaining factors."""
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
    return {name: states for p in pieces for name, states in zip(p.names, p.states, strict=True)}


def multiply(pieces: Sequence[Piece], names: Sequence[Name], states: Mapping[Name, Any]) -> Fractions:
    """Return the product of factors, with its axes in this order."""
    product = np.full([len(states[n]) for n in names], Fraction(1), dtype=object)
    for piece in pieces:
        product = product * spread(piece, names)
    return product


def spread(piece: Piece, names: Sequence[Name]) -> Fractions:
    """Return the numbers of a factor with an axis for each name, of length 1 if the factor does not have it."""
    mine = [n for n in names if n in piece.names]
    values = piece.values.transpose([piece.names.index(n) for n in mine])
    return values.reshape([len(piece.states[piece.names.index(n)]) if n in mine else 1 for n in names])


def _object(values: Any) -> Fractions:
    """Keep a sum without axes an array."""
    found = np.empty(np.shape(values), dtype=object)
    found[...] = values
    return found
