"""What the report has besides the table: the chosen model, its arcs, profiles of columns, three explained rows."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._comparison import candidates
from bayeskit._comparison.trials import LEAST_PROBABILITY
from bayeskit._data.suspect_columns import is_present
from bayeskit._fitting.with_parents import Tree
from bayeskit._report.comparison_report.comparison import Comparison, Measure
from bayeskit._report.comparison_report.comparison_page import ExplainedRow, Findings
from bayeskit._report.comparison_report.sections import ColumnProfile, Relation
from bayeskit._report.information_table import information_beyond_chance
from bayeskit._schema import Name, Schema
from bayeskit._version import __version__
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._comparison.comparison_run import ComparisonRun


def findings_of(
    run: ComparisonRun,
    comparison: Comparison,
    command: str,
    next_lines: Sequence[str],
    loss_path: str | None,
) -> Findings:
    """Collect the content of the report."""
    counts, structure, kind = _arcs(run, comparison)
    # A model of fewer attributes tells nothing of the others.
    told = run.first if comparison.uncounted_pairs is not None else counts
    information = None if told is None else information_beyond_chance(told, lang=comparison.lang)
    columns: tuple[ColumnProfile, ...] = ()
    relations: tuple[Relation, ...] = ()
    if information is not None:
        columns, relations = profiles(run, comparison.pick, [row.name for row in information.rows])
    return Findings(
        comparison,
        information,
        structure,
        kind,
        () if kind == "network" or counts is None else _of_one_value(counts.schema_),
        _three_rows(run, comparison),
        command,
        versions(run.settings.baselines),
        tuple(next_lines),
        loss_path,
        columns,
        relations,
    )


def versions(with_baselines: bool) -> dict[str, str]:
    """Return the versions of the packages that were used."""
    found = {"bayeskit": __version__, "Python": platform.python_version(), "NumPy": np.__version__}
    return {**found, "scikit-learn": version("scikit-learn")} if with_baselines else found


def _arcs(run: ComparisonRun, comparison: Comparison) -> tuple[Any, Mapping[Name, Sequence[Name]], str]:
    """Return a model for the information of attributes, the arcs to draw, and the origin of the arcs.

    If all attributes are text, there is no such model.
    """
    pick = comparison.pick
    if run.first is None:
        return None, {}, "tree"
    if pick in candidates.STRUCTURED:
        model = run.fitted(pick, sample=True)
        return model, model.structure_, "own"
    # Where the counts of all pairs do not fit, TAN looks at the most telling attributes.
    counts = run.fitted("tan", sample=True) if run.shape.fits(2) or run.shape.fits_in_part(2) else run.first
    if pick == candidates.NETWORK:
        return counts, run.fitted(pick, sample=True).network_._network.dag.as_mapping(), "network"
    if counts is run.first:
        return counts, {}, "tree"
    # Without a penalty every attribute would depend on the one with the most values.
    return counts, Tree(criterion="bic").graph(counts.statistics_).as_mapping(), "tree"


def _of_one_value(schema: Schema) -> tuple[Name, ...]:
    """Return the attributes with a single value, such as numbers that were not cut: they show no dependence."""
    return tuple(v.name for v in schema.categorical if v.cuts is not None and v.size < 2)


def _three_rows(run: ComparisonRun, comparison: Comparison) -> tuple[ExplainedRow, ...]:
    """Explain three rows: the most certain correct one, the least certain one, and the worst mistake."""
    held = comparison.held
    top, said = held.posterior.max(axis=1), held.posterior.argmax(axis=1)
    of_truth = held.posterior[np.arange(len(said)), held.truth]
    wrong = said != held.truth
    chosen: list[tuple[str, int]] = []
    if not wrong.all():
        chosen.append(("surest", int(np.where(wrong, -1.0, top).argmax())))
    chosen.append(("doubtful", int(top.argmin())))
    if wrong.any():
        chosen.append(("worst", int(np.where(wrong, of_truth, 2.0).argmin())))
    shown = []
    for kind, i in chosen:
        page = run.explained(comparison.pick, i, comparison.losses)
        if page is None:
            continue
        truth, answer = comparison.classes[int(held.truth[i])], comparison.classes[int(said[i])]
        label = int(held.truth[i] if kind == "worst" else said[i])
        p, rest = float(held.posterior[i, label]), float(np.delete(held.posterior[i], label).sum())
        shown.append(ExplainedRow(kind, int(held.rows[i]), truth, answer, p, rest, page))
    return tuple(shown)


Codes = NDArray[np.intp]
# The bars of a distribution: intervals of equal width, or the most frequent words and one for the others.
BARS = 8
# Rows that are looked at, columns that are compared with each other, and columns that are shuffled.
MOST_ROWS, MOST_PAIRED, MOST_SHUFFLED = 10_000, 60, 40
# The folds whose models are asked, and the test rows of each.
FOLDS_ASKED, ROWS_ASKED = 3, 1_000


def profiles(
    run: ComparisonRun, key: str, telling: Sequence[Name]
) -> tuple[tuple[ColumnProfile, ...], tuple[Relation, ...]]:
    """Return the profile of each column, the most telling first, and what pairs of columns tell about each other.

    Parameters
    ----------
    key : the model whose importance is measured
    telling : columns, those that tell most about the class first
    """
    rows = slice(min(run.loaded.n_learned, MOST_ROWS))
    columns = run.loaded.take(rows, texts=False)
    truth = np.searchsorted(run.classes, run.loaded.y[rows])
    owed = importance(run, key, [name for name in telling if name in columns][:MOST_SHUFFLED])
    made = tuple(
        _profile(name, columns[name], truth, len(run.classes), owed.get(name))
        for name in telling
        if name in columns
    )
    paired = {name: _codes(columns[name]) for name in telling[:MOST_PAIRED] if name in columns}
    return made, relations(paired)


def _profile(
    name: Name, cells: NDArray[Any], truth: Codes, classes: int, owed: Measure | None
) -> ColumnProfile:
    present = is_present(cells)
    known = cells[present]
    if len(known) and known.dtype.kind in "iuf":
        numbers = known.astype(np.float64)
        low, high = np.quantile(numbers, [0.01, 0.99]).tolist()
        edges = np.linspace(low, high, BARS + 1) if high > low else np.array([low, low + 1.0])
        codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
        labels: tuple[str | None, ...] = tuple(f"{a:.4g} – {b:.4g}" for a, b in pairwise(edges.tolist()))
        middle: tuple[float, ...] | None = tuple(np.quantile(numbers, [0.0, 0.5, 1.0]).tolist())
    else:
        words, counts = np.unique(known.astype(str), return_counts=True)
        top = np.argsort(-counts, kind="stable")
        place = np.empty(len(words), dtype=np.intp)
        place[top] = np.arange(len(words))
        more = len(words) > BARS
        codes = np.minimum(place[np.searchsorted(words, known.astype(str))], BARS - 1 if more else len(words))
        labels = tuple(words[top][: BARS - 1 if more else BARS].tolist())
        labels = (*labels, None) if more else labels
        middle = None
    counts_by_class = np.zeros((classes, max(len(labels), 1)))
    np.add.at(counts_by_class, (truth[present], codes), 1.0)
    shares = counts_by_class / np.maximum(counts_by_class.sum(axis=1, keepdims=True), 1.0)
    distinct = len(set(known.tolist()))
    return ColumnProfile(str(name), distinct, int((~present).sum()), len(cells), labels, shares, middle, owed)


def _codes(cells: NDArray[Any]) -> Codes:
    """Number the values of a column for counting pairs: few intervals of equal frequency, or the frequent words."""
    present = is_present(cells)
    codes = np.zeros(len(cells), dtype=np.intp)
    known = cells[present]
    if len(known) and known.dtype.kind in "iuf":
        numbers = known.astype(np.float64)
        cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, BARS + 1)[1:-1]))
        codes[present] = 1 + np.searchsorted(cuts, numbers, side="right")
    elif len(known):
        _, inverse, counts = np.unique(known.astype(str), return_inverse=True, return_counts=True)
        rank = np.empty(len(counts), dtype=np.intp)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
        codes[present] = 1 + np.minimum(rank[inverse], BARS)
    return codes


def relations(codes: Mapping[Name, Codes]) -> tuple[Relation, ...]:
    r"""Return what pairs of columns tell about each other, the closest pair first.

    The measure is (I(X; Y) − e) / (min(H(X), H(Y)) − e), from 0 to 1, where e is what chance would make of I(X; Y):
    (r − 1)(s − 1)/2n for r and s values in n rows.

    Examples
    --------
    >>> x = np.arange(100) % 4
    >>> [(each.first, each.second, each.share) for each in relations({"x": x, "y": x // 2, "z": x[::-1]})]
    [('x', 'y', 1.0), ('x', 'z', 1.0), ('y', 'z', 1.0)]
    """
    names = list(codes)
    sizes = {name: int(cells.max(initial=0)) + 1 for name, cells in codes.items()}
    entropies = {name: _entropy(np.bincount(cells)) for name, cells in codes.items()}
    found = []
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            both = np.bincount(codes[one] * sizes[other] + codes[other])
            told = entropies[one] + entropies[other] - _entropy(both)
            seen = [len(np.unique(codes[name])) - 1 for name in (one, other)]
            chance = seen[0] * seen[1] / (2.0 * max(len(codes[one]), 1))
            least = min(entropies[one], entropies[other]) - chance
            share = min(max((told - chance) / least, 0.0), 1.0) if least > 0.0 else 0.0
            found.append(Relation(str(one), str(other), round(share, 3)))
    # Of equally close pairs, those of columns that tell more come first.
    return tuple(sorted(found, key=lambda each: -each.share))


def _entropy(counts: NDArray[Any]) -> float:
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log(p)).sum())


def importance(run: ComparisonRun, key: str, names: Sequence[Name]) -> dict[Name, Measure]:
    """Return how much the log-loss of a model grows if a column of the test rows is shuffled, with its deviation.

    The model of a fold is asked about rows that it did not learn from. If two columns tell the same, each is of little
    importance, since the other remains.
    """
    contender, judged = run.contenders[key], run.judged
    if (
        contender.kind != "ours"
    ):  # rows as a user's estimator accepts them cannot be shuffled column by column
        return {}
    folds = judged.parts[: FOLDS_ASKED if key in run.fold_models else 1]
    rng = np.random.default_rng(run.settings.seed)
    grown: dict[Name, list[float]] = {name: [] for name in names}
    for fold, (_, test) in enumerate(folds):
        rows = test if len(test) <= ROWS_ASKED else np.sort(rng.choice(test, ROWS_ASKED, replace=False))
        model, table = run.fold_model(key, fold), run.taken(contender, rows)
        # A model may look at some columns only, and a rare class may be missing from what it learned.
        table = {name: cells for name, cells in table.items() if name in set(model.feature_names_in_)}
        truth = np.searchsorted(model.classes_, run.loaded.y[rows])
        plain = _log_loss(model.predict_proba(table), truth)
        for name in names:
            more = 0.0
            if name in table:
                shuffled = {**table, name: table[name][rng.permutation(len(rows))]}
                more = _log_loss(model.predict_proba(shuffled), truth) - plain
            grown[name].append(more)
    return {
        name: Measure(float(np.mean(each)), float(np.std(each, ddof=1)) if len(each) > 1 else None)
        for name, each in grown.items()
    }


def _log_loss(posterior: Floats, truth: Codes) -> float:
    hit = posterior[np.arange(len(truth)), np.minimum(truth, posterior.shape[1] - 1)]
    return float(-np.log(np.maximum(hit, LEAST_PROBABILITY)).mean())
