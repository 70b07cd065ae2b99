"""Work that is counted, where a clock would measure the machine: the instructions of Python that a call runs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from bayeskit import _numba as module
from both_ways import called_by


def steps(call: Callable[[], Any]) -> int:
    """Return how many instructions of Python a call runs.

    Kernels run in plain Python, so that the passes of their loops count as well. What C does in one instruction,
    such as a search in a list or a sum over an array, counts as one.
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    def plain(deferred: Any, *arguments: Any) -> Any:
        if module._must_compile():  # plain functions would be another thing; their loops go uncounted
            return deferred.made()(*arguments)
        return deferred.run_plain(arguments, math.inf)

    before = sys.gettrace()
    with called_by(plain):
        # Python 3.12 reports instructions only if some frame has asked for them before tracing begins.
        sys._getframe().f_trace_opcodes = True
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(before)
    return count


def check_growth(make: Callable[[int], Callable[[], Any]], n: int, most: float = 2.2) -> None:
    """Check that twice the size takes at most so many times the work: 2 where it is linear, 4 where quadratic.

    ``make(n)`` prepares a task of that size and returns it; only the task itself is counted.
    """
    make(n)()  # what is made once for all sizes
    if sys.version_info >= (3, 13):
        steps(make(2 * n))  # instructions are counted from the second traced call of a function on
    small, large = (steps(make(size)) for size in (n, 2 * n))
    assert small > 0, "nothing was counted"
    assert large <= most * small, f"{small:,} steps for {n}, {large:,} for {2 * n}: {large / small:.2f} times"
