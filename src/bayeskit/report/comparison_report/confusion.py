"""What was taken for what: the confusion matrix as a table whose cells are as dark as they are full."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.report.comparison_report.comparison import Comparison
from bayeskit.report.comparison_report.markup import Html, filled, join, tag
from bayeskit.report.comparison_report.words import WORDS

# The most frequent classes have a line of their own, the others share one.
MOST_CLASSES = 12


def confusion_matrix(truth: NDArray[np.intp], said: NDArray[np.intp], n: int) -> NDArray[np.int64]:
    """Count the rows of each class (down) by what was said (across).

    >>> confusion_matrix(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    return np.bincount(truth * n + said, minlength=n * n).reshape(n, n)


def confusion_html(found: Comparison) -> Html:
    """Return the section under its heading."""
    words, held = WORDS[found.lang], found.held
    n = len(found.classes)
    counts = confusion_matrix(held.truth, held.posterior.argmax(axis=1), n)
    labels = [str(label) for label in found.classes]
    if n > MOST_CLASSES:
        order = np.argsort(-counts.sum(axis=1), kind="stable")[: MOST_CLASSES - 1]
        group = np.full(n, len(order))
        group[order] = np.arange(len(order))
        folded = np.zeros((len(order) + 1, len(order) + 1), dtype=np.int64)
        np.add.at(folded, (group[:, None], group[None, :]), counts)
        # Rare classes taken for each other are mistakes, and stand with what was not found.
        counts, labels = folded, [*(labels[k] for k in order), words["others"]]
    totals = np.maximum(counts.sum(axis=1), 1)
    head = tag(
        "tr", tag("th", f"{words['truth']} \\ {words['said']}"), *(tag("th", label) for label in labels)
    )
    lines = []
    for i, label in enumerate(labels):
        cells = [_cell(int(counts[i, j]), counts[i, j] / totals[i], i == j) for j in range(len(labels))]
        lines.append(tag("tr", tag("th", label), *cells))
    made = tag("table", tag("thead", head), tag("tbody", *lines), cls="matrix")
    text = tag("p", filled(words["confusion_text"], pick=found.picked.name), cls="faint")
    return join([text, tag("div", made, cls="wide")])


def _cell(count: int, share: float, right: bool) -> Html:
    shown = tag("small", f"{share:.0%}") if count else ""
    kind = "hit" if right else "miss"
    # Never so dark that the number on it could not be read.
    return tag("td", f"{count:,} ", shown, cls=kind, attributes=f'style="--share:{0.55 * float(share):.2f}"')
