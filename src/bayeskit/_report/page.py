"""An explanation as a table of text cells, which every renderer draws.

A page that is an average has a row for every super-parent with its share, and the first ones with their factors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bayeskit._conditionals.density import family_names, family_of
from bayeskit._display_table import LONGEST_CELL, MOST_ROWS, DisplayTable, as_html
from bayeskit._markup import Html, join, paragraphs, tag
from bayeskit._messages import WordList, run_on, text_in
from bayeskit._report.explanation import Attribute, Explanation, PageFactor
from bayeskit._report.factors.average import Average, SuperParent
from bayeskit._report.fractions import magnitude, number, share, short
from bayeskit._report.row_figures import risk_rows
from bayeskit._report.words import words_of
from bayeskit._visible import shorter

if TYPE_CHECKING:
    from bayeskit._report.network_explanation import NetworkExplanation


# The widest page that is easy to read; classes that do not fit are only listed.
WIDEST = 118
# The word of the prior's line, by where the prior comes from.
PRIOR_WORDS = {
    "counts": "prior",
    "given": "prior_given",
    "unused": "prior_unused",
    "nothing known": "prior_nothing",
}
_WITH_VALUE = ("unseen", "summed", "general")


def page_of(explanation: Explanation, lang: str | None = None, most: int | None = None) -> DisplayTable:
    """Lay out an explanation: the prediction first, then as many other classes as fit, or ``most`` of them.

    Examples
    --------
    >>> from bayeskit.explanations import PageFactor
    >>> even = (PageFactor(math.log(0.5), "1/2"), PageFactor(math.log(0.5), "1/2"))
    >>> page_of(Explanation("coin", ("head", "tail"), even, (), ())).rows
    (('P(coin)', '', '1/2 = 0.5', '1/2 = 0.5', '0'),)
    """
    lang = lang or explanation.lang
    n_classes = len(explanation.classes)
    if most is not None:
        return _page(explanation, min(most, n_classes), lang)
    page = _page(explanation, n_classes, lang)
    widths = page.widths
    total, shown = sum(widths) + 2 * len(widths), n_classes
    while shown > 2 and total > WIDEST:
        shown -= 1
        total -= widths[2 + shown] + 2  # the columns of the classes come after the name and the value
    return page if shown == n_classes else _page(explanation, shown, lang)


def _page(e: Explanation, shown: int, lang: str) -> DisplayTable:
    words = words_of(lang)
    order = e.ranking[:shown]
    compare = e.runner_up is not None
    lines, blocks = _lines(e, order, words)
    share_head = [words["share"]] if e.average is not None else []
    header = (
        "",
        words["value"],
        *(str(e.classes[k]) for k in order),
        *share_head,
        *([words["log_odds"]] if compare else []),
    )
    rows = tuple(
        (name, value, *cells, *([part] if share_head else []), *([odds_text(odds)] if compare else []))
        for name, value, cells, part, odds in lines
    )
    blank = [""] * (len(order) - 1)
    gap = [""] * len(share_head)
    end = [odds_text(e.log_odds)] if compare else []
    none = [""] if compare else []
    # Without other factors, the sum of the blocks is P(c, x). Otherwise it is one factor of it.
    joint = "sum" if e.average is not None and not e.attributes else "joint"
    totals = (
        (words[joint], "", *(magnitude(e.log_joint[k]) for k in order), *gap, *end),
        (words["evidence"], "", magnitude(e.log_evidence), *blank, *gap, *none),
        (words["posterior"], "", *(_posterior(e, k) for k in order), *gap, *none),
        *((name, value, *cells, *gap, *none) for name, value, cells in _decided(e, order, words)),
    )
    label, probability = _answer(e)
    title = words["title"].format(target=e.target, label=label, p=probability)
    return DisplayTable(title, header, rows, totals, tuple(_notes(e, shown, blocks, lang)))


# Log-odds that are written as 0.
SMALLEST = 0.0005


def parted(e: Explanation, attributes: Sequence[Attribute]) -> tuple[list[Attribute], list[Attribute]]:
    """Return the attributes to show, the strongest first, and those that are folded into one line.

    An attribute whose factor is the same in every class says nothing about it. A single one is shown: its line takes
    no more room than the one that would stand for it.
    """
    shown = sorted(attributes, key=e.weight_of, reverse=True)
    neutral = [a for a in shown if not e.all and len(e.classes) > 1 and _is_neutral(a)]
    if len(neutral) < 2:
        return shown, []
    folded = set(map(id, neutral))
    return [a for a in shown if id(a) not in folded], neutral


def _is_neutral(attribute: Attribute) -> bool:
    logs = [factor.log for factor in attribute.factors]
    # A value that is impossible in every class is not the same as one that says nothing.
    return min(logs) > -math.inf and max(logs) - min(logs) < SMALLEST


def product_of(attributes: Sequence[Attribute]) -> tuple[PageFactor, ...]:
    """Return the product of the factors of several attributes."""
    each = zip(*((factor.log for factor in a.factors) for a in attributes), strict=True)
    return tuple(PageFactor(math.fsum(logs)) for logs in each)


def _folded_name(e: Explanation, n: int, words: Mapping[str, str]) -> str:
    return words["folded_models" if e.form == "stack" else "folded_attributes"].format(n=n)


def _folded_notes(e: Explanation, in_blocks: bool, words: Mapping[str, str]) -> list[str]:
    """Say what stands behind a line of folded attributes."""
    neutral = parted(e, e.attributes)[1]
    if not neutral and not in_blocks:
        return []
    which = "neither" if len(e.classes) == 2 else "none"
    names = [name_text(a.name, words["separator"]) for a in neutral]
    said = words["separator"].join([*names[:MOST_NAMES], *(["…"] if len(names) > MOST_NAMES else [])])
    name = _folded_name(e, len(neutral), words) if neutral else "…"
    return [words[f"{which}_named" if neutral else which].format(name=name, names=said)]


class Blocks(NamedTuple):
    """What the blocks of an average leave out: blocks without their factors, and whether factors are folded."""

    bare: int = 0
    folds: bool = False


def _lines(e: Explanation, order: Sequence[int], words: WordList) -> tuple[list[Row], Blocks]:
    """Return the rows above the totals, and what the blocks of an average leave out."""
    factors: list[tuple[str, str, tuple[PageFactor, ...]]] = []
    if e.form != "average":
        prior = words[PRIOR_WORDS[e.prior_source]].format(target=e.target)
        given = words.join(f"{name}={value_text(value, False, words)}" for name, value in e.prior_given)
        factors.append((prior, f"| {given}" if given else "", e.prior))
    lines, blocks = average_rows(e, e.average, order, words) if e.average is not None else ([], Blocks())
    if e.average is not None and e.attributes:
        factors.append((words["sum"], "", e.average.factors))
    telling, neutral = parted(e, e.attributes)
    factors += [(name_text(a.name, words["separator"]), attribute_text(a, words), a.factors) for a in telling]
    if neutral:
        factors.append((_folded_name(e, len(neutral), words), "", product_of(neutral)))
    if e.rest is not None:
        factors.append((words["rest"], "", e.rest))
    lines += [
        (name, value, tuple(cell_text(part[k]) for k in order), "", e.odds_of(part))
        for name, value, part in factors
    ]
    return lines, blocks


def _decided(e: Explanation, order: Sequence[int], words: WordList) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the lines below the posterior: the calibrated posterior, and the risks."""
    found = []
    if e.calibrated is not None:
        cells = tuple(share(e.calibrated[k], 1.0 - e.calibrated[k]) for k in order)
        found.append((words["calibrated"], "", cells))
    if e.risks is not None:
        found += risk_rows(e.risks, e.calibrated or e.posterior, order, words)
    return found


