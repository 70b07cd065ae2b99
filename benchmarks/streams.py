"""What does one row of a stream cost to learn and to predict?

Dictionaries of 30 numbers into Gaussian naive Bayes of two classes, one at a time, and a prediction after every 100
of them. Learning and predicting are timed separately. Our rows are added to sums, 32 at a time; those that are left,
and the estimate, are paid for by the next prediction. The first prediction of all reads its rows as a table and takes
some milliseconds; the stream is long enough for that not to matter. Then predictions alone, with nothing learned
between them.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import bayeskit
from bayeskit.typing import Floats
from harness import Report, options

QUESTION = "One row at a time: ours against River"
WIDTH, BETWEEN, N_ROWS, ALONE = 30, 100, 100_000, 2_000


def stream(n: int) -> tuple[list[dict[str, float]], list[int]]:
    """Draw unit normals about class means, as dictionaries."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, WIDTH)) + rng.normal(0, 0.5, (2, WIDTH))[y]
    names = [f"x{j}" for j in range(WIDTH)]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist()


def run(model: Any, rows: list[dict[str, float]], labels: list[int]) -> tuple[Floats, list[Any]]:
    """Return the CPU seconds of one learning, of a prediction after it, and of one after another; and the answers."""
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
    begun = time.process_time()
    for row in rows[:ALONE]:
        model.predict_one(row)
    alone = (time.process_time() - begun) / len(rows[:ALONE])
    return np.array([learning / len(rows), predicting / len(answers), alone]), answers


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
    best: dict[str, Floats] = {}
    answers: dict[str, list[Any]] = {}
    for _ in range(given.repeats):
        for name, make in makers.items():
            seconds, answers[name] = run(make(), rows, labels)
            best[name] = np.minimum(best.get(name, np.full(3, np.inf)), seconds)
    for name, (learning, predicting, alone) in ((name, found.tolist()) for name, found in best.items()):
        report.claim(f"{name}: learn_one a second", 1 / learning)
        report.claim(f"{name}: predict_one a second, one after every {BETWEEN} rows", 1 / predicting)
        report.claim(f"{name}: predict_one a second, one after another", 1 / alone)
    if "river" in best:
        ours, its = best["bayeskit"].tolist(), best["river"].tolist()
        together = [BETWEEN * seconds[0] + seconds[1] for seconds in (ours, its)]
        report.claim("learn_one against river", its[0] / ours[0], "×", at_least=1)
        report.claim("predict_one against river", its[1] / ours[1], "×", at_least=10)
        report.claim("predict_one against river, one after another", its[2] / ours[2], "×", at_least=10)
        report.claim(f"{BETWEEN} learn_one and one predict_one against river", together[1] / together[0], "×")
        alike = np.mean([a == b for a, b in zip(answers["bayeskit"], answers["river"], strict=True)])
        report.claim("rows answered alike", float(alike), at_least=0.99)
    report.finish()


if __name__ == "__main__":
    main()
