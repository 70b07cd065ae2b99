"""Run kernels in plain Python and compiled, on the same arguments, and compare every bit."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from bayeskit import _numba as module

# Seconds after which a plain run is given up: nothing is compared then.
PATIENCE = 0.5
LARGEST = 300_000
# So many calls of each kernel are compared where not all are.
FIRST = 150


def copied(value: Any) -> Any:
    if isinstance(value, tuple):
        parts = map(copied, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not isinstance(value, np.ndarray):
        return value
    new = np.empty_like(value, order="C" if value.flags.c_contiguous else "K")
    new[...] = value
    new.flags.writeable = value.flags.writeable
    return new


def bits(value: Any) -> Any:
    """Return what must be equal: numbers by their bits, NaN by being NaN."""
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if isinstance(value, np.ndarray):
        array = np.where(np.isnan(value), np.nan, value) if value.dtype.kind == "f" else value
        return value.dtype.str, value.shape, np.ascontiguousarray(array).tobytes()
    if isinstance(value, float):
        return "nan" if value != value else value.hex()
    return type(value).__name__, value


def run_plain(deferred: Any, arguments: tuple[Any, ...]) -> Any:
    """Run a kernel in plain Python; None, with nothing to compare, where the product would compile it."""
    try:
        return (deferred.run_plain(arguments, PATIENCE),)
    except (module.KernelOverdue, FloatingPointError, OverflowError):
        return None


@contextmanager
def called_by(call: Callable[..., Any]) -> Iterator[None]:
    """Let ``call(deferred, *arguments)`` make every call of a kernel from Python, compiled or not."""
    original, aside = module.DeferredKernel.__call__, module.DeferredKernel._step_aside
    made = [type(one) for one in set(module._deferred.values()) if "__call__" in vars(type(one))]
    replaced = {own: vars(own)["__call__"] for own in made}
    for own in made:
        del own.__call__
    module.DeferredKernel.__call__ = call  # type: ignore[method-assign]
    module.DeferredKernel._step_aside = lambda self: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        module.DeferredKernel.__call__, module.DeferredKernel._step_aside = original, aside  # type: ignore[method-assign]
        for own, found in replaced.items():
            own.__call__ = found


@contextmanager
def noting(ran: set[Any]) -> Iterator[None]:
    """Add the code objects of all functions that run in the block."""
    tracer = sys.getprofile()
    sys.setprofile(lambda frame, event, _: ran.add(frame.f_code) if event == "call" else None)
    try:
        yield
    finally:
        sys.setprofile(tracer)


@contextmanager
def both_ways(*, every: bool = True) -> Iterator[set[Any]]:
    """Let kernels that are called from Python run both ways; give the code objects that ran plain.

    Without ``every``, later calls of a kernel are compared one in sixteen, once all functions it calls have run.
    """
    ran: set[Any] = set()
    names: dict[Any, set[Any]] = {}
    calls: Counter[Any] = Counter()

    def call(self: Any, *arguments: Any) -> Any:
        compiled = self.made()
        size = sum(a.size for a in module._flat(arguments) if isinstance(a, np.ndarray))
        if self not in names:
            names[self] = {
                one.py_func.__code__ for one in module._called(self) if one._make is module._compiled
            }
        calls[self] += 1
        seen = names[self] <= ran
        late = not every and seen and calls[self] > FIRST and calls[self] % 16
        if late or size > LARGEST:
            return compiled(*arguments)
        plain = copied(arguments)
        written = {id(array) for array in self.written_arrays(arguments)}
        only_read = [a for a in module._flat(arguments) if isinstance(a, np.ndarray) and id(a) not in written]
        before = [bits(a) for a in only_read]
        # Noting which functions run makes them several times slower: only while one of them is still to be seen.
        with nullcontext() if seen else noting(ran):
            answer = run_plain(self, plain)
        expected = compiled(*arguments)
        assert before == [bits(a) for a in only_read], f"{self.__name__} writes what it is said to read"
        if answer is not None:
            assert bits(answer[0]) == bits(expected), f"{self.__name__}: {answer[0]!r}, compiled {expected!r}"
            for number, (mine, theirs) in enumerate(zip(plain, arguments, strict=True)):
                assert bits(mine) == bits(theirs), f"{self.__name__}: argument {number} differs"
        return expected

    with called_by(call):
        yield ran
