"""The semi-naive classifiers as users meet them: settings, cut points, structures, what is held."""

from __future__ import annotations

import tracemalloc
import warnings

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayeskit import AODE, KDB, SPODE, TAN, AnDE, Batches, NaiveBayes, SelectiveKDB, load
from bayeskit._conditionals.averaged import memory
from bayeskit._statistics.tables import LARGEST
from bayeskit.classifiers import ArcInformation
from bayeskit.errors import (
    ColumnError,
    DataError,
    Incompatible,
    NotCounted,
    OneShotSource,
    SettingError,
    SuspectResult,
)
from bayeskit.priors import BackOff, Dirichlet, MEstimate, WittenBell
from bayeskit.statistics import conditional_mutual_information
from refusals import refuses, warns_of

FAMILY = [TAN, SPODE, AODE, AnDE, KDB]
NAMES = ["s", "t", "x", "z"]
every = pytest.mark.parametrize("cls", FAMILY)


def rows_of(n=160, seed=0, gaps=0.05):
    """Two columns of labels and two of numbers that tell the class, with holes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "so", "yes"], n)
    place = np.searchsorted(["no", "so", "yes"], y)
    frame = pd.DataFrame(
        {
            "s": np.where(rng.random(n) < 0.7, np.array(list("pqr"))[place], rng.choice(list("pqr"), n)),
            "t": rng.choice(["u", "v"], n),
            "x": rng.normal(2.0 * place, 1.0),
            "z": rng.normal(0.0, 1.0, n),
        }
    )
    frame["z"] += 3.0 * (frame["s"] == "p")
    for name in NAMES:
        frame[name] = frame[name].astype(object if name in "st" else float)
        frame.loc[rng.random(n) < gaps, name] = None if name in "st" else np.nan
    return frame, y


X, Y = rows_of()


def same(a, b, rows=X, within=1e-12):
    assert a.schema_ == b.schema_
    np.testing.assert_allclose(a.predict_proba(rows), b.predict_proba(rows), rtol=0, atol=within)


# -- settings --------------------------------------------------------------------------------------

SHARED = [
    ({"smoothing": "laplas"}, ["prior", "laplas"]),
    ({"smoothing": {"nowhere": 1.0}}, ["smoothing", "nowhere"]),
    ({"smoothing": {"numeric": 1.0}}, ["NormalInverseGamma"]),
    ({"smoothing": Dirichlet([1, 2]), "categorical_features": "all"}, ["y", 2, 3]),
    ({"smoothing": -1.0}, ["smoothing", -1.0]),
    ({"numeric": "kernel"}, ["numeric", "kernel", "mdl", "gaussian"]),
    ({"missing": "drop"}, ["missing", "drop", "ignore", "state"]),
    ({"unseen": "raise"}, ["unseen", "raise", "ignore", "smooth", "error"]),
    ({"calibration": "platt"}, ["calibration", "platt"]),
    ({"cut_points": [1.0]}, ["cut_points", "[1.0]"]),
    ({"cut_points": {"x": [1.0]}, "numeric": "gaussian"}, ["cut_points", 'numeric="mdl"']),
    ({"cut_points": {"x": [2.0, 1.0]}}, ["x", "[2.0, 1.0]"]),
    ({"cut_points": {"x": [1.0, 1.0]}}, ["x", "[1.0, 1.0]"]),
    ({"cut_points": {"x": [np.nan]}}, ["x", "[nan]"]),
    ({"cut_points": {"x": [np.inf]}}, ["x", "[inf]"]),
    ({"cut_points": {"x": ["a"]}}, ["x", "['a']"]),
    ({"cut_points": {"x": [[1.0, 2.0], [3.0, 4.0]]}}, ["x", "[[1.0, 2.0], [3.0, 4.0]]"]),
    ({"cut_points": {"nowhere": [1.0]}}, ["cut_points", "nowhere"]),
    ({"cut_points": {"s": [1.0]}}, ["cut_points", "s"]),
    ({"categorical_features": ["nowhere"]}, ["categorical_features", "nowhere"]),
    ({"states": {"s": ["p", "p"]}}, ["states['s']", "('p', 'p')"]),
    ({"class_weight": {"nobody": 1.0}}, ["class_weight", "nobody"]),
    ({"class_prior": [0.5, 0.5]}, [2, 3]),
    ({"n_jobs": 0}, ["n_jobs", 0]),
]
OWN = [
    (TAN(root="nowhere"), ["root", "nowhere", "s", "t", "x", "z"]),
    (TAN(root="x", numeric="gaussian"), ["root", "x", "s", "t"]),
    (TAN(root=["s"]), ["root", "['s']", "s"]),
    (TAN(criterion="mdl"), ["criterion", "mdl", "aic", "bic"]),
    (TAN(root="s", structure={}), ["root", "structure="]),
    (TAN(criterion="aic", structure={}), ["root", "structure="]),
    (
        SPODE(super_parent="nowhere"),
        ["super_parent", "nowhere", "s"],
    ),
    (SPODE(super_parent="x", numeric="gaussian"), ["super_parent", "x", "discrete"]),
    (SPODE(select="holdout"), ["select", "holdout", "loo", "cv"]),
    (SPODE(super_parent="s", structure={}), ["super_parent=", "structure="]),
    (AODE(min_count=-1), ["min_count", -1]),
    (AODE(min_count="1"), ["min_count", "1"]),
    (AODE(min_count=np.nan), ["min_count", "nan"]),
    (AODE(min_count=True), ["min_count", True]),
    (AODE(weights="information"), ["weights", "'information'", "mutual-information"]),
    (AODE(subsumption=True), ["subsumption", True]),
    (AODE(subsumption=-5), ["subsumption", -5]),
    (AODE(subsumption=None), ["subsumption", None]),
    (AnDE(n=3), ["n", 3, 0, 1, "AODE", 2, "A2DE"]),
    (AnDE(n=True), ["n", True]),
    (AnDE(n="1"), ["n", "1"]),
    (AnDE(n=np.array([1, 2])), ["n", "array([1, 2])"]),
    (AnDE(n=2, max_memory=-1), ["max_memory", -1]),
    (AnDE(n=2, max_memory="1 GB"), ["max_memory", "1 GB"]),
    (AnDE(n=2, min_count=-1), ["min_count", -1]),
    (AnDE(n=2, smoothing="back-off"), ["AnDE(n=2)", "back-off"]),
    (AnDE(n=0, smoothing="back-off"), ["AnDE(n=0)", "back-off"]),
    (AnDE(n=0, smoothing="witten-bell"), ["AnDE(n=0)", "witten-bell"]),
    (KDB(k=-1), ["k", -1, 0, 64]),
    (KDB(k=1.5), ["k", 1.5]),
    (KDB(k=True), ["k", True]),
    (KDB(k=65), ["k", 65]),
    (TAN(smoothing={"y": "back-off"}), ["smoothing", "y", "MEstimate"]),
    (NaiveBayes(smoothing="back-off"), ["BackOff", "WittenBell", "TAN"]),
    (NaiveBayes(smoothing={"s": "witten-bell"}), ["BackOff", "WittenBell"]),
]


@every
@pytest.mark.parametrize(("how", "says"), SHARED, ids=str)
def test_settings_that_mean_nothing_are_refused(cls, how, says):
    with refuses((SettingError, ColumnError), *says):
        cls(**how).fit(X, Y).predict_proba(X)


@pytest.mark.parametrize(("model", "says"), OWN, ids=lambda v: str(v)[:60])
def test_settings_of_one_classifier(model, says):
    with refuses(SettingError, *says):
        model.fit(X, Y).predict_proba(X)


@every
def test_a_refusal_leaves_the_model_before(cls):
    model = cls().fit(X, Y)
    before, held = model.predict_proba(X), model.held_
    for how, error in (
        ({"cut_points": {"x": [2.0, 1.0]}}, SettingError),
        ({"numeric": "kernel"}, SettingError),
    ):
        with pytest.raises(error):
            model.set_params(**how).fit(X, Y)
        model.set_params(cut_points=None, numeric="mdl")
        assert model.held_ == held
        np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(DataError):
        model.fit(X.assign(x=np.inf), Y)
    with pytest.raises(DataError):
        model.lazy(X.assign(x=np.inf), Y)
    assert model.held_ == held
    np.testing.assert_array_equal(model.predict_proba(X), before)


# -- structures that are given ---------------------------------------------------------------------

STRUCTURES = [
    ({"s": ["t"], "t": ["s"]}, ["cycle", "'s' → 't' → 's'"]),
    ({"s": ["s"]}, ["cycle", "'s' → 's'"]),
    ({"nowhere": ["s"]}, ["structure", "nowhere", "s"]),
    ({"s": ["nowhere"]}, ["nowhere", "s"]),
    ({"s": ["y"]}, ["y", "s"]),
    ({"s": ["t", "t"]}, ["s", "t"]),
    (["s"], ["structure", "['s']"]),
    ({"s": 5}, [5, "s"]),
    ({"s": [["t"]]}, ["['t']"]),
]


@pytest.mark.parametrize("cls", [TAN, SPODE, KDB])
@pytest.mark.parametrize(("structure", "says"), STRUCTURES, ids=str)
def test_structures_that_are_no_graphs(cls, structure, says):
    with refuses(SettingError, *says):
        cls(structure=structure).fit(X, Y)


@pytest.mark.parametrize("cls", [TAN, SPODE, KDB])
def test_a_number_is_nobodys_parent(cls):
    with refuses(SettingError, "x", "s", 'numeric="mdl"'):
        cls(structure={"s": ["x"]}, numeric="gaussian").fit(X, Y)
    assert cls(structure={"s": ["x"]}).fit(X, Y).structure_["s"] == ("x",)  # cut into intervals it may be


@pytest.mark.parametrize("cls", [TAN, SPODE])
def test_one_parent_at_most(cls):
    with refuses(SettingError, "z", "('s', 't')", 1, "KDB"):
        cls(structure={"z": ["s", "t"]}).fit(X, Y)


def test_a_gaussian_has_one_discrete_parent_also_in_kdb():
    """Its moments are counted in the cells of one attribute: a second parent would be left out unsaid."""
    with refuses(SettingError, "structure", "z", "('s', 't')", 'numeric="mdl"'):
        KDB(structure={"z": ["s", "t"]}, numeric="gaussian").fit(X, Y)


@pytest.mark.parametrize("numeric", ["mdl", "gaussian"])
def test_a_given_structure_is_the_one_used(numeric):
    structure = {"t": ["s"], "z": ["s"]}
    full = {"s": (), "t": ("s",), "x": (), "z": ("s",)}
    model = TAN(structure=structure, numeric=numeric).fit(X, Y)
    assert model.structure_ == full
    assert [arc[:2] for arc in model.arcs_] == [("s", "t"), ("s", "z")]
    same(SPODE(structure=structure, numeric=numeric, smoothing=BackOff()).fit(X, Y), model)
    kdb = KDB(structure=structure, numeric=numeric).fit(X, Y)
    assert kdb.structure_ == full
    fixed = BackOff([1.0, 5.0])
    same(
        KDB(structure=structure, numeric=numeric, smoothing=fixed).fit(X, Y),
        TAN(structure=structure, numeric=numeric, smoothing=fixed).fit(X, Y),
    )


def test_no_arcs_are_naive_bayes():
    cuts = {"x": [1.0, 3.0], "z": [1.5]}
    naive = AnDE(n=0, smoothing="laplace", cut_points=cuts).fit(X, Y)
    for model in (
        TAN(structure={}, smoothing="laplace", cut_points=cuts),
        KDB(k=0, smoothing="laplace", cut_points=cuts),
    ):
        same(model.fit(X, Y), naive)
    cut = X[["s", "t"]].assign(
        **{
            name: pd.cut(X[name], [-np.inf, *cuts[name], np.inf]).astype(str).replace("nan", None)
            for name in cuts
        }
    )
    by_hand = NaiveBayes().fit(cut, Y)
    np.testing.assert_allclose(naive.predict_proba(X), by_hand.predict_proba(cut), rtol=0, atol=1e-12)


def test_learned_structures_and_what_their_arcs_carry():
    model = TAN().fit(X, Y)
    roots = [name for name, parents in model.structure_.items() if not parents]
    assert roots == ["s"]
    pairs = model.statistics_.parts["pairs"]
    for arc in model.arcs_:
        assert isinstance(arc, ArcInformation)
        i, j = NAMES.index(arc.parent), NAMES.index(arc.child)
        assert arc.information == pytest.approx(
            float(conditional_mutual_information(pairs.table(i, j))), abs=1e-12
        )
        assert model.structure_[arc.child] == (arc.parent,)
    assert TAN(root="z").fit(X, Y).structure_["z"] == ()
    kdb = KDB(k=2).fit(X, Y)
    assert set(kdb.structure_) == set(NAMES)
    assert max(len(parents) for parents in kdb.structure_.values()) == 2
    for arc in kdb.arcs_:
        i, j = NAMES.index(arc.parent), NAMES.index(arc.child)
        assert arc.information == pytest.approx(
            float(conditional_mutual_information(pairs.table(i, j))), abs=1e-12
        )


# -- numbers ---------------------------------------------------------------------------------------


@every
def test_given_cut_points_are_the_intervals(cls):
    model = cls(cut_points={"x": [1.0, 3.0]}).fit(X, Y)
    assert model.cut_points_["x"] == (1.0, 3.0)
    assert model.schema_["x"].states == ("(-inf, 1]", "(1, 3]", "(3, inf)")
    assert model.cut_points_["z"] == cls().fit(X, Y).cut_points_["z"]
    edge = X.iloc[[0, 0, 0, 0]].assign(x=[1.0, np.nextafter(1.0, 2.0), 3.0, 1e300])
    posterior = model.predict_proba(edge)
    assert np.abs(posterior[0] - posterior[1]).max() > 1e-6  # 1 belongs to the first interval
    np.testing.assert_array_equal(posterior[1], posterior[2])


@every
def test_numbers_alone_as_gaussians_are_naive_bayes(cls):
    numbers = X[["x", "z"]]
    with warns_of(SuspectResult, cls, 'numeric="gaussian"', 'numeric="mdl"'):
        model = cls(numeric="gaussian").fit(numbers, Y)
    naive = NaiveBayes(smoothing=getattr(cls, "_base_prior", None) if cls is AODE else None).fit(numbers, Y)
    if cls in (SPODE, AODE):
        same(model, naive, numbers)
    else:  # their prior of the class is m-estimate's
        same(model, NaiveBayes(smoothing=MEstimate(1)).fit(numbers, Y), numbers)
    if hasattr(model, "structure_"):
        assert model.structure_ == {"x": (), "z": ()}
    assert model.cut_points_ == {}


@every
def test_no_warning_where_some_attribute_is_discrete(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuspectResult)
        cls(numeric="gaussian").fit(X, Y)
        cls().fit(X[["x", "z"]], Y)


def test_columns_of_whole_numbers_keep_only_the_states_that_are_there():
    """A table of pairs is made after the states that stand in no row have gone."""
    rng = np.random.default_rng(0)
    codes = rng.choice([0, 500, 1000], (60, 3))
    model = AODE(categorical_features="all").fit(codes, rng.integers(0, 2, 60))
    assert [v.states for v in model.schema_.categorical] == [(0, 500, 1000)] * 3
    assert model.statistics_.parts["pairs"].counts.shape == (12, 12, 2)
    model.partial_fit(np.array([[7, 500, 0]]), [1])
    assert model.schema_["x0"].states == (0, 7, 500, 1000)


# -- what is held ----------------------------------------------------------------------------------

HELD = {TAN: {"cut_points"}, AODE: {"cut_points"}, AnDE: {"cut_points"}}
HELD |= {SPODE: {"cut_points", "super_parent", "losses"}, KDB: {"cut_points", "structure"}}


@every
def test_held_lists_what_rows_chose(cls):
    assert set(cls().fit(X, Y).held_) == HELD[cls]
    assert set(AnDE(n=2).fit(X, Y).held_) == {"cut_points", "super_parents"}
    assert "cut_points" not in cls(numeric="gaussian").fit(X, Y).held_


@every
def test_later_batches_keep_what_was_chosen(cls):
    """Counts are those of all rows, cut points and choices those of the first batch."""
    model = cls().partial_fit(X[:100], Y[:100])
    held = model.held_
    model.partial_fit(X[100:].assign(x=X["x"][100:] + 50.0), Y[100:])
    assert model.held_ == held
    again = {"cut_points": held["cut_points"]}
    if cls is SPODE:
        again["super_parent"] = held["super_parent"]
    if cls is KDB:
        again["structure"] = held["structure"]
    moved = pd.concat([X[:100], X[100:].assign(x=X["x"][100:] + 50.0)])
    np.testing.assert_allclose(
        model.predict_proba(X), cls(**again).fit(moved, Y).predict_proba(X), rtol=0, atol=1e-12
    )


@every
def test_learning_anew_chooses_anew(cls):
    moved = X.assign(x=X["x"] * 3 + 1)
    model, fresh = cls().fit(X, Y), cls().fit(moved, Y)
    assert model.held_ != fresh.held_
    assert model.relearn(moved, Y).held_ == fresh.held_
    same(model, fresh, moved)


@every
def test_merging_is_for_models_that_hold_the_same(cls):
    a, b = cls().fit(X[:80], Y[:80]), cls().fit(X[80:].assign(x=X["x"][80:] * 3 + 1), Y[80:])
    assert a.held_ != b.held_
    before = a.predict_proba(X)
    with refuses(Incompatible, "cut points", "x", "z"):
        a.merge(b)
    np.testing.assert_array_equal(a.predict_proba(X), before)
    how = {"cut_points": {"x": [1.0, 3.0], "z": [1.5]}}
    how |= {SPODE: {"super_parent": "s"}, KDB: {"structure": {"t": ["s"]}}}.get(cls, {})
    same(cls(**how).fit(X[:80], Y[:80]) + cls(**how).fit(X[80:], Y[80:]), cls(**how).fit(X, Y))


@every
def test_forgetting_is_never_having_learned(cls):
    """With cut points and choices held; trees, constants and weights are found again."""
    model = cls().fit(X, Y)
    held = model.held_
    model.forget(X[100:], Y[100:])
    assert model.held_ == held
    again = {"cut_points": held["cut_points"]}
    again |= {
        SPODE: {"super_parent": held.get("super_parent")},
        KDB: {"structure": held.get("structure")},
    }.get(cls, {})
    fresh = cls(**again).fit(X[:100], Y[:100])
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), rtol=0, atol=1e-12)
    if cls is TAN:
        assert model.structure_ == fresh.structure_
    with pytest.raises(NotCounted):
        model.forget(X[100:], Y[100:])


# -- sources, files, lazy use ----------------------------------------------------------------------


@every
def test_batches_and_files_are_the_rows_they_hold(cls, tmp_path):
    fresh = cls().fit(X, Y)
    parts = [(X[:50], Y[:50]), (X[50:], Y[50:])]
    batched = cls().fit(Batches(lambda: parts))
    same(batched, fresh)
    assert {**batched.held_, "losses": 0} == {**fresh.held_, "losses": 0}  # sums in other orders
    path = tmp_path / "rows.csv"
    X.assign(y=Y).to_csv(path, index=False)
    read = cls().fit(path, target="y")
    np.testing.assert_allclose(read.predict_proba(X), fresh.predict_proba(X), rtol=0, atol=1e-12)


@every
def test_a_source_that_can_be_read_once_is_refused_by_name(cls):
    with refuses(OneShotSource, cls, "Batches"):
        cls().fit(iter([(X, Y)]))


@every
@pytest.mark.parametrize("numeric", ["mdl", "gaussian"])
def test_lazy_answers_are_those_of_a_fit(cls, numeric):
    fresh = cls(numeric=numeric).fit(X, Y)
    model = cls(numeric=numeric).lazy(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), rtol=0, atol=1e-12)
    some = X[:20].assign(t=None, z=np.nan)
    np.testing.assert_allclose(model.predict_proba(some), fresh.predict_proba(some), rtol=0, atol=1e-12)
    assert model.schema_ == fresh.schema_
    if hasattr(fresh, "structure_"):
        assert model.structure_ == fresh.structure_
        assert model.arcs_ == fresh.arcs_
    warm = cls(numeric=numeric, calibration="temperature")
    fresh, model = clone(warm).fit(X, Y), clone(warm).lazy(X, Y)
    assert model.held_ == fresh.held_
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), rtol=0, atol=1e-12)


@every
def test_what_was_chosen_can_be_asked_of_a_lazy_model(cls):
    assert cls().lazy(X, Y).cut_points_ == cls().fit(X, Y).cut_points_


@every
@pytest.mark.parametrize(
    "how", [{}, {"numeric": "gaussian", "missing": "state", "unseen": "smooth"}], ids=str
)
def test_saved_and_loaded(cls, how, tmp_path):
    model = cls(**how).fit(X, Y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.held_ == model.held_
    assert again.schema_ == model.schema_
    if hasattr(model, "structure_"):
        assert again.structure_ == model.structure_
        assert again.arcs_ == model.arcs_
    same(again.partial_fit(X[:30], Y[:30]), model.partial_fit(X[:30], Y[:30]))


def test_a2de_saved_with_its_super_parents(tmp_path):
    model = AnDE(n=2, max_memory=4_000).fit(X, Y)
    assert 1 < len(model.super_parents_) < 4
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.super_parents_ == model.super_parents_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_arithmetic_of_a_tiny_table():
    """One class each way: TAN by hand under Laplace, P(c) = 3/6, P(a|c)·P(b|c, a)."""
    rows, y = [["p", "u"], ["p", "v"], ["q", "v"], ["q", "u"]], [0, 0, 1, 1]
    joint = np.exp(TAN(smoothing="laplace").fit(rows, y).predict_joint_log_proba([["p", "u"]]))
    # Class 0: (2+1)/(4+2) · (2+1)/(2+2) · (1+1)/(2+2); class 1: 3/6 · (0+1)/(2+2) · (0+1)/(0+2).
    np.testing.assert_allclose(joint, [[3 / 6 * 3 / 4 * 2 / 4, 3 / 6 * 1 / 4 * 1 / 2]], rtol=1e-12)


# -- bad input -------------------------------------------------------------------------------------

COLUMNS = {
    "one state": ({"a": ["p"] * 8, "b": list("pq") * 4}, [0, 0, 1, 1] * 2),
    "more states than rows": ({"a": [f"s{i}" for i in range(8)], "b": list("pq") * 4}, [0, 0, 1, 1] * 2),
    "one attribute": ({"a": list("pq") * 4}, [0, 0, 1, 1] * 2),
    "one number": ({"a": np.arange(8.0)}, [0, 0, 1, 1] * 2),
    "duplicates": ({"a": list("pq") * 4, "b": list("pq") * 4, "c": list("pq") * 4}, [0, 0, 1, 1] * 2),
    "one class": ({"a": list("pq") * 4, "b": list("ppqq") * 2, "x": np.arange(8.0)}, [1] * 8),
    "a column without a value": ({"a": list("pq") * 4, "b": np.array([None] * 8, object)}, [0, 0, 1, 1] * 2),
    "a number without a value": ({"a": list("pq") * 4, "x": np.full(8, np.nan)}, [0, 0, 1, 1] * 2),
    "nothing has a value": ({"a": np.array([None] * 8, object)}, [0, 0, 1, 1] * 2),
    "a row without a value": ({"a": ["p", "q", None] * 3, "x": [1.0, 2.0, np.nan] * 3}, [0, 0, 1] * 3),
    "one row": ({"a": ["p"], "b": ["q"], "x": [1.0]}, [0]),
}
MODELS = [
    *(cls() for cls in FAMILY),
    AnDE(n=2),
    TAN(smoothing="mle"),
    AODE(smoothing="mle", weights="mutual-information"),
]
MODELS += [cls(missing="state", unseen="smooth") for cls in FAMILY] + [
    cls(numeric="gaussian") for cls in FAMILY
]


@pytest.mark.parametrize("what", COLUMNS)
@pytest.mark.parametrize("model", MODELS, ids=lambda v: str(v)[:50])
@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
def test_odd_columns_have_answers(model, what):
    columns, y = COLUMNS[what]
    rows = pd.DataFrame(columns)
    model.fit(rows, y)
    for posterior in (model.predict_proba(rows), model.leave_one_out(rows, y)):
        assert np.isfinite(posterior).all()
        np.testing.assert_allclose(posterior.sum(axis=1), 1.0, atol=1e-12)
    empty = pd.DataFrame({name: np.array([None], object) for name in rows})
    empty = empty.astype({name: float for name in rows if rows[name].dtype == float})
    assert np.isfinite(model.predict_proba(empty)).all()
    for name in ("structure_", "arcs_", "cut_points_", "weights_", "super_parents_", "loo_score_"):
        getattr(model, name, None)


@every
def test_no_rows(cls):
    with refuses(DataError, 0, "(0, 4)", 1):
        cls().fit(X[:0], Y[:0])


@pytest.mark.parametrize("model", [AODE(), AnDE(), AnDE(n=2)], ids=str)
def test_averages_over_two_thousand_attributes_are_refused_before_memory_is_taken(model):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (50, 2_000)).astype("U1").astype(object)
    tracemalloc.start()
    try:
        with refuses(DataError, 2000, "GiB"):
            model.fit(rows, np.arange(50) % 3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6


@pytest.mark.parametrize("model", [TAN(), SPODE(), KDB()], ids=str)
def test_two_thousand_attributes_take_no_more_memory_than_allowed(model):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (50, 2_000)).astype("U1").astype(object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspectResult)
        tracemalloc.start()
        try:
            model.fit(rows, np.arange(50) % 3)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < LARGEST


def test_the_tables_of_aode_are_estimated_before_they_are_made():
    """Its look-up tables have more cells than the counts: holes, unseen, and classes in fours."""
    rng = np.random.default_rng(0)
    rows, y = rng.integers(0, 2, (200, 300)).astype("U1").astype(object), np.arange(200) % 5
    model = AODE().fit(rows, y)
    allowed = memory(model.schema_)
    tracemalloc.start()
    model.predict_proba(rows[:2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < allowed, f"{peak / allowed:.2f} of what is estimated"


@pytest.mark.parametrize(
    "model",
    [
        TAN(smoothing="laplace"),
        SPODE(super_parent="x0"),
        AODE(),
        AODE(smoothing=WittenBell()),
        AnDE(n=2),
        KDB(smoothing=BackOff([1, 2])),
    ],
    ids=str,
)
def test_the_only_hole_that_made_missing_a_state(model):
    """Without its row nothing is missing, so the hole is no state there, as child and as parent."""
    rows, y = [["p", "u"], ["q", None], ["q", "v"], ["p", "v"]], np.array([0, 0, 1, 1])
    states = {"x0": ["p", "q"], "x1": ["u", "v"]}
    whole = clone(model).set_params(missing="state", states=states).fit(rows, y)
    found = whole.leave_one_out(rows, y)
    graph = {} if not isinstance(model, (TAN, KDB)) else {"structure": whole.structure_}
    for i in range(4):
        rest = [j for j in range(4) if j != i]
        left = clone(model).set_params(missing="state", states=states, **graph)
        left.fit([rows[j] for j in rest], y[rest])
        np.testing.assert_allclose(found[i], left.predict_proba([rows[i]])[0], atol=1e-12)


# -- more attributes than have room for their pairs ------------------------------------------------


def noisy_rows(n=300, d=240, seed=0, strength=0.6):
    """Six columns that tell the class, two of them twice, among columns that do not."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 3, (n, d))
    told = rng.random((n, 6)) < strength
    X[:, :6] = np.where(told, 2 * y[:, None], X[:, :6])
    X[:, 6:8] = X[:, :2]
    return pd.DataFrame({f"c{j}": np.array(list("uvw"))[X[:, j]] for j in range(d)}), np.array(["no", "yes"])[
        y
    ]


