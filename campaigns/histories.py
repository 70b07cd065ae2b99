"""Does any history of learning, fading, forgetting, merging, saving and copying equal a fresh fit on the rows left?

The histories are those of ``tests/laws/test_histories.py``: sixteen random steps, then forgetting until a few rows are
left, with a check after both. Each seed is one history of one way to set up an estimator, and all ways take turns.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from campaign import Campaign, run, use_tests

use_tests()

from test_histories import WAYS, check_history, drawn_steps

NAMES = list(WAYS)


def check(seed: int) -> Mapping[str, int]:
    way, number = NAMES[seed % len(NAMES)], seed // len(NAMES)
    steps = drawn_steps(number)
    check_history(way, number, steps, 1 + number % 9)
    return {"histories": 1, "steps": len(steps), f"of {way.split('-')[0]}": 1}


CAMPAIGN = Campaign(
    name="histories",
    question=__doc__.splitlines()[0],
    check=check,
    promised={"histories": 100_000, **{f"of {name.split('-')[0]}": 1_000 for name in NAMES}},
    long=100_000,
    short=2 * len(NAMES),
)

if __name__ == "__main__":
    sys.exit(run(CAMPAIGN))
