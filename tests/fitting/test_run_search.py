"""Running a search: to its end, to its time, or to Ctrl-C."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from types import SimpleNamespace

import pytest

from bayeskit._fitting import long_runs
from bayeskit._fitting.long_runs import Outcome, run_search
from bayeskit._structure.search_protocol import Family, Graph, Stop, answer_all


def counting(steps=None):
    """Ask so often; the graph tells how many answers came: negative where it came to its end."""
    n = 0
    try:
        while steps is None or n < steps:
            yield [Family(0, n)]
            n += 1
    except Stop:
        return Graph((n,))
    return Graph((-n,))


def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)
    return [None]


def test_to_its_end():
    told = []
    found = run_search(counting(5), lambda question: [None], on_step=lambda: told.append(1))
    assert found == Outcome(Graph((-5,))) and len(told) == 5
    assert answer_all(counting(5), lambda question: [None]) == Graph((-5,))
    assert run_search(counting(0), lambda question: [None]) == Outcome(Graph((0,)))


def test_the_time_is_up(monkeypatch):
    clock = itertools.count(100.0, 2.0)  # goes on whenever it is looked at
    monkeypatch.setattr(long_runs, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    found = run_search(counting(), lambda question: [None], time_limit=7)
    # Looked at after 2, 4, 6 and 8 seconds.
    assert found == Outcome(Graph((3,)), "time")
    monkeypatch.undo()
    # With no time at all the first question is still answered.
    assert run_search(counting(), lambda question: [None], time_limit=0).stopped == "time"
    assert run_search(counting(3), lambda question: [None], time_limit=60).stopped is None


def test_interrupted():
    before = signal.getsignal(signal.SIGINT)
    found = run_search(counting(), interrupt)
    assert found.stopped == "interrupt" and found.graph.parents[0] >= 0
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupted_from_another_thread():
    asked = []

    def answer(question):
        asked.append(question)
        if len(asked) == 3:
            thread = threading.Thread(target=interrupt)
            thread.start()
            thread.join()
        return [None]

    assert run_search(counting(), answer) == Outcome(Graph((2,)), "interrupt")


def test_the_second_interrupt_strikes():
    def twice(question):
        interrupt()
        interrupt()
        raise AssertionError("the second one did not strike")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_search(counting(), twice)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_the_answers_comes_through():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        run_search(counting(), lambda question: 1 / 0)
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread():
    """There no signal can be caught, and none is."""
    found = []
    thread = threading.Thread(target=lambda: found.append(run_search(counting(4), lambda question: [None])))
    thread.start()
    thread.join()
    assert found == [Outcome(Graph((-4,)))]


def test_a_search_that_asks_on_is_stopped_again():
    """Some ask for the scores of what they are about to return."""

    def stubborn():
        for _ in range(3):
            try:
                while True:
                    yield [Family(0, 0)]
            except Stop:
                pass
        return Graph((3,))

    assert run_search(stubborn(), lambda question: [None], time_limit=0).graph == Graph((3,))
