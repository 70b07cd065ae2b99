"""BayesNetClassifier in pieces: the tables follow the rows, the arcs are held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit
from bayeskit import BayesNetClassifier
from bayeskit.errors import (
    ColumnError,
    DataError,
    Incompatible,
    NotCounted,
    SettingError,
    UnseenClass,
    UnseenState,
    UsageError,
)
from refusals import refuses
from test_bayes_net_classifier import SETTINGS, mixed_rows

X, NUMBERS = mixed_rows(missing=0.1)
Y = np.array(["b", "a", "c"])[NUMBERS]


def part(rows: Any) -> tuple[dict[str, Any], Any]:
    return {name: column[rows] for name, column in X.items()}, Y[rows]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_pieces_are_the_whole(settings: dict[str, Any], tmp_path: Path) -> None:
    """Sorted by class, so that whole classes leave and come back; the arcs are those of all rows."""
    whole = BayesNetClassifier(**settings).fit(X, Y)
    first, second, third = np.split(np.argsort(Y, kind="stable"), [150, 300])
    model = BayesNetClassifier(**settings).fit(X, Y).forget(*part(second)).forget(*part(first))
    assert set(model.classes_) == set(Y[third]) != set(Y)
    assert model.statistics_.total == 100
    rows = part(slice(0, 50))[0]
    if not any(
        v.cuts for v in model.schema_.attributes
    ):  # rows to fit a network to hold intervals, not numbers
        refitted = bayeskit.BayesianNetwork(model.network_).fit({**part(third)[0], "y": Y[third]})
        np.testing.assert_allclose(model.predict_proba(rows), refitted.predict_proba(rows, "y"), atol=1e-9)
    model.save(tmp_path / "m.bayes")
    model = bayeskit.load(tmp_path / "m.bayes").partial_fit(*part(first)).partial_fit(iter([part(second)]))
    assert model.schema_ == whole.schema_ and model.held_ == whole.held_
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.contributions(rows).logs, whole.contributions(rows).logs, atol=1e-9)


def test_new_states_and_classes_enlarge_the_model() -> None:
    rows = {"colour": ["red", "blue"] * 6, "size": np.arange(12.0)}
    labels = ["ripe", "raw"] * 6
    later = {"colour": ["amber", "red", None], "size": [3.0, np.nan, 99.0]}
    model = (
        BayesNetClassifier("tan", smoothing="laplace")
        .fit(rows, labels)
        .partial_fit(later, ["raw", "bad", "bad"])
    )
    assert model.classes_.tolist() == ["bad", "raw", "ripe"]
    assert model.schema_["colour"].states == ("amber", "blue", "red")
    both = {name: [*rows[name], *later[name]] for name in rows}
    whole = BayesNetClassifier("tan", smoothing="laplace").fit(both, [*labels, "raw", "bad", "bad"])
    assert whole.held_ == model.held_
    np.testing.assert_allclose(model.predict_proba(both), whole.predict_proba(both), rtol=1e-9)
    assert model.explain({"colour": "amber", "size": None}).attributes[0].factors[1].working == "(1+1)/(7+3)"


def test_announced_classes_and_declared_states_stay() -> None:
    model = BayesNetClassifier("naive", states={"shape": ["o", "x", "z", "?"]})
    model.partial_fit(*part(slice(0, 100)), classes=["a", "b", "c", "d"])
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.predict_proba(X).shape == (400, 4)
    model.forget(*part(slice(0, 50)))
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.schema_["shape"].states == ("o", "x", "z", "?")
    before = model.predict_proba(X)
    rows, labels = part(slice(0, 2))
    for refused, error, said in [
        (lambda: model.partial_fit(rows, ["a", "e"]), UnseenClass, ["e"]),
        (
            lambda: model.partial_fit(rows, labels, classes=["a"]),
            UnseenClass,
            ["['a']", "['a', 'b', 'c', 'd']"],
        ),
        (lambda: model.partial_fit({**rows, "shape": ["o", "w"]}, labels), UnseenState, ["w"]),
        (lambda: model.partial_fit({"colour": ["red"]}, ["a"]), ColumnError, ["shape", "size", "weight"]),
        (lambda: model.partial_fit(rows, ["a", None]), DataError, [1, "semi_supervised=True"]),
        (lambda: model.partial_fit(rows), DataError, ["BayesNetClassifier", 'target="..."']),
        (lambda: model.forget(*part(slice(100, 400))), NotCounted, []),
        (lambda: model.partial_fit(iter([(rows, labels), (rows, ["a", "e"])])), UnseenClass, ["e"]),
        (lambda: model.partial_fit(iter([])), DataError, ["batch"]),
        (lambda: model.fade(0.0), SettingError, ["fade", 0.0]),
    ]:
        with refuses(error, *said):
            refused()
        np.testing.assert_array_equal(model.predict_proba(X), before)  # all or nothing
    with refuses(UnseenClass, "c"):
        BayesNetClassifier("naive").partial_fit(*part(slice(0, 100)), classes=["a", "b"])


def test_models_add_up() -> None:
    one, other = (BayesNetClassifier("naive").fit(*part(rows)) for rows in (slice(0, 150), slice(150, 400)))
    both, whole = one + other, BayesNetClassifier("naive").fit(X, Y)
    np.testing.assert_allclose(both.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert one.statistics_.total == 150  # a sum leaves its terms alone
    # A class of which one of them has no row.
    no_c = BayesNetClassifier("naive").fit(*part(np.flatnonzero(Y != "c")))
    only_c = BayesNetClassifier("naive").fit(*part(np.flatnonzero(Y == "c")))
    np.testing.assert_allclose((no_c + only_c).predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    announced = BayesNetClassifier("naive").partial_fit(*part(slice(0, 150)), classes=["a", "b", "c", "d"])
    assert (announced + no_c).statistics_.total == 150 + (Y != "c").sum()
    few = BayesNetClassifier("naive").partial_fit(*part(np.flatnonzero(Y != "c")), classes=["a", "b"])
    with refuses(UnseenState, "y", "c"):
        few.merge(only_c)
    faded = BayesNetClassifier("naive", smoothing="mle").fit(X, Y).fade(0.25)
    assert faded.statistics_.total == 100
    np.testing.assert_allclose(
        faded.predict_proba(X),
        BayesNetClassifier("naive", smoothing="mle").fit(X, Y).predict_proba(X),
        atol=1e-9,
    )
    for other, said in [
        (BayesNetClassifier("tan").fit(X, Y), ["method", "naive", "tan"]),
        (BayesNetClassifier("naive").fit({"colour": X["colour"]}, Y), ["columns"]),
        (bayeskit.NaiveBayes().fit(X, Y), ["BayesNetClassifier", "NaiveBayes"]),
    ]:
        with refuses(Incompatible, *said):
            whole.merge(other)
    cut, elsewhere = (BayesNetClassifier("naive", numeric=3).fit(*part(slice(n, n + 100))) for n in (0, 100))
    with refuses(Incompatible, "cut points", "cut_points="):
        cut.merge(elsewhere)


def test_after_em_there_are_counts_to_go_on_from() -> None:
    labels = np.where(np.arange(400) < 200, Y, None)
    model = BayesNetClassifier("naive", semi_supervised=True, unlabelled_weight=0.5).fit(X, labels)
    assert model.statistics_.total == pytest.approx(300)
    assert model.partial_fit(*part(slice(200, 300))).statistics_.total == pytest.approx(400)
    assert model.forget(*part(slice(0, 50))).statistics_.total == pytest.approx(350)
    counted = BayesNetClassifier("naive", semi_supervised=True, unlabelled_weight=0.0).fit(X, labels)
    assert counted.partial_fit(*part(slice(200, 300))).statistics_.total == 300
    with refuses(UsageError, 1, "partial_fit"):
        counted.partial_fit(part(slice(0, 2))[0], ["a", None])
