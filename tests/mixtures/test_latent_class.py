"""LatentClass: one component, weights, order, starts, batches, choices, answers and refusals."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayeskit import LatentClass, NaiveBayes, datasets, load
from bayeskit._io.saved import SavedContent, read_saved, write_saved
from bayeskit.errors import (
    ColumnError,
    DataError,
    DataTypeError,
    InfiniteValue,
    ModelFormatError,
    SettingError,
    SuspectResult,
    UnseenState,
    UsageError,
)
from refusals import refuses, warns_of


def clusters(n=300, seed=0, holes=0.0):
    """Two classes, well apart: a category, a truth, a number and a count."""
    rng = np.random.default_rng(seed)
    hidden = (rng.random(n) < 0.35).astype(int)
    frame = pd.DataFrame(
        {
            "colour": np.where(rng.random(n) < np.array([0.9, 0.2])[hidden], "red", "green"),
            "ripe": rng.random(n) < np.array([0.8, 0.1])[hidden],
            "size": rng.normal(np.array([0.0, 4.0])[hidden], 1.0),
            "visits": rng.poisson(np.array([1.0, 6.0])[hidden]),
        }
    )
    if holes:
        frame = frame.astype(object).mask(rng.random(frame.shape) < holes)
        frame["size"] = frame["size"].astype(float)
        frame["visits"] = frame["visits"].astype(float)
    return frame, hidden


POISSON = {"visits": "poisson"}


@parametrize_with_checks([LatentClass(n_init=2)])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspectResult)
        check(estimator)


def test_mixed_attributes_with_holes_are_told_apart():
    frame, hidden = clusters(400, holes=0.1)
    found = LatentClass(2, families=POISSON).fit(frame)
    assert found.converged_ and (found.predict(frame) == hidden).mean() > 0.93
    np.testing.assert_allclose(found.weights_, [0.65, 0.35], atol=0.06)
    size, visits = found.profiles_["size"], found.profiles_["visits"]
    assert (size.family, size.rows, visits.family) == ("gaussian", ("mean", "sd"), "poisson")
    np.testing.assert_allclose(size.values, [[0.0, 1.0], [4.0, 1.0]], atol=0.35)
    np.testing.assert_allclose(visits.values[:, 0], [1.0, 6.0], atol=0.7)
    assert found.profiles_["ripe"].rows == (False, True)
    assert 0.8 < found.entropy(frame) < 1.0
    assert found.starts_.shape == (10,) and found.n_parameters_ == 1 + 2 * (1 + 1 + 2 + 1)
    np.testing.assert_allclose(found.score(frame) * 400, found.history_[-1], rtol=1e-9)
    np.testing.assert_allclose(found.bic(frame), -2 * found.history_[-1] + 11 * np.log(400), rtol=1e-9)
    np.testing.assert_allclose(found.aic(frame), -2 * found.history_[-1] + 22, rtol=1e-9)


def test_one_component_is_the_margins_themselves():
    frame, _ = clusters(80, holes=0.2)
    found = LatentClass(1, families=POISSON).fit(frame)
    told = found.profiles_
    shares = frame["colour"].dropna().value_counts(normalize=True)
    np.testing.assert_allclose(told["colour"].values[0], [shares["green"], shares["red"]])
    np.testing.assert_allclose(told["size"].values[0], [frame["size"].mean(), frame["size"].std(ddof=0)])
    np.testing.assert_allclose(told["visits"].values[0], [frame["visits"].mean()])
    assert found.entropy(frame) == 1.0 and found.weights_.tolist() == [1.0]


def test_a_step_is_the_arithmetic_of_fractions():
    """Rows (a, x), (a, y), (b, y), (b, x), shared out as given: an M-step, an E-step, an M-step, in whole fractions."""
    rows = [("a", "x"), ("a", "y"), ("b", "y"), ("b", "x")]
    share = [[Fraction(n, 4), Fraction(4 - n, 4)] for n in (4, 3, 1, 1)]

    def estimates(share):
        total = [sum(r[k] for r in share) for k in (0, 1)]
        tables = [
            {(j, s): sum(r[k] for row, r in zip(rows, share, strict=True) if row[j] == s) / total[k]
             for j, states in enumerate(("ab", "xy")) for s in states}
            for k in (0, 1)
        ]  # fmt: skip
        return [t / 4 for t in total], tables

    def joint(prior, tables, row):
        return [prior[k] * tables[k][0, row[0]] * tables[k][1, row[1]] for k in (0, 1)]

    prior, tables = estimates(share)
    first = [joint(prior, tables, row) for row in rows]
    after, tables_after = estimates([[p / sum(pair) for p in pair] for pair in first])
    found = LatentClass(2, max_iter=1, tol=0.0, accelerate=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # with a tolerance of 0 all steps were asked for
        found.fit(rows, start=np.array(share, dtype=float))
    second = [joint(after, tables_after, row) for row in rows]
    wanted = [sum(np.log(float(sum(pair))) for pair in pairs) for pairs in (first, second)]
    np.testing.assert_allclose(found.history_, wanted, rtol=1e-14)
    order = np.argsort([-float(p) for p in after], kind="stable")
    np.testing.assert_allclose(found.weights_, [float(after[k]) for k in order], rtol=1e-14)
    np.testing.assert_allclose(
        found.profiles_["x0"].values,
        [[float(tables_after[k][0, s]) for s in "ab"] for k in order],
        rtol=1e-14,
    )


@pytest.mark.parametrize("hard", [False, True])
def test_neither_order_nor_repetition_of_rows_matters(hard):
    frame, _ = clusters(120, holes=0.15)
    model = LatentClass(3, families=POISSON, hard=hard, random_state=3)
    rng = np.random.default_rng(0)
    times = rng.integers(0, 3, len(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspectResult)
        weighed = clone(model).fit(frame, sample_weight=times)
        twice = frame.iloc[np.repeat(np.arange(len(frame)), times)]
        repeated = clone(model).fit(twice.sample(frac=1.0, random_state=1))
        threaded = clone(model).set_params(n_jobs=2).fit(frame, sample_weight=times)
    np.testing.assert_allclose(weighed.history_, repeated.history_, rtol=1e-12)
    np.testing.assert_allclose(weighed.predict_proba(frame), repeated.predict_proba(frame), atol=1e-9)
    assert (weighed.history_ == threaded.history_).all()


def test_the_order_of_columns_and_the_numbers_of_the_start_do_not_matter():
    frame, _ = clusters(150)
    share = np.random.default_rng(0).dirichlet([1, 1, 1], 150)
    model = LatentClass(3, families=POISSON, accelerate=False, max_iter=30, tol=0.0)
    found = clone(model).fit(frame, start=share)
    other = clone(model).fit(frame[frame.columns[::-1]], start=share[:, [2, 0, 1]])
    np.testing.assert_allclose(found.weights_, other.weights_, rtol=1e-9)
    np.testing.assert_allclose(found.predict_proba(frame), other.predict_proba(frame), atol=1e-9)
    assert (np.diff(found.weights_) <= 0).all()


def test_acceleration_loses_nothing_and_saves_steps():
    rng = np.random.default_rng(0)
    tables = rng.dirichlet([4, 4, 4], size=(3, 6))
    hidden = rng.integers(0, 3, 600)
    X = (rng.random((600, 6, 1)) > np.cumsum(tables, axis=2)[hidden][:, :, :-1]).sum(axis=2)
    share = rng.dirichlet([1, 1, 1], 600)
    plain, quick = (
        LatentClass(3, categorical_features="all", accelerate=on, tol=1e-9, max_iter=5000).fit(X, start=share)
        for on in (False, True)
    )
    assert quick.converged_ and plain.converged_ and not quick.fell_
    assert quick.history_[-1] >= plain.history_[-1] - 1e-3
    assert quick.n_iter_ < plain.n_iter_ / 2


def test_a_fitted_model_is_a_start():
    frame, _ = clusters()
    found = LatentClass(2, families=POISSON).fit(frame)
    again = LatentClass(2, families=POISSON).fit(frame, start=found)
    assert again.n_iter_ <= 4
    assert again.history_[0] >= found.history_[-1] - 1e-6
    with refuses(SettingError, "start", "n_components='bic'"):
        LatentClass("bic").fit(frame, start=found)
    with refuses(DataError, "start", "(2, 2)", "(300, 2)"):
        LatentClass(2).fit(frame, start=np.eye(2))
    with refuses(DataError, "start", 1, "[0.9, 0.9]"):
        LatentClass(2).fit(frame.iloc[:2], start=np.array([[0.5, 0.5], [0.9, 0.9]]))


def test_a_start_and_a_batch_are_weighed():
    frame, _ = clusters(40)
    rng = np.random.default_rng(0)
    share, times = rng.dirichlet([1, 1], 40), rng.integers(0, 4, 40)
    repeated = np.repeat(np.arange(40), times)
    model = LatentClass(2, families=POISSON, max_iter=0)
    weighed = clone(model).fit(frame, sample_weight=times, start=share)
    written = clone(model).fit(frame.iloc[repeated], start=share[repeated])
    np.testing.assert_allclose(weighed.history_, written.history_, rtol=1e-12)
    weighed.partial_fit(frame, sample_weight=times[::-1].copy())
    written.partial_fit(frame.iloc[np.repeat(np.arange(40), times[::-1])])
    np.testing.assert_allclose(weighed.weights_, written.weights_, rtol=1e-12)


def test_smoothing_is_a_posterior_and_hard_rows_go_whole():
    frame, _ = clusters(60)
    smooth = LatentClass(2, families=POISSON, smoothing=1.0).fit(frame)
    assert (smooth.profiles_["colour"].values > 0.005).all()
    assert smooth.history_[-1] < smooth.score(frame) * 60
    hard = LatentClass(2, families=POISSON, hard=True).fit(frame)
    counts = np.bincount(hard.predict(frame), minlength=2)
    np.testing.assert_allclose(hard.weights_ * 60, counts)
    nb = NaiveBayes(smoothing=0.0, families=POISSON).fit(frame, hard.predict(frame))
    np.testing.assert_allclose(nb.predict_proba(frame), hard.predict_proba(frame), atol=1e-9)


def test_missing_may_be_a_state():
    rng = np.random.default_rng(0)
    hidden = rng.random(200) < 0.5
    frame = pd.DataFrame(
        {"a": np.where(hidden, None, "x"), "n": np.where(hidden, rng.normal(size=200), np.nan)}
    )
    found = LatentClass(2, missing="state", variance_floor=0.01).fit(frame)
    assert len({*found.predict(frame)[hidden]} & {*found.predict(frame)[~hidden]}) == 0
    assert "(missing)" in found.profiles_["n"].rows and "(missing)" in str(found.profiles_)


def test_components_are_chosen_by_a_criterion():
    frame, _ = clusters(300)
    found = LatentClass(range(1, 4), families=POISSON, n_init=3).fit(frame)
    assert found.n_components_ == 2 == found.choice_.best.n_components
    np.testing.assert_allclose(found.choice_.best.bic, found.bic(frame), rtol=1e-9)
    assert [c.n_components for c in found.choice_.candidates] == [1, 2, 3]
    assert not hasattr(found.set_params(n_components=2).fit(frame), "choice_")


def test_batches_lead_to_the_same_components():
    frame, _ = clusters(4000, holes=0.05)
    found = LatentClass(2, families=POISSON)
    for start in range(0, 4000, 400):
        found.partial_fit(frame.iloc[start : start + 400])
    whole = LatentClass(2, families=POISSON).fit(frame)
    np.testing.assert_allclose(found.weights_, whole.weights_, atol=0.03)
    np.testing.assert_allclose(found.profiles_["size"].values, whole.profiles_["size"].values, atol=0.15)
    assert found.statistics_.total == pytest.approx(4000)
    # One more batch is this much of the sums: 1 − (1 − γ) of what was there stays.
    before = found.statistics_.class_counts / 4000
    batch = found.predict_proba(frame.iloc[:100]).sum(axis=0) / 100
    found.partial_fit(frame.iloc[:100])
    share = (4000 / 100 + 2) ** -0.6
    np.testing.assert_allclose(found.weights_, (1 - share) * before + share * batch, rtol=1e-12)
    # A state that was never seen is counted, and shared out by the other cells.
    found.partial_fit(pd.DataFrame({"colour": ["blue"], "ripe": [True], "size": [0.0], "visits": [1.0]}))
    assert found.profiles_["colour"].rows == ("blue", "green", "red")
    assert found.profiles_["colour"].values[0, 0] > found.profiles_["colour"].values[1, 0]
    with refuses(UsageError, "hidden", "forget"):
        found.forget(frame)


def test_rows_drawn_are_like_the_model():
    frame, _ = clusters(500)
    found = LatentClass(2, families=POISSON).fit(frame)
    rows, components = found.sample(4000, random_state=0)
    assert list(rows.columns) == list(frame.columns)
    np.testing.assert_allclose(np.bincount(components) / 4000, found.weights_, atol=0.03)
    np.testing.assert_allclose(
        rows["size"][components == 1].mean(), found.profiles_["size"].values[1, 0], atol=0.1
    )
    assert found.sample(3, random_state=1)[0].equals(found.sample(3, random_state=1)[0])


def test_answers_about_strange_rows():
    frame, _ = clusters(100)
    found = LatentClass(2, families=POISSON).fit(frame)
    nothing = pd.DataFrame({"colour": [None], "ripe": [None], "size": [np.nan], "visits": [np.nan]})
    np.testing.assert_allclose(found.predict_proba(nothing)[0], found.weights_)
    assert found.score_samples(nothing)[0] == pytest.approx(0.0, abs=1e-12)
    unseen = frame.iloc[:1].assign(colour="mauve")
    np.testing.assert_allclose(
        found.predict_proba(unseen), found.predict_proba(frame.iloc[:1].assign(colour=None))
    )
    table = LatentClass(2, hard=True).fit([["a", "x"], ["a", "x"], ["b", "y"], ["b", "y"]])
    with warns_of(SuspectResult, 1, "smoothing"):
        np.testing.assert_allclose(table.predict_proba([["a", "y"]]), [[0.5, 0.5]])
    assert np.isneginf(table.score_samples([["a", "y"]])).all()
    with refuses(ColumnError, "size"):
        found.predict(frame.drop(columns="size"))
    with refuses(InfiniteValue, "size", "inf", 0):
        found.predict(frame.assign(size=np.inf))


def test_profiles_in_words():
    melon = datasets.load_dataset("melon3")
    found = LatentClass(2, smoothing=0.5).fit(melon.X)
    text = str(found.profiles_)
    assert text.startswith("2 components") and "纹理" in text and "密度" in text and "mean" in text
    assert (
        found._repr_html_().partition("</style>\n")[2].startswith("<table>") and "纹理" in found._repr_html_()
    )
    frame = found.profiles_.frame()
    assert list(frame.columns) == ["attribute", "row", "component 0", "component 1"]
    states = frame[frame["attribute"] == "纹理"]
    np.testing.assert_allclose(states["component 0"].sum(), 1.0)
    with refuses(ColumnError, "nose", "色泽", "根蒂"):
        found.profiles_["nose"]
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict_proba(melon.X), found.predict_proba(melon.X))


def test_declared_states_stay():
    rows = {"a": ["x", "y", "x", None]}
    found = LatentClass(2, states={"a": ["y", "x", "z"]}, smoothing=1.0).fit(rows)
    assert found.profiles_["a"].rows == ("y", "x", "z")
    assert (found.profiles_["a"].values[:, 2] > 0).all()
    with pytest.raises(UnseenState):
        LatentClass(2, states={"a": ["y"]}).fit(rows)


def test_degenerate_rows_end_well():
    with warns_of(SuspectResult, "start=None", "random_state"):
        equal = LatentClass(2).fit([["a", 1.0]] * 5)  # nothing to tell apart
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = LatentClass(2).fit(
            {"a": ["x", "y", "x", "y"], "gone": [None] * 4, "n": [np.nan] * 4, "c": [7.0] * 4}
        )
    assert np.isfinite(equal.predict_proba([["a", 1.0]])).all()
    assert np.isfinite(empty.history_).all() and empty.profiles_["c"].values[:, 1].tolist() == [0.0, 0.0]
    X = np.r_[np.zeros(10), np.random.default_rng(0).normal(size=10)][:, None]
    with warns_of(SuspectResult, "x0", "variance_floor"):
        flat = LatentClass(2).fit(X, start=np.repeat(np.eye(2), 10, axis=0))
    sd = flat.profiles_["x0"].values[:, 1]
    np.testing.assert_allclose(sd.min(), np.sqrt(1e-9) * X.std(), rtol=1e-6)
    with warns_of(SuspectResult, "x0", "variance_floor"):
        flat.set_params(variance_floor=0.01).fit(X, start=np.repeat(np.eye(2), 10, axis=0))
    np.testing.assert_allclose(flat.profiles_["x0"].values[:, 1].min(), 0.1 * X.std(), rtol=1e-6)
    assert (np.diff(flat.history_) >= -1e-9 * abs(flat.history_[1:])).all()
    flat.partial_fit(X[:10])
    assert flat.profiles_["x0"].values[:, 1].min() > 0.05 * X.std()
    with warns_of(SuspectResult, "[2]", "variance_floor"):
        LatentClass(3, hard=True).fit([["a"], ["a"], ["b"], ["b"]])


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"n_components": 0}, ["n_components", 0]),
        ({"n_components": 2.5}, ["n_components", 2.5]),
        ({"n_components": "many"}, ["n_components", "many"]),
        ({"smoothing": -1.0}, ["smoothing", -1.0]),
        ({"smoothing": np.nan}, ["smoothing", "nan"]),
        ({"variance_floor": 0.0}, ["variance_floor", 0.0]),
        ({"variance_floor": 2.0}, ["variance_floor", 2.0]),
        ({"tol": -1.0}, ["tol", -1.0]),
        ({"max_iter": 1.5}, ["max_iter", 1.5]),
        ({"n_init": 0}, ["n_init", 0]),
        ({"hard": "yes"}, ["hard", "yes"]),
        ({"missing": "drop"}, ["missing", "drop"]),
        ({"families": {"x0": "kernel"}}, ["families['x0']", "kernel"]),
        ({"families": "poisson"}, ["families", "poisson"]),
        ({"families": {"nose": "poisson"}}, ["nose"]),
        ({"states": ["a"]}, ["states", "['a']"]),
        ({"random_state": "seed"}, ["random_state", "seed"]),
        ({"n_jobs": 0}, ["n_jobs", 0]),
        ({"time_limit": -1}, ["time_limit", -1]),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, named):
    with refuses((SettingError, ColumnError), *named):
        LatentClass(**settings).fit([[1.0], [2.0], [3.0]])


def test_rows_that_cannot_be_used_are_refused():
    with refuses(DataError, "n_samples", "n_components", 3, 2):
        LatentClass(3).fit([["a"], ["b"], ["c"]], sample_weight=[1, 1, 0])
    with refuses(DataError, "missing"):
        LatentClass(2).fit([[None], [None], [None]])
    with refuses(DataError, "x0", -2, 1):
        LatentClass(2, families={"x0": "poisson"}).fit([[1.0], [-2.0], [3.0]])
    with pytest.raises(NotFittedError):
        LatentClass().predict([["a"]])
    import scipy.sparse

    with refuses(DataTypeError, "LatentClass", "X.toarray()"):
        LatentClass().fit(scipy.sparse.eye(3).tocsr())


def test_no_convergence_is_said_with_the_history():
    frame, _ = clusters(200)
    with warns_of(ConvergenceWarning, 2, "history_"):
        found = LatentClass(2, families=POISSON, max_iter=2, n_init=1).fit(frame)
    assert not found.converged_ and found.n_iter_ == 2 and len(found.history_) == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"missing": "state"},
        {"smoothing": 1.0, "variance_floor": 1e-3},
        {"n_components": [1, 2, 3]},
        {"hard": True},
    ],
)
def test_a_saved_model_is_the_same_model(tmp_path, settings):
    frame, _ = clusters(150, 3, 0.2)
    rows = frame if settings.get("smoothing") else frame.to_numpy(dtype=object)
    families = {("visits" if settings.get("smoothing") else "x3"): "poisson"}
    made = LatentClass(**{"n_components": 2, "n_init": 2, "families": families, **settings}).fit(rows)
    path = tmp_path / "hidden.bayes"
    # As it was fitted, and after a step of online EM, where the components are those of the sums.
    for _ in range(2):
        made.save(path)
        again = load(path)
        assert np.array_equal(again.predict_proba(rows), made.predict_proba(rows))
        assert np.array_equal(again.score_samples(rows), made.score_samples(rows))
        assert again.get_params() == made.get_params() and again.n_parameters_ == made.n_parameters_
        assert str(again.profiles_) == str(made.profiles_) and again.schema_ == made.schema_
        assert np.array_equal(again.history_, made.history_) and again.converged_ == made.converged_
        assert again.lower_bounds_ == made.lower_bounds_ and again.n_features_in_ == 4
        assert list(getattr(again, "feature_names_in_", [])) == list(getattr(made, "feature_names_in_", []))
        assert getattr(again, "choice_", None) == getattr(made, "choice_", None)
        # It goes on learning to the same bits, from any file of the two.
        again.partial_fit(rows)
        made.partial_fit(rows)
        assert np.array_equal(again.predict_proba(rows), made.predict_proba(rows))


def test_a_file_that_contradicts_itself_is_refused(tmp_path):
    frame, _ = clusters(100, 4, 0.2)
    made = LatentClass(2, families=POISSON, missing="state", n_init=2).fit(frame)
    path = tmp_path / "hidden.bayes"
    made.save(path)
    saved = read_saved(path, "model")
    places = [type(c).__name__ for c in made._fitted.model.conditionals]
    table, gaussian, poisson, presence = (
        f"model/{places.index(name)}/" for name in ("TableConditional", "Gaussian", "Poisson", "Presence")
    )

    def refused(arrays=(), content=(), without=()):
        changed = {**saved.arrays, **dict(arrays)}
        kept = {name: array for name, array in changed.items() if name not in without}
        write_saved(SavedContent("model", {**saved.content, **dict(content)}, kept), path)
        with refuses(ModelFormatError, "hidden.bayes"):
            load(path)

    arrays, parameters = saved.arrays, saved.content["parameters"]
    refused({"model/log_prior": np.log([0.5, 0.6])})
    refused({"model/log_prior": np.log([0.5, 0.25, 0.25])})
    refused({table + "log_table": arrays[table + "log_table"] + 0.1})
    refused({table + "log_table": arrays[table + "log_table"] * np.nan})
    refused({table + "log_table": arrays[table + "log_table"][1:].copy()})
    refused({gaussian + "deviation": -arrays[gaussian + "deviation"]})
    refused({gaussian + "mean": arrays[gaussian + "mean"] * np.inf})
    refused({gaussian + "used": np.array([1.0])})
    refused({poisson + "rates": -1.0 - arrays[poisson + "rates"]})
    refused({presence + "log_missing": arrays[presence + "log_missing"] - 1.0})
    refused({"model/9/rates": np.ones(2)})
    refused(without=["model/log_prior"])
    refused(without=["history_"])
    refused(content={"statistics": None})
    refused(content={"names": {"tuple": ["colour", "ripe", "size"]}})
    refused(content={"parameters": {**parameters, "families": None}})
    refused(content={"parameters": {**parameters, "missing": "ignore"}})
    refused(content={"parameters": {**parameters, "strange": 1}})
    refused(content={"facts": {}})
    with pytest.raises(NotFittedError):
        LatentClass().save(path)
    with refuses(UsageError, "families", "missing", "smoothing", "variance_floor"):
        made.set_params(smoothing=2.0).save(path)
