"""What an import costs, and what a name gives."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

import bayeskit

HEAVY = ("sklearn", "numba", "pandas", "polars", "pyarrow", "duckdb", "scipy", "narwhals")


def loaded_by(program):
    """The heavy packages that a program has imported in a process of its own."""
    tail = f"\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program + tail], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("program", "never"),
    [
        ("import bayeskit", set(HEAVY)),
        ("import bayeskit; dir(bayeskit); bayeskit.__version__", set(HEAVY)),
        ("import bayeskit.errors", set(HEAVY)),
        ("import bayeskit.priors; bayeskit.priors.Laplace()", set(HEAVY)),
        ("from bayeskit.decision import decide", {"sklearn", "pandas", "polars", "pyarrow", "duckdb"}),
        ("import bayeskit; bayeskit.decision.decide", {"sklearn", "pandas", "polars", "pyarrow", "duckdb"}),
        ("from bayeskit import Statistics", {"sklearn", "pandas", "polars", "pyarrow", "duckdb"}),
        ("from bayeskit import Batches", {"sklearn", "pandas", "polars", "pyarrow", "duckdb"}),
        (
            "from bayeskit.networks import asia; asia().explore; asia()._explored().why(3, [], 'en')",
            set(HEAVY) - {"narwhals"},
        ),
        (
            "from bayeskit._cli.output import noting_compilation\nwith noting_compilation('once'): pass",
            {"numba", "sklearn"},
        ),
        (
            "from bayeskit import NaiveBayes; NaiveBayes().fit([['a', 1.0], ['b', 2.0]], [0, 1]).predict([['a', 1.5]])",
            {"polars", "duckdb"},  # scikit-learn loads pandas by itself where it is installed
        ),
    ],
)
def test_what_is_not_imported(program, never):
    assert loaded_by(program) & never == set()


def test_the_public_names_are_listed_and_resolve():
    listed = dir(bayeskit)
    assert listed == sorted(listed)
    for name in bayeskit.__all__:
        assert name in listed
        assert getattr(bayeskit, name) is not None
    for name in ("datasets", "decision", "errors", "priors"):
        assert name in listed
        assert getattr(bayeskit, name).__name__ == f"bayeskit.{name}"
    for name in listed:
        assert getattr(bayeskit, name) is not None or name.startswith("__")


def test_a_name_is_the_object_of_its_home():
    from bayeskit import NaiveBayes

    assert bayeskit.NaiveBayes is NaiveBayes
    assert bayeskit.NaiveBayes.__name__ == "NaiveBayes"


def test_a_star_import_gives_the_public_names():
    space: dict = {}
    exec("from bayeskit import *", space)
    assert set(bayeskit.__all__) <= set(space)


def test_no_such_name():
    with pytest.raises(AttributeError, match="has no attribute 'NaiveBays'"):
        getattr(bayeskit, "NaiveBays")  # noqa: B009
    assert not hasattr(bayeskit, "numpy")
    with pytest.raises(ImportError):
        exec("from bayeskit import NaiveBays")


def test_every_dependency_has_a_lower_bound_that_can_be_tested():
    """`.ci/minimums` installs what it reads here: it must read all of it."""
    root = Path(__file__).resolve().parent.parent
    script = root / ".ci" / "minimums"
    if not script.exists():
        pytest.skip("a source distribution has no .ci")
    loader = SourceFileLoader("minimums", str(script))
    spec = spec_from_loader("minimums", loader)
    module = module_from_spec(spec)
    loader.exec_module(module)
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    found = dict(module.minimums(project))
    optional = project["optional-dependencies"]
    declared = [*project["dependencies"], *(text for extra in module.EXTRAS for text in optional[extra])]
    assert {re.split(r"[<>=!~ ]", text)[0] for text in declared} == set(found)
    assert all(re.fullmatch(r"\d+(\.\d+)*", release) for release in found.values())
    with pytest.raises(SystemExit, match=r"'rich' in pyproject\.toml has no lower bound"):
        list(module.minimums({"dependencies": ["rich"]}, ()))
