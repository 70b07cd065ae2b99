"""A model that was saved and loaded is the model that was saved."""

from __future__ import annotations

import datetime as dt
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bayeskit
from bayeskit import (
    TAN,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    compare,
    load,
    priors,
)
from bayeskit._classifiers.model_files import _class_of, saved_size
from bayeskit._io import trial
from bayeskit._io.saved import SavedContent, naming, read_saved, write_saved
from bayeskit._on_demand import CLASSIFIERS
from bayeskit.errors import ModelFormatError, SettingError, UsageError
from bayeskit.extending import CountClassifier, ModelSpec, Reading
from bayeskit.priors import MAP, BDeu, Dirichlet, NormalInverseGamma
from bayeskit.statistics import Schema, Variable, load_statistics, save_statistics
from refusals import refuses

_rng = np.random.default_rng(7)
_N = 90
_y = np.array(["好瓜", "坏瓜", "😀"])[_rng.integers(0, 3, _N)]
_numbers = _rng.normal(size=(_N, 3)) + (_y == "好瓜")[:, None]
_counts = _rng.poisson(2.0, (_N, 4))
_mixed = pd.DataFrame(
    {
        "色泽": pd.Categorical.from_codes(_rng.integers(-1, 2, _N), categories=["青绿", "乌黑", "浅白"]),
        "密度": np.where(_rng.random(_N) < 0.1, np.nan, _numbers[:, 0]),
        "敲声": np.array(["浊响", "清脆 \0", "😀"], dtype=object)[_rng.integers(0, 3, _N)],
        "个数": _counts[:, 0],
    }
)

_CASES = [
    (NaiveBayes(), _mixed),
    (NaiveBayes(missing="state", unseen="smooth", variance="unbiased", n_jobs=2), _mixed),
    (NaiveBayes(smoothing={"色泽": BDeu(2.0), "numeric": NormalInverseGamma(0.0)}), _mixed),
    (NaiveBayes(smoothing=MAP(Dirichlet({"色泽": {"青绿": 3, "浅白": 1.5}}))), _mixed),
    (
        NaiveBayes(
            families={"密度": "kernel", "个数": "poisson"}, states={"敲声": ["😀", "浊响", "清脆 \0", "哑"]}
        ),
        _mixed,
    ),
    (NaiveBayes(class_prior={"好瓜": 0.5, "坏瓜": 0.25, "😀": 0.25}, class_weight="balanced"), _mixed),
    (
        NaiveBayes(categorical_features=np.array([True, False, True, False]), smoothing=np.float32(0.1)),
        _mixed,
    ),
    (NaiveBayes(numeric="kernel"), _numbers),
    (GaussianBayes(), _numbers),
    (GaussianBayes("shared", shrinkage="ledoit-wolf"), _numbers),
    (
        GaussianBayes("shared", categorical_features="from_dtype", missing="indicator", clip=5.0, ridge=0.1),
        _mixed,
    ),
    (GaussianNB(priors=np.array([0.2, 0.3, 0.5]), var_smoothing=1e-3), _numbers),
    (MultinomialNB(alpha=[0.5, 1.0, 2.0, 0.25]), _counts),
    (MultinomialNB(fit_prior=False), sparse.csr_matrix(_counts)),
    (MultinomialNB(), pd.DataFrame(_counts, columns=list("甲乙丙丁"))),
    (ComplementNB(norm=True), _counts),
    (BernoulliNB(binarize=1.5), _counts),
    (CategoricalNB(min_categories=12), _counts),
]
_NAMES = [f"{type(model).__name__}{i}" for i, (model, _) in enumerate(_CASES)]


def rows(X: Any, which: slice) -> Any:
    return X.iloc[which] if isinstance(X, pd.DataFrame) else X[which]


def check(model: CountClassifier, other: CountClassifier, X: Any) -> None:
    assert type(other) is type(model)
    assert other.classes_.tolist() == model.classes_.tolist()
    assert other.classes_.dtype == model.classes_.dtype
    assert other.schema_ == model.schema_
    assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(other.predict_joint_log_proba(X), model.predict_joint_log_proba(X))
    assert np.array_equal(other.predict(X), model.predict(X))
    assert other.n_features_in_ == model.n_features_in_
    names = [getattr(m, "feature_names_in_", np.array([])).tolist() for m in (model, other)]
    assert names[0] == names[1]
    assert repr(other.get_params()) == repr(model.get_params())


