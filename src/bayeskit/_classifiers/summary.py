"""The summary of a classifier: its data, parameters, classes, attributes, fit, calibration and warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bayeskit._classifiers.answer_rows import left_out
from bayeskit._data.source import Source
from bayeskit._display_table import DisplayTable
from bayeskit._report.information_table import chance_information
from bayeskit._report.information_table import information as informed
from bayeskit._report.summary_page import (
    MOST_SHOWN,
    MOST_STATES,
    Summary,
    number,
    pairs_section,
    percent,
    summary_words,
)
from bayeskit._schema import Name, Variable
from bayeskit._statistics.information import entropy
from bayeskit._statistics.statistics import Statistics
from bayeskit._visible import plain, shorter
from bayeskit.errors import BayeskitError
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayeskit._classifiers.count_classifier import CountClassifier

# A class or a cell with fewer rows than this is noted; so is an attribute that tells so much of the class, one of
# which so many new rows will have a new value, and one that is missing so often.
FEW_ROWS, FEW_IN_CELL = 10.0, 5.0
NEARLY_ALL, OFTEN_UNSEEN, OFTEN_MISSING, OFTEN_SPARSE = 0.95, 0.05, 0.5, 0.2
# Chance is computed exactly for so many attributes, the first by plain information.
MOST_CORRECTED = 300
BINS = 10


@dataclass(frozen=True)
class _AttributeFacts:
    """What the page says about one attribute."""

    variable: Variable
    values: str
    missing: float
    information: float | None
    share: float | None
    unseen: float = 0.0
    cells: int = 0
    sparse_cells: int = 0
    is_constant: bool = False

    @property
    def kind(self) -> str:
        if self.variable.cuts is not None:
            return "intervals"
        return "text" if self.variable.vocabulary is not None else self.variable.kind


def summary_of(classifier: CountClassifier, rows: Source | None, lang: str) -> Summary:
    """Return the summary of a fitted classifier; with its training rows, leave-one-out results, too."""
    words = summary_words(lang)
    classifier._reader("summary")
    statistics = classifier.statistics_
    schema, total = statistics.schema, float(statistics.class_counts.sum())
    facts = _all_facts(statistics, words)
    told = {"model": type(classifier).__name__, "target": shorter(schema.target.name)}
    is_lazy = classifier._lazy is not None
    title = words["title_lazy" if is_lazy else "title"].format(rows=total, **told)
    values = _values(classifier, statistics, facts)
    sections = [_data(classifier, total, facts, words), _classes(classifier, statistics, words)]
    sections.append(_attributes(facts, words))
    if is_lazy and rows is None and classifier._lazy is not None:
        rows = classifier._lazy.source
    fit, values["leave_one_out"] = _fit(classifier, statistics, rows, words)
    warned = _warnings(classifier, statistics, facts, words)
    values["warnings"] = warned
    return Summary(title, (*sections, *fit), tuple(warned), values, lang)


def changed_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the parameters that are not at their defaults, as plain values."""
    defaults = type(estimator)().get_params(deep=False)
    changed = {k: v for k, v in estimator.get_params(deep=False).items() if repr(v) != repr(defaults.get(k))}
    return {name: value if isinstance(value, dict) else plain(value) for name, value in changed.items()}


# -- sections ------------------------------------------------------------------------------------


def _data(
    classifier: CountClassifier, total: float, facts: list[_AttributeFacts], words: Mapping[str, str]
) -> DisplayTable:
    separator = words["separator"]
    learned = classifier._learned
    rows = [(words["weight"], number(total))]
    if learned is not None:
        when = learned.when.strftime("%Y-%m-%d %H:%M")
        rows.append((words["source"], shorter(learned.source, 80)))
        rows.append((words["saved" if learned.loaded else "learned"], when))
    rows.append((words["read_as"], separator.join(_read_as(classifier, words))))
    missing = [fact for fact in facts if fact.missing > 0.0]
    if facts:
        worst = sorted(missing, key=lambda fact: -fact.missing)[:3]
        named = separator.join(f"{shorter(fact.variable.name)} {percent(fact.missing)}" for fact in worst)
        share = percent(math.fsum(fact.missing for fact in facts) / len(facts))
        rows.append((words["missing"], f"{share} ({named})" if named else share))
    changed = changed_parameters(classifier)
    said = separator.join(f"{name}={shorter(repr(value), 80)}" for name, value in changed.items())
    rows.append((words["parameters"], said or words["all_default"]))
    held = [_held_name(name, words) for name in sorted(classifier.held_) if classifier.held_[name]]
    rows.append((words["held"], separator.join(held)))
    return pairs_section(words["data"], rows)


