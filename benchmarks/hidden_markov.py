"""Are hidden Markov models as exact as hmmlearn's, and how much faster?

One sequence of 40,000 steps and 400 sequences of 100, of 6 categories or 2 numbers, in 4 states: the likelihood, the
smoothed states, the most probable path, and 5 steps of EM from the same start. hmmlearn runs in its own interpreter, in
logarithms (its default) and scaled. Then one million steps, ours alone: twice the steps must take twice the time.

``BENCH_HMM`` names a Python that has hmmlearn.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit import HiddenMarkov
from harness import Report, Timing, options, seconds

QUESTION = "Hidden Markov models: as exact as hmmlearn, and how much faster?"
CHILD = Path(__file__).parent / "hmm_child.py"
PEER = os.environ.get("BENCH_HMM", str(Path("~/.cache/bayeskit-peers/hmm/bin/python").expanduser()))
STATES, CATEGORIES = 4, 6


def truth(kind: str) -> HiddenMarkov:
    rng = np.random.default_rng(0)
    start, move = (
        rng.dirichlet(np.ones(STATES)),
        rng.dirichlet(np.ones(STATES), STATES) * 0.3 + 0.7 * np.eye(STATES),
    )
    if kind == "categorical":
        return HiddenMarkov.of(start, move, emissionprob=rng.dirichlet(np.ones(CATEGORIES), STATES))
    return HiddenMarkov.of(
        start, move, means=2 * rng.normal(size=(STATES, 2)), variances=rng.uniform(0.5, 2, (STATES, 2))
    )


def of_parameters(model: HiddenMarkov) -> Any:
    parts = [model.emissionprob_] if model.emission == "categorical" else [model.means_, model.variances_]
    return np.concatenate([np.ravel(a) for a in (model.startprob_, model.transmat_, *parts)])


def five_steps(model: HiddenMarkov, X: Any, lengths: Any) -> HiddenMarkov:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # five steps are not enough to converge
        return HiddenMarkov(STATES, emission=model.emission, max_iter=5, tol=0.0, variance_floor=0.0).fit(
            X, lengths, start=model
        )


def peer_of(
    kind: str, stage: str, model: HiddenMarkov, X: Any, lengths: Any, repeats: int
) -> dict[str, Any] | None:
    given = {"start": model.startprob_, "transition": model.transmat_, "X": X, "lengths": np.asarray(lengths)}
    if kind == "categorical":
        given["emission"] = model.emissionprob_
    else:
        given |= {"means": model.means_, "variances": model.variances_}
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, **given)
        command = [PEER, str(CHILD), kind, stage, str(source), str(out), str(repeats)]
        try:
            subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": ""})
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"  # hmmlearn is left out: {error}", file=sys.stderr)
            return None
        with np.load(out) as found:
            return dict(found)


def measure(report: Report, kind: str, what: str, lengths: list[int]) -> None:
    model = truth(kind)
    rng = np.random.default_rng(1)
    X = np.concatenate([model.sample(n, random_state=rng)[0] for n in lengths])
    X = X[:, None] if X.ndim == 1 else X
    runs = {
        "score": lambda: model.score(X, lengths),
        "smooth": lambda: model.predict_proba(X, lengths),
        "path": lambda: model.predict(X, lengths),
        "fit": lambda: of_parameters(five_steps(model, X, lengths)),
    }
    for stage, run in runs.items():
        title = f"{kind}, {what}: {stage}"
        ours = report.race(title, {"bayeskit": run})["bayeskit"]
        found = peer_of(kind, stage, model, X, lengths, report.given.repeats)
        if found is None:
            report.note("hmmlearn is left out: it is not installed where BENCH_HMM says.")
            continue
        report.content["versions"]["hmmlearn"] = str(found["version"])
        for way in ("log", "scaling"):
            timing = Timing(*map(float, found[f"{way} time"]), turns=report.given.repeats)
            report.content["timings"].append({"stage": title, "run": f"hmmlearn {way}", **vars(timing)})
            print(f"  hmmlearn {way:<37}{seconds(timing.cpu):>10}{seconds(timing.wall):>10}")
            ratio = timing.cpu / report.cpu(title, "bayeskit")
            default = 3.0 if way == "log" else None
            report.claim(f"{title}: against hmmlearn {way}", ratio, "×", at_least=default)
            answer = found[f"{way} answer"]
            if stage == "path":
                report.claim(
                    f"{title}: steps that differ from {way}", float((answer != ours).sum()), at_most=0
                )
            else:
                # hmmlearn adds 1e-300 or less to zeros; both round.
                far = np.max(np.abs(answer - ours) / np.maximum(1.0, np.abs(answer)))
                report.claim(f"{title}: largest difference from {way}", float(far), at_most=1e-9)


def long_sequence(report: Report, n: int) -> None:
    model = truth("categorical")
    X = model.sample(n, random_state=2)[0]
    asks = {
        "filtered": lambda part: [None for _ in model.filter(part)],
        "smoothed": model.predict_proba,
        "path": model.predict,
    }
    for name, ask in asks.items():
        half, whole = f"{n // 2:,} steps: {name}", f"{n:,} steps: {name}"
        report.race(half, {"bayeskit": lambda ask=ask: ask(X[: n // 2])}, repeats=1)
        report.race(whole, {"bayeskit": lambda ask=ask: ask(X)}, repeats=1)
        ratio = report.cpu(whole, "bayeskit") / report.cpu(half, "bayeskit")
        report.claim(f"{name}: twice the steps take", ratio, "×", at_most=2.5)


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    for kind in ("categorical", "gaussian"):
        measure(report, kind, "one sequence", [max(100, round(4e4 * given.scale))])
        measure(report, kind, "many sequences", [100] * max(1, round(400 * given.scale)))
    long_sequence(report, max(1_000, round(1e6 * given.scale)))
    report.finish()


if __name__ == "__main__":
    main()
