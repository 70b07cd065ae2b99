"""What do small pieces cost: a batch, a row, a small table?

A stream of batches of 1,000 rows × 30 into Gaussian and categorical naive Bayes, one row asked at a time, and
iris fitted and predicted. Our tables are made at the first question, scikit-learn's by every ``partial_fit``:
the stream is therefore timed twice, asked one row at its end (ours only) and asked one row after every batch
(both).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn import naive_bayes as sklearn
from sklearn.datasets import load_iris

import bayeskit
from harness import Report, Run, options

QUESTION = "Streams and small tables: ours against scikit-learn"
N_CLASSES, WIDTH, BATCH = 5, 30, 1000
CLASSES = np.arange(N_CLASSES)
N_RIVER = 1000

Maker = Callable[[], Any]


def normal(n: int) -> tuple[Any, Any]:
    """Draw unit normals about class means."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, n)
    return rng.standard_normal((n, WIDTH)) + rng.normal(0, 0.5, (N_CLASSES, WIDTH))[y], y


def coded(n: int) -> tuple[Any, Any]:
    """Draw states 0 to 3, of which the class makes one likelier."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, n)
    favoured = rng.integers(0, 4, (N_CLASSES, WIDTH))[y]
    return np.where(rng.random((n, WIDTH)) < 0.1, favoured, rng.integers(0, 4, (n, WIDTH))), y


def stream(make: Maker, X: Any, y: Any, *, ask_each: bool = False, ask_last: bool = False) -> Any:
    model = make()
    for start in range(0, len(X), BATCH):
        rows = slice(start, start + BATCH)
        model.partial_fit(X[rows], y[rows], classes=CLASSES)
        if ask_each:
            model.predict(X[:1])
    if ask_last:
        model.predict(X[:1])
    return model


def race_streams(report: Report, X: Any, y: Any, ours: dict[str, Maker], peer: str, make_peer: Maker) -> None:
    target = f"{X.dtype} batches of {BATCH}"
    runs: dict[str, Run] = {name: partial(stream, make, X, y, ask_last=True) for name, make in ours.items()}
    runs[peer] = partial(stream, make_peer, X, y)
    models = report.race(f"partial_fit, {target}", runs, against=peer, target=6)
    each = {name: partial(stream, make, X, y, ask_each=True) for name, make in ours.items()}
    each[peer] = partial(stream, make_peer, X, y, ask_each=True)
    report.race(f"partial_fit + predict 1 row, {target}", each, against=peer)
    one = X[:1].copy()
    answers = {name: partial(model.predict, one) for name, model in models.items()}
    report.race(f"predict 1 row, {X.dtype}", answers, against=peer, target=3)
    same = {name: model.predict(X) for name, model in models.items()}
    for name in ours:
        alike = float((same[name] == same[peer]).mean())
        report.claim(f"rows answered alike, {name}", alike, at_least=0.999)


def race_iris(report: Report) -> None:
    X, y = load_iris(return_X_y=True)
    peer = "scikit-learn GaussianNB"
    makers = {
        "bayeskit GaussianNB": bayeskit.GaussianNB,
        "bayeskit NaiveBayes": bayeskit.NaiveBayes,
        peer: sklearn.GaussianNB,
    }
    runs = {name: (lambda make=make: make().fit(X, y).predict(X)) for name, make in makers.items()}
    report.race("iris, fit + predict", runs, against=peer, target=1.5)


def race_river(report: Report, X: Any, y: Any) -> None:
    """River learns row by row; we are given its rows in the same order, one at a time and in batches."""
    try:
        from river import naive_bayes as river
    except ImportError:
        report.note("river is not installed and was left out")
        return
    X, y = X[:N_RIVER], y[:N_RIVER]
    rows, labels = [dict(enumerate(row)) for row in X.tolist()], y.tolist()

    def learn_river() -> Any:
        model = river.GaussianNB()
        for row, label in zip(rows, labels, strict=True):
            model.learn_one(row, label)
        return model

    def learn_ours() -> Any:
        model = bayeskit.GaussianNB()
        for i in range(len(X)):
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=CLASSES)
        return model

    peer = "river GaussianNB"
    runs: dict[str, Run] = {
        "bayeskit GaussianNB, row by row": learn_ours,
        "bayeskit GaussianNB, in batches": partial(stream, bayeskit.GaussianNB, X, y),
        peer: learn_river,
    }
    models = report.race(f"{N_RIVER} rows one by one", runs, against=peer)
    one, as_dict = X[:1].copy(), rows[0]
    answers: dict[str, Run] = {
        "bayeskit GaussianNB": partial(models["bayeskit GaussianNB, in batches"].predict, one),
        peer: partial(models[peer].predict_one, as_dict),
    }
    report.race("predict 1 row of a dictionary", answers, against=peer)


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "river")
    n = max(2, int(200 * given.scale)) * BATCH
    X, y = normal(n)
    ours: dict[str, Maker] = {
        "bayeskit GaussianNB": bayeskit.GaussianNB,
        "bayeskit NaiveBayes": bayeskit.NaiveBayes,
    }
    race_streams(report, X, y, ours, "scikit-learn GaussianNB", sklearn.GaussianNB)
    codes, y_codes = coded(n)
    ours = {
        "bayeskit CategoricalNB": partial(bayeskit.CategoricalNB, min_categories=4),
        "bayeskit NaiveBayes": partial(bayeskit.NaiveBayes, categorical_features="all"),
    }
    peer = partial(sklearn.CategoricalNB, min_categories=4)
    race_streams(report, codes, y_codes, ours, "scikit-learn CategoricalNB", peer)
    race_iris(report)
    race_river(report, X, y)
    report.finish()


if __name__ == "__main__":
    main()
