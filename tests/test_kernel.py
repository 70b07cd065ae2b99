"""Kernels: plain while their work is small, compiled beyond, and kept where a directory can be written."""

from __future__ import annotations

import json
import math
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bayeskit
import bounds
from bayeskit import _numba as module
from bayeskit._counting.backend import in_order
from bayeskit._inference.sampling.forward import draw
from bayeskit._intrinsics import fibonacci_hash, fma, lowest_bit, ones
from bayeskit._numba import compiling, kernel
from refusals import warns_of

PACKAGE = Path(bayeskit.__file__).parent

PROGRAM = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import bayeskit
    model = bayeskit.NaiveBayes().fit([["a"], ["b"], ["a"], ["b"]], ["no", "yes", "no", "no"])
    answer = model.predict_proba([["a"], ["b"], [None]]).tolist()
said = [str(w.message) for w in caught if "NUMBA_CACHE_DIR" in str(w.message)]
print(json.dumps({"home": bayeskit.__file__, "answer": answer, "said": said, "others": len(caught) - len(said)}))
"""


def run(folder, **environment):
    """Run the program on the package in a folder, with nothing of this process's environment but the path."""
    settings = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**settings, **environment},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert Path(answer["home"]).parent == folder / "bayeskit"
    # P(no) = 4/6, P(a | no) = 3/5, P(a | yes) = 1/3.
    no, yes = Fraction(4, 6) * Fraction(3, 5), Fraction(2, 6) * Fraction(1, 3)
    assert answer["answer"][0] == pytest.approx([float(no / (no + yes)), float(yes / (no + yes))])
    return answer


def copied(folder):
    return Path(
        shutil.copytree(PACKAGE, folder / "bayeskit", ignore=shutil.ignore_patterns("__pycache__"))
    ).parent


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a directory that nobody can write")
def test_without_any_writable_directory_it_compiles_and_says_so_once(tmp_path):
    """Permissions do not bind root, so files stand where directories would be made, and /proc where homes are."""
    folder = copied(tmp_path)
    for place in [folder / "bayeskit", *(p for p in (folder / "bayeskit").rglob("*") if p.is_dir())]:
        (place / "__pycache__").write_text("in the way")
    nowhere = "/proc/nowhere"
    answer = run(
        folder, HOME=nowhere, XDG_CACHE_HOME=nowhere, NUMBA_CACHE_DIR=nowhere, BAYESKIT_COMPILE="always"
    )
    assert len(answer["said"]) == 1
    assert "NUMBA_CACHE_DIR" in answer["said"][0]
    assert answer["others"] == 0
    assert not list(folder.rglob("*.nb[ic]"))


ONE_KERNEL = """
from bayeskit._numba import kernel

@kernel
def double(x):
    return 2 * x

assert double(21) == 42
stats = double.made().stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def test_compiled_code_is_kept_for_the_next_process(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(ONE_KERNEL)
    environment = {
        **os.environ,
        "PYTHONPATH": str(PACKAGE.parent),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "BAYESKIT_COMPILE": "always",
    }
    for wanted in ("0 1", "1 0"):
        done = subprocess.run(
            [sys.executable, program], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.stdout.strip() == wanted, done.stderr
    assert list((tmp_path / "cache").rglob("*.nbc"))


BEYOND_THE_END = """
import numpy as np
from bayeskit._counting.backend import in_order
from bayeskit._inference.sampling.forward import draw

try:
    draw.made()(np.array([0.25, 0.75]), 0, 3, 0.5)
    print("unchecked")
except IndexError:
    print("checked")
