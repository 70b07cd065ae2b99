"""What does one row of a stream cost to learn and to predict?

Dictionaries of 30 numbers into Gaussian naive Bayes of two classes, one at a time, and a prediction after every 100
of them. Learning and predicting are timed separately. Our rows are buffered and counted at the next prediction, so the
time of our predictions includes counting the 100 rows before.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import bayeskit
from harness import Report, options

QUESTION = "One row at a time: ours against River"
WIDTH, BETWEEN, N_ROWS = 30, 100, 100_000


def stream(n: int) -> tuple[list[dict[str, float]], list[int]]:
    """Draw unit normals about class means, as dictionaries."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, WIDTH)) + rng.normal(0, 0.5, (2, WIDTH))[y]
    names = [f"x{j}" for j in range(WIDTH)]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist()


def run(model: Any, rows: list[dict[str, float]], labels: list[int]) -> tuple[float, float, list[Any]]:
    """Return the CPU seconds of one learning and of one prediction, and the predictions."""
    learning = predicting = 0.0
    answers = []
    for start in range(0, len(rows), BETWEEN):
        begun = time.process_time()
        for row, label in zip(rows[start : start + BETWEEN], labels[start : start + BETWEEN], strict=True):
            model.learn_one(row, label)
        learned = time.process_time()
        answers.append(model.predict_one(rows[start]))
        learning += learned - begun
        predicting += time.process_time() - learned
    return learning / len(rows), predicting / len(answers), answers


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "river")
    rows, labels = stream(max(10, int(N_ROWS / BETWEEN * given.scale)) * BETWEEN)
    makers: dict[str, Any] = {"bayeskit": bayeskit.GaussianNB}
    try:
        from river.naive_bayes import GaussianNB

        makers["river"] = GaussianNB
    except ImportError:
        report.note("river is not installed and was left out")
    run(bayeskit.GaussianNB(), rows[: 10 * BETWEEN], labels[: 10 * BETWEEN])  # compiles kernels
    best: dict[str, tuple[float, float]] = {}
    answers: dict[str, list[Any]] = {}
    for _ in range(given.repeats):
        for name, make in makers.items():
            learning, predicting, answers[name] = run(make(), rows, labels)
            before = best.get(name, (np.inf, np.inf))
            best[name] = min(before[0], learning), min(before[1], predicting)
    for name, (learning, predicting) in best.items():
        report.claim(f"{name}: learn_one a second", 1 / learning)
        report.claim(f"{name}: predict_one a second, one after every {BETWEEN} rows", 1 / predicting)
    if "river" in best:
        ours, its = best["bayeskit"], best["river"]
        together = [BETWEEN * a + b for a, b in (ours, its)]
        report.claim("learn_one against river", its[0] / ours[0], "×", at_least=1)
        report.claim("predict_one against river", its[1] / ours[1], "×", at_least=10)
        report.claim(f"{BETWEEN} learn_one and one predict_one against river", together[1] / together[0], "×")
        alike = np.mean([a == b for a, b in zip(answers["bayeskit"], answers["river"], strict=True)])
        report.claim("rows answered alike", float(alike), at_least=0.99)
    report.finish()


if __name__ == "__main__":
    main()
