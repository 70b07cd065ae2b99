"""The structure of kDB: attributes in the order of what they tell of the class, each with k parents before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.graphs.dag import Dag
from bayeskit.schema import Schema
from bayeskit.statistics import Plan
from bayeskit.statistics.information import class_information, pair_information
from bayeskit.structure import Learner
from bayeskit.typing import Floats

# Informations that differ by less are the same number added up in different orders.
_TIE = 1e-12


def k_dependence(schema: Schema, k: int) -> Learner:
    """Learn the structure of Sahami's k-dependence classifier over the categorical attributes.

    Attributes are taken in the order of I(X; Y), the most telling first; each gets as parents the k before it with
    which it shares most, I(X_i; X_j | Y), the closest first (so the last is the first to be left out when a model backs
    off). Of equals the first column comes first. The nodes of the answer stand in that order.
    """
    statistics = yield Plan.pairs(schema)
    pairs: Any = statistics.parts["pairs"]
    names = [v.name for v in statistics.schema.categorical]
    order = _descending(class_information(pairs.tables.counts, pairs.offsets))
    shared = pair_information(pairs) if k else np.zeros((len(names), len(names)))
    parents = []
    for rank, j in enumerate(order):
        # Candidates in column order, so that of equals the first column is taken.
        before = sorted(order[:rank])
        best = [before[place] for place in _descending(shared[j, before])[:k]]
        parents.append(tuple(names[i] for i in best))
    return Dag(tuple(names[j] for j in order), tuple(parents))


def _descending(values: Floats) -> list[int]:
    found: list[int] = np.argsort(-np.round(np.asarray(values) / _TIE), kind="stable").tolist()
    return found