def _held_name(name: str, words: Mapping[str, str]) -> str:
    """Return what a held choice is called; those of a user's own classifier have no word of ours."""
    return words.get(f"held_{name}", name.replace("_", " "))


def _read_as(classifier: CountClassifier, words: Mapping[str, str]) -> list[str]:
    reading = classifier.reading_
    if reading is None:
        return []
    found = [words["separator_of"].format(sign=reading.separator)] if reading.separator else []
    marks = [(column, each) for column, each in reading.marks.items() if any(each)]
    found += [
        words["marks_of"].format(column=shorter(column), marks=" ".join(filter(None, each)))
        for column, each in marks[:3]
    ]
    left = [shorter(name) for name in list(reading.left_out)[:8]]
    more = [words["left_out_of"].format(names=words["separator"].join(left))] if left else []
    return found + more


def _classes(classifier: CountClassifier, statistics: Statistics, words: Mapping[str, str]) -> DisplayTable:
    counts = statistics.class_counts.tolist()
    total = math.fsum(counts) or 1.0
    rows = tuple(
        (shorter(label), number(n), percent(n / total), f"{p:.4g}")
        for label, n, p in zip(_labels(classifier, statistics), counts, _prior(classifier), strict=True)
    )
    header = tuple(words[key] for key in ("class", "rows", "share", "prior"))
    shown = rows[:MOST_SHOWN] if len(rows) > MOST_SHOWN else rows
    notes = (f"… {len(rows) - len(shown):,}",) if len(shown) < len(rows) else ()
    return DisplayTable(words["classes"], header, shown, (), notes, right=1)


def _prior(classifier: CountClassifier) -> list[float]:
    statistics = classifier.statistics_
    if not statistics.schema.n_classes or not statistics.class_counts.sum():
        return [math.nan] * statistics.schema.n_classes
    prior: list[float] = np.exp(classifier._model.log_prior).tolist()
    return prior


def _labels(classifier: CountClassifier, statistics: Statistics) -> list[Any]:
    return list(classifier._labels(statistics.schema).tolist())


def _attributes(facts: list[_AttributeFacts], words: Mapping[str, str]) -> DisplayTable:
    order = sorted(facts, key=lambda fact: -(fact.information or 0.0))[:MOST_SHOWN]
    known = any(fact.information is not None for fact in facts)
    rows = tuple(
        (
            shorter(fact.variable.name, 40),
            words[fact.kind],
            shorter(fact.values, 50),
            percent(fact.missing),
            *(
                ("–", "–")
                if fact.information is None or fact.share is None
                else (f"{fact.information:.4f}", percent(fact.share))
            ),
        )
        for fact in order
    )
    keys = ("attribute", "kind", "values", "missing", "information", "of_class")
    notes = [words["nats"]] if known else []
    if len(facts) > len(order):
        notes.append(words["more_attributes"].format(n=len(facts) - len(order)))
    header = tuple(words[key] for key in keys)
    return DisplayTable(words["attributes"], header, rows, (), tuple(notes), right=3)


def _fit(
    classifier: CountClassifier, statistics: Statistics, rows: Source | None, words: Mapping[str, str]
) -> tuple[list[DisplayTable], dict[str, Any] | None]:
    if rows is None:
        return [pairs_section(words["fit"], (), (words["needs_rows"],))], None
    try:
        log_posterior, codes, weights = left_out(classifier, rows)
    except BayeskitError as error:
        said = words["no_leave_one_out"].format(why=error)
        return [pairs_section(words["fit"], (), (said,))], None
    share = statistics.class_counts / statistics.class_counts.sum()
    total = float(weights.sum())
    posterior = np.exp(log_posterior)
    right = log_posterior.argmax(axis=1) == codes
    truth = np.eye(posterior.shape[1])[codes]
    chosen = posterior.max(axis=1)
    found: dict[str, Any] = {
        "rows": total,
        "log_loss": float(-(weights * log_posterior[np.arange(len(codes)), codes]).sum() / total),
        "error": float((weights * ~right).sum() / total),
        "brier": float((weights * ((posterior - truth) ** 2).sum(axis=1)).sum() / total),
        "baseline": {
            "log_loss": float(entropy(statistics.class_counts)),
            "error": float(1.0 - share.max()),
            "brier": float(1.0 - (share**2).sum()),
        },
    }
    found["bins"] = _bins(chosen, right, weights)
    found["ece"] = math.fsum(b["rows"] * abs(b["predicted"] - b["observed"]) for b in found["bins"]) / total
    return _fit_sections(classifier, found, words), found


