"""Categorical naive Bayes over coded columns, with scikit-learn's parameters and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._classifiers.as_network import is_network
from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.discrete_nb import usable_alpha
from bayeskit._conditionals.categorical import TableConditional
from bayeskit._data.reading import Reading
from bayeskit._fitting.model import ModelSpec
from bayeskit._schema import Label, Schema
from bayeskit.errors import SettingError
from bayeskit.priors import Lidstone, Smoothing
from bayeskit.typing import ClassPriorLike, ClassWeight, Floats


class CategoricalNB(CountClassifier):
    r"""A drop-in replacement for scikit-learn's ``CategoricalNB``: columns of codes 0, 1, 2, ….

    .. math:: \hat P(x_i = v \mid c) = \frac{N_{icv} + \alpha}{N_c + \alpha n_i}

    A code above those of the training rows is left out of the product at prediction; scikit-learn raises an
    IndexError. Tables are sized by the codes that occur, so one absurd code cannot exhaust the memory. For
    strings and mixed columns use :class:`bayeskit.NaiveBayes`.

    Parameters
    ----------
    alpha : float, default=1.0
    force_alpha : bool, default=True
    fit_prior : bool, default=True
    class_prior : array of shape (K,), optional
    min_categories : int or array of shape (d,), optional
        The minimum number of states of each column.
    class_weight : None, "balanced" or mapping
    n_jobs : int, optional
    calibration : None, "temperature" or "isotonic"
        Calibrate the posteriors on leave-one-out predictions of the training rows. At most 100,000 evenly
        spaced rows are used, or 2,000 if each row needs a re-estimate (``class_weight="balanced"``). ``fit``
        chooses the calibration, and later batches keep it (``held_``).
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    Examples
    --------
    >>> from bayeskit import CategoricalNB
    >>> CategoricalNB().fit([[0, 1], [1, 0]], ["a", "b"]).predict([[0, 1]]).tolist()
    ['a']
    """

    network_ = is_network

    _accepts_sparse = False

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ClassPriorLike = None,
        min_categories: ArrayLike | None = None,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        calibration: str | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.calibration = calibration
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    def _reading(self) -> Reading:
        least = 0 if self.min_categories is None else self.min_categories
        return Reading(dense=least)

    def _spec(self, schema: Schema) -> ModelSpec:
        prior = self.class_prior
        if prior is None and not self.fit_prior:
            prior = "uniform"
        alpha = usable_alpha(self.alpha, self.force_alpha)
        return ModelSpec(
            smoothing=Smoothing(Lidstone(alpha), {}),
            class_smoothing=Lidstone(0.0),
            class_prior=prior,
            class_weight=self.class_weight,
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        if np.ndim(self.alpha):
            raise SettingError("alpha is one number here; use NaiveBayes(smoothing=Dirichlet(...)) for more.")
        usable_alpha(self.alpha, True)
        least = np.asarray(0 if self.min_categories is None else self.min_categories)
        if least.dtype.kind not in "iu" or (least < 0).any() or least.max(initial=0) > 2**24:
            raise SettingError(
                "min_categories is {min_categories!r}; it must be a whole number, or one for each column: "
                "'min_categories' should have integral type.",
                min_categories=self.min_categories,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.string = False
        return tags

    @property
    def _tables(self) -> TableConditional:
        return next(c for c in self._model.conditionals if isinstance(c, TableConditional))

    @property
    def class_count_(self) -> Floats:
        """n(c): the weight of each class."""
        return self.statistics_.class_counts

    @property
    def class_log_prior_(self) -> Floats:
        """log P(c)."""
        return self._model.log_prior

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """The number of states of each column."""
        return np.array([v.size for v in self.schema_.categorical], dtype=np.int64)

    @property
    def category_count_(self) -> list[Floats]:
        """n(c, v) of each column: arrays of shape (K, n_categories)."""
        statistics = self.statistics_
        return [statistics.table(v.name).T for v in statistics.schema.categorical]

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """log P(x_i = v | c) of each column: arrays of shape (K, n_categories)."""
        tables = self._tables
        return [np.log(tables.probabilities(j)).T for j in range(len(self.schema_.categorical))]