@pytest.mark.parametrize(("model", "X"), _CASES, ids=_NAMES)
def test_the_loaded_model_is_the_saved_one_and_goes_on(tmp_path, model, X):
    path = tmp_path / "西瓜 😀.bayes"
    model.fit(rows(X, slice(0, 60)), _y[:60])
    model.save(path)
    before = path.read_bytes()
    assert saved_size(model) == len(before)
    loaded = load(str(path))
    check(model, loaded, X)
    for verb in ("partial_fit", "forget"):  # what is added is taken away again
        for one in (model, loaded):
            getattr(one, verb)(rows(X, slice(60, None)), _y[60:])
        check(model, loaded, X)
    # Models that were learned apart can be merged if one takes over what the other has chosen from rows.
    held = {"coding": model.held_["coding"]} if "coding" in model.held_ else {}
    piece = type(model)(**{**model.get_params(), **held}).fit(rows(X, slice(60, None)), _y[60:])
    check(model.merge(piece), loaded.merge(piece), X)
    check(model.fade(0.5), loaded.fade(0.5), X)
    assert path.read_bytes() == before  # what is loaded has no hold on its file
    loaded.save(path)
    check(model, load(path), X)


def test_families_and_hints_are_kept(tmp_path):
    model = NaiveBayes().fit(_mixed, _y)
    model.save(tmp_path / "m")
    assert any(choice.suggestion for choice in model.families_.values())
    assert load(tmp_path / "m").families_ == model.families_


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [False, True],
        [0.0, 1.0],
        [2**70, -1],
        ["a\0", "\ud800"],
        [b"a", b"\xff"],
        [("a", 1), ("b", 2)],
        [dt.date(2024, 1, 1), dt.date(2024, 1, 2)],
        [dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 1, 2, tzinfo=None)],
        [Decimal("0.10"), Decimal("0.2")],
        [1, "一"],
    ],
    ids=str,
)
def test_classes_of_any_kind(tmp_path, labels):
    y = np.empty(20, dtype=object)
    y[:] = labels * 10
    X = np.arange(20.0)[:, None]
    model = NaiveBayes().fit(X, y)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    check(model, loaded, X)
    assert [type(c) for c in loaded.classes_] == [type(c) for c in model.classes_]


@pytest.mark.parametrize("dtype", ["i1", ">i4", "u8", "?", "f4", "U3", "S3", "O"])
def test_the_dtype_of_the_classes_is_kept(tmp_path, dtype):
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1]).astype(dtype)
    model = GaussianNB().fit(X, y)
    model.save(tmp_path / "m")
    check(model, load(tmp_path / "m"), X)


def test_a_model_that_forgot_everything(tmp_path):
    X, y = [["a"], ["b"]], ["c", "d"]
    NaiveBayes().fit(X, y).forget(X, y).save(tmp_path / "m")
    check(NaiveBayes().fit(X, y), load(tmp_path / "m").partial_fit(X, y), X)


def test_announced_classes_stay_closed(tmp_path):
    model = NaiveBayes().partial_fit([["a"]], ["c"], classes=["c", "d"])
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    check(model, loaded, [["a"]])
    with pytest.raises(bayeskit.errors.UnseenClass):
        loaded.partial_fit([["a"]], ["e"])


# -- what cannot be saved -------------------------------------------------------------------------


class MyBayes(NaiveBayes):
    """A classifier of somebody's own: naive Bayes that trusts rare states less."""

    def __init__(self, trust=1.0):
        super().__init__(smoothing=1.0 / trust)
        self.trust = trust


class MyTree(TAN):
    pass


@pytest.mark.parametrize("model", [MyBayes(trust=0.25), MyTree()], ids=repr)
def test_a_class_of_ones_own_is_loaded_where_it_is_passed_and_only_there(model, tmp_path):
    X, y = pd.DataFrame({"a": list("uvuvw"), "b": list("xxyyx")}), list("cdcdc")
    path = tmp_path / "mine"
    model.fit(X, y).save(path)
    own = type(model)
    with refuses(ModelFormatError, repr(own.__name__), f"classes=[{own.__name__}]"):
        load(path)
    loaded = load(path, classes=[MyBayes, MyTree])
    assert type(loaded) is own
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert str(loaded.explain(X[:1])) == str(model.explain(X[:1]))
    loaded.forget(X[:1], y[:1])
    np.testing.assert_array_equal(
        loaded.predict_proba(X), clone(model).fit(X[1:], y[1:]).predict_proba(X), strict=True
    )


class GentleNB(CountClassifier):
    """The recipe of CONTRIBUTING ("Add a classifier"), in a module of a user's own, with public names only."""

    def __init__(self, *, strength=1.0, n_jobs=None):
        self.strength = strength
        self.n_jobs = n_jobs

    def _reading(self):
        return Reading("from_dtype")

    def _spec(self, schema):
        prior = priors.Lidstone(float(self.strength))
        return ModelSpec(smoothing=priors.as_smoothing(prior), class_smoothing=prior)

    def _check_settings(self):
        super()._check_settings()
        if not self.strength > 0:
            raise SettingError("strength is {strength!r}; it must be above 0.", strength=self.strength)


