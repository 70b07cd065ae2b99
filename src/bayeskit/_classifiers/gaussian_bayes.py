"""The Bayes classifier with one multivariate normal per class."""

from __future__ import annotations

from typing import Any

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import one_of
from bayeskit._data.reading import Reading
from bayeskit._fitting.model import ModelSpec
from bayeskit._schema import Label, Schema
from bayeskit.errors import SettingError
from bayeskit.priors import Lidstone
from bayeskit.typing import ClassPriorLike, ClassWeight


class GaussianBayes(CountClassifier):
    """The Bayes classifier for normal classes: quadratic (QDA), linear (LDA) or naive.

    Parameters
    ----------
    covariance : {"full", "shared", "diagonal"}, default="full"
        One covariance matrix per class, one for all classes, or variances only.
    shrinkage : None, float or "ledoit-wolf"
        Shrink the matrices towards a multiple of the identity. This is automatic if a class has too few rows.
    variance : {"mle", "unbiased"}, default="mle"
    class_prior : array or mapping, optional
    class_weight : None, "balanced" or mapping
    n_jobs : int, optional
    calibration : None, "temperature" or "isotonic"
        Calibrate the posteriors on leave-one-out predictions of the training rows. At most 100,000 evenly
        spaced rows are used, or 2,000 if each row needs a re-estimate (full and shared covariance). ``fit``
        chooses the calibration, and later batches keep it (``held_``).
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    Examples
    --------
    >>> from bayeskit import GaussianBayes
    >>> X = [[0.0, 0.1], [1.0, 0.9], [2.0, 2.2], [0.0, 2.1], [1.0, 1.0], [2.0, 0.2]]
    >>> GaussianBayes().fit(X, [0, 0, 0, 1, 1, 1]).predict([[0.1, 0.0], [0.0, 2.0]]).tolist()
    [0, 1]
    """

    _accepts_sparse = False

    def __init__(
        self,
        covariance: str = "full",
        *,
        shrinkage: float | str | None = None,
        variance: str = "mle",
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        calibration: str | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.variance = variance
        self.class_prior = class_prior
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
            class_prior=self.class_prior,
            class_weight=self.class_weight,
            unbiased=self.variance == "unbiased",
            covariance=None if self.covariance == "diagonal" else self.covariance,
            shrinkage=self.shrinkage,
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("covariance", self.covariance, ("full", "shared", "diagonal"))
        one_of("variance", self.variance, ("mle", "unbiased"))
        if self.shrinkage is not None and self.covariance == "diagonal":
            raise SettingError(
                'shrinkage pulls towards the diagonal; it means nothing with covariance="diagonal".'
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        return tags
