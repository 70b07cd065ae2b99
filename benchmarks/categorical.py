"""How much faster is naive Bayes over coded categories than scikit-learn's, and how much memory does it take?

A million rows of 30 attributes with 8 states each, 5 classes, as bytes and as NumPy's default int64. Our tables are
computed at the first prediction, scikit-learn's by ``fit``. So our "fit" includes the prediction of one row.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn import naive_bayes as sklearn

import bayeskit
from harness import Report, Run, options, peak_memory

QUESTION = "Categorical naive Bayes, 1e6 × 30, 8 states, 5 classes: ours against scikit-learn"
PEER = "scikit-learn CategoricalNB"
OURS = {
    "bayeskit NaiveBayes": partial(bayeskit.NaiveBayes, categorical_features="all"),
    "bayeskit CategoricalNB": bayeskit.CategoricalNB,
}
DTYPES = ("uint8", "int64")


def data(n: int, dtype: str, d: int = 30, n_states: int = 8, n_classes: int = 5) -> tuple[Any, Any]:
    """Draw each attribute from a distribution of its own in each class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    cumulative = rng.dirichlet(np.full(n_states, 2.0), (d, n_classes)).cumsum(axis=-1)
    X = np.empty((n, d), dtype)
    for j in range(d):
        X[:, j] = np.minimum((rng.random(n)[:, None] > cumulative[j][y]).sum(axis=1), n_states - 1)
    return X, y


def prepare(name: str, stage: str, n: int, dtype: str) -> Run:
    """Bring a process to where only the stage is left to do; for :func:`harness.peak_memory`."""
    make = OURS.get(name, sklearn.CategoricalNB)
    X, y = data(n, dtype)
    make().fit(X[:1000], y[:1000]).predict_proba(X[:1000])
    if stage == "fit":
        return lambda: make().fit(X, y)
    model = make().fit(X, y)
    return lambda: model.predict_proba(X)


def fit_and_answer(make: Any, X: Any, y: Any) -> Any:
    model = make().fit(X, y)
    model.predict(X[:1])
    return model


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    n = int(1e6 * given.scale)
    for dtype in DTYPES:
        X, y = data(n, dtype)
        fits: dict[str, Run] = {name: partial(fit_and_answer, make, X, y) for name, make in OURS.items()}
        fits[PEER] = lambda X=X, y=y: sklearn.CategoricalNB().fit(X, y)
        models = report.race(f"fit {dtype}", fits, against=PEER, target=20)
        answers = {name: partial(model.predict_proba, X) for name, model in models.items()}
        found = report.race(f"predict_proba {dtype}", answers, against=PEER, target=5)
        # NaiveBayes smooths the class prior and scikit-learn does not: with the same prior they must agree.
        same = bayeskit.NaiveBayes(categorical_features="all", class_prior=np.bincount(y) / n).fit(X, y)
        found["bayeskit NaiveBayes"] = same.predict_proba(X)
        for name in OURS:
            gap = float(np.abs(found[name] - found[PEER]).max())
            report.claim(f"largest difference of a probability, {name}", gap, at_most=1e-9)
    print()
    for dtype in DTYPES:
        for stage in ("fit", "predict_proba"):
            for name in (*OURS, PEER):
                limit = 100 if name in OURS else None
                peak = peak_memory(prepare, name, stage, n, dtype)
                report.claim(f"memory of {stage} {dtype} above the input, {name}", peak, " MB", at_most=limit)
    report.finish()


if __name__ == "__main__":
    main()