@pytest.fixture
def little_room(monkeypatch):
    """Room for the pairs of some forty attributes of three states."""
    monkeypatch.setattr("bayeskit._statistics.tables.LARGEST", 4 * 8 * 2 * (4 * 40) ** 2)


@pytest.mark.parametrize(
    "model", [TAN(), KDB(), SPODE(), SelectiveKDB(max_k=1)], ids=lambda m: type(m).__name__
)
def test_arcs_are_chosen_among_the_most_telling(model, little_room, tmp_path):
    X, y = noisy_rows()
    with warns_of(SuspectResult, 240, 40):
        model.fit(X, y)
    with_arcs = {name for name, parents in model.structure_.items() if parents}
    among = with_arcs | {p for parents in model.structure_.values() for p in parents}
    assert len(with_arcs) <= 39 and among >= {"c0", "c1", "c6", "c7"}
    if not isinstance(model, SelectiveKDB):  # which leaves attributes out
        assert set(model.structure_) == set(X.columns)
    new, truth = noisy_rows(seed=1)
    wrong = (model.predict(new) != truth).mean()
    assert wrong <= (NaiveBayes().fit(X, y).predict(new) != truth).mean() + 0.02
    # The arcs are kept: whatever follows equals a fresh fit of the counts with these arcs.
    path = tmp_path / "model.bayes"
    model.save(path)
    same(load(path), model, new)
    more = clone(model)
    with warns_of(SuspectResult, 240):
        more.fit(X, y)
    more.partial_fit(new, truth).forget(new, truth)
    assert more.structure_ == model.structure_
    np.testing.assert_allclose(more.predict_proba(new), model.predict_proba(new), rtol=0, atol=1e-9)


