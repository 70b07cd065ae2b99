"""An explanation as words in cells: what every rendering draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bayeskit.report.explanation import Attribute, Explanation, Factor
from bayeskit.report.fractions import magnitude, number, share
from bayeskit.report.width import display_width
from bayeskit.report.words import words_of

# The widest page that is easy to read; classes that do not fit are only listed.
WIDEST = 118
_FAMILY_NOTES = ("gaussian", "student", "kernel", "poisson")


@dataclass(frozen=True)
class Page:
    """A title, a table with a header, its last rows set apart, and notes under it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    totals: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """How wide each column must be, a wide character counting two."""
        lines = (self.header, *self.rows, *self.totals)
        return tuple(max(display_width(line[j]) for line in lines) for j in range(len(self.header)))


def page_of(explanation: Explanation, lang: str | None = None) -> Page:
    """Lay an explanation out: the prediction first, as many classes beside it as fit.

    Examples
    --------
    >>> from bayeskit.report.explanation import Factor
    >>> even = (Factor(math.log(0.5), "1/2"), Factor(math.log(0.5), "1/2"))
    >>> page_of(Explanation("coin", ("head", "tail"), even, (), ())).rows
    (('P(coin)', '', '1/2 = 0.5', '1/2 = 0.5', '0'),)
    """
    lang = lang or explanation.lang
    for shown in range(len(explanation.classes), 1, -1):
        page = _page(explanation, shown, lang)
        if shown == 2 or sum(page.widths) + 2 * len(page.widths) <= WIDEST:
            return page
    return _page(explanation, len(explanation.classes), lang)


def _page(e: Explanation, shown: int, lang: str) -> Page:
    words = words_of(lang)
    order = e.ranking[:shown]
    compare = e.runner_up is not None
    prior = {"counts": "prior", "given": "prior_given", "unused": "prior_unused"}[e.prior_source]
    header = (
        "",
        words["value"],
        *(str(e.classes[k]) for k in order),
        *([words["log_odds"]] if compare else []),
    )
    lines = [(words[prior].format(target=e.target), "", e.prior, e.prior_log_odds)]
    lines += [
        (name_text(a.name, words["separator"]), _value(a, words), a.factors, odds)
        for a, odds in zip(e.attributes, e.attribute_log_odds)
    ]
    rows = tuple(
        (name, value, *(_cell(factors[k]) for k in order), *([_odds(odds)] if compare else []))
        for name, value, factors, odds in lines
    )
    blank = [""] * (len(order) - 1)
    end = [_odds(e.log_odds)] if compare else []
    none = [""] if compare else []
    totals = (
        (words["joint"], "", *(magnitude(e.log_joint[k]) for k in order), *end),
        (words["evidence"], "", magnitude(e.log_evidence), *blank, *none),
        (words["posterior"], "", *(_posterior(e, k) for k in order), *none),
    )
    title = words["title"].format(target=e.target, label=e.prediction, p=_posterior(e, e.ranking[0]))
    return Page(title, header, rows, totals, tuple(_notes(e, shown, words)))


def _notes(e: Explanation, shown: int, words: Any) -> list[str]:
    notes = []
    for reason in ("missing", "unseen", "constant"):
        names = [
            name_text(o.name) + (f" = {o.value}" if reason == "unseen" else "")
            for o in e.left_out
            if o.reason == reason
        ]
        if names:
            notes.append(
                words["left_out"].format(names=words["separator"].join(names), why=words[f"{reason}_why"])
            )
    if e.impossible:
        notes.append(words["impossible"])
    if shown < len(e.classes):
        others = [f"{e.classes[k]} {_posterior(e, k)}" for k in e.ranking[shown:]]
        notes.append(words["others"].format(list=words["separator"].join(others)))
    if e.runner_up is not None:
        notes.append(words["log_odds_note"].format(a=e.prediction, b=e.runner_up))
    families = {a.family for a in e.attributes}
    if e.prior_source == "counts" or "table" in families:
        notes.append(words["tables"])
    legend = [words[family] for family in _FAMILY_NOTES if family in families]
    if families & {"gaussian", "student", "kernel", "covariance"}:
        legend.append(words["density_note"])
    return [*notes, *([words["gap"].join(legend)] if legend else [])]


def name_text(name: Any, separator: str = ", ") -> str:
    """Write the name of an attribute, or the names of several taken together."""
    return separator.join(map(str, name)) if isinstance(name, tuple) else str(name)


def _value(attribute: Attribute, words: Any) -> str:
    value = attribute.value
    if value is None:
        return str(words["missing"])
    if attribute.as_missing:
        return str(words["treated"].format(value=value))
    parts = value if isinstance(value, tuple) else (value,)
    return ", ".join(number(v) if isinstance(v, float) else str(v) for v in parts)


def _cell(factor: Factor) -> str:
    shown = magnitude(factor.log)
    return f"{factor.working} = {shown}" if factor.working else shown


def _odds(odds: float | None) -> str:
    if odds is None or math.isnan(odds):
        return "–"
    if math.isinf(odds):
        return "+∞" if odds > 0 else "−∞"
    shown = f"{odds:+.3g}" if abs(odds) >= 0.0005 else "0"
    return shown.replace("-", "−")


def _posterior(e: Explanation, k: int) -> str:
    rest = math.fsum(p for j, p in enumerate(e.posterior) if j != k)
    return share(e.posterior[k], rest)
