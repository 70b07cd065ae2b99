"""The rows of a page that is an average: every super-parent with its share, the first ones with their factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bayeskit.report.cells import cell_text, value_text
from bayeskit.report.explanation import Explanation, Factor
from bayeskit.report.factors.average import Average, SuperParent
from bayeskit.report.fractions import magnitude, short

# How many rows of factors are shown; the first super-parent always has its own.
MOST_ROWS = 24

# Name, value, what stands under each class shown, the share of the sum, the log-odds.
Row = tuple[str, str, tuple[str, ...], str, float | None]


def average_rows(
    e: Explanation, average: Average, order: Sequence[int], words: Mapping[str, str]
) -> tuple[list[Row], int]:
    """Return the rows, the super-parent of the largest share first, and how many are shown without factors."""
    shares = average.shares(order[0])
    ranked = sorted(range(len(shares)), key=lambda i: (-shares[i], i))
    rows: list[Row] = []
    factors, folded = 0, 0
    for place, i in enumerate(ranked):
        parent = average.super_parents[i]
        products = tuple(magnitude(parent.log_products[k]) for k in order)
        odds = e.odds_of(tuple(map(Factor, parent.log_products)))
        value = value_text(parent.value, False, words)
        key = "super_parent" if parent.weight == 1.0 else "super_parent_weighed"
        name = words[key].format(name=parent.name, weight=short(parent.weight))
        rows.append((name, value, products, _share(shares[i]), odds))
        if factors <= MOST_ROWS:  # beyond that the attributes are not even written down
            factors += 1 + len(parent.attributes)
        if place == 0 or factors <= MOST_ROWS:
            rows += _factors(e, parent, order, words)
        else:
            folded += 1
    return rows, folded


def _factors(
    e: Explanation, parent: SuperParent, order: Sequence[int], words: Mapping[str, str]
) -> list[Row]:
    first = f"  P({e.target}, {parent.name})"
    lines: list[tuple[str, str, tuple[Factor, ...]]] = [(first, "", parent.first)]
    for a in parent.attributes:
        lines.append((f"  {a.name}", value_text(a.value, a.as_missing, words), a.factors))
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
