"""Learn networks with one peer in an interpreter of its own; it imports nothing of ours.

``python structure_child.py TASK REPEATS output.json sample.npz …``: a sample holds ``codes`` (rows × columns),
``columns`` and ``sizes`` (0 where a column holds numbers). The output holds the version, and for each sample the arcs
found and the best (CPU, wall) seconds of learning from a pandas frame, which is made beforehand. A peer that takes long
gets fewer turns.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

LONG_ENOUGH = 25.0

Arcs = list[tuple[str, str]]
Learn = Callable[[], Arcs]


def frame(columns: list[str], sizes: list[int], codes: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(codes[:, j], [f"s{i}" for i in range(sizes[j])])
            for j, name in enumerate(columns)
        }
    )


def pybnesian(columns: list[str], sizes: list[int], codes: Any) -> Learn:
    import pybnesian as pb

    rows = frame(columns, sizes, codes)

    def learn() -> Arcs:
        start = pb.DiscreteBN(columns)
        return pb.GreedyHillClimbing().estimate(pb.ArcOperatorSet(), pb.BIC(rows), start).arcs()

    return learn


def pybnesian_numbers(columns: list[str], sizes: list[int], codes: Any) -> Learn:
    import pandas as pd
    import pybnesian as pb

    rows = pd.DataFrame(codes, columns=columns)

    def learn() -> Arcs:
        start = pb.GaussianNetwork(columns)
        return pb.GreedyHillClimbing().estimate(pb.ArcOperatorSet(), pb.BIC(rows), start).arcs()

    return learn


def pyagrum(prepare: Callable[[Any], Any]) -> Callable[..., Learn]:
    """Learn by pyAgrum; reading the frame is a part of its time, as it is of ours."""

    def made(columns: list[str], sizes: list[int], codes: Any) -> Learn:
        import pyagrum as gum

        rows = frame(columns, sizes, codes).astype(str)
        template = gum.BayesNet()
        for name, size in zip(columns, sizes, strict=True):
            template.add(gum.LabelizedVariable(name, "", [f"s{i}" for i in range(size)]))

        def learn() -> Arcs:
            learner = gum.BNLearner(rows, template)
            learner.useNoPrior()
            learner.useScoreBIC()
            learner.setNumberOfThreads(1)
            prepare(learner)
            return [(learner.nameFromId(a), learner.nameFromId(b)) for a, b in learner.learnDAG().arcs()]

        return learn

    return made


def pyagrum_pc(learner: Any) -> None:
    learner.usePC()
    learner.useG2Test()
    learner.setPCAlpha(0.01)
    learner.setPCStable(True)


def pgmpy_pc(columns: list[str], sizes: list[int], codes: Any) -> Learn:
    from pgmpy.estimators import PC

    rows = frame(columns, sizes, codes)

    def learn() -> Arcs:
        search = PC(rows)
        given = {"variant": "stable", "ci_test": "g_sq", "significance_level": 0.01, "n_jobs": 1}
        return list(search.estimate(**given, return_type="dag", show_progress=False).edges())

    return learn


def pgmpy_tree(columns: list[str], sizes: list[int], codes: Any) -> Learn:
    from pgmpy.estimators import TreeSearch

    rows = frame(columns, sizes, codes)

    def learn() -> Arcs:
        search = TreeSearch(rows, root_node=columns[0], n_jobs=1)
        return list(search.estimate(estimator_type="chow-liu", show_progress=False).edges())

    return learn


def pomegranate_tree(columns: list[str], sizes: list[int], codes: Any) -> Learn:
    import torch
    from pomegranate.bayesian_network import BayesianNetwork

    rows = torch.tensor(codes.astype(np.int64))

    def learn() -> Arcs:
        model = BayesianNetwork(algorithm="chow-liu").fit(rows)
        return [(columns[p], columns[j]) for j, parents in enumerate(model.structure) for p in parents]

    return learn


# Distribution, then what makes a run of a sample.
TASKS: dict[str, tuple[str, Callable[..., Learn]]] = {
    "PyBNesian hill climbing": ("pybnesian", pybnesian),
    "PyBNesian Gaussian hill climbing": ("pybnesian", pybnesian_numbers),
    "pyAgrum hill climbing": ("pyagrum", pyagrum(lambda learner: learner.useGreedyHillClimbing())),
    "pyAgrum tabu": ("pyagrum", pyagrum(lambda learner: learner.useLocalSearchWithTabuList(100, 10))),
    "pyAgrum PC": ("pyagrum", pyagrum(pyagrum_pc)),
    "pgmpy PC": ("pgmpy", pgmpy_pc),
    "pgmpy Chow–Liu": ("pgmpy", pgmpy_tree),
    "pomegranate Chow–Liu": ("pomegranate", pomegranate_tree),
}


def best(run: Learn, repeats: int) -> tuple[Arcs, tuple[float, float], int]:
    """Call a run up to ``repeats`` times. Return its arcs, the lowest (CPU, wall) seconds and the number of turns."""
    cpu = wall = float("inf")
    begin, turns, found = time.perf_counter(), 0, []
    while turns < repeats and (turns == 0 or time.perf_counter() - begin < LONG_ENOUGH):
        c, w = time.process_time(), time.perf_counter()
        found = run()
        cpu, wall = min(cpu, time.process_time() - c), min(wall, time.perf_counter() - w)
        turns += 1
    return found, (cpu, wall), turns


def main(task: str, repeats: int, out: str, *sources: str) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    distribution, make = TASKS[task]
    answers = []
    for source in sources:
        with np.load(source) as given:
            columns, sizes, codes = given["columns"].tolist(), given["sizes"].tolist(), given["codes"]
        if repeats > 1 and not answers:
            make(columns, sizes, codes[:500])()  # imports and warms
        arcs, seconds, turns = best(make(columns, sizes, codes), repeats)
        answers.append({"arcs": [[str(a), str(b)] for a, b in arcs], "seconds": seconds, "turns": turns})
        # If a peer is stopped, its results so far are kept.
        with open(out, "w", encoding="utf-8") as file:
            json.dump({"version": metadata.version(distribution), "answers": answers}, file)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], *sys.argv[4:])
