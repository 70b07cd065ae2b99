"""How much faster are the classifiers of word counts than scikit-learn's?

100,000 texts over 100,000 words as a CSR matrix: about 127 different words a text, drawn by Zipf's law, 20
classes. Our tables are computed at the first prediction, scikit-learn's by ``fit``. So our "fit" includes the
prediction of one text. The vocabulary has the same size at any ``--scale``; only the number of texts changes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from sklearn import naive_bayes as sklearn

import bayeskit
from harness import Report, Run, options, peak_memory

QUESTION = "Word counts, CSR 1e5 × 1e5, about 127 words a row, 20 classes: ours against scikit-learn"
# Targets of fit and predict; the two others are reported without.
CLASSIFIERS = {"MultinomialNB": (2.5, 1.2), "ComplementNB": (None, None), "BernoulliNB": (None, None)}


def data(n: int, width: int = 100_000, n_classes: int = 20) -> tuple[Any, Any]:
    """Draw words by Zipf's law; 30 % of them by a law whose ranks are shuffled anew for each class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    rows = np.repeat(np.arange(n), np.maximum(10, rng.poisson(135, n)))
    frequency = 1.0 / (np.arange(width) + 10.0) ** 1.05
    cumulative = frequency.cumsum() / frequency.sum()
    words = np.minimum(np.searchsorted(cumulative, rng.random(rows.size)), width - 1)
    orders = np.stack([rng.permutation(width) for _ in range(n_classes)])
    own = rng.random(rows.size) < 0.3
    words[own] = orders[y[rows[own]], words[own]]
    X = coo_matrix((np.ones(rows.size), (rows.astype(np.int32), words.astype(np.int32))), (n, width)).tocsr()
    X.sum_duplicates()
    return X, y


def fit(make: Any, X: Any, y: Any) -> Any:
    return make().fit(X, y)


def fit_and_answer(make: Any, X: Any, y: Any, one: Any) -> Any:
    model = fit(make, X, y)
    model.predict(one)
    return model


def prepare(library: str, name: str, stage: str, n: int) -> Run:
    """Bring a process to where only the stage is left to do; for :func:`harness.peak_memory`."""
    make = getattr(bayeskit if library == "bayeskit" else sklearn, name)
    X, y = data(n)
    make().fit(X[:100], y[:100]).predict(X[:100])
    if stage == "fit":
        return partial(fit_and_answer, make, X, y, X[:1])
    return partial(make().fit(X, y).predict, X)


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    n = int(1e5 * given.scale)
    X, y = data(n)
    report.note(f"{X.nnz / n:.1f} stored counts a row")
    for name, (fit_target, predict_target) in CLASSIFIERS.items():
        ours, peer = f"bayeskit {name}", f"scikit-learn {name}"
        fits: dict[str, Run] = {
            ours: partial(fit_and_answer, getattr(bayeskit, name), X, y, X[:1]),
            peer: partial(fit, getattr(sklearn, name), X, y),
        }
        models = report.race(f"fit {name}", fits, against=peer, target=fit_target)
        answers = {run: partial(model.predict, X) for run, model in models.items()}
        found = report.race(f"predict {name}", answers, against=peer, target=predict_target)
        report.claim(
            f"rows answered alike, {name}", float((found[ours] == found[peer]).mean()), at_least=0.9999
        )
        report.note(f"accuracy {float((found[peer] == y).mean()):.3f}")
    print()
    for stage in ("fit", "predict"):
        for library in ("bayeskit", "scikit-learn"):
            peak = peak_memory(prepare, library, "MultinomialNB", stage, n)
            report.claim(f"memory of {stage} above the input, {library} MultinomialNB", peak, " MB")
    report.finish()


if __name__ == "__main__":
    main()
