"""Do random networks answer every question as the whole joint table does, to 1e-12?

Each seed is one network with evidence of every kind: states, excluded states, likelihoods, contradictions. It is asked
through the public methods and through the engine itself, with one tree for all questions and with a plan for each.
Every tenth seed also asks for a batch of rows, and every fifth a Markov network (to 1e-11).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from campaign import Campaign, run, use_tests

use_tests()

import bayeskit._inference.exact as exact
import test_exact
import test_markov_network
import test_queries


def check(seed: int) -> Mapping[str, int]:
    before = exact.SMALL_TREE
    exact.SMALL_TREE = 0.0 if seed % 4 >= 2 else before
    try:
        test_exact.check(seed)
        if seed % 10 == 0:
            test_exact.check_rows(seed)
        impossible = test_queries.check_enumeration(seed, zeros=0.3 * (seed % 2))
        if seed % 5 == 0:
            test_markov_network.check_enumeration(seed)
    finally:
        exact.SMALL_TREE = before
    counts = {"networks": 2 + (seed % 5 == 0), "impossible evidence": int(impossible)}
    return {**counts, "batches of 37 rows": 1} if seed % 10 == 0 else counts


CAMPAIGN = Campaign(
    name="networks",
    question=__doc__.splitlines()[0],
    check=check,
    promised={"networks": 100_000},
    long=46_000,
    short=150,
)

if __name__ == "__main__":
    sys.exit(run(CAMPAIGN))