def _fit_sections(
    classifier: CountClassifier, found: dict[str, Any], words: Mapping[str, str]
) -> list[DisplayTable]:
    keys = ("log_loss", "error", "brier")
    rows = tuple(
        (words[name], *(f"{source[key]:.4f}" for key in keys))
        for name, source in (("model", found), ("baseline", found["baseline"]))
    )
    chosen = [_held_name(name, words) for name in classifier.held_ if name not in classifier._not_choices]
    notes = [words["optimistic"].format(names=words["separator"].join(chosen))] if chosen else []
    fit = DisplayTable(words["fit"], ("", *(words[key] for key in keys)), rows, (), tuple(notes), right=1)
    bins = tuple(
        (f"{b['from']:.1f}–{b['to']:.1f}", f"{b['predicted']:.3f}", f"{b['observed']:.3f}", number(b["rows"]))
        for b in found["bins"]
    )
    method = classifier.calibration
    said = (words["calibrated_by"].format(method=method),) if method else ()
    header = ("P", words["predicted"], words["observed"], words["rows"])
    total = ((words["ece"], f"{found['ece']:.4f}", "", ""),)
    return [fit, DisplayTable(words["calibration"], header, bins, total, said, right=1)]


def _bins(chosen: Floats, right: NDArray[np.bool_], weights: Floats) -> list[dict[str, float]]:
    """Return the rows by the probability of the class chosen: its mean, how often it was right, and their weight."""
    place = np.minimum((chosen * BINS).astype(int), BINS - 1)
    found = []
    for b in np.unique(place).tolist():
        here = place == b
        n = float(weights[here].sum())
        if n > 0.0:
            predicted, observed = ((weights[here] * x[here]).sum() / n for x in (chosen, right))
            found.append(
                {
                    "from": b / BINS,
                    "to": (b + 1) / BINS,
                    "predicted": float(predicted),
                    "observed": float(observed),
                    "rows": n,
                }
            )
    return found


# -- facts ---------------------------------------------------------------------------------------


def _all_facts(statistics: Statistics, words: Mapping[str, str]) -> list[_AttributeFacts]:
    schema = statistics.schema
    told = _information(statistics)
    total = float(statistics.class_counts.sum())
    numbers: dict[Name, tuple[float, float, float]] = {}
    if schema.numeric:
        moments = statistics.moments.pooled()
        each = zip(moments.weight[0], moments.mean()[0][0], moments.deviation()[0], strict=True)
        numbers = {
            v.name: (float(n), float(m), float(s)) for v, (n, m, s) in zip(schema.numeric, each, strict=True)
        }
    return [
        _facts(statistics, variable, told.get(variable.name, (None, None)), numbers, total, words)
        for variable in schema.attributes
    ]


def _facts(
    statistics: Statistics,
    variable: Variable,
    told: tuple[float | None, float | None],
    numbers: Mapping[Name, tuple[float, float, float]],
    total: float,
    words: Mapping[str, str],
) -> _AttributeFacts:
    information, share = told
    if variable.kind == "block":
        key = "columns" if variable.vocabulary is None else "words"
        return _AttributeFacts(variable, words[key].format(n=variable.width), 0.0, None, None)
    if variable.kind == "numeric":
        weight, mean, deviation = numbers[variable.name]
        text = f"{number(mean)} ± {number(deviation)}" if weight else "–"
        missing = 1.0 - weight / total if total else 0.0
        is_constant = weight > 0.0 and deviation == 0.0
        return _AttributeFacts(variable, text, max(missing, 0.0), information, share, is_constant=is_constant)
    counts = statistics.table(variable.name)
    by_state = counts.sum(axis=1)
    present = float(by_state.sum())
    states = [str(state) for state in variable.states[:MOST_STATES]]
    text = words["separator"].join([*states, *(["…"] if variable.size > MOST_STATES else [])])
    if variable.size > MOST_STATES:
        text = f"{variable.size:,}: {text}"
    # Good and Turing: new rows bring a new state about as often as a state was seen once.
    unseen = float((by_state == 1.0).sum()) / present if present and not variable.closed else 0.0
    missing = 1.0 - present / total if total else 0.0
    return _AttributeFacts(
        variable,
        text,
        max(missing, 0.0),
        information,
        share,
        unseen,
        counts.size,
        int((counts < FEW_IN_CELL).sum()),
        present > 0.0 and int((by_state > 0.0).sum()) == 1,
    )


