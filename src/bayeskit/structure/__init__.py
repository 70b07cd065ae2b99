"""Structure learners: each asks for statistics and answers with a graph.

A learner is a generator: it yields the plan of what it wants counted, is sent the statistics, and returns a
:class:`~bayeskit.graphs.dag.Dag`. So it runs on counts that are kept, on a source or on a cluster without knowing it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from typing import Any

from bayeskit.graphs.dag import Dag
from bayeskit.statistics import Plan, Statistics

Learner = Generator[Plan, Statistics, Dag]


def learn(learner: Learner, answer: Callable[[Plan], Statistics]) -> Dag:
    """Run a learner, answering its questions."""
    try:
        plan = next(learner)
        while True:
            plan = learner.send(answer(plan))
    except StopIteration as end:
        dag: Dag = end.value
        return dag


def __getattr__(name: str) -> Any:
    # Scoring a table needs rows, which this folder never sees; only the name is here, where it is looked for.
    if name == "score":
        return import_module("bayeskit.learning.networks.network_score").score
    raise AttributeError(f"module 'bayeskit.structure' has no attribute {name!r}")