def test_a_classifier_by_the_recipe_is_compared_explained_saved_and_loaded(tmp_path):
    rows = pd.DataFrame({"a": list("uvuvwu") * 6, "b": np.tile([1.0, 2.5, 1.5, 3.0, 2.0, 0.5], 6)})
    y = np.array(list("cdcddcddccdc") * 3)
    model, twin = GentleNB(strength=0.5).fit(rows, y), NaiveBayes(smoothing=0.5).fit(rows, y)
    np.testing.assert_array_equal(model.predict_proba(rows), twin.predict_proba(rows))
    models = {"gentle": GentleNB(strength=0.5), "twin": NaiveBayes(smoothing=0.5)}
    found = compare(rows, y=y, models=models, baselines=False, folds=2)
    assert found.of("gentle").log_loss == found.of("twin").log_loss
    assert type(found.fitted("gentle")) is GentleNB
    assert model.explain(rows[:1]).posterior == twin.explain(rows[:1]).posterior
    np.testing.assert_array_equal(model.leave_one_out(rows, y), twin.leave_one_out(rows, y))
    model.save(tmp_path / "gentle.bayes")
    loaded = load(tmp_path / "gentle.bayes", classes=[GentleNB])
    assert type(loaded) is GentleNB
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(
        loaded.partial_fit(rows[:2], y[:2]).forget(rows[:2], y[:2]).predict_proba(rows),
        model.predict_proba(rows),
    )
    with refuses(ModelFormatError, "GentleNB"):
        load(tmp_path / "gentle.bayes")
    with refuses(SettingError, "strength", "0"):
        GentleNB(strength=0).fit(rows, y)


def test_what_is_passed_as_ones_own_must_be_a_classifier_with_a_name_of_its_own(tmp_path):
    MyTree().fit([["a"], ["b"]], ["c", "d"]).save(tmp_path / "m")
    second = type("MyTree", (NaiveBayes,), {})
    for classes, named in (
        ([dict], ["classes", "dict"]),
        (MyTree(), ["classes", "MyTree"]),
        ([MyTree, second], ["classes", "MyTree"]),
        ([TAN], ["classes", "TAN"]),
    ):
        with refuses(SettingError, *named):
            load(tmp_path / "m", classes=classes)
    # A file that names a class of another kind than was meant is no model of it.
    with pytest.raises(ModelFormatError):
        load(tmp_path / "m", classes=[second])


