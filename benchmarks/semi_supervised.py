"""What are unlabelled rows worth, and what does a step of EM over them cost?

The experiment of Nigam et al. (2000): 20 newsgroups, with a few labelled posts of each group, the other training posts
unlabelled, and the accuracy on the test posts. Headers and English stop words are removed. Posts are used with their
raw counts, and also scaled to the same length, as in the paper, so that a long post does not count more than a short
one. Without the posts (BAYESKIT_DATA), rows that resemble texts are drawn.

A step (E and M together) is compared with a supervised fit and predict of the same rows: tables 1e6 × 30, and Gaussians
2e5 × 10, of which a tenth is labelled.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, diags_array
from sklearn.feature_extraction.text import CountVectorizer

import bayeskit
from bayeskit._classifiers.semi_supervision import parted
from bayeskit._data.source import Source
from bayeskit._fitting.semi_supervised import SemiSupervised, SplitRows
from bayeskit.errors import NotConverged
from bayeskit.statistics import Variable
from harness import Report, Run, options

QUESTION = "Unlabelled rows: accuracy on 20 newsgroups with few labels, and the cost of a step"
DATA = Path(os.environ.get("BAYESKIT_DATA") or "BAYESKIT_DATA is not set") / "text"
# A weaker prior than one per word, because the vocabulary is larger than the number of words in a class.
ALPHA = 0.1
LABELLED, DRAWS, LENGTH = (20, 50, 100), 3, 100.0
WEIGHTS: dict[str, Any] = {"supervised": 0.0, "λ = 1": 1.0, "λ = loo": "loo"}
# Complement naive Bayes has no P(x): it is self-trained.
CLASSIFIERS = {bayeskit.MultinomialNB: tuple(WEIGHTS), bayeskit.ComplementNB: tuple(WEIGHTS)}

Texts = tuple[Any, Any, Any, Any]


def newsgroups() -> Texts:
    """Word counts and groups of training and test posts; the words are those of two training posts or more."""
    parts = [pd.read_parquet(DATA / f"20news_{part}.parquet") for part in ("train", "test")]
    posts = [part["text"].str.split("\n\n", n=1).str[-1] for part in parts]
    words = CountVectorizer(stop_words="english", min_df=2)
    X, T = words.fit_transform(posts[0]), words.transform(posts[1])
    y, t = (part["class"].to_numpy(object) for part in parts)
    return csr_array(X, dtype=float), y, csr_array(T, dtype=float), t


def drawn(n: int = 4_000, n_classes: int = 5, width: int = 2_000) -> Texts:
    """Draw texts of classes that share most of their words."""
    rng = np.random.default_rng(0)
    common, own = rng.dirichlet(np.full(width, 0.1)), rng.dirichlet(np.full(width, 0.02), n_classes)
    y = rng.integers(0, n_classes, n)
    length = rng.geometric(1 / 60, n)
    X = csr_array(
        np.array(
            [rng.multinomial(m, 0.8 * common + 0.2 * own[c]) for m, c in zip(length, y, strict=True)], float
        )
    )
    names = np.array([f"class {c}" for c in y], dtype=object)
    return X[: n // 2], names[: n // 2], X[n // 2 :], names[n // 2 :]


def of_one_length(X: Any) -> Any:
    """Scale every row to the same sum; an empty row stays empty."""
    sums = np.asarray(X.sum(axis=1)).ravel()
    return csr_array(diags_array(LENGTH / np.where(sums > 0, sums, 1.0)) @ X)


def some_labels(y: Any, each: int, seed: int) -> Any:
    """Keep so many labels of each class, drawn at random; None in place of the others."""
    rng, kept = np.random.default_rng(seed), np.full(len(y), None, dtype=object)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))[:each]
        kept[rows] = label
    return kept


def accuracies(report: Report, what: str, texts: Texts, draws: int) -> None:
    """Print and keep the mean accuracy over draws of the labelled rows."""
    X, y, T, t = texts
    report.content.setdefault("accuracy", [])
    print(f"\n{what:<44}" + "".join(f"{name:>14}" for name in WEIGHTS))
    for make, names in CLASSIFIERS.items():
        for each in LABELLED:
            found: dict[str, list[float]] = {name: [] for name in names}
            chosen = []
            for draw in range(draws):
                labels = some_labels(y, each, draw)
                for name in names:
                    how = {"semi_supervised": True, "unlabelled_weight": WEIGHTS[name]}
                    model = make(alpha=ALPHA, **how).fit(X, labels)
                    found[name].append(float(model.score(T, t)))
                    if WEIGHTS[name] == "loo":
                        chosen.append(model.unlabelled_weight_)
            row = {"texts": what, "classifier": make.__name__, "labelled": each, "chosen": chosen}
            report.content["accuracy"].append({**row, "draws": found})
            line = f"  {make.__name__}, {each} labelled a class"
            means = "".join(f"{np.mean(scores):>14.3f}" for scores in found.values())
            print(f"{line:<44}{means}" + (f"  λ {chosen}" if chosen else ""))


def step_of(model: Any, X: Any, y: Any) -> Run:
    """Return an E-step and an M-step over rows that are coded already."""
    labelled, unlabelled = parted(model, Source(X, y))
    fitted, kept = model._new_fitted(Variable("y", "categorical")), []
    fitted.absorb(labelled, kept)
    rows = SplitRows.of(fitted, kept, unlabelled)
    assert rows is not None
    problem = SemiSupervised(rows, 1.0)
    return lambda: problem.maximise(problem.expect(rows.start)[0])


def cost(report: Report, what: str, make: Any, X: Any, y: Any) -> None:
    """Time a step against a supervised fit and predict."""
    labels = np.where(np.random.default_rng(1).random(len(y)) < 0.1, y, -1)
    runs = {"fit + predict": lambda: make().fit(X, y).predict(X)}
    runs["step"] = step_of(make(semi_supervised=True), X, labels)
    report.race(what, runs)
    ratio = report.cpu(what, "step") / report.cpu(what, "fit + predict")
    report.claim(f"{what}: an E+M step against fit + predict", ratio, "×", at_most=3)


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    there = (DATA / "20news_train.parquet").is_file()
    report.note("20 newsgroups" if there else "drawn texts: BAYESKIT_DATA has no text/20news_train.parquet")
    texts = newsgroups() if there else drawn()
    every = max(1, round(1 / given.scale))
    texts = tuple(part[::every] for part in texts)  # type: ignore[assignment]
    draws = DRAWS if given.scale >= 1 else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        accuracies(report, "counts", texts, draws)
        scaled = (of_one_length(texts[0]), texts[1], of_one_length(texts[2]), texts[3])
        accuracies(report, "one length", scaled, draws)
    rng = np.random.default_rng(0)
    n = int(1e6 * given.scale)
    y = rng.integers(0, 2, n)
    codes = np.where(rng.random((n, 30)) < 0.3, y[:, None], rng.integers(0, 4, (n, 30))).astype(np.uint8)
    cost(report, "tables", lambda **more: bayeskit.NaiveBayes(categorical_features="all", **more), codes, y)
    n = int(2e5 * given.scale)
    y = rng.integers(0, 5, n)
    cost(report, "Gaussians", bayeskit.GaussianNB, rng.normal(size=(n, 10)) + 0.5 * y[:, None], y)
    report.finish()


if __name__ == "__main__":
    main()
