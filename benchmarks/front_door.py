"""What do the first five minutes cost: every model on a real table, a page of arithmetic, the help of each command?

``compare`` runs all our models on adult (48,842 rows, 5 folds; bundled) in its own process: first with an empty cache
of compiled kernels, then again. The scikit-learn baselines are left out, because they are not our cost. Then it writes
a report, with all models and baselines, on a generated table of 299,000 rows and 40 columns, which it compares on a
sample. ``explain`` is timed on 61 attributes and 10 classes, after its kernels are compiled. Each command's ``--help``
runs in a fresh interpreter. ``--scale`` is the share of the rows.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bayeskit
from bayeskit import datasets
from harness import Report, as_a_user, children_time, options

QUESTION = "The front door: compare on adult, explain one row, the help of every command"
ATTRIBUTES, CLASSES, ROWS = 61, 10, 5_000
LARGE = 299_000
EXPLAINED = ("NaiveBayes", "SPODE", "TAN", "AODE", "KDB", "SelectiveKDB", "WeightedNB", "AutoBayes")
COMMANDS = (
    "compare", "fit", "predict", "explain", "update", "forget", "merge", "inspect", "discretize", "network", "textbook",
    "bayes", "demo", "warmup", "doctor",
)  # fmt: skip


def write_adult(path: Path, scale: float) -> None:
    data = datasets.load_dataset("adult")
    names = (*data.attributes, data.target)
    cells = [*(data.columns[name].tolist() for name in data.attributes), data.y.tolist()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(list(zip(*cells, strict=True))[: max(200, int(scale * len(data)))])


def process(cache: str, *arguments: str) -> tuple[float, float]:
    """Run a command to its end. Return its CPU seconds and its peak memory in MB."""
    child = subprocess.Popen(
        [sys.executable, "-m", "bayeskit", *arguments],
        env=as_a_user(NUMBA_CACHE_DIR=cache),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"bayeskit {' '.join(arguments)} ended with {child.returncode}.")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def time_compare(report: Report, scale: float) -> None:
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        table = Path(folder, "adult.csv")
        write_adult(table, scale)
        asked = ("compare", str(table), "--target", datasets.load_dataset("adult").target, "--no-baselines")
        print()
        for turn, most in (("nothing compiled", 60), ("compiled before", None)):
            cpu, memory = process(folder, *asked)
            report.claim(f"compare on adult, all our models, {turn}: CPU", cpu, " s", at_most=most)
            report.claim(
                f"compare on adult, all our models, {turn}: memory of the process", memory, " MB",
                at_most=1000 if most else None,
            )  # fmt: skip


def write_large(path: Path, scale: float) -> None:
    """Write 20 columns of numbers and 20 of words, about half of which tell something about a class of 12 %."""
    rng = np.random.default_rng(0)
    n = max(1_000, int(scale * LARGE))
    y = rng.random(n) < 0.12
    columns = {}
    for j in range(20):
        columns[f"number {j}"] = rng.normal(y * rng.normal(0.0, 0.5) * (j % 2), 1.0).round(3).tolist()
        k = int(rng.integers(2, 25))
        shares = rng.dirichlet(np.ones(k))
        words = np.where(
            y,
            rng.choice(k, n, p=0.7 * shares + 0.3 * rng.dirichlet(np.ones(k))),
            rng.choice(k, n, p=shares),
        )
        columns[f"word {j}"] = words.astype(str).tolist()
    columns["class"] = np.where(y, "yes", "no").tolist()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def time_large(report: Report, scale: float) -> None:
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        table, page = Path(folder, "large.csv"), Path(folder, "page.html")
        write_large(table, scale)
        asked = ("compare", str(table), "--target", "class", "--report", str(page))
        process(folder, *asked, "--limit", "2000")  # kernels are compiled
        cpu, memory = process(folder, *asked)
        report.claim("compare on 299,000 × 40, all models, with a report: CPU", cpu, " s", at_most=120)
        report.claim("compare on 299,000 × 40, all models, with a report: memory", memory, " MB")


def time_explain(report: Report) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, ROWS)
    codes = (y[:, None] + rng.integers(0, 6, (ROWS, ATTRIBUTES))) % 8
    X = np.array(list("abcdefgh"), object)[codes]
    models = {name: getattr(bayeskit, name)().fit(X, y.astype(str)) for name in EXPLAINED}
    row = X[:1]
    for form, ask in FORMS.items():
        stage = f"explain, {ATTRIBUTES} attributes, {CLASSES} classes: {form}"
        report.race(stage, {name: partial(ask, model, row) for name, model in models.items()})
        slowest = max(models, key=lambda name: report.cpu(stage, name))
        report.claim(f"{stage}, slowest ({slowest})", 1e3 * report.cpu(stage, slowest), " ms", at_most=50)


FORMS: dict[str, Any] = {
    "text": lambda model, row: str(model.explain(row)),
    "HTML": lambda model, row: model.explain(row)._repr_html_(),
    "LaTeX": lambda model, row: model.explain(row).to_latex(),
    "JSON": lambda model, row: model.explain(row).to_dict(),
    "contributions": lambda model, row: model.contributions(row),
}


def time_help(report: Report) -> None:
    def shown(*command: str) -> None:
        asked = [sys.executable, "-m", "bayeskit", *command, "--help"]
        subprocess.run(asked, check=True, capture_output=True)

    runs = {"bayeskit": shown} | {f"bayeskit {name}": partial(shown, name) for name in COMMANDS}
    report.race("--help", runs, clock=children_time)
    slowest = max(runs, key=lambda name: report.cpu("--help", name))
    report.claim(
        f"--help of every command, slowest ({slowest})", report.cpu("--help", slowest), " s", at_most=0.3
    )


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "typer", "rich")
    time_help(report)
    time_explain(report)
    time_compare(report, given.scale)
    time_large(report, given.scale)
    report.finish()


if __name__ == "__main__":
    main()
