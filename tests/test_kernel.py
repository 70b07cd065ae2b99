"""Compiling kernels: cached where a directory can be written, and all the same where none can."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numba
import numpy as np
import pytest

import bayeskit
from bayeskit import kernel as module
from bayeskit.kernel import fma, kernel

PACKAGE = Path(bayeskit.__file__).parent

PROGRAM = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import bayeskit
    model = bayeskit.NaiveBayes().fit([["a"], ["b"], ["a"], ["b"]], ["no", "yes", "no", "no"])
    answer = model.predict_proba([["a"], ["b"], [None]]).tolist()
said = [str(w.message) for w in caught if "compiled kernels" in str(w.message)]
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
    answer = run(folder, HOME=nowhere, XDG_CACHE_HOME=nowhere, NUMBA_CACHE_DIR=nowhere)
    assert len(answer["said"]) == 1
    assert "NUMBA_CACHE_DIR" in answer["said"][0]
    assert answer["others"] == 0
    assert not list(folder.rglob("*.nb[ic]"))


ONE_KERNEL = """
from bayeskit.kernel import kernel

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
    }
    for wanted in ("0 1", "1 0"):
        done = subprocess.run(
            [sys.executable, program], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.stdout.strip() == wanted, done.stderr
    assert list((tmp_path / "cache").rglob("*.nbc"))


def test_other_errors_of_the_compiler_are_not_swallowed(monkeypatch):
    def broken(**options):
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", broken)
    with pytest.raises(RuntimeError, match="something else"):
        kernel(lambda: None)()


def twice(x):
    return 2 * x


def test_a_kernel_names_other_kernels_that_are_not_made_yet():
    names = {"np": np, "__name__": __name__}
    exec("def inner(x):\n    return x + 1\ndef outer(x):\n    return 2 * inner(x)", names)
    names["inner"], outer = (
        module.Deferred(names["inner"], numba.njit),
        module.Deferred(names["outer"], numba.njit),
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
    with pytest.warns(UserWarning, match="no writable directory") as caught:
        assert [kernel(twice)(1), kernel(twice)(2)] == [2, 4]
    assert len(caught) == 1
    assert asked[0]["cache"] and asked[0]["nogil"]
    assert asked == [asked[0], {name: on for name, on in asked[0].items() if name != "cache"}] * 2


@kernel
def _product_error(a, b, out):
    for i in range(a.size):
        out[i] = fma(a[i], b[i], -(a[i] * b[i]))


def test_fma_gives_the_error_of_a_product():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=200) * 1e5, rng.normal(size=200)
    out = np.empty(200)
    _product_error(a, b, out)
    for x, y, error in zip(a.tolist(), b.tolist(), out.tolist()):
        assert Fraction(x) * Fraction(y) == Fraction(x * y) + Fraction(error)
    assert np.count_nonzero(out) > 100