def test_a_wide_tree_is_that_of_the_attributes_it_is_over(monkeypatch):
    X, y = noisy_rows(d=210)
    whole = TAN().fit(X[[f"c{j}" for j in range(8)]], y)
    monkeypatch.setattr("bayeskit._statistics.tables.LARGEST", 4 * 8 * 2 * (4 * 8) ** 2)
    with warns_of(SuspectResult, 8):
        wide = TAN().fit(X, y)
    kept = {name: wide.structure_[name] for name in whole.structure_}
    assert kept == whole.structure_
    assert not any(parents for name, parents in wide.structure_.items() if name not in kept)
    # Given arcs need no room for other pairs, and are used as they are.
    given = TAN(structure={"c1": ["c7"], "c200": ["c3"]}).fit(X, y)
    assert {k: v for k, v in given.structure_.items() if v} == {"c1": ("c7",), "c200": ("c3",)}
    star = SPODE(super_parent="c6").fit(X, y)
    assert star.super_parent_ == "c6" and star.structure_["c200"] == ("c6",) and star.structure_["c6"] == ()


def test_numbers_of_a_wide_table_keep_their_cut_points(little_room):
    X, y = noisy_rows(d=220)
    X["number"] = np.random.default_rng(0).normal(2.0 * (y == "yes"), 1.0)
    settings = {"states": {"c3": ["u", "v", "w", "z"]}, "categorical_features": list(range(220))}
    with warns_of(SuspectResult, 221):
        model = KDB(**settings).fit(X, y)
    assert len(model.cut_points_["number"]) >= 1 and "z" in model.table("c3").states
    with warns_of(SuspectResult, 221):
        gaussian = TAN(numeric="gaussian", **settings).fit(X, y)
    assert gaussian.structure_["number"] and gaussian.predict_proba(X).sum() == pytest.approx(300)