def _notes(e: Explanation, shown: int, blocks: Blocks, lang: str) -> list[str]:
    words = words_of(lang)
    notes = []
    for reason in ("missing", "summed", "unseen", "constant", "general", "unused", "same"):
        names = [
            name_text(o.name) + (f" = {o.value}" if o.value is not None and reason in _WITH_VALUE else "")
            for o in e.left_out
            if o.reason == reason
        ]
        if names:
            said = words["summed" if reason == "summed" else "left_out"]
            notes.append(said.format(names=words["separator"].join(names), why=words[f"{reason}_why"]))
    notes += [*_folded_notes(e, blocks.folds, words), *_form_notes(e, blocks.bare, words)]
    if e.impossible:
        notes.append(words["impossible"])
    if shown < len(e.classes):
        others = [f"{e.classes[k]} {_posterior(e, k)}" for k in e.ranking[shown:]]
        notes.append(words["others"].format(list=words["separator"].join(others)))
    if e.runner_up is not None:
        key = "log_odds_note" if e.average is None else "log_odds_only"
        notes.append(words[key].format(a=e.prediction, b=e.runner_up))
    if e.risks is not None:
        notes.append(words["risk_note"])
    families = {a.family for a in e.attributes} | (e.average.families if e.average else set())
    if e.prior_source == "counts" or "table" in families or e.average is not None:
        notes.append(words["tables"])
    if "back-off" in families:
        notes.append(words["back_off"])
    if e.prior_given or any(a.given for a in e.attributes):
        notes.append(words["given"])
    shown_families = [family_of(name) for name in family_names() if name in families]
    legend = [text_in(lang, family.words.legend) for family in shown_families]
    if "covariance" in families or not all(family.of_counts for family in shown_families):
        legend.append(words["density_note"])
    return [*notes, *([run_on(legend, lang)] if legend else [])]


