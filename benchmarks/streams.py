"""What does one row of a stream cost to learn and to predict?

Dictionaries of 30 numbers into Gaussian naive Bayes of two and of five classes, one at a time, and a prediction after
every 100 of them. Learning and predicting are timed separately. Our rows are added to sums, 32 at a time; those
that are left, and the estimate, are paid for by the next prediction. The first prediction of all reads its rows as a
table and takes some milliseconds; the stream is long enough for that not to matter. Then predictions alone,
with nothing learned between them.
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
CLASSES = (2, 5)


def stream(n: int, classes: int = 2) -> tuple[list[dict[str, float]], list[int]]:
    """Draw unit normals about class means, as dictionaries."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    X = rng.standard_normal((n, WIDTH)) + rng.normal(0, 0.5, (classes, WIDTH))[y]
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
    makers: dict[str, Any] = {"bayeskit": bayeskit.GaussianNB}
    try:
        from river.naive_bayes import GaussianNB

        makers["river"] = GaussianNB
    except ImportError:
        report.note("river is not installed and was left out")
    for classes in CLASSES:
        compare(report, makers, classes, given.scale, given.repeats)
    report.finish()


def compare(report: Report, makers: dict[str, Any], classes: int, scale: float, repeats: int) -> None:
    """Let all run on the same rows by turns, and report the best of each."""
    rows, labels = stream(max(10, int(N_ROWS / BETWEEN * scale)) * BETWEEN, classes)
    run(bayeskit.GaussianNB(), rows[: 10 * BETWEEN], labels[: 10 * BETWEEN])  # compiles kernels
    best: dict[str, Floats] = {}
    answers: dict[str, list[Any]] = {}
    for _ in range(repeats):
        for name, make in makers.items():
            seconds, answers[name] = run(make(), rows, labels)
            best[name] = np.minimum(best.get(name, np.full(3, np.inf)), seconds)
    of = f"{classes} classes"
    for name, (learning, predicting, alone) in ((name, found.tolist()) for name, found in best.items()):
        report.claim(f"{of}, {name}: learn_one a second", 1 / learning)
        report.claim(f"{of}, {name}: predict_one a second, one after every {BETWEEN} rows", 1 / predicting)
        report.claim(f"{of}, {name}: predict_one a second, one after another", 1 / alone)
    if "river" in best:
        ours, its = best["bayeskit"].tolist(), best["river"].tolist()
        together = [BETWEEN * seconds[0] + seconds[1] for seconds in (ours, its)]
        report.claim(f"{of}: learn_one against river", its[0] / ours[0], "×", at_least=1)
        report.claim(f"{of}: predict_one against river", its[1] / ours[1], "×", at_least=10)
        report.claim(
            f"{of}: predict_one against river, one after another", its[2] / ours[2], "×", at_least=10
        )
        both = together[1] / together[0]
        report.claim(f"{of}: {BETWEEN} learn_one and one predict_one against river", both, "×")
        alike = np.mean([a == b for a, b in zip(answers["bayeskit"], answers["river"], strict=True)])
        report.claim(f"{of}: rows answered alike", float(alike), at_least=0.99)


if __name__ == "__main__":
    main()
