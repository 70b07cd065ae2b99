"""A network explanation as small tables, which every renderer draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from bayeskit._display_table import DisplayTable
from bayeskit._messages import WordList
from bayeskit._report.fractions import decimal_text, exact_text
from bayeskit._report.networks.network_explanation import NetworkExplanation, Piece, Step, spread, states_of
from bayeskit._schema import Name
from bayeskit._visible import visible

NETWORK_WORDS = WordList(
    {
        "formula": "{asked} ∝ {product}",
        "order": "Summed over, in this order: {names}.",
        "no_order": "No variable has to be summed over.",
        "barren": "Left out, since they sum to one: {names}.",
        "cancelled": "Left out, since they are the same for every state of {target}: {names}.",
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
