"""How fast does a database score rows with the SQL of a model?

Naive Bayes of 30 attributes with 8 states each and 2 classes, in DuckDB on one thread: integer codes, then strings.
For comparison, predict_proba scores the same rows in Python.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import bayeskit
from harness import Report, Run, options

QUESTION = "SQL scoring in DuckDB: naive Bayes of 30 attributes × 8 states, 2 classes, rows a CPU second"
N_ATTRIBUTES, N_STATES = 30, 8
# The target, in rows per CPU second.
GOALS = {"integer codes": 1.2e6, "strings": 0.5e6}


def data(n: int) -> tuple[Any, Any]:
    """Draw codes that depend on the class, and classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    a, b = rng.integers(0, N_STATES, (2, n, N_ATTRIBUTES), dtype=np.int32)
    return np.where(y[:, None] == 1, np.minimum(a, b), a), y


def frames(codes: Any) -> dict[str, pd.DataFrame]:
    """Return the rows as integers and as strings."""
    names = [f"x{j}" for j in range(N_ATTRIBUTES)]
    words = np.array([f"state {v}" for v in range(N_STATES)], dtype=object)
    return {
        "integer codes": pd.DataFrame(codes, columns=names),
        "strings": pd.DataFrame(words[codes], columns=names),
    }


def score(base: Any, select: str) -> Any:
    """Score all rows and sum the results, so that transferring them takes no time."""
    return base.execute(f"SELECT SUM(p_1), COUNT(prediction) FROM ({select})").fetchone()


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "duckdb", "sqlglot")
    codes, y = data(int(1e6 * given.scale))
    for name, frame in frames(codes).items():
        model = bayeskit.NaiveBayes(categorical_features="all").fit(frame, y)
        with duckdb.connect() as base:
            base.execute("SET threads = 1")
            base.register("frame", frame)
            base.execute("CREATE TABLE t AS SELECT * FROM frame")
            runs: dict[str, Run] = {
                "SQL in DuckDB": partial(score, base, str(model.to_sql())),
                "predict_proba": partial(model.predict_proba, frame),
            }
            answers = report.race(name, runs)
        expected = float(answers["predict_proba"][:, 1].sum())
        if abs(answers["SQL in DuckDB"][0] - expected) > 1e-9 * len(frame):
            report.note(f"{name}: the answers differ")
        rate = len(frame) / report.cpu(name, "SQL in DuckDB")
        report.claim(f"{name}: million rows a CPU second", rate / 1e6, "", at_least=GOALS[name] / 1e6)
    report.finish()


if __name__ == "__main__":
    main()
