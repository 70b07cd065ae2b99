"""What does AutoBayes cost on adult and on a million rows: CPU time, memory, and what is chosen from a sample?

Of adult (48,842 rows of 14 columns, bundled) nine tenths are learned and one tenth is predicted; then single rows are.

Seven numbers (one rounded, one with gaps) and five categories of 2 to 50 states tell three classes apart, partly by a
product of two of the numbers. Tables are counted from all rows; cut points, splits and weights are chosen from a
sample. So memory must not grow with the rows, and CPU time only by what counting takes. Beside it runs
scikit-learn's boosting, with its defaults and one thread. Both score 50,000 rows that neither has seen.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

from bayeskit import AutoBayes, datasets
from harness import Report, Run, options, peak_memory

QUESTION = "AutoBayes beside boosting: adult, and a million rows"
SIZES, N_TEST, WARM_UP = (100_000, 300_000, 1_000_000), 50_000, 3_000
STATES = (2, 4, 8, 20, 50)


def table(n: int, seed: int = 0) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Draw a table of mixed columns, and its classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    numbers = {f"x{j}": rng.normal(y * 0.8 / (1 + j), 1.0) for j in range(7)}
    numbers["x5"] = numbers["x5"].round(1)
    numbers["x6"][rng.random(n) < 0.1] = np.nan
    words = {}
    for j, k in enumerate(STATES):
        codes = (y * (j % 2) + rng.integers(0, k, n)) % k
        words[f"c{j}"] = pd.Categorical.from_codes(codes, [f"s{i}" for i in range(k)])
    crossed = (numbers["x0"] * numbers["x1"] > 0) & (rng.random(n) < 0.5)
    return pd.DataFrame(numbers | words), np.where(crossed, (y + 1) % 3, y).astype(np.int64)


MAKERS: dict[str, Any] = {
    "AutoBayes": AutoBayes,
    'AutoBayes("fast")': lambda: AutoBayes("fast"),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=0
    ),
}


def fitting(name: str, n: int) -> Run:
    """Make the table, and return what fits a model to it and predicts a row."""
    X, y = table(n)
    MAKERS[name]().fit(X[:WARM_UP], y[:WARM_UP]).predict_proba(X[:10])

    def run() -> Any:
        model = MAKERS[name]().fit(X, y)
        model.predict_proba(X[:1])
        return model

    return run


def time_adult(report: Report) -> None:
    """Time a fit to nine tenths of adult with the predictions of the other tenth, and the prediction of one row."""
    adult = datasets.load_dataset("adult")
    X, y = pd.DataFrame(adult.X), np.asarray(adult.y)
    words = X.select_dtypes(exclude="number").columns
    X = X.astype(dict.fromkeys(words, "category"))  # as boosting wants them
    asked = np.random.default_rng(0).permutation(len(X)) < len(X) // 10
    n, fresh = int((~asked).sum() * report.given.scale), X[asked]
    learned, labels = X[~asked][:n], y[~asked][:n]

    def fit_and_predict(name: str) -> Any:
        model = MAKERS[name]().fit(learned, labels)
        return model, model.predict_proba(fresh)

    stage = f"adult: fit to {n:,} rows, {len(fresh):,} predictions"
    runs = {name: partial(fit_and_predict, name) for name in MAKERS}
    found = report.race(stage, runs, repeats=min(3, report.given.repeats))
    for name, (model, posterior) in found.items():
        report.claim(
            f"adult, {name}: error", float((model.classes_[posterior.argmax(axis=1)] != y[asked]).mean())
        )
        report.claim(f"adult, {name}: log-loss", float(log_loss(y[asked], posterior)))
    row = dict(zip(X.columns, fresh.iloc[0], strict=True))
    for name, most in (("AutoBayes", 10.0), ('AutoBayes("fast")', 2.0)):
        report.claim(f"{stage}, {name}: CPU", report.cpu(stage, name), " s", at_most=most)
        report.race(
            f"adult: one row, {name}", {"predict_proba_one": partial(found[name][0].predict_proba_one, row)}
        )
        one = report.cpu(f"adult: one row, {name}", "predict_proba_one")
        report.claim(f"adult: one row, {name}: CPU", 1e3 * one, " ms", at_most=2.0)


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "pandas")
    time_adult(report)
    X_test, y_test = table(N_TEST, seed=1)
    memory: dict[int, float | None] = {}
    for size in SIZES:
        n = int(size * given.scale)
        stage = f"fit and one prediction, {n:,} rows"
        models = report.race(stage, {name: fitting(name, n) for name in MAKERS}, repeats=1)
        for name, model in models.items():
            posterior = model.predict_proba(X_test)
            error = float((model.classes_[posterior.argmax(axis=1)] != y_test).mean())
            report.claim(f"{n:,} rows, {name}: error of fresh rows", error)
            report.claim(f"{n:,} rows, {name}: log-loss of fresh rows", float(log_loss(y_test, posterior)))
        report.note(
            f"{n:,} rows: {'; '.join(models['AutoBayes'].notes_)}; weights {models['AutoBayes'].weights_}"
        )
        del models
        for name in MAKERS:
            rise = peak_memory(fitting, name, n)
            report.claim(
                f"{n:,} rows, {name}: rise of the peak memory", rise, " MB",
                at_most=1_000.0 if name.startswith("AutoBayes") else None,
            )  # fmt: skip
            if name == "AutoBayes":
                memory[size] = rise
    small, large = memory[SIZES[0]], memory[SIZES[-1]]
    if small and large:
        report.claim("memory of ten times the rows", large / small, "×", at_most=2.0)
    report.finish()


if __name__ == "__main__":
    main()
