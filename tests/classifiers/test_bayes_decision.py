"""BayesDecision over scikit-learn classifiers."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from bayeskit import BayesDecision
from bayeskit.decision import decide
from bayeskit.errors import ColumnError, DataError, SettingError, UnseenClass
from refusals import refuses

MAIL = {"delete": {"spam": 0, "ham": 20}, "keep": {"spam": 1, "ham": 0}}


@pytest.fixture(scope="module")
def mail():
    rng = np.random.default_rng(3)
    y = np.where(rng.random(400) < 0.6, "spam", "ham")
    return rng.normal(size=(400, 2)) + 1.5 * (y == "spam")[:, None], y


@pytest.mark.parametrize(
    "model",
    [
        BayesDecision(LogisticRegression()),
        BayesDecision(GaussianNB(), loss=None, reject=None),
    ],
    ids=["logistic", "gaussian"],
)
def test_scikit_learn_conventions(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert sum(r["status"] == "passed" for r in results) > 40


def test_zero_one_loss_is_the_classifier_itself(mail):
    X, y = mail
    plain = LogisticRegression().fit(X, y)
    model = BayesDecision(LogisticRegression()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert model.score(X, y) == pytest.approx(plain.score(X, y), abs=1e-12)
    assert model.classes_.tolist() == model.actions_.tolist() == ["ham", "spam"]


@pytest.mark.parametrize(
    "loss",
    [
        MAIL,
        pd.DataFrame({"spam": [0, 1], "ham": [20, 0]}, index=["delete", "keep"]),
        pl.DataFrame({"action": ["delete", "keep"], "spam": [0, 1], "ham": [20, 0]}),
    ],
    ids=["mapping", "pandas", "polars"],
)
def test_named_loss_in_another_order(mail, loss):
    X, y = mail
    model = BayesDecision(LogisticRegression(), loss).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(model.predict_risk(X), np.column_stack([20 * (1 - p), p]))
    np.testing.assert_array_equal(model.predict(X), np.where(p >= 20 / 21, "delete", "keep"))
    assert {"delete", "keep"} == set(model.predict(X))  # both occur, or the line above says little
    named = decide(pd.DataFrame(model.predict_proba(X), columns=model.classes_), loss)
    np.testing.assert_array_equal(model.decide(X).actions, named.actions)


def test_square_array_predicts_classes(mail):
    X, y = mail
    model = BayesDecision(LogisticRegression(), [[0, 1], [20, 0]]).fit(X, y)  # rows: say ham, say spam
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X), np.where(p > 20 / 21, "spam", "ham"))


def test_integer_classes_keep_their_type():
    X, y = load_iris(return_X_y=True)
    for dtype in (np.int32, np.int64):
        assert BayesDecision(GaussianNB()).fit(X, y.astype(dtype)).predict(X).dtype == dtype


def test_a_frame_names_integer_classes_by_text():
    X, y = load_iris(return_X_y=True)
    loss = pl.DataFrame({"2": [0.0, 9.0, 9.0], "0": [1.0, 0.0, 1.0], "1": [1.0, 1.0, 0.0]})
    model = BayesDecision(GaussianNB(), loss).fit(X, y)
    in_class_order = np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0]])
    np.testing.assert_allclose(model.predict_risk(X), model.predict_proba(X) @ in_class_order.T)
    assert set(model.predict(X)) == {0, 1, 2}
    with refuses(ColumnError, "loss", "[0, 1, 2]", "['3', '0', '1']"):
        BayesDecision(GaussianNB(), loss.rename({"2": "3"})).fit(X, y)


def test_reject(mail):
    X, y = mail
    model = BayesDecision(LogisticRegression(), reject=0.1).fit(X, y)
    sure = model.predict_proba(X).max(axis=1) >= 0.9
    answer = model.predict(X)
    np.testing.assert_array_equal(answer != "reject", sure)
    np.testing.assert_array_equal(model.decide(X).rejected, ~sure)
    assert 0 < sure.sum() < len(X)
    wrong = (answer != y) & sure
    assert model.score(X, y) == pytest.approx(1 - (wrong.sum() + 0.1 * (~sure).sum()) / len(X))
    numbers = (
        BayesDecision(LogisticRegression(), reject=0.1, actions=[0, 1, "ask"]).fit(X, y == "spam").predict(X)
    )
    assert set(numbers.tolist()) == {0, 1, "ask"}


def test_score_is_minus_the_loss_suffered(mail):
    X, y = mail
    model = BayesDecision(LogisticRegression(), MAIL, reject=0.5).fit(X, y)
    table = {("delete", "ham"): 20, ("keep", "spam"): 1}
    weight = np.random.default_rng(0).random(len(y))
    suffered = [
        0.5 if a == "reject" else table.get((a, c), 0) for a, c in zip(model.predict(X), y, strict=True)
    ]
    assert model.score(X, y) == pytest.approx(-np.mean(suffered))
    assert model.score(X, y, weight) == pytest.approx(-np.average(suffered, weights=weight))
    strange = np.where(np.arange(len(y)) == 7, "eggs", y)
    with refuses(UnseenClass, 7, "eggs"):
        model.score(X, strange)
    plain = BayesDecision(LogisticRegression()).fit(X, y)
    assert plain.score(X, strange) == pytest.approx(np.mean(plain.predict(X) == strange))


def test_least_risk_suffers_less(mail):
    X, y = mail
    careful = BayesDecision(LogisticRegression(), MAIL).fit(X, y)
    likely = careful.estimator_.predict(X)
    bold = np.mean(20 * ((likely == "spam") & (y == "ham")) + ((likely == "ham") & (y == "spam")))
    assert careful.score(X, y) > -bold


def test_sample_weight_is_passed_on(mail):
    X, y = mail
    weight = np.random.default_rng(0).random(len(y))
    expected = LogisticRegression().fit(X, y, weight).coef_
    model = BayesDecision(LogisticRegression()).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.estimator_.coef_, expected)
    with refuses(SettingError, "sample_weight", "KNeighborsClassifier.fit"):
        BayesDecision(KNeighborsClassifier()).fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        model = BayesDecision(inner).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(model.estimator_.coef_, expected)


def test_prefit(mail):
    X, y = mail
    inner = LogisticRegression().fit(X, y)
    model = BayesDecision(inner, MAIL, prefit=True).fit()
    assert model.estimator_ is inner
    np.testing.assert_array_equal(
        model.predict(X), BayesDecision(LogisticRegression(), MAIL).fit(X, y).predict(X)
    )
    with pytest.raises(NotFittedError):
        BayesDecision(LogisticRegression(), prefit=True).fit(X, y)
    with refuses(SettingError, "prefit"):
        BayesDecision(inner, prefit=True).fit(X, y, sample_weight=np.ones(len(y)))
    frozen = clone(BayesDecision(FrozenEstimator(inner), MAIL)).fit(X[:50], y[:50])
    np.testing.assert_array_equal(frozen.predict(X), model.predict(X))
    assert not hasattr(
        BayesDecision(LogisticRegression()).fit(X, y).estimator, "coef_"
    )  # the clone was fitted


def test_names_of_features_and_tags(mail):
    X, y = mail
    frame = pd.DataFrame(X, columns=["length", "links"])
    model = BayesDecision(make_pipeline(StandardScaler(), LogisticRegression())).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["length", "links"]
    assert model.n_features_in_ == 2
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    for inner in (LogisticRegression(), GaussianNB(), RandomForestClassifier()):
        tags, own = get_tags(inner), get_tags(BayesDecision(inner))
        assert own.input_tags == tags.input_tags
        assert own.estimator_type == "classifier"


def test_in_the_company_of_scikit_learn(mail):
    X, y = mail
    model = BayesDecision(LogisticRegression(), MAIL)
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert cross_val_score(model, X, y, cv=3).max() <= 0
    search = GridSearchCV(BayesDecision(LogisticRegression(), MAIL), {"estimator__C": [1e-4, 1.0]}, cv=3)
    assert search.fit(X, y).best_params_ == {"estimator__C": 1.0}


@pytest.mark.parametrize(
    ("setting", "error", "says"),
    [
        ({"estimator": Perceptron()}, SettingError, ["CalibratedClassifierCV"]),
        ({"loss": {"delete": {"spam": 0}}}, DataError, ["shape", "(1, 1)"]),
        ({"loss": {"delete": {"spam": 0, "eggs": 1}}}, ColumnError, ["['ham']", "['eggs']"]),
        ({"loss": np.eye(3)}, DataError, ["shape", "(3, 3)"]),
        ({"actions": ["a"]}, SettingError, ["actions", "['a']", 2]),
        ({"reject": float("nan")}, SettingError, ["reject", "nan"]),
    ],
)
def test_settings_refused_by_fit(mail, setting, error, says):
    with refuses(error, *says):
        BayesDecision(**{"estimator": GaussianNB(), **setting}).fit(*mail)


def test_one_target_at_a_time(mail):
    X, y = mail
    with refuses(DataError, "y", "columns"):
        BayesDecision(RandomForestClassifier(5)).fit(X, np.column_stack([y, y]))


def test_posteriors_that_do_not_add_up(mail):
    X, y = mail

    class Careless(GaussianNB):
        def predict_proba(self, X):
            return 2 * super().predict_proba(X)

    with refuses(DataError, "posterior", 0, 2):
        BayesDecision(Careless()).fit(X, y).predict(X)


def test_a_refused_fit_leaves_it_as_it_was():
    wrong = BayesDecision(GaussianNB(), loss={"keep": {"ham": 1}})
    with pytest.raises(ValueError, match="loss"):
        wrong.fit([[0], [1]], ["ham", "spam"])
    assert not hasattr(wrong, "estimator_") and not hasattr(wrong, "classes_")
    model = BayesDecision(GaussianNB()).fit([[0], [1]], ["ham", "spam"])
    before = model.estimator_
    model.set_params(loss={"keep": {"ham": 1}})
    with pytest.raises(ValueError, match="loss"):
        model.fit([[0], [1]], ["x", "y"])
    assert model.estimator_ is before and model.classes_.tolist() == ["ham", "spam"]
