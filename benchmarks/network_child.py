"""Ask pyAgrum in an interpreter of its own; it imports nothing of ours.

``python network_child.py TASK input.json output.npz``. The output holds ``seconds`` (CPU and wall of each round),
``answers`` (the numbers of the first round, one after the other) and ``version``. A first query is not timed.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

LONG_ENOUGH = 30.0


def timed(run: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    answer = run()
    return answer, (time.process_time() - cpu, time.perf_counter() - wall)


def turns(run: Callable[[], Any], most: int) -> tuple[Any, list[tuple[float, float]]]:
    """Time a run up to ``most`` times, or until it has taken long enough."""
    answer, first = timed(run)
    seconds = [first]
    while len(seconds) < most and sum(wall for _, wall in seconds) < LONG_ENOUGH:
        seconds.append(timed(run)[1])
    return answer, seconds


def ask_engine(gum: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    """Compute rounds of evidence sets: the marginals of all unobserved nodes, or of the node given with each set."""
    network = gum.loadBN(given["path"])

    def made() -> Any:
        engine = getattr(gum, given["engine"])(network)
        if given["threads"]:
            engine.setNumberOfThreads(given["threads"])
        return engine

    engine = made()
    names, states = given["names"], given["states"]
    kept_target = given.get("target")
    if kept_target:
        engine.addTarget(kept_target)

    def every(evidence: dict[str, str], _: str) -> list[Any]:
        engine.setEvidence(evidence)
        engine.makeInference()
        return [engine.posterior(name).toarray() for name in names if name not in evidence]

    def one(evidence: dict[str, str], target: str) -> list[Any]:
        if not kept_target:
            engine.eraseAllTargets()
            engine.addTarget(target)
        engine.setEvidence(evidence)
        engine.makeInference()
        return [engine.posterior(target).toarray()]

    def first(evidence: dict[str, str], target: str) -> list[Any]:
        nonlocal engine
        engine = made()
        return ask_now(evidence, target)

    ask_now = one if given["asks_one"] else every
    ask = first if given.get("fresh") else ask_now
    order = {name: [network.variable(name).index(s) for s in states[name]] for name in names}

    def flat(evidence: dict[str, str], target: str, found: list[Any]) -> list[Any]:
        asked = [target] if given["asks_one"] else [name for name in names if name not in evidence]
        return [numbers[order[name]] for name, numbers in zip(asked, found, strict=True)]

    ask(*given["warm"])
    rounds = given["rounds"]
    first, seconds = turns(lambda: [ask(*asked) for asked in rounds[0]], given["turns"])
    for sets in rounds[1:]:
        seconds.append(timed(lambda sets=sets: [ask(*asked) for asked in sets])[1])
    answers = [part for asked, found in zip(rounds[0], first, strict=True) for part in flat(*asked, found)]
    return np.concatenate(answers), seconds


def classify(gum: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    """Answer complete rows of text by its classifier, which looks at the Markov blanket alone."""
    import pandas as pd
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    rows = pd.DataFrame(given["columns"])
    as_they_are = DiscreteTypeProcessor(
        defaultDiscretizationMethod="NoDiscretization", defaultNumberOfBins=None
    )
    model = BNClassifier(type_processor=as_they_are)
    states, target = given["states"][given["target"]], given["target"]
    # Of two states its second column is that of the modality named here, whatever classes_ says.
    model.fromTrainedModel(gum.loadBN(given["path"]), targetAttribute=target, targetModality=states[1])
    model.predict_proba(rows[:10])
    found, seconds = turns(lambda: model.predict_proba(rows), given["turns"])
    place = {str(label): column for column, label in enumerate(model.classes_)}
    order = [0, 1] if len(states) == 2 else [place[state] for state in states]
    return np.asarray(found)[:, order].ravel(), seconds


def load(gum: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    network, seconds = turns(lambda: gum.loadBN(given["path"]), given["turns"])
    return np.array([network.size(), network.sizeArcs()]), seconds


TASKS = {"ask": ask_engine, "classify": classify, "load": load}


def main(task: str, source: str, out: str) -> None:
    warnings.simplefilter("ignore")
    import pyagrum as gum

    with open(source, encoding="utf-8") as file:
        given = json.load(file)
    answers, seconds = TASKS[task](gum, given)
    np.savez(out, answers=answers, seconds=seconds, version=gum.__version__)


if __name__ == "__main__":
    main(*sys.argv[1:4])
