"""Explanation items of models that combine factors, for one row: averages over super-parents, log-linear models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayeskit._conditionals.averaged import SuperParentAverage
from bayeskit._conditionals.complement import WordScore
from bayeskit._conditionals.log_linear import LogLinearScore
from bayeskit._conditionals.pair_cells import IMAGINARY
from bayeskit._report.explanation import Attribute, OmittedAttribute, PageFactor, Reason
from bayeskit._report.explanation_dict import (
    attribute_of,
    attribute_to_dict,
    factors_to_dicts,
    given_to_dicts,
    odds_of_logs,
)
from bayeskit._report.factors.average import Average, LazyAttributes, NamedLogs, SuperParent
from bayeskit._report.factors.dependence import Item, LogShares, cell_density
from bayeskit._report.fractions import fraction, short
from bayeskit._report.row import CodedRow
from bayeskit._schema import Name
from bayeskit._visible import shorter
from bayeskit._words import shown_word
from bayeskit.typing import Floats


class Child(NamedTuple):
    """A categorical attribute of the row that has a factor."""

    place: int
    code: int
    name: Any
    value: Any
    family: str
    as_missing: bool


class SharedInputs(NamedTuple):
    """The inputs shared by all super-parents: the model, the row, and the attributes with a factor, by
    position."""

    averaged: SuperParentAverage
    row: CodedRow
    children: dict[int, Child]
    shares: LogShares


# log P(x | c, ...) of each class, and its working.
Told = tuple[Child, list[float], list[str]]


def average_of(averaged: SuperParentAverage, row: CodedRow) -> tuple[Average, dict[Any, Item]] | None:
    """Return the factors of every super-parent, and the omitted attributes; None if there is no super-parent."""
    places = _informative(averaged, row)
    children = _categorical_children(averaged, row, places)
    shares = LogShares(averaged.cells, [(child.place, child.code) for child in children])
    known = SharedInputs(averaged, row, {child.place: child for child in children}, shares)
    scores = averaged.scores(row.chunk)[0]
    found = [s for s in (_super_parent(known, i, scores[i]) for i in places) if s is not None]
    if not found:
        return None
    return Average(tuple(found)), _left_out(averaged, row, places)


def _informative(averaged: SuperParentAverage, row: CodedRow) -> list[int]:
    """Return the categorical attributes with a factor: present, and not implied by others."""
    codes = averaged._without_general(row.chunk.codes, np.zeros(1))[0].tolist()
    return [j for j, code in enumerate(codes) if _is_present(averaged, j, code)]


def _categorical_children(averaged: SuperParentAverage, row: CodedRow, places: list[int]) -> list[Child]:
    """Return the data of each categorical attribute that is the same under every super-parent."""
    return [
        Child(
            j,
            row.code(j),
            row.schema.categorical[j].name,
            row.value(j),
            "table" if averaged.cells.mode[j] == IMAGINARY else "back-off",
            row.is_unknown(j),
        )
        for j in places
        if not _is_uninformative(averaged, row, j)
    ]


def _is_present(averaged: SuperParentAverage, j: int, code: int) -> bool:
    """Whether a code is a state (missing may be one) or unseen."""
    return code < int(averaged.cells.sizes[j]) or code == int(averaged.cells.real[j]) + 1


def _super_parent(known: SharedInputs, i: int, scores: Floats) -> SuperParent | None:
    """Return the product of one super-parent; ``scores`` are its logarithms, NaN if it is not a super-parent."""
    averaged, row = known.averaged, known.row
    weight = float(np.exp(averaged.log_weights[0, i]))
    if np.isnan(scores).all() or not weight > 0.0:
        return None
    cells = averaged.cells
    g = int(cells.offsets[i]) + row.code(i)
    rows, imaginary = float(cells.first[i].sum()), float(averaged.joint[g])
    whole = float(averaged.joint_total[i])
    first = tuple(
        PageFactor(_log((n + imaginary) / (rows + whole)), fraction(n, imaginary, rows, whole))
        for n in cells.counts[g, g].tolist()
    )
    children = LazyAttributes(
        partial(_children, known, i), partial(_logs_given, known, i), partial(_plainly, known, i)
    )
    name = row.schema.categorical[i].name
    return SuperParent(name, row.value(i), weight, first, children, tuple(scores.tolist()))


def _logs_given(known: SharedInputs, i: int) -> NamedLogs:
    """Return the logarithms of all other factors given attribute i, without their working."""
    averaged, row = known.averaged, known.row
    logs = averaged.log_given(averaged._without_general(row.chunk.codes, np.zeros(1))[0], i).tolist()
    found: NamedLogs = [(child.name, logs[place]) for place, child in known.children.items() if place != i]
    for place in _measured(averaged, row):
        out = np.zeros((1, averaged.cells.counts.shape[2]))
        averaged.numeric.add_given(row.chunk, i, [place], out)
        found.append((row.schema.numeric[place].name, out[0].tolist()))
    return found


def _children(known: SharedInputs, i: int) -> tuple[Attribute, ...]:
    """Write all other factors given attribute i."""
    above = known.row.given([i])
    found = tuple(
        Attribute(c.name, c.value, c.family, tuple(map(PageFactor, logs, workings)), c.as_missing, above)
        for c, logs, workings in _tables(known, i)
    )
    return (*found, *_numeric(known.averaged, known.row, i))


def _plainly(known: SharedInputs, i: int, ranking: Sequence[int]) -> list[dict[str, Any]]:
    """Return the same as plain values directly, because there may be tens of thousands of factors."""
    above = given_to_dicts(known.row.given([i]))
    found = [
        attribute_to_dict(
            c.name,
            c.value,
            c.family,
            c.as_missing,
            above.copy(),
            [],
            factors_to_dicts(logs, workings),
            odds_of_logs(logs, ranking),
        )
        for c, logs, workings in _tables(known, i)
    ]
    return found + [attribute_of(a, ranking) for a in _numeric(known.averaged, known.row, i)]


def _tables(known: SharedInputs, i: int) -> Iterator[Told]:
    """Yield the factors of all categorical attributes but i: logarithms, and workings."""
    for place, logs, workings in known.shares.given(i, known.row.code(i)):
        yield known.children[place], logs, workings


def _is_uninformative(averaged: SuperParentAverage, row: CodedRow, j: int) -> bool:
    """Whether a value is unseen and has no probability."""
    cells = averaged.cells
    return bool(row.code(j) > cells.real[j] and cells.mode[j] == IMAGINARY and cells.extra[j] == 0.0)


def _measured(averaged: SuperParentAverage, row: CodedRow) -> list[int]:
    """Return the numeric attributes with a factor."""
    used = averaged.numeric.used if row.schema.numeric else ()
    return [m for m, is_used in enumerate(used) if is_used and not np.isnan(row.chunk.values[0, m])]


def _numeric(averaged: SuperParentAverage, row: CodedRow, i: int) -> list[Attribute]:
    found = []
    for place in _measured(averaged, row):
        parent, logs, workings = cell_density(averaged.numeric, row, place, i)
        factors = tuple(map(PageFactor, logs.tolist(), workings))
        name, x = row.schema.numeric[place].name, float(row.chunk.values[0, place])
        found.append(Attribute(name, x, "gaussian", factors, given=row.given([parent])))
    return found


def _left_out(averaged: SuperParentAverage, row: CodedRow, places: list[int]) -> dict[Any, Item]:
    items: dict[Any, Item] = {}
    for j, variable in enumerate(row.schema.categorical):
        if j not in places:
            hole = not _is_present(averaged, j, row.code(j))
            items[variable.name] = (
                row.left_out(j) if hole else OmittedAttribute(variable.name, row.value(j), "general")
            )
        elif _is_uninformative(averaged, row, j):
            items[variable.name] = row.left_out(j)
    for place, variable in enumerate(row.schema.numeric):
        x = float(row.chunk.values[0, place])
        if x != x:
            items[variable.name] = OmittedAttribute(variable.name, None, "missing")
        elif not averaged.numeric.used[place]:
            items[variable.name] = OmittedAttribute(variable.name, x, "constant")
    return items


def _log(p: float) -> float:
    return math.log(p) if p > 0.0 else -math.inf


# The terms of a log-linear model in one row: each set of attributes, or each word of a text, with its weight.


def log_linear_items(score: LogLinearScore, row: CodedRow) -> tuple[dict[Any, Item], tuple[PageFactor, ...]]:
    """Return a factor r^w for each term that differs between classes, and e^b of each class.

    r is the ratio of counts, the geometric mean over the views; w its weight. The most informative ones come first.
    """
    terms = score.terms.of(row.chunk)[:, 0]
    weighted = score.chosen.terms[:, None] * terms
    items: dict[Any, Item] = {}
    for g in np.argsort(-np.ptp(weighted, axis=1), kind="stable"):
        if np.ptp(weighted[g]) > 0.0:
            names = score.names[g]
            values = tuple(row.raw(name) for name in names)
            factors = _factors(weighted[g], terms[g], float(score.chosen.terms[g]))
            alone = len(names) == 1
            name, value = (names[0], values[0]) if alone else (names, values)
            items[name] = Attribute(name, value, "log-linear", factors, alone and value is None)
    explained = {name for item in items.values() for name in _names(item, row)}
    for variable in row.schema.attributes:
        if variable.name not in explained:
            items[variable.name] = _unweighted(variable.name, row)
    return items, tuple(PageFactor(float(b)) for b in score.chosen.bias)


# So many words are shown, those that tell most; the others stand together.
MOST_WORDS, OTHER_WORDS = 20, "…"


def word_items(score: WordScore, row: CodedRow) -> tuple[dict[Any, Item], tuple[PageFactor, ...] | None]:
    """Return a factor for each word of a text, those that tell most first, and what each class gets beside them.

    Factors are relative to their geometric mean over the classes. The product of the means is the same for all classes
    and stands beside the words.
    """
    *_, column = row.schema.attributes
    assert column.vocabulary is not None
    block = row.chunk.block
    if not block.nnz:
        text = row.raw(column.name)
        reason: Reason = "missing" if text is None else "unseen"
        return {column.name: OmittedAttribute(column.name, text and shorter(text), reason)}, None
    logs = block.data[:, None] * score.table[block.indices]
    common = logs.mean(axis=1, keepdims=True)
    told = logs - common
    order = np.argsort(-np.ptp(told, axis=1), kind="stable")
    items: dict[Any, Item] = {}
    for q in order[:MOST_WORDS].tolist():
        word = shown_word(column.vocabulary.words[block.indices[q]])
        items[column.name, word] = _word(word, short(float(block.data[q])), told[q])
    others = order[MOST_WORDS:]
    if len(others):
        items[column.name, None] = _word(OTHER_WORDS, len(others), told[others].sum(axis=0))
    beside = score.bias + float(common.sum())
    return items, tuple(PageFactor(float(log)) for log in beside)


def _word(name: str, value: Any, logs: Floats) -> Attribute:
    return Attribute(name, value, "words", tuple(PageFactor(float(log)) for log in logs))


def _names(item: Item, row: CodedRow) -> tuple[Name, ...]:
    # A name may itself be a tuple; else a tuple is the names of several.
    return (item.name,) if item.name in row.schema.position else item.name  # type: ignore[return-value]


def _factors(weighted: Floats, terms: Floats, weight: float) -> tuple[PageFactor, ...]:
    ratios = np.exp(np.clip(terms, -700.0, 700.0))
    return tuple(
        PageFactor(float(log), f"{short(float(ratio))}^{short(weight)}")
        for log, ratio in zip(weighted, ratios, strict=True)
    )


def _unweighted(name: Name, row: CodedRow) -> OmittedAttribute:
    """Return why an attribute is in no term: its value is missing, or no term of it has a weight."""
    raw = row.raw(name)
    if raw is None:
        return OmittedAttribute(name, None, "missing")
    categorical = [v.name for v in row.schema.categorical]
    if name in categorical and row.is_unknown(categorical.index(name)):
        return OmittedAttribute(name, raw, "unseen")
    return OmittedAttribute(name, raw, "unused")
