"""What does it cost to learn from strings, beyond what the frame library itself needs to code them?

A million rows of 10 string columns with 8 to 40 states each, in the types in which pandas, Polars and PyArrow
store them. Three times are compared: the library's own dictionary encoding of all columns, our fit to the codes as a
matrix of bytes, and our fit to the frame. The last should take little more than the first two together or, if the
column is already encoded, little more than the second.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import bayeskit
from harness import Report, Run, options

QUESTION = "Strings from a frame, 1e6 × 10, 8 to 40 states: our fit against encoding + our fit on codes"
N_STATES = (8, 12, 16, 20, 24, 28, 32, 36, 40, 10)
# Columns that are already encoded are compared only with the integer run.
CODED = {"pandas category", "polars Categorical", "polars Enum", "pyarrow dictionary"}


def data(n: int, n_classes: int = 5) -> tuple[Any, list[list[str]], Any]:
    """Draw codes as bytes, the labels behind them in sorted order, and classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    codes = np.empty((n, len(N_STATES)), np.uint8)
    for j, size in enumerate(N_STATES):
        # Two draws, the lesser taken by half of the classes: frequencies differ and so do the classes.
        a, b = rng.integers(0, size, (2, n), dtype=np.uint8)
        codes[:, j] = np.where(y % 2, np.minimum(a, b), a)
    labels = [[f"attribute {j} state {v:02d}" for v in range(size)] for j, size in enumerate(N_STATES)]
    return codes, labels, y


def frames(codes: Any, labels: list[list[str]]) -> dict[str, Any]:
    """Return the same table in every type of column."""
    coded = {
        f"x{j}": pa.DictionaryArray.from_arrays(pa.array(codes[:, j].astype(np.int32)), pa.array(states))
        for j, states in enumerate(labels)
    }
    dictionary = pa.table(coded)
    plain = pa.table({name: array.dictionary_decode() for name, array in coded.items()})
    polars = pl.from_arrow(plain)
    pandas = pd.DataFrame({name: array.to_pylist() for name, array in coded.items()}, dtype="str")
    enums = {f"x{j}": pl.Enum(states) for j, states in enumerate(labels)}
    return {
        "pandas str": pandas,
        "pandas object": pandas.astype(object),
        "pandas category": pandas.astype("category"),
        "polars String": polars,
        "polars Categorical": polars.cast(pl.Categorical),
        "polars Enum": polars.cast(enums),
        "pyarrow string": plain,
        "pyarrow dictionary": dictionary,
    }


def encode(frame: Any) -> list[Any]:
    """Code every column with what its library offers for that."""
    if isinstance(frame, pa.Table):
        return [column.dictionary_encode() for column in frame.columns]
    if isinstance(frame, pl.DataFrame):
        return [column.cast(pl.Categorical).to_physical() for column in frame]
    return [pd.factorize(frame[name]) for name in frame.columns]


def fit(X: Any, y: Any, one: Any, features: str) -> Any:
    model = bayeskit.NaiveBayes(categorical_features=features).fit(X, y)
    model.predict(one)  # the tables are made at the first question
    return model


def check(report: Report, name: str, model: Any, reference: Any) -> None:
    """Check that the counts are those of the codes, state by state."""
    tables = (model.statistics_.table, reference.statistics_.table)
    for j in range(len(N_STATES)):
        # Labels sort as their codes do, declared categories too, so the tables must agree as they stand.
        if not np.array_equal(tables[0](f"x{j}"), tables[1](f"x{j}")):
            report.note(f"{name}: column {j} was counted differently from its codes")


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "narwhals", "pandas", "polars", "pyarrow")
    codes, labels, y = data(int(1e6 * given.scale))
    for name, frame in frames(codes, labels).items():
        one = frame[:1]
        runs: dict[str, Run] = {
            "integer run": partial(fit, codes, y, codes[:1], "all"),
            "fit on the frame": partial(fit, frame, y, one, "from_dtype"),
        }
        if name not in CODED:
            runs["encoding by the library"] = partial(encode, frame)
        models = report.race(name, runs)
        check(report, name, models["fit on the frame"], models["integer run"])
        ours, whole = report.cpu(name, "fit on the frame"), report.cpu(name, "integer run")
        if name in CODED:
            report.claim(f"{name}: fit ÷ integer run", ours / whole, "×", at_most=2)
        else:
            whole += report.cpu(name, "encoding by the library")
            report.claim(f"{name}: fit ÷ (encoding + integer run)", ours / whole, "×", at_most=1.3)
    report.finish()


if __name__ == "__main__":
    main()