"""


def beyond_the_end(cache, checks):
    """Let one of our kernels read one number too many, in a process of its own."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    more = {"PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(cache), "NUMBA_BOUNDSCHECK": checks}
    done = subprocess.run(
        [sys.executable, "-c", BEYOND_THE_END], env=plain | more, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_code_with_and_without_checks_never_shares_a_cache(tmp_path, monkeypatch):
    """Only the folder decides what a warm cache serves, so a folder of the other kind is refused."""
    checked, unchecked = tmp_path / "checked", tmp_path / "unchecked"
    bounds.use_own_cache({"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(checked)})
    assert [beyond_the_end(checked, "1") for _ in range(2)] == ["checked", "checked"]
    assert beyond_the_end(unchecked, "0") == "unchecked"
    for folder, on in ((unchecked, "1"), (checked, "0"), (checked, None)):
        told = {"NUMBA_CACHE_DIR": str(folder)} | ({} if on is None else {"NUMBA_BOUNDSCHECK": on})
        with pytest.raises(ValueError, match=folder.name):
            bounds.use_own_cache(told)
    with pytest.raises(ValueError, match="NUMBA_CACHE_DIR"):
        bounds.use_own_cache({"NUMBA_BOUNDSCHECK": "1"})
    bounds.use_own_cache({})
    monkeypatch.chdir(tmp_path)
    for folder, on in (("checked", "1"), ("unchecked", "0"), ("new", "1"), ("newer", "0")):
        told = {"NUMBA_CACHE_DIR": folder, "NUMBA_BOUNDSCHECK": on}
        bounds.use_own_cache(told)
        assert told["NUMBA_CACHE_DIR"] == str(tmp_path / folder)


@pytest.mark.skipif(not bounds.are_checked(os.environ), reason="bounds are not checked: see CONTRIBUTING.md")
def test_bounds_are_checked_where_that_was_asked_for():
    compiled = getattr(draw, "made", lambda: draw)()
    with pytest.raises(IndexError):
        compiled(np.array([0.25, 0.75]), 0, 3, 0.5)
    assert Path(numba.config.CACHE_DIR, bounds.MARK).exists()


def test_other_errors_of_the_compiler_are_not_swallowed(monkeypatch):
    def broken(**options):
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", broken)
    with pytest.raises(RuntimeError, match="something else"), compiling():
        kernel(lambda: None)()


def twice(x):
    return 2 * x


def test_a_kernel_names_other_kernels_that_are_not_made_yet():
    names = {"np": np, "__name__": __name__}
    exec("def inner(x):\n    return x + 1\ndef outer(x):\n    return 2 * inner(x)", names)
    names["inner"], outer = (
        module.DeferredKernel(names["inner"], numba.njit),
        module.DeferredKernel(names["outer"], numba.njit),
    )
    assert outer(3) == 8
    assert outer.made() is outer.made()


def test_a_kernel_that_cannot_be_cached_is_compiled_with_the_same_options(monkeypatch):
    asked = []

    def njit(**options):
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'f': no locator available")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", njit)
    monkeypatch.setattr(module, "_warned", False)
    with compiling(), warns_of(UserWarning, "NUMBA_CACHE_DIR") as caught:
        assert [kernel(twice)(1), kernel(twice)(2)] == [2, 4]
    assert len(caught) == 1
    assert asked[0]["cache"] and asked[0]["nogil"]
    assert asked == [asked[0], {name: on for name, on in asked[0].items() if name != "cache"}] * 2


@kernel
def _bits_of(words, out):
    for i in range(words.shape[0]):
        out[i, 0] = ones(words[i])
        out[i, 1] = lowest_bit(words[i])
        out[i, 2] = fibonacci_hash(words[i])


@kernel
def _fused(a, b, c, out):
    for i in range(a.shape[0]):
        out[i] = fma(a[i], b[i], c[i])


# Signed, of very different sizes; products that overflow, underflow, cancel, and are nothing.
SIZES = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e3, 1e3)


plain = pytest.mark.skipif(module._must_compile(), reason="NumPy 1, or bounds are checked: all is compiled")


@plain
@example(
    [(1.0272532199213233e308, 0.875, 0.0)], "error"
)  # the product and its negative are near the largest number
@example([(1e308, 2.0, -math.inf), (1e308, -2.0, math.inf)], "free")  # the exact product is finite
@example([(1e308, 2.0, -1e308), (1e308, -2.0, -1e308)], "free")  # only the product is beyond it, or all is
@given(st.lists(st.tuples(SIZES, SIZES, SIZES), min_size=1), st.sampled_from(["free", "error", "near"]))
def test_fma_rounds_once_in_plain_python_too(numbers, kind):
    a, b, c = map(np.array, zip(*numbers, strict=True))
    with np.errstate(over="ignore", under="ignore"):
        product = a * b
    if kind != "free":
        c = np.where(np.isfinite(product), -product, c) * (1.0 if kind == "error" else 1.0 + 2.0**-50)
    out, expected = np.empty(a.size), np.empty(a.size)
    _fused.run_plain((a, b, c, out), 60.0)
    _fused.made()(a, b, c, expected)
    np.testing.assert_array_equal(out, expected)
    for x, y, z, value in zip(*(part.tolist() for part in (a, b, c, out)), strict=True):
        if np.isfinite(x * y) and np.isfinite(value):
            assert value == float(Fraction(x) * Fraction(y) + Fraction(z))


@plain
@given(st.lists(st.integers(1, 2**64 - 1), min_size=1))
def test_words_of_bits(words):
    array = np.array(words, dtype=np.uint64)
    out, expected = np.empty((2, len(words), 3), dtype=np.uint64)
    _bits_of.run_plain((array, out), 60.0)
    _bits_of.made()(array, expected)
    assert out.tolist() == expected.tolist()
    assert out[:, 0].tolist() == [word.bit_count() for word in words]


def product(rows):
    """Return a kernel of two nested loops, and arrays on which it does rows² passes."""
    names: dict = {"np": np}
    exec(
        "def f(x, out):\n for i in range(x.shape[0]):\n  for j in range(x.shape[0]):\n   out[i] += x[j]",
        names,
    )
    # Nothing of it is kept on disk: it has no file.
    return module.DeferredKernel(names["f"], numba.njit), np.arange(rows, dtype=np.float64), np.ones(rows)


@plain
def test_small_work_is_not_compiled():
    sums, x, out = product(20)
    for n in range(1, 4):
        sums(x, out)
        assert out.tolist() == [1.0 + 190.0 * n] * 20
    assert sums._made is None


@plain
@pytest.mark.parametrize("rows", [3_000, 2_000_000 // 3_000])
def test_work_that_does_not_end_in_time_begins_again_compiled(rows, monkeypatch):
    """What the plain function has written by then is taken back: nothing is added twice."""
    monkeypatch.setattr(module, "_PATIENCE", 0.002)
    monkeypatch.setattr(module, "_PATIENCE_A_BYTE", 0.0)
    sums, x, out = product(rows)
    sums(x, out)
    assert sums._made is not None
    assert out.tolist() == [1.0 + rows * (rows - 1) / 2] * rows


@plain
def test_many_small_calls_are_compiled_in_the_end(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    monkeypatch.setattr(module, "_PATIENCE_A_BYTE", 0.0)
    sums, x, out = product(30)
    calls = 0
    while sums._made is None:
        sums(x, out)
        calls += 1
        assert calls < 10_000
    assert calls > 1
    assert out.tolist() == [1.0 + 435.0 * calls] * 30


def test_a_whole_number_that_outgrows_its_type_is_compiled():
    names: dict = {}
    exec("def f(codes, out):\n for i in range(codes.shape[0]):\n  out[i] = codes[i, 0] * codes[i, 1]", names)
    times = module.DeferredKernel(names["f"], numba.njit)
    out = np.zeros(2, dtype=np.int64)
    times(np.array([[200, 200], [3, 4]], dtype=np.uint8), out)
    assert out.tolist() == [40_000, 12]


@plain
def test_an_index_out_of_range_is_never_compiled():
    names: dict = {}
    exec("def f(x, out):\n for i in range(x.shape[0] + 1):\n  out[0] += x[i]", names)
    with pytest.raises(IndexError):
        module.DeferredKernel(names["f"], numba.njit)(np.ones(3), np.zeros(1))


def test_threads_may_begin_a_kernel_together():
    sums, x, _ = product(40)
    with ThreadPoolExecutor(16) as pool:
        outs = list(pool.map(lambda _: (out := np.zeros(40), sums(x, out))[0], range(64)))
    assert {tuple(out) for out in outs} == {(780.0,) * 40}


@plain
def test_threads_that_write_to_one_array_erase_nothing_of_each_other(monkeypatch):
    """A run that is begun again in one thread restores its arrays, and others may have written to them by then."""
    monkeypatch.setattr(module, "_PATIENCE", 0.3)
    names: dict = {}
    exec(
        "def f(out, start, stop, rounds):\n"
        " for i in range(start, stop):\n  out[i] = 1.0\n"
        " for _ in range(rounds):\n  for i in range(300_000):\n   out[start] += 1.0",
        names,
    )
    fill = module.DeferredKernel(names["f"], numba.njit)
    out = np.zeros(20)
    for _ in in_order(lambda start, stop: fill(out, start, stop, 0 if start else 30), [(0, 10), (10, 20)], 2):
        pass
    assert out[1:].tolist() == [1.0] * 19


def test_what_is_kept_on_disk_is_used_at_once_where_numba_is_imported(tmp_path):
    """A first process that compiles, and a second that asks for nothing but finds it."""
    program = tmp_path / "program.py"
    program.write_text("import numba\n" + ONE_KERNEL.replace("double.made().stats", "double._made.stats"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(PACKAGE.parent),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }
    for compiles, wanted in [("always", "0 1"), ("", "1 0")]:
        done = subprocess.run(
            [sys.executable, program],
            env={**environment, "BAYESKIT_COMPILE": compiles},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.stdout.strip() == wanted, done.stderr


LOOP = """
from bayeskit._numba import kernel
import numpy as np
{imported}

@kernel
def {name}(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += {term}
    return total
"""


def run_loop(folder, env):
    code = "import numpy as np; from outer import outer; print(outer(np.arange(4.0)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.fixture
def two_modules(tmp_path):
    """A kernel that calls one of another module, compiled and kept on disk."""
    env = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "BAYESKIT_COMPILE": "always",
        "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(tmp_path)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    (tmp_path / "inner.py").write_text(LOOP.format(imported="", name="inner", term="x[i]"))
    (tmp_path / "outer.py").write_text(
        LOOP.format(imported="from inner import inner", name="outer", term="inner(x)")
    )
    assert run_loop(tmp_path, env) == 24.0
    return tmp_path, env


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(two_modules):
    folder, env = two_modules
    (folder / "inner.py").write_text(LOOP.format(imported="", name="inner", term="10.0 * x[i]"))
    assert run_loop(folder, env) == 240.0


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["cut off", "empty", "of a class that is gone"])
def test_compiled_code_that_cannot_be_read_is_made_again(two_modules, suffix, damage):
    """After an update the files may tell of classes and modules that are no longer there."""
    folder, env = two_modules
    files = list((folder / "cache").rglob(f"*.{suffix}"))
    assert files
    for file in files:
        whole = file.read_bytes()
        version = pickle.dumps(numba.__version__, protocol=-1) if suffix == "nbi" else b""
        gone = version + b"\x80\x04cno_such_module\nNoSuchClass\n."
        file.write_bytes({"cut off": whole[: len(whole) // 2], "empty": b""}.get(damage, gone))
    assert run_loop(folder, env) == 24.0
    assert run_loop(folder, env) == 24.0


def test_calls_that_are_to_be_repeated_share_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds_given: list[float] = []

    def run_plain(self: Any, arguments: Any, seconds: float) -> None:
        seconds_given.append(seconds)

    monkeypatch.delenv("BAYESKIT_COMPILE", raising=False)
    monkeypatch.setattr(module.DeferredKernel, "run_plain", run_plain)
    monkeypatch.setattr(module, "is_cached", lambda function: False)
    monkeypatch.setattr(module, "_must_compile", lambda: False)
    patient, hurried = (module.kernel(add_one) for _ in range(2))
    patient(np.zeros(3))
    with module.repeating(100):
        hurried(np.zeros(3))
    assert seconds_given[1] == seconds_given[0] / 100
    assert module._calls == 1


def add_one(x: Any) -> None:
    for i in range(x.shape[0]):
        x[i] += 1.0


def test_who_asks_is_told_when_compiling_begins_and_not_what_is_plain_or_compiled_already() -> None:
    def times_two(x: Any) -> None:
        for i in range(x.shape[0]):
            x[i] *= 2.0

    told: list[int] = []
    module._listen_to_numba()
    doubles = numba.njit(times_two)  # not kept on disk
    with module.telling_of_compiling(lambda: told.append(1)):
        times_two(np.ones(3))
        assert not told
        doubles(np.ones(3))
        assert told
        before = len(told)
        doubles(np.ones(5))
    doubles(np.ones(3, np.float32))
    assert len(told) == before


def test_blocks_that_end_in_another_order_leave_no_number_behind() -> None:
    one, other = module.repeating(100), module.repeating(7)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert module._calls == 7
    other.__exit__(None, None, None)
    assert module._calls == 1


def test_time_that_other_processes_take_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, used = [0.0], [0.0]
    monkeypatch.setattr(module, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(module, "thread_time", lambda: used[0])
    meter = module._Meter()
    meter.end = meter.cpu_end = 1.0
    clock[0], used[0] = 50.0, 0.25
    meter.check(0.5)
    clock[0], used[0] = 50.5, 0.75
    with pytest.raises(module.KernelOverdue):
        meter.check(0.5)


def test_little_work_does_not_pay_for_importing_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code on disk is left there until all kernels together have worked for some time, or Numba is there."""
    monkeypatch.delenv("BAYESKIT_COMPILE", raising=False)
    monkeypatch.setattr(module, "is_cached", lambda function: True)
    monkeypatch.setattr(module, "_must_compile", lambda: False)
    monkeypatch.setattr(module.DeferredKernel, "made", lambda self: lambda x: compiled.append(x.size))
    compiled: list[int] = []
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setattr(
        module, "_left_before_loading", 1.0
    )  # other tests of this process may have used it up
    first, second = (module.kernel(add_one) for _ in range(2))
    for run in (first, second):
        values = np.zeros(3)
        run(values)
        assert values.tolist() == [1.0, 1.0, 1.0]
    assert compiled == []
    monkeypatch.setattr(module, "_left_before_loading", 0.0)
    first(np.zeros(5))
    monkeypatch.setattr(module, "_left_before_loading", 1.0)
    monkeypatch.setitem(sys.modules, "numba", numba)
    second(np.zeros(7))
    assert compiled == [5, 7]
