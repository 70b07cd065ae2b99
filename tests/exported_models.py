"""Models to be exported, and rows with holes and unseen values to compare answers on."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd

from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    SelectiveKDB,
    WeightedNB,
)
from bayeskit.priors import BackOff, Lidstone

# A quote, a keyword, spaces, Unicode, a name of ours, and names that SQL takes for one another.
NAMES = ['say "what"', "select", "色泽", "prediction", "it's", "s0"]
SIZES = [3, 2, 4, 3, 5, 2]
NUMBERS = ["group by", "x y"]
CLASSES = ("no", "it's", "是")


def rows(n, seed=0, *, new=False, numbers=True):
    """Return n rows and their classes; ``new`` rows have unseen values and more holes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    hidden = rng.integers(0, 6, n)
    columns = {}
    for j, (name, size) in enumerate(zip(NAMES, SIZES, strict=True)):
        mixed = (y + hidden * (j % 2) + (rng.random(n) < 0.4) * rng.integers(0, size, n)) % size
        words = np.array([f"it's {v}" if j % 2 else f'"{v}" 值' for v in range(size + 1)], dtype=object)
        if new:
            mixed = np.where(rng.random(n) < 0.05, size, mixed)
        values = words[mixed]
        values[rng.random(n) < (0.2 if new else 0.05)] = None
        columns[name] = values
    if numbers:
        for m, name in enumerate(NUMBERS):
            values = rng.normal(y * (m + 1) + hidden * 0.3, 1.0 + 0.2 * y)
            values[rng.random(n) < 0.1] = np.nan
            columns[name] = values
    return pd.DataFrame(columns), np.array(CLASSES, dtype=object)[y]


def counts(n, seed=0):
    """Return n rows of small counts and their classes, which are whole numbers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.poisson(0.4 + y[:, None] * np.linspace(0.0, 1.5, 6), (n, 6)).astype(float)
    return pd.DataFrame(X, columns=[f"w {v}" for v in range(6)]), y * 5


def mixed(model, **options):
    return lambda n, seed=0: (model(**options).fit(*rows(600)), rows(n, seed + 1, new=True)[0])


def discrete(model, **options):
    return lambda n, seed=0: (
        model(**options).fit(*rows(600, numbers=False)),
        rows(n, seed + 1, new=True, numbers=False)[0],
    )


def numeric(model, **options):
    return lambda n, seed=0: (
        model(**options).fit(*(part[NUMBERS] if k == 0 else part for k, part in enumerate(rows(600)))),
        rows(n, seed + 1, new=True)[0][NUMBERS],
    )


def counted(model, **options):
    return lambda n, seed=0: (model(**options).fit(*counts(400)), counts(n, seed + 1)[0])


def codes(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    X = (rng.integers(0, 4, (n, 5)) + y[:, None]) % 4
    model = CategoricalNB().fit(X, y)
    return model, pd.DataFrame(rng.integers(0, 4, (n, 5)), columns=[f"x{j}" for j in range(5)])


def wide(n, seed=0):
    """KDB of many states and many holes: some rows have more joint states than are summed over."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 500)
    X = pd.DataFrame({f"a{j}": (rng.integers(0, 12, 500) + y * j) % 12 for j in range(6)}).astype(str)
    new = X.iloc[np.random.default_rng(seed).integers(0, 500, n)].reset_index(drop=True).astype(object)
    new[np.random.default_rng(seed + 1).random(new.shape) < 0.4] = None
    return KDB(k=2).fit(X, y), new


def zeros(model, **options):
    """A model without smoothing, so that some rows are impossible."""
    return discrete(model, smoothing=Lidstone(0.0), **options)


# By name: (n, seed) → a fitted model and n rows.
PLAIN = {
    "nb": mixed(NaiveBayes),
    "nb-state": mixed(NaiveBayes, missing="state"),
    "nb-smooth": mixed(NaiveBayes, unseen="smooth"),
    "nb-state-smooth": mixed(NaiveBayes, missing="state", unseen="smooth"),
    "nb-zeros": zeros(NaiveBayes),
    "nb-student": mixed(NaiveBayes, numeric="student"),
    "nb-balanced": mixed(NaiveBayes, class_weight="balanced"),
    "nb-temperature": mixed(NaiveBayes, calibration="temperature"),
    "nb-isotonic": mixed(NaiveBayes, calibration="isotonic"),
    "nb-poisson": counted(NaiveBayes, numeric="poisson"),
    "gaussian": numeric(GaussianNB),
    "weighted": mixed(WeightedNB),
    "weighted-gaussian": mixed(WeightedNB, numeric="gaussian", missing="state"),
    "categorical": codes,
    "bernoulli": counted(BernoulliNB),
    "bernoulli-cut": counted(BernoulliNB, binarize=1.0),
    "multinomial": counted(MultinomialNB),
    "complement": counted(ComplementNB),
    "tan": mixed(TAN),
    "tan-state": mixed(TAN, missing="state"),
    "tan-smooth": mixed(TAN, unseen="smooth"),
    "tan-zeros": zeros(TAN),
    "tan-back-off": discrete(TAN, smoothing=BackOff()),
    "tan-gaussian": mixed(TAN, numeric="gaussian"),
    "tan-isotonic": discrete(TAN, calibration="isotonic"),
    "spode": mixed(SPODE),
}
JOINED = {
    "aode": mixed(AODE),
    "aode-gaussian": mixed(AODE, numeric="gaussian"),
    "aode-weighted": discrete(AODE, weights="mutual-information"),
    "aode-smooth": mixed(AODE, unseen="smooth"),
    "aode-min-count": discrete(AODE, min_count=150),
    "aode-zeros": zeros(AODE),
    "a2de": discrete(AnDE, n=2),
    "a2de-gaussian": mixed(AnDE, n=2, min_count=60, numeric="gaussian"),
    "kdb": mixed(KDB, k=2),
    "kdb-gaussian": mixed(KDB, k=2, numeric="gaussian"),
    "kdb-state": mixed(KDB, k=2, missing="state"),
    "kdb-smooth": discrete(KDB, k=2, unseen="smooth"),
    "kdb-wide": wide,
    "kdb-zeros": zeros(KDB, k=2),
    "kdb-temperature": discrete(KDB, k=3, calibration="temperature"),
    "selective-kdb": discrete(SelectiveKDB),
}
MODELS = {**PLAIN, **JOINED}


def plain_posteriors(model, X):
    """Return the posteriors and predictions of Python, without its warning about impossible rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_proba(X), model.predict(X)


@cache
def case(name, n):
    """Return a model, n rows, and what Python answers."""
    model, X = MODELS[name](n)
    return model, X.reset_index(drop=True), *plain_posteriors(model, X)
