"""Time hmmlearn in its own interpreter; it imports nothing of ours.

``python hmm_child.py KIND STAGE input.npz output.npz REPEATS``: the input holds the parameters of a model and the rows
of one sequence (or of several, with their ``lengths``), the output the best (CPU, wall) seconds of each way of
hmmlearn to compute, its answers and its version.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np


def model_of(kind: str, given: Any, implementation: str, steps: int) -> Any:
    from hmmlearn import hmm

    k = len(given["start"])
    settings: dict[str, Any] = {
        "init_params": "",
        "n_iter": steps,
        "tol": -np.inf,
        "implementation": implementation,
    }
    if kind == "categorical":
        model = hmm.CategoricalHMM(k, params="ste", **settings)
        model.emissionprob_, model.n_features = given["emission"], given["emission"].shape[1]
    else:
        model = hmm.GaussianHMM(
            k, "diag", params="stmc", min_covar=0.0, covars_prior=0.0, covars_weight=0.0, **settings
        )
        model.means_, model.covars_ = given["means"], given["variances"]
    model.startprob_, model.transmat_ = given["start"], given["transition"]
    return model


def run_of(stage: str, kind: str, given: Any, implementation: str) -> Any:
    X, lengths = given["X"], given["lengths"]
    model = model_of(kind, given, implementation, 5)
    if stage == "fit":
        return lambda: model_of(kind, given, implementation, 5).fit(X, lengths)
    return {
        "score": lambda: model.score(X, lengths),
        "smooth": lambda: model.predict_proba(X, lengths),
        "path": lambda: model.predict(X, lengths),
    }[stage]


def main(kind: str, stage: str, source: str, out: str, repeats: int) -> None:
    warnings.simplefilter("ignore")
    from importlib import metadata

    with np.load(source) as loaded:
        given = dict(loaded)
    found: dict[str, Any] = {"version": metadata.version("hmmlearn")}
    for implementation in ("log", "scaling"):
        run = run_of(stage, kind, given, implementation)
        answer, best = run(), [float("inf"), float("inf")]
        for _ in range(repeats):
            c, w = time.process_time(), time.perf_counter()
            run()
            best = [min(best[0], time.process_time() - c), min(best[1], time.perf_counter() - w)]
        found[f"{implementation} time"] = best
        if stage == "fit":
            parts = [answer.emissionprob_] if kind == "categorical" else [answer.means_, answer._covars_]
            answer = np.concatenate([np.ravel(a) for a in (answer.startprob_, answer.transmat_, *parts)])
        found[f"{implementation} answer"] = answer
    np.savez(out, **found)


if __name__ == "__main__":
    main(*sys.argv[1:5], int(sys.argv[5]))