def test_refusals_come_before_anything_is_written(tmp_path):
    X, y = [["a"], ["b"]], ["c", "d"]
    path = tmp_path / "m"
    path.write_bytes(b"old")

    class Odd:
        def cells(self, variable: Any, n_parents: int) -> Any:
            return np.ones(variable.size)

        def __repr__(self) -> str:
            return "Odd()"

    with pytest.raises(NotFittedError, match="not fitted yet"):
        NaiveBayes().save(path)
    with refuses(UsageError, "lazy"):
        NaiveBayes().lazy(pd.DataFrame({"x": ["a", "b"], "y": y}), "y").save(path)
    with refuses(SettingError, "smoothing", "Odd"):
        NaiveBayes(smoothing=Odd()).fit(X, y).save(path)
    with refuses(SettingError, "smoothing['x0']", "Odd"):
        NaiveBayes(smoothing={"x0": Odd()}).fit(X, y).save(path)
    with refuses(SettingError, "variance", "none"):
        NaiveBayes().fit(X, y).set_params(variance="none").save(path)
    with refuses(UsageError, "smoothing", "block_alpha"):
        NaiveBayes().fit(X, y).set_params(smoothing=0.5).save(path)
    with refuses(UsageError, "block_above"):
        BernoulliNB().fit([[1], [0]], y).set_params(binarize=0.5).save(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m"]


def test_a_class_that_only_has_the_name_is_refused(tmp_path):
    impostor = type("NaiveBayes", (NaiveBayes,), {})
    with refuses(UsageError, "NaiveBayes", "bayeskit", __name__):
        impostor().fit([["a"], ["b"]], [0, 1]).save(tmp_path / "m")


def test_n_jobs_may_change_after_fitting(tmp_path):
    NaiveBayes().fit([["a"], ["b"]], [0, 1]).set_params(n_jobs=2).save(tmp_path / "m")
    assert load(tmp_path / "m").n_jobs == 2


# -- what cannot be loaded ------------------------------------------------------------------------


def forge(tmp_path: Path, edit: Any, model: CountClassifier | None = None) -> Path:
    """Write a file with a right checksum and a wrong content."""
    path = tmp_path / "forged"
    (model or NaiveBayes().fit(_mixed, _y)).save(path)
    with naming(path):
        saved = read_saved(path, "model")
    content, arrays = json.loads(json.dumps(saved.content)), dict(saved.arrays)
    edit(content, arrays)
    write_saved(SavedContent("model", content, arrays), path)
    return path


def parameter(key: str, value: Any) -> Any:
    return lambda content, _: content["parameters"].__setitem__(key, value)


def field(key: str, value: Any) -> Any:
    return lambda content, _: content.__setitem__(key, value)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (field("estimator", "os"), ["os", "NaiveBayes"]),
        (field("estimator", "BayesDecision"), ["BayesDecision", "NaiveBayes"]),
        (field("estimator", ["NaiveBayes"]), ["TypeError", "list"]),
        (field("estimator", "GaussianNB"), ["GaussianNB", "smoothing", "states"]),
        (parameter("colour", 1), ["['colour']", "newer"]),
        (parameter("variance", "none"), ["variance", "none"]),
        (parameter("families", 5), ["int", "TypeError"]),
        (parameter("smoothing", {"prior": ["os.system", {"command": "ls"}]}), ["prior", "os.system"]),
        (parameter("smoothing", {"pickle": "gASV"}), ["pickle"]),
        (parameter("smoothing", {"float": "nan"}), ["SettingError", "smoothing", "nan"]),
        (parameter("numeric", "kernel"), ["statistics", "NaiveBayes"]),
        (lambda content, _: content.pop("hints"), ["hints"]),
        (lambda content, _: content["statistics"]["plan"].pop(), ["plan", "arrays"]),
        (field("statistics", None), ["TypeError"]),
        (field("parameters", []), ["AttributeError"]),
        (field("class_dtype", "<M8[s]"), ["<M8[s]"]),
        (field("class_dtype", "i4,f8"), ["i4,f8"]),
        (field("class_dtype", "<i8"), ["ValueError", "坏瓜"]),
        (field("class_dtype", 8), ["dtype", 8]),
        (field("names", ["a"]), ["columns", 1, 4]),
        (field("names", 5), ["TypeError"]),
    ],
)
def test_forged_models_are_refused(tmp_path, edit, says):
    path = forge(tmp_path, edit)
    with refuses(ModelFormatError, *says) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_the_unforged_model_loads(tmp_path):
    check(NaiveBayes().fit(_mixed, _y), load(forge(tmp_path, lambda content, arrays: None)), _mixed)


def test_a_file_of_an_older_version_lacks_new_parameters(tmp_path):
    path = forge(tmp_path, lambda content, _: content["parameters"].pop("unseen"))
    assert load(path).unseen == "ignore"


def test_no_byte_of_a_model_can_change_unnoticed(tmp_path):
    model, path = NaiveBayes().fit([["a", 1.0], ["b", 2.5]], ["是", "否"]), tmp_path / "m"
    model.save(path)
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x01]) + data[place + 1 :])
        with pytest.raises(ModelFormatError):
            load(path)


def test_models_and_statistics_are_not_mistaken_for_each_other(tmp_path):
    model = NaiveBayes().fit(_mixed, _y)
    model.save(tmp_path / "model")
    save_statistics(model.statistics_, tmp_path / "counts")
    with refuses(ModelFormatError, "load_statistics"):
        load(tmp_path / "counts")
    with refuses(ModelFormatError, "model", "bayeskit.load"):
        load_statistics(tmp_path / "model")
    assert np.array_equal(load_statistics(tmp_path / "counts").class_counts, model.statistics_.class_counts)


def test_missing_files_are_the_systems_business(tmp_path):
    with pytest.raises(FileNotFoundError, match="没有"):
        load(tmp_path / "没有")
    with refuses(ModelFormatError, tmp_path, "directory"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="没有"):
        NaiveBayes().fit([["a"], ["b"]], [0, 1]).save(tmp_path / "没有" / "m")


def test_every_name_on_the_list_is_there():
    for name in CLASSIFIERS:
        assert _class_of(name) is getattr(bayeskit, name)


def test_a_choice_of_ones_own_is_registered_by_whoever_holds_it(monkeypatch):
    monkeypatch.setattr(trial, "_CHECKS", dict(trial._CHECKS))
    schema = Schema((Variable("a", "numeric"),), Variable("y", "categorical", ("no", "yes")))
    with pytest.raises(ModelFormatError, match="'pivot'"):
        trial.check_held({"pivot": "a"}, schema)
    trial.held_choice("pivot")(lambda value, schema: value in schema.position)
    trial.check_held({"pivot": "a"}, schema, needed=("pivot",))
    with pytest.raises(ModelFormatError, match="'strange' for 'pivot'"):
        trial.check_held({"pivot": "strange"}, schema)
