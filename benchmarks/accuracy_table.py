"""From the lines of the accuracy benchmark to its table: means over sets, wins and losses, the error of each set."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from accuracy_fold import FOLDS
from accuracy_models import OURS, PEERS, PRIOR, YARDSTICKS

SCORES = {"error": "0-1 error", "rmse": "RMSE", "log_loss": "log-loss", "auc": "AUC"}
AGAINST = ("AODE", "RandomForest", "HistGradientBoosting")
RIVALS = ("RandomForest", "HistGradientBoosting", *YARDSTICKS)
BAND = 0.001
# Sets on which some model of the first table failed. The means exclude them by name, so that they stay comparable when
# models are added. The table of all sets includes them.
APART = ("covertype", "magic", "nursery", "spambase")
ORDER = [name for name in OURS if name == "NaiveBayes"] + ["NaiveBayes-MDL"]
ORDER += [name for name in OURS if name not in ORDER] + [*PEERS, *YARDSTICKS]
SHORT = {"HistGradientBoosting": "HGB", "RandomForest": "RF"}
GROUPS = {
    "all sets": ("numeric", "categorical", "mixed"),
    "numeric attributes only": ("numeric",),
    "categorical attributes only": ("categorical",),
    "numeric and categorical attributes": ("mixed",),
}


@dataclass(frozen=True)
class Kept:
    """The lines of one file: the last one of each (set, model, fold), and the descriptions of the runs."""

    records: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    limit_rows: int


def read(path: Path, limit_rows: int) -> Kept:
    """Read the lines measured with this limit of rows. A line that was cut off when a run ended is ignored."""
    last: dict[tuple[str, str, int], dict[str, Any]] = {}
    runs = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "run" in record:
            runs.append(record["run"])
        elif record["limit_rows"] == limit_rows:
            last[record["set"], record["model"], record["fold"]] = record
    return Kept(list(last.values()), runs, limit_rows)


def means(records: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, float]]:
    """Mean scores over the folds of each (set, model) that has them all.

    >>> folds = [dict(set="s", model="m", fold=f, error=f / 10, rmse=0, log_loss=0, auc=None) for f in range(5)]
    >>> means([r | dict(fit_cpu=1, predict_cpu=1) for r in folds])["s", "m"]["error"], means(folds[:4])
    (0.2, {})
    """
    folds: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if "note" not in record:
            folds[record["set"], record["model"]].append(record)
    found = {}
    for key, rows in folds.items():
        if len(rows) == FOLDS:
            scored = {name: [r[name] for r in rows if r[name] is not None] for name in SCORES}
            found[key] = {name: float(np.mean(v)) if v else float("nan") for name, v in scored.items()}
            timed = [r["fit_cpu"] + r["predict_cpu"] for r in rows if r["fit_cpu"] is not None]
            found[key]["cpu"] = float(np.mean(timed)) if timed else float("nan")
    return found


def wins(ours: Iterable[float], theirs: Iterable[float], band: float = BAND) -> tuple[int, int, int]:
    """Count wins, draws and losses. Lower is better, and a difference within the band is a draw.

    >>> wins([0.1, 0.2, 0.3], [0.2, 0.2004, 0.1])
    (1, 1, 1)
    """
    gaps = np.subtract(list(ours), list(theirs))
    won, lost = int((gaps < -band).sum()), int((gaps > band).sum())
    return won, len(gaps) - won - lost, lost


def group_table(
    found: dict[tuple[str, str], dict[str, float]], sets: list[str], models: list[str]
) -> list[str]:
    """Return means over the sets that are not in APART, for models that have all of them, and wins over shared sets."""
    has = {m: {s for s in sets if (s, m) in found} for m in models}
    common = [s for s in sets if s not in APART]
    whole = [m for m in models if has[m].issuperset(common)]
    rivals = [r for r in AGAINST if r in models]
    pairs = [(r, score) for r in rivals for score in ("error", "log_loss")]
    head = ["model", "sets", *SCORES.values(), "CPU s a fold"]
    head += [f"{SCORES[score]} against {SHORT.get(r, r)}" for r, score in pairs]
    apart = ", ".join(s for s in sets if s in APART)
    lines = [f"Means over {len(common)} of {len(sets)} sets" + (f", without {apart}." if apart else "."), ""]
    lines += [row(head), row(["---", *["--:"] * (len(head) - 1)])]
    for m in models:
        cells = [m, str(len(has[m]))]
        for score in (*SCORES, "cpu"):
            values = [found[s, m][score] for s in common] if m in whole else []
            shown = float(np.nanmean(values)) if values else float("nan")
            cells.append("–" if np.isnan(shown) else f"{shown:.2f}" if score == "cpu" else f"{shown:.4f}")
        for r, score in pairs:
            both = sorted(has[m] & has[r])
            counts = wins(*([found[s, who][score] for s in both] for who in (m, r)))
            cells.append("" if m == r else "/".join(map(str, counts)))
        lines.append(row(cells))
    return lines


def filled(records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Give every failed fold the scores of the class prior. Return the records, and the number of failures per model.

    A model that does not support the columns of a set has no records for it.

    >>> prior = dict(set="s", model=PRIOR, fold=0, error=0.5, rmse=0.5, log_loss=0.7, auc=0.5, fit_cpu=0, predict_cpu=0)
    >>> records, failed = filled([prior, dict(set="s", model="m", fold=0, note="timeout")])
    >>> records[1]["error"], failed
    (0.5, {'m': 1})
    """
    priors = {(r["set"], r["fold"]): r for r in records if r["model"] == PRIOR and "note" not in r}
    whole, failed = [], dict[str, int]()
    for record in records:
        note = record.get("note")
        if note is not None:
            prior = priors.get((record["set"], record["fold"]))
            if prior is None or note.startswith("left out"):
                continue
            failed[record["model"]] = failed.get(record["model"], 0) + 1
            record = {
                **prior,
                "model": record["model"],
                "fit_cpu": None,
                "predict_cpu": None,
                "memory_mb": None,
            }
        whole.append(record)
    return whole, failed


