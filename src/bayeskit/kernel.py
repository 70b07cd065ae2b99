"""The one way a kernel is compiled: when it is first called, so that importing bayeskit does not import Numba."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

# Nothing calls kernels from C, so a wrapper for that would be compiled for nothing: a tenth of all compiling.
_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
_lock = threading.RLock()
_warned = False


class Deferred:
    """A function that Numba turns into something else at its first use.

    Other deferred functions that it names are turned first, and put in its module in their place, because
    Numba must find the compiled ones there.
    """

    def __init__(self, function: Callable[..., Any], make: Callable[[Callable[..., Any]], Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._make = make
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._made or self.made())(*arguments)

    def made(self) -> Any:
        """Return what Numba makes of the function."""
        with _lock:
            if self._made is None:
                names = self.py_func.__globals__
                for name in self.py_func.__code__.co_names:
                    if isinstance(names.get(name), Deferred):
                        names[name] = names[name].made()
                self._made = self._make(self.py_func)
        return self._made


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop at its first call: GIL released, cached on disk where a directory can be written.

    A read-only installation without a home directory has nowhere to keep compiled code: the kernel
    then compiles in every process, which is said once.
    """
    return Deferred(function, _compiled)


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of Numba's code generator callable inside kernels."""
    return Deferred(function, _intrinsic)


def _compiled(function: Callable[..., Any]) -> Any:
    global _warned
    from numba import njit

    try:
        return njit(cache=True, **_OPTIONS)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        if not _warned:
            _warned = True
            warnings.warn(
                "bayeskit found no writable directory for compiled kernels, so each process compiles anew. "
                "Set NUMBA_CACHE_DIR to a writable directory.",
                stacklevel=2,
            )
        return njit(**_OPTIONS)(function)


def _intrinsic(function: Callable[..., Any]) -> Any:
    from numba.extending import intrinsic as make

    return make(function)


@intrinsic
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c rounded once. It gives the error of a product: fma(a, b, −a·b)."""
    from numba import types

    signature = types.float64(types.float64, types.float64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return signature, generate


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """Return the number of bits set in a word (llvm.ctpop: one instruction, and it vectorises)."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """Return the place of the lowest bit that is set in a word that is not zero."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
