"""How fast is the semi-naive family, against Weka, scikit-bayes and pyAgrum in the same run?

AODE on 1e5 × 20 (6 states, 3 classes) and TAN on 1e5 × 30 (5 states, 3 classes), 1e4 rows answered; selective kDB
on covertype, where no peer has such a thing. Our tables are made at the first question, so one row is answered within
the time of "fit". Peers are found as ``peers.py`` says; ``BENCH_DATA`` names the folder with ``covertype.parquet``
(last column ``class``), ``benchmarks/data`` by default. What is not there is left out, and said.
bnlearn's times are its published ones, of another machine.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import bayeskit
import harness
from harness import Report, Run, options
from peers import WEKA_36, WEKA_39, NotThere, Outcome, Task, keep, python_peer, weka

QUESTION = "Semi-naive Bayes: AODE, TAN and selective kDB against Weka, scikit-bayes and pyAgrum"
DATA = Path(os.environ.get("BENCH_DATA", Path(__file__).with_name("data")))
# What each stage must reach against each peer: (fit, predict).
AODE_TARGETS = {"Weka 3.6 AODE": (1.5, 1.0), "scikit-bayes AnDE(1)": (12.0, 8.0)}
TAN_TARGETS = {"pyAgrum TAN": (40.0, 300.0), "Weka 3.9 BayesNet TAN": (None, None)}
BNLEARN = (0.150, 0.014)

Peers = Mapping[str, Callable[[], Outcome]]


def chain(n: int, n_test: int, d: int = 20, n_states: int = 6, n_classes: int = 3) -> Task:
    """Draw each attribute from the one before it and the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n + n_test)
    cumulative = rng.dirichlet(np.ones(n_states), (d, n_classes, n_states)).cumsum(axis=-1)
    X = np.empty((len(y), d), np.int64)
    before = rng.integers(0, n_states, len(y))
    for j in range(d):
        before = (rng.random(len(y))[:, None] > cumulative[j, y, before]).sum(axis=1).clip(0, n_states - 1)
        X[:, j] = before
    return Task(X[:n], y[:n], X[n:], y[n:])


