"""The terms of a log-linear model in one row: each set of attributes, or each word of a text, with its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit._conditionals.complement import WordScore
from bayeskit._conditionals.log_linear import LogLinearScore
from bayeskit._report.explanation import Attribute, OmittedAttribute, PageFactor, Reason
from bayeskit._report.factors.dependence import Item
from bayeskit._report.fractions import short
from bayeskit._report.row import CodedRow
from bayeskit._schema import Name
from bayeskit._visible import shorter
from bayeskit._words import shown_word
from bayeskit.typing import Floats


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
            items[variable.name] = _left_out(variable.name, row)
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


def _left_out(name: Name, row: CodedRow) -> OmittedAttribute:
    """Return why an attribute is in no term: its value is missing, or no term of it has a weight."""
    raw = row.raw(name)
    if raw is None:
        return OmittedAttribute(name, None, "missing")
    categorical = [v.name for v in row.schema.categorical]
    if name in categorical and row.is_unknown(categorical.index(name)):
        return OmittedAttribute(name, raw, "unseen")
    return OmittedAttribute(name, raw, "unused")
