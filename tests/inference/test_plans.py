"""The cache of trees: bounded by bytes, the least recently used let go first, safe to share."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from bayeskit._inference.exact import Plans


@dataclass(frozen=True)
class Weight:
    """All that the cache asks of a tree."""

    nbytes: int


def test_the_least_recently_used_goes_first():
    plans = Plans(100)
    for key in "abcd":
        plans.keep(key, Weight(25))
    assert plans.bytes == 100 and len(plans) == 4
    plans.get("a")  # now b is the oldest
    plans.keep("e", Weight(20))
    assert [key for key in "abcde" if plans.get(key) is not None] == ["a", "c", "d", "e"]
    assert plans.bytes == 95
    plans.keep("f", Weight(25))  # takes c's place and more: the order of the last look was a, c, d, e
    assert [key for key in "acdef" if plans.get(key) is not None] == ["c", "d", "e", "f"]
    assert plans.bytes == 95


def test_what_would_push_the_others_out_is_not_kept():
    plans = Plans(100)
    plans.keep("small", Weight(10))
    plans.keep("large", Weight(26))
    assert plans.get("large") is None and plans.get("small") is not None and plans.bytes == 10


def test_a_plan_is_kept_once():
    plans = Plans(100)
    first = Weight(10)
    plans.keep("a", first)
    plans.keep("a", Weight(10))
    assert plans.get("a") is first and plans.bytes == 10 and len(plans) == 1


def test_many_threads_leave_the_books_in_order():
    plans = Plans(1_000)
    weights = {key: Weight(10 + key % 40) for key in range(200)}
    wrong = []

    def work(seed):
        for i in range(3_000):
            key = (i * 7919 + seed * 104729) % 200
            found = plans.get(key)
            if found is None:
                plans.keep(key, weights[key])
            elif found is not weights[key]:
                wrong.append(key)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    kept = [weights[key].nbytes for key in range(200) if plans.get(key) is not None]
    assert plans.bytes == sum(kept) <= 1_000 and len(plans) == len(kept) > 10
