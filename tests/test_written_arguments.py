"""Which arguments a kernel writes: only these are put back where it is begun again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from bayeskit import _numba as module
from bayeskit._numba import kernel


class Pair(NamedTuple):
    first: Any
    second: Any


@kernel
def fill(out, value):
    for i in range(out.shape[0]):
        out[i] = value


@kernel
def total(x, out):
    n = x[0]
    for i in range(1, x.shape[0]):
        n += x[i]
    out[0] = n


@kernel
def through_a_row(table, x):
    row = table[1]
    row[0] = x[0]


@kernel
def row_in_place(table, x):
    row = table[1]
    row += x[0]


@kernel
def through_a_slice(x, y, n):
    part = x[n:]
    part[0] = y[0]


@kernel
def through_another(x, y):
    fill(y[1:], x[0])


@kernel
def swapped(a, b, c):
    one, other = a, b
    for i in range(c.shape[0]):
        one, other = other, one
        one[i] = c[i]


@kernel
def chosen(a, b, which):
    x = a if which else b
    x[0] = 1.0


@kernel
def of_a_pair(pair, x):
    pair.second[0] = pair.first[0] + x[0]


@kernel
def unpacked(pair, x):
    first, second = pair
    second[0] = first[0] + x[0]


@kernel
def by_a_pair(pair, x):
    of_a_pair(pair, x)


@kernel
def reshaped(x, y):
    flat = x.reshape(-1)
    flat[0] = y[0]


@kernel
def by_a_method(x, y):
    x.sort()
    y.sum()


@kernel
def by_numpy(x, y, z):
    np.add(x, y, z)
    np.log(y[0])


@kernel
def by_an_argument(function, x, y):
    function(x)
    y.view()


@kernel
def calls_itself(x, y, n):
    if n > 0:
        calls_itself(x, y, n - 1)
    x[n] = 1.0


@kernel
def reads(x, y):
    best = x[0, 0]
    for i in range(x.shape[0]):
        best = max(best, x[i, 1])
        best *= np.exp(y[i])
    return best


def vector() -> Any:
    return np.zeros(4)


def table() -> Any:
    return np.zeros((2, 2))


@pytest.mark.parametrize(
    ("deferred", "given", "written"),
    [
        (fill, (vector(), 1.0), [0]),
        (total, (vector(), vector()), [1]),
        (through_a_row, (table(), vector()), [0]),
        (row_in_place, (table(), vector()), [0]),
        (through_a_slice, (vector(), vector(), 1), [0]),
        (through_another, (vector(), vector()), [1]),
        (swapped, (vector(), vector(), vector()), [0, 1]),
        (chosen, (vector(), vector(), True), [0, 1]),
        (reshaped, (table(), vector()), [0]),
        (by_a_method, (vector(), vector()), [0]),
        (by_numpy, (vector(), vector(), vector()), [0, 1, 2]),  # an output is told from an input by no name
        (by_an_argument, (None, vector(), vector()), [1]),
        (calls_itself, (vector(), vector(), 0), [0, 1]),  # itself, it is not known
        (reads, (table(), vector()), []),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_written_arrays(deferred: Any, given: tuple[Any, ...], written: list[int]) -> None:
    found = {id(array) for array in deferred.written_arrays(given)}
    assert found == {id(given[number]) for number in written}


@pytest.mark.parametrize(("deferred", "written"), [(of_a_pair, [1]), (by_a_pair, [1]), (unpacked, [0, 1])])
def test_written_fields(deferred: Any, written: list[int]) -> None:
    pair = Pair(vector(), vector())
    found = {id(array) for array in deferred.written_arrays((pair, vector()))}
    assert found == {id(pair[number]) for number in written}


def test_without_a_source_every_argument_may_be_written() -> None:
    names: dict[str, Any] = {}
    exec("def f(x, y):\n  y[0] = x[0]", names)
    x, y = vector(), vector()
    assert len(kernel(names["f"]).written_arrays((x, y))) == 2  # type: ignore[attr-defined]


def test_what_is_read_only_needs_no_copy() -> None:
    out = vector()
    out.flags.writeable = False
    assert fill.written_arrays((out, 1.0)) == []  # type: ignore[attr-defined]


def test_a_restart_keeps_what_others_write_to_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of the user may write to its own array while a kernel reads it. The kernel must not undo that."""
    monkeypatch.setattr(module, "_must_compile", lambda: False)
    monkeypatch.setattr(module, "is_cached", lambda function: False)
    monkeypatch.delenv("BAYESKIT_COMPILE", raising=False)
    copy = kernel(total.py_func)  # type: ignore[attr-defined]
    x, out = np.ones(4), np.array([7.0, 7.0])

    def interrupted(arguments: tuple[Any, ...], seconds: float) -> None:
        x[3] = 10.0  # another thread
        out[:] = -1.0  # the plain run, half done
        raise module.KernelOverdue

    monkeypatch.setattr(copy, "run_plain", interrupted)
    copy(x, out)
    assert x.tolist() == [1.0, 1.0, 1.0, 10.0]
    assert out.tolist() == [13.0, 7.0]