def whole_table(kept: Kept, sets: list[str], models: list[str]) -> list[str]:
    """Return means over all sets, with failed folds scored as the class prior; wins minus losses; time and memory."""
    records, failed = filled(kept.records)
    found = means(records)
    models = [m for m in models if all((s, m) in found for s in sets)]
    if PRIOR not in models:
        return [f"Nothing here yet: {PRIOR} has not been run on all sets."]
    pairs = [(r, score) for r in RIVALS if r in models for score in ("error", "log_loss")]
    head = ["model", "failed folds", *SCORES.values(), "fit s", "predict s", "slowest fold s", "memory MB"]
    head += [f"{SCORES[score]} against {SHORT.get(r, r)}" for r, score in pairs]
    lines = [
        f"Means over all {len(sets)} sets, a fold that failed scored as the class prior; wins minus losses. CPU "
        "seconds are the mean of the folds that did not fail, memory is the largest rise of its peak in a fold.",
        "",
        *(row(head), row(["---", *["--:"] * (len(head) - 1)])),
    ]
    for m in models:
        cells = [m, str(failed.get(m, 0))]
        cells += [f"{np.nanmean([found[s, m][score] for s in sets]):.4f}" for score in SCORES]
        cells += _costs([r for r in records if r["model"] == m and r["set"] in sets])
        for r, score in pairs:
            won, _, lost = wins(*([found[s, who][score] for s in sets] for who in (m, r)))
            cells.append("" if m == r else f"{won - lost:+d}")
        lines.append(row(cells))
    return lines


def _costs(records: list[dict[str, Any]]) -> list[str]:
    """Mean seconds of fit and prediction, the slowest fold, the largest memory; a dash where nobody measured."""
    timed = [r for r in records if r["fit_cpu"] is not None]
    memory = [r["memory_mb"] for r in records if r.get("memory_mb") is not None]
    if not timed:
        return ["–"] * 4
    fit, predict = (np.array([r[name] for r in timed]) for name in ("fit_cpu", "predict_cpu"))
    seconds = [f"{v:.2f}" for v in (fit.mean(), predict.mean(), (fit + predict).max())]
    return [*seconds, f"{max(memory):.0f}" if memory else "–"]


