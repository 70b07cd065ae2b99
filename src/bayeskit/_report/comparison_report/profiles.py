"""Profiles of columns as values, and as a table of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit._markup import Html, join, tag
from bayeskit._report.comparison_report.cautions import percent
from bayeskit._report.comparison_report.comparison import Comparison, Measure
from bayeskit._report.comparison_report.comparison_words import WORDS
from bayeskit._report.comparison_report.sections import meter, numbers_table
from bayeskit._report.information_table import InformationTable
from bayeskit.typing import Floats

# The classes whose distributions are drawn, the most frequent ones; pairs of columns that are listed, and how close
# they are at least.
MOST_CLASSES, MOST_RELATIONS, CLOSE = 4, 12, 0.1


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """One column.

    Attributes
    ----------
    name : str
    distinct : int
        The number of different values in the rows looked at.
    missing, rows : int
        Of the rows looked at.
    labels : tuple of str or None
        The values or intervals; None stands for all rarer values.
    shares : array of shape (classes, values)
        How often each occurs in a class.
    middle : (least, median, greatest) or None
    importance : Measure or None
        How much the log-loss of the chosen model grows if the column is shuffled; None if that was not tried.
    """

    name: str
    distinct: int
    missing: int
    rows: int
    labels: tuple[str | None, ...]
    shares: Floats
    middle: tuple[float, ...] | None
    importance: Measure | None


@dataclass(frozen=True)
class Relation:
    """What two columns tell about each other: I(X; Y) / min(H(X), H(Y)), less what chance would make it."""

    first: str
    second: str
    share: float


def importance_html(
    found: Comparison, information: InformationTable, profiles: Sequence[ColumnProfile], most: int
) -> Html:
    """Return the columns that the chosen model depends on most, beside what each tells by itself."""
    words = WORDS.of(found.lang)
    told = {str(row.name): row for row in information.rows}
    known = [each for each in profiles if each.importance is not None]
    known.sort(key=lambda each: -_value(each))
    top = max((_value(each) for each in known), default=0.0) or 1.0
    most_told = max((row.information for row in information.rows), default=0.0) or 1.0
    lines = []
    for each in known[:most]:
        row, owed = told.get(each.name), each.importance
        spread = "" if owed is None or owed.deviation is None else f" ± {owed.deviation:.4f}"
        cells: list[object] = [each.name, meter(max(_value(each), 0.0) / top, f"{_value(each):.6f}")]
        cells += [f"{_value(each):.4f}{spread}"]
        if row is not None:
            cells += [meter(row.information / most_told, f"{row.information:.6f}"), f"{row.share:.1%}"]
        lines.append(cells)
    headers = [words[key] for key in ("attribute", "importance_of", "adds", "information", "of_all")]
    return numbers_table(headers, lines, 2)


def _value(profile: ColumnProfile) -> float:
    # Rounded to what is shown, so that nothing is "-0.0000".
    return 0.0 if profile.importance is None else round(profile.importance.value, 4) + 0.0


def profiles_html(found: Comparison, profiles: Sequence[ColumnProfile]) -> Html:
    """Return a table of all columns: their distributions by class, distinct and missing values."""
    words = WORDS.of(found.lang)
    order = np.argsort(-np.array(found.class_counts), kind="stable")[:MOST_CLASSES].tolist()
    headers = [words[key] for key in ("column", "values_by_class", "distinct", "missing", "typical")]
    lines = []
    for each in profiles:
        missing = f"{each.missing:,} ({percent(each.missing / each.rows)})" if each.missing else "0"
        if each.middle is not None:
            typical = " … ".join(f"{value:.4g}" for value in each.middle)
        else:
            typical = words["separator"].join(label for label in each.labels[:3] if label is not None)
        lines.append((each.name, _bars(found, each, sorted(order)), f"{each.distinct:,}", missing, typical))
    key = [
        tag("span", tag("span", cls=f"c{i}"), str(found.classes[k]), cls="key")
        for i, k in enumerate(sorted(order))
    ]
    return join([tag("p", *key, cls="keys"), numbers_table(headers, lines, 2)])


def _bars(found: Comparison, profile: ColumnProfile, classes: Sequence[int]) -> Html:
    words, top = WORDS.of(found.lang), max(float(profile.shares[classes].max(initial=0.0)), 1e-9)
    groups = []
    for j, label in enumerate(profile.labels):
        shown = words["others_short"] if label is None else label
        said = "; ".join(f"{found.classes[k]}: {profile.shares[k, j]:.1%}" for k in classes)
        bars = [
            tag("span", cls=f"c{i}", attributes=f'style="height:{100 * profile.shares[k, j] / top:.0f}%"')
            for i, k in enumerate(classes)
        ]
        groups.append(tag("span", *bars, title=f"{shown}: {said}"))
    return tag("span", *groups, cls="spark")


def relations_html(found: Comparison, relations: Sequence[Relation]) -> Html:
    """Return the pairs of columns that tell most about each other."""
    words = WORDS.of(found.lang)
    close = [each for each in relations if each.share >= CLOSE][:MOST_RELATIONS]
    if not close:
        return tag("p", words["no_relations"], cls="faint")
    lines = [
        (each.first, each.second, meter(each.share, f"{each.share:.3f}"), f"{each.share:.0%}")
        for each in close
    ]
    headers = [words["column"], words["column"], "", words["relation"]]
    return join([tag("p", words["relations_text"], cls="faint"), numbers_table(headers, lines, 3)])
