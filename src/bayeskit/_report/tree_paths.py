r"""The paths of one row through trees: the tests, the counts at the nodes, and how they back off.

.. math:: p_v(c) = \frac{n_v(c) + s\, p_u(c)}{N_v + s}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayeskit._conditionals.tree_posteriors import TreePosteriors
from bayeskit._counting.count_trees import binned, stops_of
from bayeskit._data.encoded import Chunk
from bayeskit._display_table import DisplayTable, as_text, notebook_html
from bayeskit._messages import WordList
from bayeskit._report.words import words_of
from bayeskit._schema import Label
from bayeskit._statistics.tree_counts import MISSING, Trees
from bayeskit._visible import visible

_WORDS = WordList(
    {
        "root": "all rows",
        "missing": "{name} is missing",
        "present": "{name} is there",
        "in": "{name} in {states}",
        "not in": "{name} not in {states}",
        "tree": "Tree {t}",
        "others": "the other {n} trees",
        "mean": "mean",
        "power": "posterior, to the power {power:g}",
        "title": "Counts and posteriors of {classes}",
        "posterior": "posterior",
    }
)
# If there are more states than this, only some are named.
_MOST_STATES = 6


@dataclass(frozen=True)
class TreeStep:
    """A node on a path: the test that led to it, n(c) of all rows that passed it, and its posterior."""

    test: str
    counts: tuple[float, ...]
    posterior: tuple[float, ...]


@dataclass(frozen=True)
class TreePath:
    """The path of a row through one tree, from the root to the node at which it stops."""

    tree: int
    steps: tuple[TreeStep, ...]

    @property
    def posterior(self) -> tuple[float, ...]:
        return self.steps[-1].posterior


@dataclass(frozen=True)
class TreePaths:
    """The paths of one row through trees: some in full, the others combined. Together they give the mean.

    Attributes
    ----------
    classes : labels
    paths : tuple of TreePath
        The paths with the largest posterior of the predicted class, in descending order.
    n_trees : int
    others : the mean posterior of the other trees; None if there are none
    mean : the mean of all trees
    power : the power to which the mean is raised
    posterior : the posterior of the forest
    """

    classes: tuple[Label, ...]
    paths: tuple[TreePath, ...]
    n_trees: int
    others: tuple[float, ...] | None
    mean: tuple[float, ...]
    power: float
    posterior: tuple[float, ...]
    lang: str = "en"

    def __str__(self) -> str:
        return as_text(self._table())

    def _repr_html_(self) -> str:
        return notebook_html(self._table(), lang=self.lang)

    def _table(self) -> DisplayTable:
        words = _WORDS.of(self.lang)
        rows: list[tuple[str, ...]] = []
        for path in self.paths:
            rows.append((words["tree"].format(t=path.tree),))
            rows += [
                ("  " * depth + step.test, _numbers(step.counts), _shares(step.posterior))
                for depth, step in enumerate(path.steps, 1)
            ]
        others = words["others"].format(n=self.n_trees - len(self.paths))
        totals = [] if self.others is None else [(others, "", _shares(self.others))]
        totals.append((words["mean"], "", _shares(self.mean)))
        totals.append((words["power"].format(power=self.power), "", _shares(self.posterior)))
        title = words["title"].format(classes=words.join(self.classes))
        return DisplayTable(title, ("", "n", words["posterior"]), tuple(rows), tuple(totals))


def _numbers(counts: Sequence[float]) -> str:
    return ", ".join(f"{n:g}" for n in counts)


def _shares(shares: Sequence[float]) -> str:
    return ", ".join(f"{p:.4f}" for p in shares)


def tree_paths(
    conditional: TreePosteriors, row: Chunk, labels: Sequence[Label], most: int, lang: str
) -> TreePaths:
    """Follow one row through every tree, and return the strongest paths."""
    words_of(lang)
    trees, k = conditional.trees, len(labels)
    rows, stop = binned(row, conditional.schema, trees), np.empty(1, np.int64)
    ends = np.empty(trees.n_trees, np.int64)
    for t in range(trees.n_trees):
        stops_of(rows, trees, t, stop)
        ends[t] = stop[0]
    every = [_way(conditional, int(end), k) for end in ends]
    posteriors = np.array([shares[-1] for _, _, shares in every])
    mean = posteriors.mean(axis=0)
    power = mean**trees.power
    strength = posteriors[:, power.argmax()]
    shown = np.argsort(-strength, kind="stable")[:most]
    rest = np.setdiff1d(np.arange(trees.n_trees), shown)
    paths = []
    for t in shown.tolist():
        nodes, counts, shares = every[t]
        tests = [_WORDS.of(lang)["root"], *(_test(trees, t, v, rows, w, lang) for v, w in pairwise(nodes))]
        steps = (TreeStep(test, tuple(n), tuple(p)) for test, n, p in zip(tests, counts, shares, strict=True))
        paths.append(TreePath(t, tuple(steps)))
    return TreePaths(
        tuple(labels), tuple(paths), trees.n_trees,
        tuple(posteriors[rest].mean(axis=0).tolist()) if len(rest) else None,
        tuple(mean.tolist()), trees.power, tuple((power / power.sum()).tolist()), lang,
    )  # fmt: skip


def _way(conditional: TreePosteriors, end: int, k: int) -> tuple[list[int], list[Any], list[Any]]:
    """Return the nodes from the root to an end, their counts and their posteriors."""
    nodes = [end]
    while conditional.trees.parents[nodes[0]] >= 0:
        nodes.insert(0, int(conditional.trees.parents[nodes[0]]))
    share, counts, shares = conditional.prior.share, [], []
    for node in nodes:
        n = conditional.nodes.node(node, k)
        share = (n + conditional.constant * share) / (n.sum() + conditional.constant)
        counts.append(n.tolist())
        shares.append(share.tolist())
    return nodes, counts, shares


def _test(trees: Trees, t: int, node: int, rows: Any, child: int, lang: str) -> str:
    """Write the test that leads from a node to its child."""
    words, column, bound = _WORDS.of(lang), int(trees.features[node]), int(trees.bounds[node])
    name = visible(trees.names[column])
    left = child == node + 1
    if column < len(trees.numeric):
        if rows.numbers[0, column] == MISSING:
            return words["missing"].format(name=name)
        cuts = trees.cuts[column]
        # If all values pass, the test separates rows with a value from rows without one.
        if bound >= len(cuts):
            return words["present"].format(name=name)
        return f"{name} {'≤' if left else '>'} {cuts[bound]:g}"
    j = column - len(trees.numeric)
    if rows.tables[t, rows.offsets[j] + int(rows.codes[0, j])] == MISSING:
        return words["missing"].format(name=name)
    begin = sum(map(len, trees.states[:j]))
    ranks = trees.ranks[t, begin : begin + len(trees.states[j])]
    inside = [visible(state) for state, rank in zip(trees.states[j], ranks, strict=True) if rank <= bound]
    some = words.join([*inside[:_MOST_STATES], *(["…"] if len(inside) > _MOST_STATES else [])])
    return words["in" if left else "not in"].format(name=name, states=f"{{{some}}}")
