"""Runs kernels: in plain Python for little work, compiled by Numba for more.

Compiling a kernel takes from a tenth of a second to several seconds. A small table or network needs less than
that even in plain Python. So a kernel first runs its own Python function, and the passes through its loops
are counted. When they would have paid for compiling it, or when it is handed that much work at once, it is
compiled, and the call that was running is made again from the arrays it began with. Where compiled code lies
on disk already, it is used as soon as the work of all kernels has paid for importing Numba. Both ways give the
same bits; ``tests/conformance/test_kernels.py`` runs every kernel both ways.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial, update_wrapper
from pathlib import Path
from time import perf_counter, thread_time
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, SupportsInt, cast

from bayeskit._messages import Message
from bayeskit._written_arguments import Places, every_argument, written_arguments

# Nothing calls kernels from C, so a wrapper for that would be compiled for nothing: a tenth of all compiling.
_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
# About half of what compiling takes: seconds, and seconds for each byte of bytecode of all that is compiled with it.
# With half, a kernel whose work goes on costs at most 1.5 times what it would if it were compiled at once.
_PATIENCE, _PATIENCE_A_BYTE = 0.1, 2e-4
# What it takes on average: 48 kernels of 112 to 4,772 bytes took 20 seconds together, and most of them 0.7 to 1.4 times
# this.
_COMPILE_A_BYTE = 3.4e-4
# About half of what importing Numba takes: so many seconds in plain Python are less than loading compiled code.
_LOADING = 0.25
# The least that a pass through a loop takes in plain Python, in seconds.
_PASS = 2e-7
# Beyond this many cells no plain run is tried: the memory limits do not include the copies of arrays for a restart.
_LARGEST = 2**18
# One in this many passes of the outermost loop is run to estimate the time of all.
_TRIAL = 16
# Types of NumPy that a memoryview gives as Python's bool, int and float.
_VIEWED = "?BHILQbhilqd"
_ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF
_lock = threading.RLock()
_warned = False
# What is left of `_LOADING`, for all kernels together.
_left_before_loading = _LOADING


class DeferredKernel:
    """A function that runs in plain Python until compiling it with Numba is worthwhile.

    Other deferred functions that it names are turned first, and put in its module in their place, because
    Numba must find the compiled ones there.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        make: Callable[[Callable[..., Any]], Any],
        plain: Callable[..., Any] | None = None,
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._make = make
        self._made: Any = None
        self._plain = plain
        self._left: float | None = None
        self._is_cached = False
        self._writes: Places | None = None
        _deferred[self] = self

    def __new__(cls, *arguments: object, **options: object) -> DeferredKernel:
        # A class of its own, whose ``__call__`` is replaced once the function is made: no step of Python in between.
        return object.__new__(type(cls.__name__, (cls,), {"__module__": cls.__module__}))

    def __call__(self, *arguments: Any) -> Any:
        return self._first(arguments)

    def made(self) -> Any:
        """Return the function as compiled by Numba."""
        with _lock:
            if self._made is None:
                names = self.py_func.__globals__
                for name in self.py_func.__code__.co_names:
                    if isinstance(names.get(name), DeferredKernel):
                        names[name] = names[name].made()
                self._made = self._make(self.py_func)
                _deferred[self._made] = self
                _keep_safely(self)
                self._step_aside()
        return self._made

    def _step_aside(self) -> None:
        """Be what was made from now on."""
        type(self).__call__ = staticmethod(self._made)  # type: ignore[method-assign]

    def plain(self) -> Callable[..., Any]:
        """Return the function in plain Python, its loops metered, its numbers those of compiled code."""
        with _lock:
            if self._plain is None:
                function = self.py_func
                names = {"range": _metered_range, "__builtins__": __builtins__}
                plain = FunctionType(
                    function.__code__, names, function.__name__, function.__defaults__, function.__closure__
                )
                for name in function.__code__.co_names:
                    if name in function.__globals__:
                        names[name] = _plain_value(name, function.__globals__[name])
                self._plain = plain
        return self._plain

    def writes(self) -> Places:
        """Return which arguments the function writes, itself or through others that it calls."""
        with _lock:
            if self._writes is None:
                if self._make is _intrinsic:
                    self._writes = frozenset()
                else:
                    self._writes = every_argument(self.py_func)  # what a function says that calls itself
                    self._writes = written_arguments(self.py_func, _writes)
        return self._writes

    def written_arrays(self, arguments: tuple[Any, ...]) -> list[Any]:
        """List the arrays among the arguments that the function writes."""
        import numpy as np

        found = []
        for number, field, depth in self.writes():
            argument = arguments[number] if number < len(arguments) else None
            if not isinstance(argument, tuple):
                parts = [argument]
            elif field is not None and hasattr(argument, field):
                parts = [getattr(argument, field)]
            else:  # an index may choose a part of the tuple
                parts, depth = list(argument), 0
            found += [a for a in parts if isinstance(a, np.ndarray) and a.ndim > depth and a.flags.writeable]
        return list({id(array): array for array in found}.values())

    def _first(self, arguments: tuple[Any, ...]) -> Any:
        """Run in plain Python if that costs less than compiling, else compiled."""
        import numpy as np

        global _left_before_loading
        if (
            _compiling
            or _this_thread.shares_arrays
            or _must_compile()
            or os.environ.get("BAYESKIT_COMPILE") == "always"
        ):
            return self.made()(*arguments)
        if self._left is None:
            self._is_cached = is_cached(self.py_func)
            self._left = 0.0 if self._is_cached else _patience(self)
        loads = self._is_cached and "numba" not in sys.modules
        left = _left_before_loading if loads else self._left
        arrays = [a for a in _flat(arguments) if isinstance(a, np.ndarray)]
        size = sum(a.size for a in arrays)
        if size > _LARGEST or _PASS * size >= left:
            return self.made()(*arguments)
        before = [(a, a.copy()) for a in arrays if a.flags.writeable]
        begin = thread_time()
        try:
            return self.run_plain(arguments, left / _calls)
        except IndexError:  # compiled code would read or write there
            raise
        except Exception:
            # Too much work, or a whole number outgrew the narrow type in which NumPy, unlike Numba, keeps it.
            # Finding out what is written takes a millisecond: small next to compiling, not to a small call.
            written = {id(array) for array in self.written_arrays(arguments)}
            for array, values in before:
                if id(array) in written:
                    array[...] = values
            return self.made()(*arguments)
        finally:
            took = thread_time() - begin
            if loads:
                _left_before_loading -= took
            else:
                self._left -= took

    def run_plain(self, arguments: tuple[Any, ...], seconds: float) -> Any:
        """Run in plain Python; ``KernelOverdue`` is raised where that takes more CPU seconds than are given."""
        import numpy as np

        outer = vars(_meter).copy()
        _meter.end, _meter.cpu_end, _meter.begun = perf_counter() + seconds, thread_time() + seconds, False
        try:
            with np.errstate(over="raise", divide="ignore", invalid="ignore", under="ignore"):
                return _python_numbers(self.plain()(*map(_quick, arguments)))
        finally:
            vars(_meter).update(outer)