def shared_table(
    found: dict[tuple[str, str], dict[str, float]], sets: list[str], models: list[str]
) -> list[str]:
    """Return each yardstick beside AutoBayes, the forest and boosting, over the sets that all of them have."""
    lines = []
    for m in (m for m in YARDSTICKS if m in models):
        beside = [name for name in ("AutoBayes", "RandomForest", "HistGradientBoosting", m) if name in models]
        shared = [s for s in sets if all((s, name) in found for name in beside)]
        if len(beside) == 1 or not shared:
            continue
        lines += [f"{m}: {len([s for s in sets if (s, m) in found])} sets finished. Means over the "]
        lines[-1] += f"{len(shared)} that all of these have: {', '.join(shared)}."
        lines += ["", row(["model", *SCORES.values(), "CPU s a fold", *_HEADS])]
        lines += [row(["---", *["--:"] * (len(SCORES) + 3)])]
        for name in beside:
            cells = [name, *(f"{np.nanmean([found[s, name][x] for s in shared]):.4f}" for x in SCORES)]
            cells.append(f"{np.mean([found[s, name]['cpu'] for s in shared]):.2f}")
            for score in ("error", "log_loss"):
                counts = wins(*([found[s, who][score] for s in shared] for who in (name, m)))
                cells.append("" if name == m else "/".join(map(str, counts)))
            lines.append(row(cells))
        lines.append("")
    return lines


_HEADS = ("0-1 error against the yardstick", "log-loss against the yardstick")


def set_table(
    kept: Kept, found: dict[tuple[str, str], dict[str, float]], models: list[str], score: str
) -> list[str]:
    """Return a score of every model on every set, with the lowest of a row in bold."""
    notes = {(r["set"], r["model"]): r["note"] for r in kept.records if "note" in r}
    rows = {r["set"]: r["rows"] for r in kept.records if "rows" in r}
    lines = [row(["set", "rows", *(SHORT.get(m, m) for m in models)])]
    lines.append(row(["---", *["--:"] * (len(models) + 1)]))
    for s in sorted(rows):
        errors = {m: round(found[s, m][score], 4) for m in models if (s, m) in found}
        least = min(errors.values(), default=0.0)
        cells = [s, f"{rows[s]:,}"]
        for m in models:
            if m in errors:
                cells.append(f"**{errors[m]:.4f}**" if errors[m] <= least else f"{errors[m]:.4f}")
            else:
                note = notes.get((s, m), "").split(":")[0]
                cells.append("" if note == "left out" else note or "–")
        lines.append(row(cells))
    return lines


def table(kept: Kept, asked: list[str] | None = None) -> str:
    """The whole page, in Markdown."""
    present = {r["model"] for r in kept.records}
    models = [m for m in ORDER if m in present and (asked is None or m in asked)]
    kinds = {r["set"]: r["kind"] for r in kept.records if "kind" in r}
    found = means(kept.records)
    lines = [*heading(kept), ""]
    lines += ["## Over every set", "", *whole_table(kept, sorted(kinds), models), ""]
    if beside := shared_table(found, sorted(kinds), models):
        lines += ["## Yardsticks", "", *beside]
    for title, members in GROUPS.items():
        sets = sorted(s for s, kind in kinds.items() if kind in members)
        if sets:
            lines += [f"## Over {title}", "", *group_table(found, sets, models), ""]
    for score in ("error", "log_loss"):
        lines += [f"## {SCORES[score]} of each set", "", *set_table(kept, found, models, score), ""]
    return "\n".join(lines)


def heading(kept: Kept) -> list[str]:
    run: dict[str, Any] = {}
    versions: dict[str, str] = {}
    for run in kept.runs:  # later runs override earlier ones
        versions |= run["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return [
        "# How accurate is every model, over many tables?",
        "",
        f"{FOLDS} stratified folds, a fixed seed; sets of more than {kept.limit_rows:,} rows by a seeded sample "
        "of that many. Less is better, but for the AUC (macro, one class against the rest, over the classes "
        "that a fold has). RMSE is √mean (1 − p)² and log-loss −mean log p of the true class, p at least 1e-12. "
        f"Wins/draws/losses are over the sets that both have, with a band of ±{BAND}; they are no test of "
        "significance. A model that lacks one of the sets of a table of means has none there. GaussianNB runs on "
        "numbers without holes only; CategoricalNB and scikit-bayes on MDL bins cut in the training rows, "
        "holes as a state; the trees on raw columns, categories as each takes them; all with their defaults and one "
        "thread. CPU is that of fit and of answering the fold.",
        "",
        f"{named}; {run.get('cpu', '')}; {run.get('date', '')}; at most {run.get('limit_seconds', 0):g} CPU s a "
        f"fold and {run.get('memory_gb', 0):g} GB. Written by `python benchmarks/accuracy.py --table`.",
    ]


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