def tree(
    n: int, n_test: int, d: int = 30, n_states: int = 5, n_classes: int = 3
) -> tuple[Task, set[frozenset[str]]]:
    """Draw each attribute from one of the five before it and the class; return the edges of that tree too."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n + n_test)
    X = np.empty((len(y), d), np.int64)
    parents = [int(rng.integers(max(0, j - 5), j)) for j in range(1, d)]
    for j in range(d):
        cumulative = rng.dirichlet(np.ones(n_states), (n_classes, n_states)).cumsum(axis=-1)
        above = X[:, parents[j - 1]] if j else np.zeros(len(y), np.int64)
        X[:, j] = (rng.random(len(y))[:, None] > cumulative[y, above]).sum(axis=1).clip(0, n_states - 1)
    edges = {frozenset((f"x{j}", f"x{p}")) for j, p in enumerate(parents, start=1)}
    return Task(X[:n], y[:n], X[n:], y[n:]), edges


def ours(name: str) -> Any:
    """The class of that name, or None where this version has none."""
    try:
        return getattr(bayeskit, name)
    except (AttributeError, ImportError):
        return None


def fit_and_answer(make: Any, X: Any, y: Any) -> Any:
    model = make(categorical_features="all").fit(X, y)
    model.predict(X[:1])
    return model


def compare(
    report: Report, title: str, task: Task, name: str, peers: Peers, targets: Mapping[str, tuple[Any, Any]]
) -> dict[str, Any]:
    """Time ours on codes of one byte and of eight, then the peers; return our models."""
    makes = {f"bayeskit {n}": ours(n) for n in (name, "NaiveBayes")}
    makes = {n: make for n, make in makes.items() if make is not None}
    tables = {
        "uint8": (task.X.astype(np.uint8), task.X_test.astype(np.uint8)),
        "int64": (task.X, task.X_test),
    }
    stages = (f"{title}: fit", f"{title}: predict_proba {len(task.X_test):g}")
    fits: dict[str, Run] = {
        f"{n}, {kind}": partial(fit_and_answer, make, tables[kind][0], task.y)
        for n, make in makes.items()
        for kind in tables
    }
    models = report.race(stages[0], fits)
    answers = {n: partial(m.predict_proba, tables[n.rsplit(", ")[-1]][1]) for n, m in models.items()}
    outcomes: dict[str, Outcome] = {}
    for peer, run in peers.items():
        try:
            outcomes[peer] = run()
        except NotThere as reason:
            report.note(f"left out: {reason}")
    for peer, outcome in outcomes.items():
        keep(report, stages[0], f"{peer} ({outcome.version})", outcome.fit)
    found = report.race(stages[1], answers)
    for peer, outcome in outcomes.items():
        keep(report, stages[1], f"{peer} ({outcome.version})", outcome.predict)
    mine = [n for n in models if n.startswith(f"bayeskit {name},")]
    if not mine:
        report.note(f"left out: bayeskit has no {name} yet")
    for run_name in mine:
        for peer, outcome in outcomes.items():
            for stage, timing, least in zip(
                stages, (outcome.fit, outcome.predict), targets[peer], strict=True
            ):
                ratio = timing.cpu / report.cpu(stage, run_name)
                report.claim(f"{stage}: {run_name} against {peer}", ratio, "×", at_least=least)
    right = {n: float((p.argmax(axis=1) == task.y_test).mean()) for n, p in found.items()}
    right |= {peer: outcome.accuracy for peer, outcome in outcomes.items()}
    report.note("accuracy: " + ", ".join(f"{n} {share:.4f}" for n, share in right.items()))
    # Smoothing differs between the packages, and next to 1e5 rows it hardly matters.
    for peer in outcomes if mine else ():
        gap = abs(right[mine[0]] - right[peer])
        report.claim(f"{title}: accuracies, ours less {peer}'s", gap, at_most=0.005)
    return {n: models[n] for n in mine}


def time_aode(report: Report, scale: float) -> None:
    task = chain(int(1e5 * scale), int(1e4 * scale))
    turns = max(3, report.given.repeats)  # Java compiles on the way: its first turns are slow
    peers: Peers = {
        "Weka 3.6 AODE": lambda: weka(WEKA_36, task, turns, "weka.classifiers.bayes.AODE"),
        "scikit-bayes AnDE(1)": lambda: python_peer("scikit-bayes AnDE(1)", task, report.given.repeats),
    }
    compare(report, f"AODE {len(task.X):g} × 20, 6 states", task, "AODE", peers, AODE_TARGETS)


def time_tan(report: Report, scale: float) -> None:
    task, edges = tree(int(1e5 * scale), int(1e4 * scale))
    search = ("-D", "-Q", "weka.classifiers.bayes.net.search.local.TAN")
    turns = max(3, report.given.repeats)
    peers: Peers = {
        "pyAgrum TAN": lambda: python_peer("pyAgrum TAN", task, min(2, report.given.repeats)),
        "Weka 3.9 BayesNet TAN": lambda: weka(
            WEKA_39, task, turns, "weka.classifiers.bayes.BayesNet", *search
        ),
    }
    title = f"TAN {len(task.X):g} × 30, 5 states"
    models = compare(report, title, task, "TAN", peers, TAN_TARGETS)
    report.note("R bnlearn, published and not of this run: fit {:.3f} s, predict {:.3f} s".format(*BNLEARN))
    for name, model in models.items():
        for stage, figure in zip(("fit", f"predict_proba {len(task.X_test):g}"), BNLEARN, strict=True):
            cpu = report.cpu(f"{title}: {stage}", name)
            report.claim(f"{title}: {stage}, {name}: CPU", cpu, " s", at_most=figure / 2)
        learned = {frozenset((child, p)) for child, above in model.structure_.items() for p in above}
        report.claim(f"{title}: edges of the tree found, {name}", len(edges & learned), at_least=len(edges))


def table(name: str, scale: float = 1.0) -> tuple[Any, Any]:
    import pandas as pd

    X = pd.read_parquet(DATA / f"{name}.parquet")
    X = X.sample(frac=scale, random_state=0) if scale < 1 else X
    return X, X.pop("class")


def cost(name: str, settings: dict[str, Any], data: str, scale: float) -> tuple[float, float | None, float]:
    """Fit in a fresh process; return CPU seconds, the rise of the peak and the whole peak in MB."""
    taken: list[float] = []

    def prepare() -> Run:
        X, y = table(data, scale)
        make = partial(ours(name), **settings)
        make().fit(X[:2000], y[:2000]).predict(X[:1])

        def run() -> None:
            start = time.process_time()
            make().fit(X, y).predict(X[:1])
            taken.append(time.process_time() - start)

        return run

    rise = harness._peak(prepare, ())
    return taken[0], rise, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def time_selective_kdb(report: Report, scale: float) -> None:
    if ours("SelectiveKDB") is None or not (DATA / "covertype.parquet").exists():
        report.note("left out: SelectiveKDB on covertype (no such class yet, or no file in BENCH_DATA)")
        return
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        cpu, rise, whole = pool.submit(cost, "SelectiveKDB", {"max_k": 5}, "covertype", scale).result()
    title = "SelectiveKDB(max_k=5) on covertype, 581,012 × 54"
    report.claim(f"{title}: fit, CPU", cpu, " s", at_most=60)
    report.claim(f"{title}: memory of fit above the input", rise, " MB", at_most=2000)
    report.note(f"{title}: the whole process came to {whole:.0f} MB, the frame and the libraries included")


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "pandas")
    time_aode(report, given.scale)
    time_tan(report, given.scale)
    print()
    time_selective_kdb(report, given.scale)
    report.finish()


if __name__ == "__main__":
    main()
