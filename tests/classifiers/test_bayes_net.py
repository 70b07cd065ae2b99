"""BayesNetClassifier is one of the classifiers: the code of TAN from rows to posterior, and every verb they have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit
from bayeskit import TAN, BayesNetClassifier
from bayeskit.errors import SettingError
from test_bayes_net_classifier import SETTINGS, discrete_rows, mixed_rows

ROOT = str(Path(bayeskit.__file__).parent)


def entered(act: Any) -> set[str]:
    """The files of the library in which some function is entered while it runs."""
    found: set[str] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            found.add(frame.f_code.co_filename.removeprefix(ROOT))

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_tan_by_either_name_is_the_same_code_and_the_same_answer(missing: float) -> None:
    X, y = discrete_rows(missing=missing)
    how = {"smoothing": "laplace", "numeric": "mdl"}
    mine, theirs = BayesNetClassifier("tan", **how), TAN(**how)
    walks = []
    for model in (mine, theirs):
        model.fit(X, y).predict_proba(X)  # so that nothing is imported, compiled or kept for the first time
        walks.append(entered(lambda model=model: model.fit(X, y).predict_proba(X)))
    # Each has a file of its own, and settings of its own to check before any row is looked at.
    own = {"/_classifiers/bayes_net.py", "/_classifiers/one_dependence.py", *entered(mine._check_settings)}
    assert walks[0] - own == walks[1] - own and len(walks[0] - own) > 20
    np.testing.assert_array_equal(mine.predict_proba(X), theirs.predict_proba(X))
    assert {n: p[1:] for n, p in mine.structure_.items() if n != "y"} == theirs.structure_


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_it_does_what_all_others_do(settings: dict[str, Any], tmp_path: Path) -> None:
    X, y = mixed_rows(120, missing=0.05)
    weights = np.random.default_rng(0).choice([1.0, 2.0, 0.5], len(y))
    model = BayesNetClassifier(**settings).fit(X, y, weights)
    lazy = BayesNetClassifier(**settings).lazy(X, y, sample_weight=weights)
    np.testing.assert_allclose(lazy.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-12)
    # Without a row: equal to forgetting it, the structure being held.
    left_out = model.leave_one_out(X, y, weights)
    assert model.loo_score(X, y, weights) == pytest.approx(
        -np.average(np.log(left_out[np.arange(len(y)), y]), weights=weights)
    )
    for i in (0, 7):
        row = {name: column[i : i + 1] for name, column in X.items()}
        without = (
            BayesNetClassifier(**settings).fit(X, y, weights).forget(row, y[i : i + 1], weights[i : i + 1])
        )
        assert without.held_.keys() == model.held_.keys()
        if settings["method"] != "tan":  # there is no other choice that follows the counts
            np.testing.assert_allclose(without.predict_proba(row)[0], left_out[i], rtol=0, atol=1e-9)
    drawn, classes = model.sample(50, random_state=0)
    assert len(drawn) == len(classes) == 50 and set(classes) <= set(y)
    assert model.markov_blanket_ == tuple(c for c in X if c in model.network_.markov_blanket(model.target_))
    assert set(model.structure_) == set(model.network_.nodes)
    assert {(e[0], e[1]) for e in model.arcs_} == {(p, c) for c, ps in model.structure_.items() for p in ps}
    model.save(tmp_path / "m.bayes")
    np.testing.assert_array_equal(
        bayeskit.load(tmp_path / "m.bayes").predict_proba(X), model.predict_proba(X)
    )
    assert model.relearn(X, y).statistics_.total == len(y)


def test_parameters_are_those_of_the_others() -> None:
    mine, theirs = BayesNetClassifier().get_params(), TAN().get_params()
    own = {"root", "criterion", "structure"}
    assert set(theirs) - own <= set(mine)
    for name in set(theirs) - own - {"numeric"}:
        assert mine[name] == theirs[name], name
    with pytest.raises(SettingError, match="nonsense"):
        BayesNetClassifier(numeric="nonsense").fit([["a"]], [0])
