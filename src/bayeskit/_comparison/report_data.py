"""The content of the report besides the table: the chosen model, its arcs, three explained rows."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._comparison import candidates
from bayeskit._comparison.column_profiling import profiles
from bayeskit._fitting.with_parents import Tree
from bayeskit._report.comparison_report.comparison import Comparison
from bayeskit._report.comparison_report.comparison_page import Findings, RowShown
from bayeskit._report.comparison_report.profiles import ColumnProfile, Relation
from bayeskit._report.information_table import information_beyond_chance
from bayeskit._schema import Name, Schema
from bayeskit._version import __version__

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


def _three_rows(run: ComparisonRun, comparison: Comparison) -> tuple[RowShown, ...]:
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
        shown.append(RowShown(kind, int(held.rows[i]), truth, answer, p, rest, page))
    return tuple(shown)