def _information(statistics: Statistics) -> dict[Name, tuple[float, float]]:
    """Return I(X; Y) beyond chance of every attribute, and its share of H(Y); empty without rows."""
    if not statistics.class_counts.sum() or not statistics.schema.n_classes:
        return {}
    table = informed(statistics)
    found: dict[Name, tuple[float, float]] = {}
    n = float(statistics.class_counts.sum())
    for place, row in enumerate(table.rows):
        if row.states is None:
            chance = (table.n_classes - 1.0) / max(n, 1.0)
        elif place < MOST_CORRECTED:
            chance = chance_information(statistics.table(row.name))
        else:  # the usual approximation, half a degree of freedom over N
            chance = max(row.states - 1.0, 0.0) * (table.n_classes - 1.0) / (2.0 * n)
        rest = max(row.information - chance, 0.0)
        found[row.name] = rest, row.share * rest / max(row.information, 1e-300)
    return found


def _warnings(
    classifier: CountClassifier,
    statistics: Statistics,
    facts: list[_AttributeFacts],
    words: Mapping[str, str],
) -> list[str]:
    counts = statistics.class_counts.tolist()
    labels = _labels(classifier, statistics)
    if not math.fsum(counts):
        return [words["no_rows"]]
    found = []
    if len(labels) == 1:
        found.append(words["one_class"].format(label=shorter(labels[0])))
    rare = sorted((n, str(label)) for label, n in zip(labels, counts, strict=True) if n < FEW_ROWS)
    found += [words["few_rows"].format(label=shorter(label), n=n) for n, label in rare[:5]]
    target = shorter(statistics.schema.target.name)
    # The information of a number rests on Gaussians, too coarse for this. What a look at a file found is not.
    telling = {
        str(f.variable.name): (f.share, "informative")
        for f in facts
        if f.variable.kind == "categorical" and f.share is not None and f.share >= NEARLY_ALL
    }
    if classifier.reading_ is not None:
        # The reader has counted the rows that a column alone predicts: the share it has named before.
        telling |= {str(name): (share, "telling") for name, share in classifier.reading_.telling.items()}
    for name in sorted(telling, key=lambda name: -telling[name][0])[:3]:
        share, word = telling[name]
        found.append(words[word].format(name=shorter(name), share=percent(share), target=target))
    cells, sparse = sum(fact.cells for fact in facts), sum(fact.sparse_cells for fact in facts)
    if cells and sparse > OFTEN_SPARSE * cells:
        found.append(words["sparse"].format(n=sparse, cells=cells))
    for fact in sorted(facts, key=lambda fact: -fact.unseen)[:3]:
        if fact.unseen >= OFTEN_UNSEEN:
            found.append(words["unseen"].format(name=shorter(fact.variable.name), share=percent(fact.unseen)))
    for fact in sorted(facts, key=lambda fact: -fact.missing)[:3]:
        if fact.missing >= OFTEN_MISSING:
            said = words["mostly_missing"]
            found.append(said.format(name=shorter(fact.variable.name), share=percent(fact.missing)))
    constant = [shorter(fact.variable.name) for fact in facts if fact.is_constant]
    if constant:
        names = words["separator"].join([*constant[:8], *(["…"] if len(constant) > 8 else [])])
        found.append(words["constant"].format(names=names))
    return found


def _values(
    classifier: CountClassifier, statistics: Statistics, facts: list[_AttributeFacts]
) -> dict[str, Any]:
    counts = statistics.class_counts.tolist()
    learned = classifier._learned
    reading = classifier.reading_
    return {
        "model": type(classifier).__name__,
        "target": plain(statistics.schema.target.name),
        "rows": math.fsum(counts),
        "source": None
        if learned is None
        else {
            "name": learned.source,
            "when": learned.when.isoformat("T", "seconds"),
            "loaded": learned.loaded,
        },
        "reading": None if reading is None else reading.plain(),
        "classes": [
            {"label": plain(label), "rows": n, "prior": plain(p)}
            for label, n, p in zip(_labels(classifier, statistics), counts, _prior(classifier), strict=True)
        ],
        "parameters": changed_parameters(classifier),
        "held": sorted(classifier.held_),
        "attributes": [
            {
                "name": plain(fact.variable.name),
                "kind": fact.kind,
                "values": plain(fact.variable.states),
                "missing": fact.missing,
                "information": fact.information,
                "share": fact.share,
                **({} if fact.variable.vocabulary is None else {"words": fact.variable.width}),
            }
            for fact in facts
        ],
    }