def _form_notes(e: Explanation, bare: int, words: WordList) -> list[str]:
    match e.form:
        case "average" if e.average is not None:
            is_weighted = any(s.weight != 1.0 for s in e.average.super_parents)
            more = [words["folded"].format(n=bare)] if bare else []
            return [words["average"], *([words["weights"]] if is_weighted else []), *more]
        case "alone":
            return [words["alone"]]
        case "evidence":
            return [words["by_value"]]
        case "log-linear":
            return [words["log_linear"]]
        case "words":
            return [words["words"]]
        case "stack":
            return [words["stack"]]
    return []


def _answer(e: Explanation) -> tuple[Any, str]:
    """Return the prediction and its probability, after calibration if there is one."""
    if e.calibrated is None:
        return e.prediction, _posterior(e, e.ranking[0])
    best = max(range(len(e.classes)), key=e.calibrated.__getitem__)
    return e.classes[best], share(e.calibrated[best], 1.0 - e.calibrated[best])


def _posterior(e: Explanation, k: int) -> str:
    rest = math.fsum(p for j, p in enumerate(e.posterior) if j != k)
    return share(e.posterior[k], rest)


# The names of folded attributes that a note lists.
MOST_NAMES = 8
# The maximum number of rows of factors. Those of the first super-parent are always shown.
MOST_FACTORS = 24

# Name, value, the cell of each class shown, the share of the sum, the log-odds.
Row = tuple[str, str, tuple[str, ...], str, float | None]


def average_rows(
    e: Explanation, average: Average, order: Sequence[int], words: WordList
) -> tuple[list[Row], Blocks]:
    """Return the rows, the super-parent with the largest share first, and what they leave out."""
    shares = average.shares(order[0])
    ranked = sorted(range(len(shares)), key=lambda i: (-shares[i], i))
    rows: list[Row] = []
    factors, bare, folds = 0, 0, False
    for place, i in enumerate(ranked):
        parent = average.super_parents[i]
        products = tuple(magnitude(parent.log_products[k]) for k in order)
        odds = e.odds_of(tuple(map(PageFactor, parent.log_products)))
        value = value_text(parent.value, False, words)
        key = "super_parent" if parent.weight == 1.0 else "super_parent_weighed"
        name = words[key].format(name=parent.name, weight=short(parent.weight))
        rows.append((name, value, products, _share(shares[i]), odds))
        if factors <= MOST_FACTORS:  # beyond that, attributes are not computed
            factors += 1 + len(parent.attributes)
        if place == 0 or factors <= MOST_FACTORS:
            rows += _factors(e, parent, order, words)
            folds = folds or bool(parted(e, parent.attributes)[1])
        else:
            bare += 1
    return rows, Blocks(bare, folds)


def _factors(e: Explanation, parent: SuperParent, order: Sequence[int], words: WordList) -> list[Row]:
    first = f"  P({e.target}, {parent.name})"
    lines: list[tuple[str, str, tuple[PageFactor, ...]]] = [(first, "", parent.first)]
    telling, neutral = parted(e, parent.attributes)
    lines += [(f"  {a.name}", value_text(a.value, a.as_missing, words), a.factors) for a in telling]
    if neutral:
        lines.append((f"  {_folded_name(e, len(neutral), words)}", "", product_of(neutral)))
    return [
        (name, value, tuple(cell_text(factors[k]) for k in order), "", e.odds_of(factors))
        for name, value, factors in lines
    ]


def _share(share: float) -> str:
    """Write a share of the sum in per cent.

    >>> _share(0.25), _share(0.0004)
    ('25.0%', '<0.1%')
    """
    return f"{100.0 * share:.1f}%" if share >= 0.001 or share == 0.0 else "<0.1%"


def name_text(name: object, separator: str = ", ") -> str:
    """Write the name of an attribute, or the names of several taken together."""
    return separator.join(map(str, name)) if isinstance(name, tuple) else str(name)


