"""The explanation of P(target | evidence) in a network: its factors, each sum, the normaliser; and its tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._display_table import DisplayTable
from bayeskit._markup import framed
from bayeskit._messages import WordList
from bayeskit._report.fractions import decimal_text, exact_text
from bayeskit._schema import Label, Name
from bayeskit._visible import json_text, plain, visible
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
        from bayeskit._report.page import network_explanation_html

        return framed(network_explanation_html(self, whole=True))

    def to_latex(self, document: bool = False) -> str:
        r"""Return LaTeX with fractions as ``\frac``; with ``document``, a complete document."""
        from bayeskit._report.latex_table import network_latex

        return network_latex(self, document)

    def __str__(self) -> str:
        from bayeskit._display_table import aligned

        lines, pages = pages_of(self)
        blocks = ["\n".join([page.title, *aligned((page.header, *page.rows))]) for page, _ in pages]
        return "\n\n".join(["\n".join(lines), *blocks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from bayeskit._report.page import network_explanation_html

        return framed(network_explanation_html(self))


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


NETWORK_WORDS = WordList(
    {
        "formula": "{asked} ∝ {product}",
        "order": "Summed over, in this order: {names}.",
        "no_order": "No variable has to be summed over.",
        "barren": "Left out, because they sum to one: {names}.",
        "cancelled": "Left out, because they are the same for every state of {target}: {names}.",
        "step": "{k}. Sum over {variable}: {result} = {title}",
        "answer": "{asked}: the product of {labels}, divided by {normaliser} = {z}",
        "evidence": "{evidence}",
        "sum": "its sum",
        "likelihood": "likelihood of {name}",
        "density": "density of {name} = {value}",
        "more": "{n} more",
        "product": "product",
        "posterior": "posterior",
        "number": "number",
        "separator": ", ",
    }
)


# The maximum number of names to list. The others are only counted.
_MOST_NAMES = 12


def pages_of(explanation: NetworkExplanation) -> tuple[tuple[str, ...], list[tuple[DisplayTable, int]]]:
    """Return the lines at the top, and the tables, each with the index of its first numeric column."""
    e, words = explanation, NETWORK_WORDS.of(explanation.lang)
    pages = [_factor(piece, words) for piece in e.factors]
    steps = [_step(step, k, words) for k, step in enumerate(e.steps, 1)]
    return tuple(map(visible, (_formula(e, words), *_notes(e, words)))), [*pages, *steps, _answer(e, words)]


def query_text(e: NetworkExplanation) -> str:
    """Write the query: P(rain | wet = yes)."""
    given = evidence_text(e.evidence)
    return f"P({e.target} | {given})" if given else f"P({e.target})"


def evidence_text(evidence: Mapping[Name, Any], most: int = _MOST_NAMES) -> str:
    """Write the evidence. If there is a lot, only count the rest."""
    shown = [f"{name} = {value}" for name, value in list(evidence.items())[:most]]
    return ", ".join([*shown, *(["…"] if len(evidence) > most else [])])


def _formula(e: NetworkExplanation, words: WordList) -> str:
    return words["formula"].format(asked=query_text(e), product=" · ".join(p.called for p in e.factors))


def _notes(e: NetworkExplanation, words: WordList) -> list[str]:
    order = words["order"].format(names=_listed(e.order, words)) if e.steps else words["no_order"]
    notes = [order]
    if e.barren:
        notes.append(words["barren"].format(names=_listed(e.barren, words)))
    if e.cancelled:
        notes.append(words["cancelled"].format(target=e.target, names=_listed(e.cancelled, words)))
    return notes


def _listed(names: Sequence[Name], words: WordList) -> str:
    shown = list(map(str, names[:_MOST_NAMES]))
    rest = [words["more"].format(n=len(names) - _MOST_NAMES)] if len(names) > _MOST_NAMES else []
    return words["separator"].join([*shown, *rest])


def _factor(piece: Piece, words: WordList) -> tuple[DisplayTable, int]:
    """Return a factor as a table, with a row for each configuration of all but its last variable."""
    title = f"{piece.called} = {piece.title}"
    if not piece.names:
        return DisplayTable(title, ("", words["number"]), (("", exact_text(piece.values.item())),), (), ()), 1
    *over, last = piece.names
    *given, shown = piece.states
    rows = tuple(
        (*(str(s[i]) for s, i in zip(given, cell, strict=True)), *map(exact_text, piece.values[cell]))
        for cell in np.ndindex(*(len(s) for s in given))
    )
    header = (*map(str, over), *(f"{last} = {state}" for state in shown))
    return DisplayTable(title, header, rows, (), ()), len(over)


def _step(step: Step, k: int, words: WordList) -> tuple[DisplayTable, int]:
    """Return a sum as a table: a row for each remaining configuration, with the products and their sum."""
    names, states = step.product.names, step.product.states
    operands = [np.broadcast_to(spread(p, names), step.product.values.shape) for p in step.used]
    rows = []
    for cell in np.ndindex(*(len(s) for s in states[:-1])):
        cells = [
            _times([o[(*cell, i)] for o in operands], step.product.values[(*cell, i)])
            for i in range(len(states[-1]))
        ]
        labels = [str(s[i]) for s, i in zip(states[:-1], cell, strict=True)]
        rows.append((*labels, *cells, exact_text(step.result.values.item(cell))))
    title = words["step"].format(
        k=k, variable=step.variable, result=step.result.called, title=step.result.title
    )
    header = (*map(str, names[:-1]), *(f"{names[-1]} = {state}" for state in states[-1]), "Σ")
    return DisplayTable(title, header, tuple(rows), (), ()), len(names) - 1


def _answer(e: NetworkExplanation, words: WordList) -> tuple[DisplayTable, int]:
    states = {**states_of(e.last), e.target: e.states}
    operands = [np.broadcast_to(spread(p, [e.target]), (len(states[e.target]),)) for p in e.last]
    z = e.normaliser
    rows = tuple(
        (str(state), _times([o[i] for o in operands], p), _divided(p, z, e.exact_posterior[i]))
        for i, (state, p) in enumerate(zip(e.states, e.product, strict=True))
    )
    normaliser = f"P({evidence_text(e.evidence)})" if e.is_evidence and e.evidence else words["sum"]
    title = words["answer"].format(
        asked=query_text(e),
        labels=" · ".join(p.label for p in e.last),
        normaliser=normaliser,
        z=exact_text(z),
    )
    return DisplayTable(title, (str(e.target), words["product"], words["posterior"]), rows, (), ()), 1


def _times(numbers: Sequence[Fraction], product: Fraction) -> str:
    if len(numbers) == 1:
        return exact_text(product)
    return f"{'·'.join(map(exact_text, numbers))} = {exact_text(product)}"


def _divided(p: Fraction, z: Fraction, share: Fraction) -> str:
    """Write p/z, the same as a fraction of small numbers, and as a decimal."""
    over, under = (f"({t})" if "/" in t else t for t in (exact_text(p), exact_text(z)))
    parts = [f"{over}/{under}"] if z != 1 else []
    parts.append(exact_text(share))
    text = " = ".join(dict.fromkeys(parts))
    return f"{text} ≈ {decimal_text(share)}" if "/" in exact_text(share) else text
