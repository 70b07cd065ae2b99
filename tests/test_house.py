"""What a reader may count on in any class: few classes behind it, and parameters that say the truth."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayeskit
from bayeskit._numba import compiling
from bayeskit.networks import wet_grass

CLASSES = [value for name in bayeskit.__all__ if inspect.isclass(value := getattr(bayeskit, name))]
MOST = 4


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_few_classes_stand_behind_a_class(cls):
    behind = [base.__name__ for base in cls.__mro__[1:] if base.__module__.startswith("bayeskit")]
    assert len(behind) <= MOST, behind


@pytest.mark.parametrize(
    "cls", [cls for cls in CLASSES if hasattr(cls, "get_params")], ids=lambda cls: cls.__name__
)
def test_get_params_lists_every_parameter(cls):
    named = list(inspect.signature(cls).parameters)
    needed = [bayeskit.NaiveBayes()] if cls is bayeskit.BayesDecision else []
    assert sorted(cls(*needed).get_params(deep=False)) == sorted(named)


def test_there_are_classes_to_look_at():
    assert {bayeskit.TAN, bayeskit.BayesianNetwork, bayeskit.LatentClass} <= set(CLASSES)


def files_passed(run):
    """Return the source files that a second call enters, as the walks of benchmarks/house.py do."""
    home, found = Path(bayeskit.__file__).parent, set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(home):
            found.add(path.relative_to(home).as_posix())

    with compiling():
        run()
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            run()
        finally:
            sys.setprofile(before)
    return found


def row_walk():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"word": rng.choice(["u", "v", "w"], 20), "number": rng.normal(size=20)})
    y = np.array(["no", "yes"] * 10)
    return lambda: bayeskit.NaiveBayes().fit(frame, y).predict_proba(frame)


def question_walk():
    grass = wet_grass()
    return lambda: grass.copy().query("sprinkler", evidence={"wet": "yes"})


@pytest.mark.parametrize(
    ("page", "title", "walk", "most"),
    [
        ("ARCHITECTURE.md", "One row", row_walk, 30),
        ("docs/notes/internals.md", "One question", question_walk, 16),
    ],
)
def test_the_walk_names_every_file_on_the_way(page, title, walk, most):
    told = (
        (Path(__file__).parent.parent / page)
        .read_text(encoding="utf-8")
        .split(f"## {title}, followed")[1]
        .split("\n## ")[0]
    )
    passed = files_passed(walk())
    named = set(re.findall(r"[\w/]+\.py", told))
    # A loop that is called by compiled code leaves no trace.
    assert passed - {"_numba.py"} <= named and len(named) <= most
    assert {name for name in named if not (Path(bayeskit.__file__).parent / name).is_file()} == set()
