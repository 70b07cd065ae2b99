"""How much faster is Gaussian naive Bayes than scikit-learn's, and how much memory does it take?

A million rows of 30 normal attributes, 5 classes. Our tables are computed at the first prediction, scikit-learn's by
``fit``. So our "fit" includes the prediction of one row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import naive_bayes as sklearn

import bayeskit
from harness import Report, Run, options, peak_memory

QUESTION = "Gaussian naive Bayes, 1e6 × 30 float64, 5 classes: ours against scikit-learn"
PEER = "scikit-learn GaussianNB"
OURS = {"bayeskit GaussianNB": bayeskit.GaussianNB, "bayeskit NaiveBayes": bayeskit.NaiveBayes}


def data(n: int, d: int = 30, n_classes: int = 5) -> tuple[Any, Any]:
    """Draw unit normals about class means that overlap (accuracy near 0.92)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    means = rng.normal(0, 0.5, (n_classes, d))
    X = rng.standard_normal((n, d))
    X += means[y]
    return X, y


def prepare(name: str, stage: str, n: int) -> Run:
    """Bring a process to where only the stage is left to do; for :func:`harness.peak_memory`."""
    make = OURS.get(name, sklearn.GaussianNB)
    X, y = data(n)
    make().fit(X[:100], y[:100]).predict_proba(X[:100])
    if stage == "fit":
        return lambda: make().fit(X, y)
    model = make().fit(X, y)
    return lambda: model.predict_proba(X)


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    n = int(1e6 * given.scale)
    X, y = data(n)

    def fit_and_answer(make: Any) -> Run:
        def run() -> Any:
            model = make().fit(X, y)
            model.predict(X[:1])
            return model

        return run

    fits = {name: fit_and_answer(make) for name, make in OURS.items()}
    fits[PEER] = lambda: sklearn.GaussianNB().fit(X, y)
    models = report.race("fit", fits, against=PEER, target=10)
    answers = {name: (lambda m=model: m.predict_proba(X)) for name, model in models.items()}
    found = report.race("predict_proba", answers, against=PEER, target=8)
    accuracy = float((found[PEER].argmax(axis=1) == y).mean())
    # NaiveBayes smooths the class prior and scikit-learn does not: with the same prior they must agree.
    prior = np.bincount(y) / n
    found["bayeskit NaiveBayes"] = bayeskit.NaiveBayes(class_prior=prior).fit(X, y).predict_proba(X)
    for name in OURS:
        gap = float(np.abs(found[name] - found[PEER]).max())
        report.claim(f"largest difference of a probability, {name}", gap, at_most=1e-6)
    report.note(f"accuracy {accuracy:.3f}")
    print()
    for stage in ("fit", "predict_proba"):
        for name in (*OURS, PEER):
            limit = 100 if name in OURS else None
            peak = peak_memory(prepare, name, stage, n)
            report.claim(f"memory of {stage} above the input, {name}", peak, " MB", at_most=limit)
    report.finish()


if __name__ == "__main__":
    main()
