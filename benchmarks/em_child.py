"""EM steps of one peer in an interpreter of its own; it imports nothing of ours.

``python em_child.py TASK input.npz``. It prints its version as one line of JSON. For every input line with a number of
steps it fits again with this many steps, and prints ``cpu`` and ``wall`` seconds and ``found``: a mean log-likelihood
or tables. Every peer runs on one thread: on a busy machine, threads would wait for each other, which counts as CPU
time. So peer and benchmark take turns, although they do not share an interpreter.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

Learn = Callable[[int], Any]
Tell = Callable[[Any], Any]


def pomegranate(kind: str) -> Callable[[dict[str, Any]], tuple[Learn, Tell]]:
    """A Gaussian mixture in single precision, from given means."""

    def made(given: dict[str, Any]) -> tuple[Learn, Tell]:
        import torch
        from pomegranate.distributions import Normal
        from pomegranate.gmm import GeneralMixtureModel

        torch.set_num_threads(1)
        rows, means = (torch.from_numpy(given[name].astype(np.float32)) for name in ("rows", "means"))
        spread = float(given["variance"]) * (torch.eye if kind == "full" else torch.ones)(rows.shape[1])

        def learn(steps: int) -> Any:
            start = [Normal(mean.clone(), spread.clone(), covariance_type=kind) for mean in means]
            return GeneralMixtureModel(start, max_iter=steps, tol=-1e9).fit(rows)

        return learn, lambda model: float(model.log_probability(rows).double().mean())

    return made


def stepmix(given: dict[str, Any]) -> tuple[Learn, Tell]:
    from stepmix import StepMix

    rows = given["rows"]
    settings = {"measurement": "categorical", "abs_tol": 0.0, "rel_tol": 0.0, "n_init": 1, "random_state": 0}

    def learn(steps: int) -> Any:
        quiet = {"progress_bar": 0, "verbose": 0}
        return StepMix(n_components=int(given["components"]), max_iter=steps, **settings, **quiet).fit(rows)

    return learn, lambda model: float(model.score(rows))


def pyagrum(given: dict[str, Any]) -> tuple[Learn, Tell]:
    """Run EM over a given graph; with 0 steps it stops by itself."""
    import pandas as pd
    import pyagrum as gum

    columns, sizes, codes = given["columns"].tolist(), given["sizes"].tolist(), given["codes"]
    labels = {name: [f"s{i}" for i in range(size)] for name, size in zip(columns, sizes, strict=True)}
    template = gum.BayesNet()
    for name in columns:
        template.add(gum.LabelizedVariable(name, "", labels[name]))
    for parent, child in given["arcs"].tolist():
        template.addArc(parent, child)
    coded = {name: pd.Categorical.from_codes(codes[:, j], labels[name]) for j, name in enumerate(columns)}
    rows = pd.DataFrame(coded).astype(object).mask(codes < 0, "?")

    def learn(steps: int) -> Any:
        learner = gum.BNLearner(rows, template, ["?"])
        learner.useSmoothingPrior(float(given["prior"]))
        learner.setNumberOfThreads(1)
        learner.useEM(1e-12 if steps else 1e-4)
        if steps:
            learner.EMsetMaxIter(steps)
            learner.EMdisableEpsilon()
            learner.EMenableMaxIter()
            learner.EMdisableMinEpsilonRate()
        return learner.learnParameters(template, True)

    def tell(network: Any) -> dict[str, Any]:
        # The node is the first of its table's variables, and toarray has the first variable last.
        return {
            name: {
                "parents": list(reversed(network.cpt(name).names[1:])),
                "table": network.cpt(name).toarray().tolist(),
            }
            for name in columns
        }

    return learn, tell


# Distribution, then what makes a run of the input.
TASKS: dict[str, tuple[str, Callable[[dict[str, Any]], tuple[Learn, Tell]]]] = {
    "pomegranate full": ("pomegranate", pomegranate("full")),
    "pomegranate diag": ("pomegranate", pomegranate("diag")),
    "StepMix": ("stepmix", stepmix),
    "pyAgrum": ("pyagrum", pyagrum),
}


def main(task: str, source: str) -> None:
    warnings.simplefilter("ignore")
    # The output of a peer must not mix with the results.
    answers, sys.stdout = sys.stdout, sys.stderr
    distribution, make = TASKS[task]
    with np.load(source) as given:
        learn, tell = make(dict(given))
    print(json.dumps({"version": metadata.version(distribution)}), file=answers, flush=True)
    for line in sys.stdin:
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        model = learn(int(line))
        seconds = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        print(json.dumps({**seconds, "found": tell(model)}), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