def test_a_wide_table_is_read_from_a_file_alike(little_room, tmp_path):
    X, y = noisy_rows(d=205)
    path = tmp_path / "wide.csv"
    X.assign(y=y).to_csv(path, index=False)
    with warns_of(SuspectResult, 205):
        there = TAN().fit(path, target="y")
    with warns_of(SuspectResult, 205):
        here = TAN().fit(X, y)
    assert there.structure_ == here.structure_
    with warns_of(SuspectResult, 205):
        queried = TAN().fit(duckdb.from_df(X.assign(y=y)), target="y")
    assert queried.structure_ == here.structure_
    with warns_of(SuspectResult, 205):
        lazy = TAN().lazy(X, y)
    np.testing.assert_allclose(lazy.predict_proba(X[:20]), here.predict_proba(X[:20]), rtol=0, atol=1e-12)


def test_columns_of_noise_do_not_outvote_the_others():
    """The tables of a class with fewer rows come nearer to uniform ones, a little in each of many columns."""
    X, y = noisy_rows(n=400, d=800, strength=0.75)
    new, truth = noisy_rows(n=400, d=800, seed=1, strength=0.75)
    naive = (NaiveBayes().fit(X, y).predict(new) != truth).mean()
    assert (KDB(k=0).fit(X, y).predict(new) != truth).mean() <= naive + 0.03
