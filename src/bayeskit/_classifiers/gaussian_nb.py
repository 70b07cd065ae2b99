"""Gaussian naive Bayes with scikit-learn's parameters and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit._classifiers.as_network import is_network
from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._conditionals.gaussian import Gaussian
from bayeskit._data.reading import Reading
from bayeskit._fitting.model import ModelSpec
from bayeskit._schema import Label, Schema
from bayeskit.errors import SettingError
from bayeskit.priors import Lidstone
from bayeskit.typing import ClassPriorLike, ClassWeight, Floats


class GaussianNB(CountClassifier):
    """A drop-in replacement for scikit-learn's ``GaussianNB`` that accepts missing values and new classes.

    Unlike scikit-learn's, any split of the rows into batches gives the same model: raw variances are stored,
    and ``var_smoothing`` is applied at the end.

    Parameters
    ----------
    priors : array of shape (K,), optional
    var_smoothing : float, default=1e-9
        This fraction of the largest variance is added to all variances.
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
    >>> from bayeskit import GaussianNB
    >>> model = GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1])
    >>> model.theta_.ravel().tolist(), model.predict([[3.0]]).tolist()
    ([1.5, 8.5], [0])
    """

    network_ = is_network

    _accepts_sparse = False

    def __init__(
        self,
        *,
        priors: ClassPriorLike = None,
        var_smoothing: float = 1e-9,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        calibration: str | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.calibration = calibration
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    def _reading(self) -> Reading:
        return Reading(categorical=())

    def _spec(self, schema: Schema) -> ModelSpec:
        return ModelSpec(
            class_smoothing=Lidstone(0.0),
            class_prior=self.priors,
            class_weight=self.class_weight,
            absolute_floor=self.var_smoothing,
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        share: Any = self.var_smoothing
        if not (isinstance(share, (int, float, np.number)) and np.isfinite(share) and share >= 0):
            raise SettingError(
                "var_smoothing is {var_smoothing!r}; it must be a finite number of at least 0.",
                var_smoothing=self.var_smoothing,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        return tags

    @property
    def _gaussian(self) -> Gaussian:
        return next(c for c in self._model.conditionals if isinstance(c, Gaussian))

    @property
    def class_count_(self) -> Floats:
        """n(c): the weight of each class."""
        return self.statistics_.class_counts

    @property
    def class_prior_(self) -> Floats:
        """P(c)."""
        return np.exp(self._model.log_prior)

    @property
    def theta_(self) -> Floats:
        """The mean of each attribute in each class: shape (K, d)."""
        return self._gaussian.mean + self._gaussian.mean_low

    @property
    def var_(self) -> Floats:
        """The variance of each attribute in each class, ``epsilon_`` included: shape (K, d)."""
        return self._gaussian.variance

    @property
    def epsilon_(self) -> float:
        """The amount added to every variance."""
        return float(self.var_smoothing * self.statistics_.moments.pooled().variance().max())