def _writes(function: Any) -> Places | None:
    """Return what a function that a kernel calls writes, if it is a kernel."""
    known = _deferred.get(function) if callable(function) else None
    return None if known is None else known.writes()


# All deferred functions, by themselves and by what Numba made of them.
_deferred: dict[Any, DeferredKernel] = {}


class KernelOverdue(Exception):
    """A kernel in plain Python has worked for as long as compiling it takes."""


class _Meter(threading.local):
    """When the kernel that runs in this thread is overdue, by the clock and by CPU time, and whether a loop has begun.

    The clock is quicker to read. Where it says that the time is over, CPU time decides: other processes may have had
    the processor, and a kernel is not compiled on their account.
    """

    def __init__(self) -> None:
        self.end = 0.0
        self.cpu_end = 0.0
        self.begun = True

    def check(self, seconds: float) -> None:
        """Raise ``KernelOverdue`` if so many more seconds of work end too late."""
        now = perf_counter()
        if now + seconds > self.end:
            left = self.cpu_end - thread_time()
            if seconds > left:
                raise KernelOverdue
            self.end = now + left


_meter = _Meter()


class _ThisThread(threading.local):
    shares_arrays = False


_this_thread = _ThisThread()


def share_arrays() -> None:
    """Compile every kernel that this thread calls: other threads write to the arrays it is given.

    A plain run that is given up restores whole arrays, and would erase what the others have written by then.
    """
    _this_thread.shares_arrays = True


def _metered_range(*bounds: int) -> Iterable[int]:
    """Return a range, if the loop over it can end in time."""
    passes = range(*bounds)
    _meter.check(_PASS * len(passes))
    if _meter.begun or len(passes) < 2 * _TRIAL:
        return passes
    _meter.begun = True
    return _trial_passes(passes)


def _trial_passes(passes: range) -> Iterator[int]:
    """Yield the passes of a kernel's outermost loop, unless the first of them show that it will not end in time."""
    trial, begin = len(passes) // _TRIAL, thread_time()
    yield from passes[:trial]
    _meter.check((thread_time() - begin) * (_TRIAL - 1))
    yield from passes[trial:]


