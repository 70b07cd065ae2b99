"""Does any history of learning, fading, forgetting, merging, saving and copying equal a fresh fit on the rows left?

The histories are those of ``tests/laws/test_histories.py``: sixteen random steps, then forgetting until a few rows are
left, with a check after both. Each seed is one history of one way to set up an estimator. All ways take turns until
they have as many histories as their cost allows: one of AutoBayes takes as long as fifty of naive Bayes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from campaign import Campaign, run, use_tests

use_tests()

from test_histories import WAYS, check_history, drawn_steps

NAMES = list(WAYS)
# CPU milliseconds of a history are about 16 for those, 40 for most ways, 100 for others, and 700 for AutoBayes.
QUICK = (
    "NaiveBayes",
    "NaiveBayes-mle",
    "CategoricalNB",
    "BernoulliNB",
    "MultinomialNB",
    "ComplementNB",
    "WeightedNB",
)
SLOW = (
    *("NaiveBayes-kernel", "GaussianBayes", "GaussianBayes-shared", "GaussianBayes-coded", "TAN-gaussian"),
    *("KDB", "KDB-witten-bell", "KDB-held", "SelectiveKDB", "LogLinearBayes", "LogLinearBayes-mixed"),
    "BayesNet-mixed",
)
EACH = {
    name: 500
    if name.startswith("AutoBayes")
    else 5_200
    if name in QUICK
    else 1_000
    if name in SLOW
    else 3_000
    for name in NAMES
}


def turn(seed: int) -> tuple[str, int]:
    """Return whose turn it is, and the number of its history."""
    begin = 0
    for end in sorted(set(EACH.values())):
        names = [name for name in NAMES if EACH[name] >= end]
        if seed < len(names) * (end - begin):
            return names[seed % len(names)], begin + seed // len(names)
        seed -= len(names) * (end - begin)
        begin = end
    return NAMES[seed % len(NAMES)], begin + seed  # beyond the long form


def check(seed: int) -> Mapping[str, int]:
    way, number = turn(seed)
    steps = drawn_steps(number)
    check_history(way, number, steps, 1 + number % 9)
    return {"histories": 1, "steps": len(steps), f"of {way.split('-')[0]}": 1}


CAMPAIGN = Campaign(
    name="histories",
    question=__doc__.splitlines()[0],
    check=check,
    promised={"histories": 100_000, **{f"of {name.split('-')[0]}": 1_000 for name in NAMES}},
    long=sum(EACH.values()),
    short=2 * len(NAMES),
)

if __name__ == "__main__":
    sys.exit(run(CAMPAIGN))
