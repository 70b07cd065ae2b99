"""The summary of a fitted model as one page: sections for text and HTML, and plain values for JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayeskit._display_table import DisplayTable, as_html, as_text, display_width
from bayeskit._markup import framed, tag
from bayeskit._messages import WordList
from bayeskit._report.words import words_of
from bayeskit._visible import json_text, shorter

# The attributes, nodes or components that a page shows; the values have all of them.
MOST_SHOWN = 30
# The states of an attribute that are listed.
MOST_STATES = 6

WORDS = WordList(
    {
        "title": "{model}, {rows:g} rows, target {target}",
        "title_lazy": "{model}, lazy, target {target}",
        "title_network": "{model}: {nodes:,} nodes, {arcs:,} arcs",
        "title_factors": "{model}: {nodes:,} variables, {factors:,} factors",
        "title_mixture": "{model}: {components:,} components, {attributes:,} attributes",
        "data": "Data",
        "classes": "Classes",
        "attributes": "Attributes, the most informative first",
        "fit": "Fit, each row predicted from all others (leave-one-out)",
        "calibration": "Calibration of the predicted class (leave-one-out)",
        "warnings": "Warnings",
        "nodes": "Nodes",
        "factors": "Factors, the largest first",
        "components": "Components",
        "rows": "rows",
        "weight": "weight of all rows",
        "learned": "last learned",
        "source": "source",
        "saved": "file written",
        "read_as": "read as",
        "separator_of": "separator {sign!r}",
        "marks_of": "missing in {column}: {marks}",
        "left_out_of": "left out: {names}",
        "missing": "missing",
        "parameters": "parameters",
        "all_default": "all at their defaults",
        "held": "chosen from rows, held",
        "held_bias": "biases",
        "held_calibration": "calibration",
        "held_chosen_from": "sample of rows",
        "held_coding": "coding of the columns",
        "held_completion": "completion of rows without a class",
        "held_cut_points": "cut points",
        "held_interactions": "interactions",
        "held_k": "number of parents",
        "held_loo_score": "leave-one-out score",
        "held_losses": "losses",
        "held_members": "members",
        "held_scores": "scores",
        "held_stopped_early": "time limit",
        "held_structure": "structure",
        "held_super_parent": "super-parent",
        "held_super_parents": "super-parents",
        "held_temperatures": "temperatures",
        "held_trees": "trees",
        "held_views": "views",
        "held_weights": "weights",
        "held_word_weights": "word weights",
        "class": "class",
        "share": "share",
        "prior": "prior",
        "attribute": "attribute",
        "kind": "kind",
        "values": "values",
        "information": "I(X;Y)",
        "of_class": "of H(Y)",
        "categorical": "categories",
        "numeric": "numbers",
        "intervals": "intervals",
        "block": "counts",
        "text": "text",
        "words": "{n:,} words",
        "columns": "{n:,} columns",
        "more_attributes": "{n:,} more attributes; to_dict() has them.",
        "more_nodes": "{n:,} more nodes; to_dict() has them.",
        "nats": "I(X;Y): mutual information with the class in nats, corrected for chance.",
        "log_loss": "log-loss",
        "error": "error",
        "brier": "Brier score",
        "baseline": "without attributes",
        "model": "this model",
        "needs_rows": "The counts do not show this. Pass the training rows: summary(X, y).",
        "optimistic": "{names} chosen from all rows, including the left-out ones: slightly optimistic.",
        "no_leave_one_out": "Not computed: {why}",
        "predicted": "predicted",
        "observed": "right",
        "ece": "mean gap (ECE)",
        "calibrated_by": "After calibration by {method}.",
        "few_rows": "{label}: only {n:g} rows; its probabilities are rough.",
        "one_class": "There is only one class, so every prediction is {label}.",
        "no_rows": "No row is counted.",
        "informative": "{name} alone has {share} of the information about {target}. Was it known before the "
        "outcome?",
        "telling": "{name} alone predicts {target} in {share} of the training rows. Was it known before the outcome?",
        "sparse": "{n:,} of {cells:,} cells of the tables have fewer than 5 rows; smoothing dominates there.",
        "unseen": "{name}: about {share} of new rows will have a value not seen before.",
        "mostly_missing": "{name}: {share} missing.",
        "constant": "Constant, so without effect: {names}.",
        "node": "node",
        "parents": "parents",
        "cells": "cells",
        "states": "states",
        "fewest": "fewest rows",
        "parameters_free": "free parameters",
        "fewest_note": "fewest rows: of all configurations of the parents, the one with the fewest rows.",
        "fewest_unknown": "The counts behind the tables are unknown: only a network fitted with fit() has them.",
        "unsupported": "{name}: {n:,} of {cells:,} configurations of its parents have fewer than 5 rows.",
        "no_table": "No distribution yet: {names}.",
        "factor": "factor",
        "component": "component",
        "log_likelihood": "log-likelihood a row",
        "iterations": "steps of EM",
        "converged": "converged",
        "yes": "yes",
        "no": "no",
        "collapsed": "Components on a single point: {names}.",
        "not_converged": "EM stopped before it converged. Raise max_iter.",
        "separator": ", ",
    }
)


@dataclass(frozen=True)
class Summary:
    """What a model is and what it has learned. Print it, or show it in a notebook.

    Attributes
    ----------
    title : str
    sections : tuple of DisplayTable
    warnings : tuple of str
    values : dict
        Everything as plain values.

    Examples
    --------
    >>> page = Summary("A model", (DisplayTable("Data", (), (("rows", "3"),)),), ("Few rows.",), {"rows": 3})
    >>> print(page)
    A model
    =======
    <BLANKLINE>
    Data
    rows  3
    <BLANKLINE>
    Warnings
    Few rows.
    >>> page.to_json()
    '{"rows": 3}'
    """

    title: str
    sections: tuple[DisplayTable, ...]
    warnings: tuple[str, ...]
    values: Mapping[str, Any]
    lang: str = "en"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON, with all attributes in the order of the columns."""
        return dict(self.values)

    def to_json(self, indent: int | None = None) -> str:
        """Return :meth:`to_dict` as JSON."""
        return json_text(self.to_dict(), indent)

    def to_html(self) -> str:
        """Return the page as HTML without scripts, in the look of the report."""
        return self._repr_html_()

    def _repr_html_(self) -> str:
        words = WORDS.of(self.lang)
        parts = [tag("p", tag("strong", shorter(self.title, 200)))]
        if self.warnings:
            said = [tag("li", shorter(text, 400)) for text in self.warnings]
            parts += [tag("p", tag("strong", words["warnings"])), tag("ul", *said)]
        return framed(*parts, *(as_html(section, lang=self.lang) for section in self.sections))

    def __str__(self) -> str:
        words = WORDS.of(self.lang)
        blocks = ["\n".join([self.title, "=" * display_width(self.title)])]
        blocks += [_text(section) for section in self.sections]
        if self.warnings:
            blocks.append("\n".join([words["warnings"], *self.warnings]))
        return "\n\n".join(blocks)


def _text(section: DisplayTable) -> str:
    # A page of several tables has the title right above each.
    return re.sub("\n\n+", "\n", as_text(section))


def summary_words(lang: str) -> WordList:
    """Return the words of summaries in a language, after checking the language."""
    return words_of(lang, WORDS)


def pairs_section(title: str, rows: Iterable[tuple[str, str]], notes: Sequence[str] = ()) -> DisplayTable:
    """Return a section of names and values; pairs without a value are left out."""
    kept = tuple((name, value) for name, value in rows if value)
    return DisplayTable(title, (), kept, (), tuple(notes), of_texts=True)


def percent(share: float) -> str:
    """Write a share in per cent.

    >>> percent(0.1234), percent(0.0), percent(0.00001)
    ('12.3%', '0%', '<0.1%')
    """
    return "0%" if share == 0.0 else "<0.1%" if share < 0.001 else f"{100.0 * share:.3g}%"


def number(value: float) -> str:
    """Write a number in a few digits.

    >>> number(8124.0), number(0.123456), number(-1.5)
    ('8,124', '0.1235', '−1.5')
    """
    if math.isfinite(value) and value == round(value) and abs(value) < 1e15:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")
