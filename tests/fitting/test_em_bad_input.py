"""What users of EM do wrong: starts that cannot be, columns that are not what they seem."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from bayeskit import KDB, TAN, BayesianNetwork, GaussianMixture, LatentClass, NaiveBayes, learn_network
from bayeskit._classifiers.semi_supervision import parted
from bayeskit._data.source import Source
from bayeskit._fitting.semi_supervised import SemiSupervised, SplitRows
from bayeskit.errors import ColumnError, DataError, NotConverged, SettingError, SuspectResult
from bayeskit.statistics import Variable
from refusals import refuses, warns_of

ROWS = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_a_start_beyond_squares_is_refused(kind):
    # It once went on for ever: no variance is above the rounding of such a mean.
    means = [[1e200, 0, 0], [1, 1, 1]]
    with refuses(SettingError, "means_init", 1e200):
        GaussianMixture(2, covariance_type=kind, means_init=means, random_state=0).fit(ROWS)


def test_precisions_symmetric_up_to_rounding_are_taken():
    # What an inverse leaves where a zero should be is not the same on both sides.
    precisions = np.diag([1.0, 1e-6, 1e6])
    given = {"weights_init": [1.0], "means_init": np.zeros((1, 3)), "max_iter": 1, "tol": 1e9}
    exact = GaussianMixture(1, precisions_init=precisions[None], **given)
    precisions = precisions + 1e-17 * np.array([[0, 1, 0], [-1, 0, 2], [0, -2, 0]])
    rounded = GaussianMixture(1, precisions_init=precisions[None], **given)
    with warns_of(UserWarning, 1, "max_iter", "history_"):
        np.testing.assert_allclose(exact.fit(ROWS).history_, rounded.fit(ROWS).history_, rtol=1e-12)
    precisions[0, 1] = 1e-4  # a tenth of a part of both standard deviations
    with refuses(SettingError, "precisions_init", "reg_covar"):
        GaussianMixture(1, precisions_init=precisions[None]).fit(ROWS)


def two():
    return {"rain": [], "wet": ["rain"]}


def test_whole_numbers_with_gaps_are_states_once_declared():
    rows = {"rain": [0.0, 1.0, np.nan, 1.0], "wet": ["no", "yes", "yes", "yes"]}
    with refuses(ColumnError, "rain", "states={'rain': [0, 1]}"):
        BayesianNetwork(two()).fit(rows, method="em")
    network = BayesianNetwork(two(), states={"rain": [0, 1]}).fit(
        rows, method="em", smoothing="mle", tol=1e-12
    )
    assert network.cpt("rain")[1] == pytest.approx(0.75, abs=1e-4)


def test_rows_without_names_are_told_from_nodes_without_columns():
    with refuses(ColumnError, "rain", "wet"):
        BayesianNetwork(two()).fit([["no", "no"], ["yes", None]], method="em")


def test_a_seed_that_is_none_is_refused():
    model = LatentClass(1).fit([["a"], ["b"]])
    with refuses(SettingError, "random_state", "x"):
        model.sample(2, random_state="x")


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def test_all_steps_that_were_asked_for_are_no_fault():
    rows = [["a", "x"], ["b", "x"], ["a", "y"], ["a", None]]
    assert quiet(lambda: LatentClass(2, tol=0.0, max_iter=3).fit(rows)).n_iter_ == 3
    named = {"rain": [row[0] for row in rows], "wet": [row[1] for row in rows]}
    quiet(lambda: BayesianNetwork(two()).fit(named, method="em", tol=0.0, max_iter=3))
    with pytest.warns(NotConverged):  # as scikit-learn's does
        GaussianMixture(2, tol=0.0, max_iter=3, random_state=0).fit(ROWS)


def test_a_ridge_as_large_as_the_variances_is_said():
    X = np.concatenate([ROWS, ROWS + 9.0])
    quiet(lambda: GaussianMixture(2, random_state=0).fit(X))
    small = np.column_stack([X[:, 0], 1e-4 * X[:, 1]])
    for kind in ("full", "tied", "diag"):
        model = GaussianMixture(2, covariance_type=kind, random_state=0)
        with warns_of(SuspectResult, "reg_covar=1e-06", "x1") as said:
            model.fit(small)
        _, wanted = map(float, re.findall(r"reg_covar=([\d.e-]+\d)", str(said[0].message)))
        found = quiet(lambda model=model, wanted=wanted: model.set_params(reg_covar=wanted).fit(small))
        variances = found.covariances_[:, 1] if kind == "diag" else found.covariances_[..., 1, 1]
        np.testing.assert_allclose(np.sqrt(variances), small[:40, 1].std(), rtol=0.01)


def test_equal_components_are_said():
    start = np.full((40, 2), 0.5)
    words = np.array(["a", "b", "c"])[np.random.default_rng(1).integers(3, size=(40, 3))]
    for rows in (ROWS, words):
        with warns_of(SuspectResult, "start=None", "random_state"):
            LatentClass(2).fit(rows, start=start)
    given = {"weights_init": [0.5, 0.5], "means_init": np.zeros((2, 3)), "precisions_init": [np.eye(3)] * 2}
    with warns_of(SuspectResult, "means_init=None", "random_state"):
        GaussianMixture(2, **given).fit(ROWS)
    given["means_init"] = [[0, 0, 0], [1, 0, 0]]
    quiet(lambda: GaussianMixture(2, max_iter=500, **given).fit(ROWS))


def test_a_hidden_node_that_nothing_depends_on_is_said():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=80)
    rows = {"wet": np.where(rng.random(80) < 0.8, group, 1 - group), "warm": group + rng.normal(size=80)}
    arcs = {"rain": [], "wet": ["rain"], "warm": ["rain", "wet"]}
    states = {"rain": ["no", "yes"], "wet": [0, 1], "warm": float}
    start = BayesianNetwork(arcs, states=states)
    start.set_cpt("rain", [0.5, 0.5])
    start.set_cpt("wet", np.full((2, 2), 0.5))
    start.set_gaussian("warm", {(rain, wet): (0.0, 1.0) for rain in ("no", "yes") for wet in (0, 1)})
    with warns_of(SuspectResult, "rain", "n_init"):
        BayesianNetwork(arcs, states=states).fit(rows, method="em", start=start)
    quiet(lambda: BayesianNetwork(arcs, states=states).fit(rows, method="em", max_iter=5000))


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_a_collapse_is_said_where_the_best_step_lies_before_it(kind):
    rows = np.array([[0.0], [0.0], [0.0], [5.0], [6.0], [7.0]])
    with warns_of(SuspectResult, "covariance_type", "reg_covar"):
        found = GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0).fit(rows)
    (flat,) = found.collapsed_
    assert abs(found.means_[flat, 0]) < 1e-6 and found.fell_


def test_of_several_starts_one_that_keeps_its_spread_is_taken():
    # Most of one column is exactly 0: a component on those rows has the highest likelihood, without a bound.
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 3)) + 3.0 * group[:, None]
    X[rng.random(200) < 0.6, 0] = 0.0
    with warns_of(SuspectResult, "x0", "variance_floor"):
        spike = LatentClass(2).fit(X, start=np.eye(2)[(X[:, 0] == 0.0).astype(int)])
    found = quiet(lambda: LatentClass(2, n_init=20).fit(X))
    assert found.history_[-1] < spike.history_[-1] < np.inf
    right = found.predict(X) == group
    assert max(right.mean(), 1.0 - right.mean()) > 0.93


def test_networks_tell_of_a_fall():
    rows = {"x": [0.0, 1.0, 2.5, None, 4.0], "y": [1.0, None, 2.0, 3.0, 9.0]}

    def fitted(variance):
        network = BayesianNetwork({"x": [], "y": ["x"]}, states={"x": float, "y": float})
        return network.fit(rows, method="em", smoothing="mle", variance=variance)

    assert not fitted("mle").fell_
    fell = fitted("unbiased")
    assert fell.fell_ and min(np.diff(fell.history_)) < 0.0
    assert fell.log_likelihood(rows) == pytest.approx(max(fell.history_), abs=1e-9)


@pytest.mark.parametrize("cls", [TAN, KDB])
def test_the_best_step_after_the_start_is_kept(cls):
    rng = np.random.default_rng(0)
    X = np.array(["a", "b", "c"])[rng.integers(3, size=(60, 4))].astype(object)
    y = np.where(np.arange(60) % 3 == 0, rng.integers(2, size=60).astype(object), None)
    model = cls(semi_supervised=True).fit(X, y)
    assert model.em_fell_ and max(model.history_[1:]) < model.history_[0]
    # The value of what was kept, from the rows.
    labelled, unlabelled = parted(model, Source(X, y))
    fitted, kept = model._new_fitted(Variable("y", "categorical")), []
    fitted.absorb(labelled, kept)
    problem = SemiSupervised(SplitRows.of(fitted, kept, unlabelled), 1.0)
    _, value = problem.expect(problem.maximise(model.statistics_))
    assert value == pytest.approx(max(model.history_[1:]), abs=1e-9)


def test_labels_none_of_which_is_missing_are_said():
    rows = [["a"], ["b"], ["a"], ["b"], ["a"]]
    for labels in ([0.0, 1.0, -1.0, 0.0, 1.0], ["0", "1", "-1", "0", "1"], ["x", "y", "", "x", "y"]):
        with warns_of(SuspectResult, "semi_supervised=True", "missing_label="):
            NaiveBayes(semi_supervised=True).fit(rows, labels)
    found = quiet(lambda: NaiveBayes(semi_supervised=True).fit(rows, [0, 1, -1, 0, 1]))
    assert found.classes_.tolist() == [0, 1]


def test_messages_name_what_is_wrong():
    with refuses(ColumnError, "a", "states={'a': [...]}"):
        learn_network({"a": [None] * 4, "b": [None] * 4}, method="structural-em")
    with refuses(ColumnError, "c", "x", "LatentClass"):
        LatentClass(2, families={"c": "gaussian"}).fit({"c": ["x", "y", "x"]})
    three = {"c": ["x", "y", "z", "x"]}
    for model in (LatentClass(2, families={"c": "bernoulli"}), NaiveBayes(families={"c": "bernoulli"})):
        with refuses(ColumnError, "families['c']", "bernoulli", 3, "x", "y", "z"):
            model.fit(three, [0, 1, 0, 1])
    start = BayesianNetwork({"rain": [], "wet": []}, states=["no", "yes"])
    start.set_cpt("rain", [0.5, 0.5])
    start.set_cpt("wet", [1.0, 0.0])
    rows = {"rain": ["no", None, "yes"], "wet": ["no", "yes", "no"]}
    with refuses(DataError, 1, "wet", "yes"):
        BayesianNetwork({"rain": [], "wet": []}, states=["no", "yes"]).fit(rows, method="em", start=start)