def value_text(value: object, as_missing: bool, words: WordList) -> str:
    """Write a value, or several together, and mark missing values.

    Examples
    --------
    >>> words = words_of("en")
    >>> value_text(None, True, words), value_text("mauve", True, words), value_text((0.5, "a"), False, words)
    ('missing', 'mauve (as missing)', '0.5, a')
    """
    if value is None:
        return words["missing"]
    if as_missing:
        return words["treated"].format(value=value)
    parts = value if isinstance(value, tuple) else (value,)
    shown = (words["missing"] if v is None else number(v) if isinstance(v, float) else str(v) for v in parts)
    return words.join(shown)


def attribute_text(attribute: Attribute, words: WordList) -> str:
    """Write the value of an attribute, what was summed over for it, and the parents it is given.

    Examples
    --------
    >>> texture = Attribute("纹理", "清晰", "table", (), given=(("脐部", "凹陷"),))
    >>> attribute_text(texture, words_of("zh"))
    '清晰 | 脐部=凹陷'
    """
    text = value_text(attribute.value, attribute.as_missing, words)
    if attribute.given:
        parents = (f"{name}={value_text(value, False, words)}" for name, value in attribute.given)
        text += f" | {words.join(parents)}"
    return f"{text} (Σ {name_text(attribute.summed, words.join(['', '']))})" if attribute.summed else text


def cell_text(factor: PageFactor) -> str:
    """Write a factor: the arithmetic, if there is any, and the number."""
    shown = magnitude(factor.log)
    return f"{factor.working} = {shown}" if factor.working else shown


def odds_text(odds: float | None) -> str:
    """Write log-odds with their sign.

    >>> odds_text(0.6931), odds_text(float("-inf")), odds_text(None)
    ('+0.693', '−∞', '–')
    """
    if odds is None or math.isnan(odds):
        return "–"
    if math.isinf(odds):
        return "+∞" if odds > 0 else "−∞"
    shown = f"{odds:+.3g}" if abs(odds) >= 0.0005 else "0"
    return shown.replace("-", "−")


# Explanations as HTML: limited in size for notebooks, complete in ``to_html``.

# The maximum number of tables of a network explanation. The last one is the posterior.
MOST_TABLES = 16

_WORDS = WordList(
    {
        "rest": "to_html() has all of them.",
        "least": "… {n:,} more attributes with the smallest contributions not shown. to_html() has all of them.",
        "tables": "… {n:,} more tables not shown. to_html() has all of them.",
    }
)


def explanation_html(explanation: Explanation, whole: bool = False) -> Html:
    """Return an explanation as HTML: the answer, the waterfall and the table.

    Of many attributes, a notebook shows only the most influential.
    """
    e, page = explanation, explanation.page()
    words = _WORDS.of(e.lang)
    if not whole and len(page.rows) > MOST_ROWS and e.average is None and e.runner_up is not None:
        page = _strongest(e, page)
    chart = chart_html(e)
    if chart is not None:
        title, page = page.title, replace(page, title=words_of(e.lang)["steps"])
    table = as_html(page, whole=whole, lang=e.lang, rest=words["rest"])
    return (
        table
        if chart is None
        else join([tag("p", tag("strong", shorter(title, LONGEST_CELL))), chart, table])
    )


def chart_html(explanation: Explanation) -> Html | None:
    """Return the waterfall of an explanation; None if there is only one class, or all are impossible."""
    if explanation.runner_up is None or explanation.impossible:
        return None
    return explanation.waterfall().picture().figure()


def network_explanation_html(explanation: NetworkExplanation, whole: bool = False) -> Html:
    """Return a network explanation as HTML: the heading, its factors and sums, the posterior."""
    from bayeskit._report.network_explanation import pages_of

    lines, pages = pages_of(explanation)
    words = _WORDS.of(explanation.lang)
    beyond = 0 if whole else max(len(pages) - MOST_TABLES, 0)
    shown = [*pages[: len(pages) - 1 - beyond], pages[-1]]
    how: dict[str, Any] = {"whole": whole, "lang": explanation.lang, "rest": words["rest"]}
    made = [as_html(replace(page, names=first), **how) for page, first in shown]
    if beyond:
        made.insert(-1, tag("p", words["tables"].format(n=beyond)))
    return join([paragraphs(lines), *made], "\n")


def _strongest(e: Explanation, page: DisplayTable) -> DisplayTable:
    """Keep the first attributes, which weigh most, and all other rows."""
    n, first = len(parted(e, e.attributes)[0]), 1  # the first row is the prior's
    kept = min(n, MOST_ROWS - (len(page.rows) - n))
    rows = (*page.rows[: first + kept], *page.rows[first + n :])
    note = _WORDS.of(e.lang)["least"].format(n=n - kept)
    return replace(page, rows=rows, notes=(note, *page.notes))