def _quick(value: Any) -> Any:
    """Return a view of a flat array that gives Python's numbers: they are quicker than NumPy's; others as they are."""
    if isinstance(value, tuple):
        parts = map(_quick, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return memoryview(value) if getattr(value, "ndim", 0) == 1 and value.dtype.char in _VIEWED else value


def _flat(arguments: tuple[Any, ...]) -> Iterator[Any]:
    """Yield arguments one by one, those in tuples too."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from argument
        else:
            yield argument


def _called(deferred: DeferredKernel) -> set[DeferredKernel]:
    """Return a deferred function and all that it calls, directly or not."""
    found, waiting = {deferred}, [deferred]
    while waiting:
        function = waiting.pop().py_func
        values = [function.__globals__.get(name) for name in function.__code__.co_names]
        new = {_deferred[value] for value in values if callable(value) and value in _deferred} - found
        found |= new
        waiting += new
    return found


def _patience(deferred: DeferredKernel) -> float:
    """Return for how many seconds a kernel may run in plain Python before it is compiled."""
    return _PATIENCE + _PATIENCE_A_BYTE * _bytecode(deferred)


def deferred_kernel(function: Callable[..., Any]) -> DeferredKernel:
    """Return the kernel that a function is, or that it was made from."""
    return _deferred[function]


def compile_seconds(deferred: DeferredKernel) -> float:
    """Return how many CPU seconds it takes to compile a kernel, by estimate: it grows with its bytecode."""
    return _COMPILE_A_BYTE * _bytecode(deferred)


def _bytecode(deferred: DeferredKernel) -> int:
    """Return the bytes of bytecode of all that is compiled with a kernel."""
    return sum(len(one.py_func.__code__.co_code) for one in _called(deferred))


def _plain_value(name: str, value: Any) -> Any:
    """Return the replacement of a name of a kernel's module while the kernel runs in plain Python."""
    if isinstance(value, ModuleType):
        return _plain_module(value)
    if not callable(value):
        return value
    if value in _deferred:
        return _deferred[value].plain()
    if name == "_U":  # np.uintp by this name, or as np.uintp, makes an index; np.uint64 makes a word of bits
        return int
    return _SCALAR.get(value.__name__, value) if getattr(value, "__module__", "") == "math" else value


@cache
def _plain_module(module: ModuleType) -> Any:
    """Return NumPy or ``math`` with the C library's functions of one number in it; others as they are."""
    if module.__name__ not in ("numpy", "math"):
        return module
    known = {**_SCALAR, "uintp": int, "uint64": as_word}
    return SimpleNamespace(
        **{**vars(module), **{name: known[name] for name in known if hasattr(module, name)}}
    )


def as_word(value: SupportsInt) -> Any:
    """Return a word of 64 bits; a number below zero wraps around."""
    import numpy as np

    return np.uint64(int(value) & _ALL_BITS)


def _logarithm(function: Callable[[float], float], pole: float, there: float) -> Callable[[float], float]:
    """Return a function that answers where Python's raises, as compiled code does."""

    def answer(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return there if x == pole else math.nan

    return answer


def _exponential(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


@cache
def _library_lgamma() -> Callable[[float], float]:
    """Return the C library's function, which Numba calls; Python has one of its own."""
    import ctypes

    function = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).lgamma
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    return cast(Callable[[float], float], function)


# Numba calls the C library, as Python does. NumPy has loops of its own, which may differ in the last bit, and its
# functions of one number are slow.
_SCALAR: dict[str, Callable[..., Any]] = {
    "log": _logarithm(math.log, 0.0, -math.inf),
    "log2": _logarithm(math.log2, 0.0, -math.inf),
    "log1p": _logarithm(math.log1p, -1.0, -math.inf),
    "lgamma": lambda x: _library_lgamma()(x),
    "exp": _exponential,
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
}


def _python_numbers(answer: Any) -> Any:
    """Return numbers of Python for those of NumPy, as compiled code does."""
    if isinstance(answer, tuple):
        return tuple(map(_python_numbers, answer))
    return answer.item() if hasattr(answer, "item") and answer.ndim == 0 else answer


_compiling = False


@contextmanager
def compiling() -> Iterator[None]:
    """Compile every kernel that is called within the block, even for little work."""
    global _compiling
    before, _compiling = _compiling, True
    try:
        yield
    finally:
        _compiling = before


# How many calls like the one that is running are to come: the largest number that a block which is open has told.
_calls = 1
_told_calls: list[int] = []


@contextmanager
def repeating(calls: int) -> Iterator[None]:
    """Let the kernels in the block know that each is called about this often: one call then tells what all will cost.

    Otherwise a kernel learns only call by call that its work is worth compiling.
    """
    _tell_calls(_told_calls.append, calls)
    try:
        yield
    finally:
        _tell_calls(_told_calls.remove, calls)


def _tell_calls(change: Callable[[int], None], calls: int) -> None:
    # Blocks of several threads may end in another order than they began.
    global _calls
    with _lock:
        change(calls)
        _calls = max(_told_calls, default=1)


@cache
def _must_compile() -> bool:
    """Return whether plain functions would behave differently from compiled ones.

    NumPy 1 makes a float of uint64 + int. Numba's bounds checking is asked for to see what compiled code does.
    """
    import numpy as np

    return int(np.__version__.split(".")[0]) < 2 or os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")


def is_cached(function: Callable[..., Any]) -> bool:
    """Return whether compiled code that is newer than its source seems to be on disk.

    Only Numba knows for sure, but importing it takes longer than most small work. A wrong guess costs time,
    nothing else.
    """
    source = Path(function.__code__.co_filename)
    begins = f"{source.stem}.{function.__qualname__}-{function.__code__.co_firstlineno}.py"
    try:
        changed = source.stat().st_mtime
    except OSError:
        return False
    return any(name.startswith(begins) and changed <= written for name, written in _indexes(source.parent))


@cache
def _indexes(sources: Path) -> list[tuple[str, float]]:
    """List what is kept of the kernels in a folder: the names of Numba's indexes, and when they were written."""
    found = []
    for folder in cache_folders(sources):
        try:
            with os.scandir(folder) as entries:
                found += [(e.name, e.stat().st_mtime) for e in entries if e.name.endswith(".nbi")]
        except OSError:
            continue
    return found


def cache_folders(sources: Path) -> list[Path]:
    """Return the folders in which Numba may keep compiled code of the sources in a folder, best first."""
    subfolder = f"{sources.name}_{hashlib.sha1(str(sources).encode()).hexdigest()}"
    folder = os.environ.get("NUMBA_CACHE_DIR")
    if folder:
        return [Path(folder) / subfolder]
    return [sources / "__pycache__", _user_cache() / "numba" / subfolder]


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a loop a kernel: compiled once that pays, GIL released, kept on disk where a folder can be written.

    A read-only installation without a home directory has nowhere to cache compiled code. The kernel is then
    compiled in every process, with one warning.
    """
    return DeferredKernel(function, _compiled)


def intrinsic(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of Numba's code generator callable inside kernels; ``plain`` is the same in Python."""
    return partial(DeferredKernel, make=_intrinsic, plain=plain)


# What is called whenever Numba begins to compile.
_told_of_compiling: list[Callable[[], None]] = []


@contextmanager
def telling_of_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` whenever compiling begins in the block. What is loaded from disk is not compiled.

    Numba is not imported for that: small work needs none of it.
    """
    _told_of_compiling.append(tell)
    try:
        yield
    finally:
        _told_of_compiling.remove(tell)


@cache
def _listen_to_numba() -> None:
    from numba.core import event

    class Listener(event.Listener):
        """Passes on that compiling begins."""

        def on_start(self, event: object) -> None:
            for tell in tuple(_told_of_compiling):
                tell()

        def on_end(self, event: object) -> None:
            """Nobody asks when it ends."""

    register: Any = event.register  # it has no types
    register("numba:compile", Listener())


def _compiled(function: Callable[..., Any]) -> Any:
    global _warned
    from numba import njit

    _listen_to_numba()
    try:
        return njit(cache=True, **_OPTIONS)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        if not _warned:
            _warned = True
            warnings.warn(
                str(
                    Message(
                        "bayeskit found no writable directory for compiled kernels, so each process compiles again. "
                        "Set NUMBA_CACHE_DIR to a writable directory."
                    )
                ),
                stacklevel=2,
            )
        return njit(**_OPTIONS)(function)


def _keep_safely(deferred: DeferredKernel) -> None:
    """Let compiled code on disk count only while all its sources are as they were, and while it can be read.

    Numba looks at a kernel's own file, and not at those of the kernels that were compiled into it. What an older
    version of the library left there may name classes that are gone.
    """
    kept = getattr(getattr(deferred._made, "_cache", None), "_cache_file", None)
    if kept is None:
        return
    kept.__class__ = _readable_or_absent(type(kept))
    sources = {one.py_func.__code__.co_filename for one in _called(deferred)}
    beside = sorted(sources - {deferred.py_func.__code__.co_filename})
    stamps = tuple((Path(path).stat().st_mtime, Path(path).stat().st_size) for path in beside)
    kept._source_stamp = (kept._source_stamp, stamps)


def _readable_or_absent(kind: type[Any]) -> type[Any]:
    class CacheFile(kind):
        """An index and its data; what cannot be read is not there."""

        def _load_index(self) -> Any:
            try:
                return super()._load_index()
            except Exception:
                return {}

        def load(self, key: Any) -> Any:
            try:
                return super().load(key)
            except Exception:
                return None

    return CacheFile


def _intrinsic(function: Callable[..., Any]) -> Any:
    from numba.extending import intrinsic as make

    return make(function)
