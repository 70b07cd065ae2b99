"""The one way a kernel is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.extending import intrinsic

_warned = False


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop: GIL released, cached on disk where a directory can be written.

    A read-only installation without a home directory has nowhere to keep compiled code: the kernel
    then compiles in every process, which is said once.
    """
    global _warned
    try:
        return njit(nogil=True, cache=True)(function)
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
        return njit(nogil=True)(function)


def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c rounded once. It gives the error of a product: fma(a, b, −a·b)."""
    signature = types.float64(types.float64, types.float64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return signature, generate


# Typed as any callable: inside a kernel it takes the three numbers only.
fma: Callable[..., Any] = intrinsic(_fma)
