"""Minimum-risk decisions with any scikit-learn classifier that has ``predict_proba``."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from bayeskit._classifiers.notebook import html_repr, mimebundle, titled_lines
from bayeskit._data.class_labels import as_labels, true_classes, weighted_mean
from bayeskit._decision.choice import Decision, prepare, settle
from bayeskit._decision.loss import read_loss
from bayeskit._decision.posterior import read_posterior
from bayeskit._schema import Label
from bayeskit.errors import DataError, SettingError, UnseenClass
from bayeskit.typing import Floats, LabelsLike, LossLike, TableLike


class BayesDecision(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""Choose the action of minimum conditional risk under the posteriors of a classifier.

    .. math:: h^*(x) = \arg\min_i \sum_j \lambda_{ij} \hat P(c_j \mid x)

    Parameters
    ----------
    estimator : classifier with `predict_proba`
    loss : array of shape (actions, classes), frame, mapping {action: {class: cost}}, or None
        As in `bayeskit.decision.conditional_risk`. Named classes are matched to `classes_` in any order; the
        columns of an array are in the order of `classes_`. None means the 0/1 loss.
    reject : float or None
        The cost of not deciding. None means always decide.
    actions : sequence of names or None
        As in `bayeskit.decision.decide`.
    prefit : bool
        The estimator is already fitted: `fit` then needs no data and only reads the loss. Cloning (as in
        cross-validation) discards a fit, so wrap the estimator in `sklearn.frozen.FrozenEstimator` there.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : array of shape (classes,)
    actions_ : array of shape (actions,)
        The columns of `predict_risk`.
    n_features_in_, feature_names_in_ : if the fitted classifier has them

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> loss = {"delete": {"ham": 20, "spam": 0}, "keep": {"ham": 0, "spam": 1}}
    >>> model = BayesDecision(GaussianNB(), loss).fit([[0], [1], [4], [5]], ["ham", "ham", "spam", "spam"])
    >>> model.predict([[2.6], [4.5]])
    array(['keep', 'delete'], dtype='<U6')
    """

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

    def __init__(
        self,
        estimator: Any,
        loss: LossLike = None,
        reject: float | None = None,
        actions: Sequence[Label] | None = None,
        prefit: bool = False,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.reject = reject
        self.actions = actions
        self.prefit = prefit

    def fit(
        self,
        X: TableLike | None = None,
        y: LabelsLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> BayesDecision:
        """Fit a clone of the classifier, and read the loss for its classes.

        Parameters
        ----------
        X, y
            What the classifier takes; not needed with ``prefit=True``.
        sample_weight : array of shape (n,) or None
            Passed to the classifier. An error if the classifier does not accept it.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise SettingError(
                "estimator: {estimator!r} has no predict_proba, and a risk needs probabilities. "
                "Wrap it in sklearn.calibration.CalibratedClassifierCV.",
                estimator=self.estimator,
            )
        if self.prefit:
            if sample_weight is not None:
                raise SettingError("sample_weight: with prefit=True nothing is fitted. Leave it out.")
            check_is_fitted(self.estimator)
            fitted = self.estimator
        else:
            fitted = clone(self.estimator).fit(X, y, **self._fit_params(sample_weight))
        if isinstance(fitted.classes_, list):
            raise DataError("y: has several columns. Decide on one target at a time.")
        classes = np.asarray(fitted.classes_)
        prepared = prepare(read_loss(self.loss, len(classes), classes), self.reject, self.actions)
        # All is well: only now does anything change.
        self.estimator_, self.classes_ = fitted, classes
        self._table, self._label = prepared
        self.actions_ = self._table.labels
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            elif hasattr(self, name):  # set by an earlier fit, to data with column names
                delattr(self, name)
        return self

    def _fit_params(self, sample_weight: ArrayLike | None) -> dict[str, Any]:
        if get_config()["enable_metadata_routing"]:
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            return dict(process_routing(self, "fit", **given).estimator.fit)
        if sample_weight is None:
            return {}
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise SettingError(
                "sample_weight: {kind}.fit does not take it. "
                "Leave it out, or choose a classifier that weighs rows.",
                kind=type(self.estimator).__name__,
            )
        return {"sample_weight": sample_weight}

    def decide(self, X: TableLike) -> Decision:
        """Decide for each row. The result also holds the risks and which rows were rejected."""
        check_is_fitted(self, "estimator_")
        return settle(self._posterior(X), self._table, self.reject, self._label)

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the action for each row: its name, or the name for rejecting ("reject" by default)."""
        return np.asarray(self.decide(X))

    def predict_proba(self, X: TableLike) -> NDArray[Any]:
        """Return the posteriors of the classifier, with columns in the order of `classes_`."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def predict_risk(self, X: TableLike) -> Floats:
        """Return the conditional risk of each action: shape (n, actions), columns in the order of `actions_`."""
        check_is_fitted(self, "estimator_")
        return self._table.risks(self._posterior(X))

    def _posterior(self, X: TableLike) -> Floats:
        return read_posterior(self.predict_proba(X))[0]

    def score(self, X: TableLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the mean loss; without a loss, the accuracy (one minus the mean 0/1 loss).

        A rejected row costs `reject` in both cases. Higher is better, as scikit-learn expects.
        """
        decision = self.decide(X)
        classes = self.classes_.tolist()
        truth = true_classes(y, len(decision.indices), classes)
        suffered = self._table.values[decision.indices, truth]
        if (strange := np.flatnonzero(truth < 0)).size:
            if self.loss is not None:
                raise UnseenClass(
                    "y, row {strange}: {label!r} is none of the classes {place}. The loss has no cost for it. Leave "
                    "such rows out, or fit to data that contain this class.",
                    strange=strange[0],
                    label=as_labels(y, len(truth))[int(strange[0])],
                    place=classes,
                )
            suffered[strange] = 1.0  # every prediction is wrong
        suffered = np.where(decision.rejected, decision.risk, suffered)
        mean = weighted_mean(suffered, sample_weight)
        return 1.0 - mean if self.loss is None else -mean

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how `sample_weight` is routed when scikit-learn's metadata routing is enabled."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=mapping)
        )

    def _card(self) -> str:
        from bayeskit._decision.choice import loss_html

        refuse = "" if self.reject is None else f"Not to decide costs {self.reject:g}."
        inner = f"Decides by the posteriors of {type(self.estimator_).__name__}. {refuse}"
        return titled_lines("BayesDecision", [inner]) + loss_html(self._table, self.classes_.tolist())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = copy.deepcopy(inner.input_tags)
        tags.non_deterministic = inner.non_deterministic
        if inner.classifier_tags is not None:
            tags.classifier_tags = copy.deepcopy(inner.classifier_tags)
        tags.classifier_tags.multi_label = False
        return tags
