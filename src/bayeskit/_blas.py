"""Linear algebra on one thread.

Our matrices have some hundred columns. Threads of BLAS gain little on these, and where the processors are busy they
wait for each other: a factorisation of 1 ms was seen to take 300. One thread also gives the same bits everywhere.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from contextlib import ContextDecorator
from typing import Any


class OneBlasThread(ContextDecorator):
    """A context, or a decorator of a function, in which the libraries of BLAS use one thread.

    Their setting belongs to the process. So it is changed when the first thread enters, and restored when the last
    one leaves, which may be another one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: list[tuple[Any, int]] = []
        self._libraries: list[Any] | None = None
        self._with_scipy = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = [(library, library.num_threads) for library in self._loaded()]
                self._set((library, 1) for library, _ in self._before)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._set(self._before)

    @staticmethod
    def _set(numbers: Iterable[tuple[Any, int]]) -> None:
        for library, n_threads in numbers:
            if library.num_threads == n_threads:
                continue
            # threadpoolctl lets one thread alone change the setting, and ignores all others without a word, until that
            # thread gives the right back. Here every thread may, one after the other.
            give_back = getattr(library, "clear_controlling_thread", None)
            if give_back is not None:
                give_back(force=True)
            library.set_num_threads(n_threads)
            if give_back is not None:
                give_back(force=True)

    def _loaded(self) -> list[Any]:
        """Return the libraries that are loaded by now: SciPy brings one of its own, with its first import."""
        with_scipy = "scipy.linalg" in sys.modules
        if self._libraries is None or with_scipy != self._with_scipy:
            from threadpoolctl import ThreadpoolController

            self._with_scipy = with_scipy
            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        return self._libraries


one_blas_thread = OneBlasThread()
