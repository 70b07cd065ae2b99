"""Naive Bayes over blocks of counts and over coded columns, with scikit-learn's parameters and attributes."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._classifiers.base_classifier import is_network
from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._conditionals.categorical import TableConditional
from bayeskit._data.reading import Reading
from bayeskit._fitting.model import ModelSpec
from bayeskit._schema import Label, Schema
from bayeskit.errors import SettingError, SuspectResult
from bayeskit.priors import LARGEST, Lidstone, Smoothing
from bayeskit.typing import ClassPriorLike, ClassWeight, Floats

_SMALLEST_ALPHA = 1e-10


def usable_alpha(alpha: ArrayLike, force_alpha: bool) -> Any:
    """Check alpha: one number or one per column, none negative. Tiny values are raised unless forced."""
    try:
        numbers = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array(np.nan)
    if not ((numbers >= 0) & (numbers <= LARGEST)).all():
        raise SettingError(
            "alpha is {alpha!r}; it must be a number from 0 to {largest:g}, or one for each column.",
            alpha=alpha,
            largest=LARGEST,
        )
    if not force_alpha and (numbers < _SMALLEST_ALPHA).any():
        warnings.warn(
            SuspectResult(
                "alpha too small will result in numeric errors, setting alpha = {smallest_alpha:g}. "
                "Use force_alpha=True to keep alpha unchanged.",
                smallest_alpha=_SMALLEST_ALPHA,
            ),
            stacklevel=5,
        )
        numbers = np.maximum(numbers, _SMALLEST_ALPHA)
    return float(numbers) if numbers.ndim == 0 else numbers


class DiscreteNB(CountClassifier):
    """The base class of the block classifiers: the class prior, and scikit-learn's fitted attributes."""

    _family: ClassVar[str] = "multinomial"
    _positive_only: ClassVar[bool] = True

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any
    class_weight: Any

    def _reading(self) -> Reading:
        return Reading(block=True)

    def _spec(self, schema: Schema) -> ModelSpec:
        prior = self.class_prior
        if prior is None and not self.fit_prior:
            prior = "uniform"
        alpha = usable_alpha(self.alpha, self.force_alpha)
        if np.ndim(alpha) and schema.block is not None and len(alpha) != schema.block.width:
            raise SettingError(
                "alpha has {n} numbers for {width} columns.", n=len(alpha), width=schema.block.width
            )
        return ModelSpec(
            class_smoothing=Lidstone(0.0),
            class_prior=prior,
            class_weight=self.class_weight,
            block_family=self._family,
            block_alpha=alpha,
            block_norm=bool(getattr(self, "norm", False)),
            block_above=self._threshold,
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        usable_alpha(self.alpha, True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._positive_only
        tags.input_tags.allow_nan = False
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        tags.classifier_tags.poor_score = True
        return tags

    @property
    def class_count_(self) -> Floats:
        """n(c): the weight of each class."""
        return self.statistics_.class_counts

    @property
    def class_log_prior_(self) -> Floats:
        """log P(c)."""
        return self._model.log_prior

    @property
    def feature_count_(self) -> Floats:
        """Σx of each column in each class: shape (K, V)."""
        totals: Any = self.statistics_.parts["totals"]
        found: Floats = totals.sums
        return found

    @property
    def feature_log_prob_(self) -> Floats:
        """The log-probability of each column given the class: shape (K, V)."""
        block: Any = self._model.conditionals[0]
        return np.asarray(block.feature_log_prob)


class MultinomialNB(DiscreteNB):
    r"""A drop-in replacement for scikit-learn's ``MultinomialNB``: word counts, or tf-idf.

    .. math:: \hat\theta_{cv} = \frac{N_{cv} + \alpha}{N_c + \alpha V}

    Parameters
    ----------
    alpha : float or array of shape (V,), default=1.0
    force_alpha : bool, default=True
    fit_prior : bool, default=True
        Estimate P(c) from the rows; otherwise P(c) is uniform.
    class_prior : array of shape (K,), optional
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
    >>> from bayeskit import MultinomialNB
    >>> MultinomialNB().fit([[2, 0], [0, 3]], ["a", "b"]).predict([[1, 0]]).tolist()
    ['a']
    """

    _family = "multinomial"

    def __init__(
        self,
        *,
        alpha: ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ClassPriorLike = None,
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
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.calibration = calibration
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label


class ComplementNB(DiscreteNB):
    """A drop-in replacement for scikit-learn's ``ComplementNB``: each class is scored by the words of all
    others.

    Parameters
    ----------
    alpha : float or array of shape (V,), default=1.0
    force_alpha : bool, default=True
    fit_prior : bool, default=True
        Used only if there is a single class.
    class_prior : array of shape (K,), optional
        Not used, as in scikit-learn.
    norm : bool, default=False
        Normalise the weights of each class a second time.
    class_weight : None, "balanced" or mapping
    n_jobs : int, optional
    calibration : None, "temperature" or "isotonic"
        Calibrate the posteriors on leave-one-out predictions of the training rows. At most 100,000 evenly
        spaced rows are used, or 2,000 if each row needs a re-estimate (``class_weight="balanced"``). ``fit``
        chooses the calibration, and later batches keep it (``held_``).
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`, but by self-training: the scores define no distribution of texts,
        so EM has no likelihood to maximise. Unlabelled rows are split between the classes by their posteriors
        and counted, repeatedly, until the posteriors settle. This is not EM and has no guarantee.
        ``history_`` holds log P(y | x) of the labelled rows, which may decrease; the best step is kept.

    Examples
    --------
    >>> from bayeskit import ComplementNB
    >>> ComplementNB().fit([[2, 0], [0, 3]], ["a", "b"]).predict([[1, 0]]).tolist()
    ['a']
    """

    _family = "complement"

    def __init__(
        self,
        *,
        alpha: ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ClassPriorLike = None,
        norm: bool = False,
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
        self.norm = norm
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.calibration = calibration
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    @property
    def feature_all_(self) -> Floats:
        """Σx of each column over all classes."""
        return np.asarray(self.feature_count_.sum(axis=0))


class BernoulliNB(DiscreteNB):
    r"""A drop-in replacement for scikit-learn's ``BernoulliNB``: each column is present or absent.

    .. math:: \hat P(x_v = 1 \mid c) = \frac{N_{cv} + \alpha}{N_c + 2\alpha}

    Parameters
    ----------
    alpha : float or array of shape (V,), default=1.0
    force_alpha : bool, default=True
    binarize : float or None, default=0.0
        A value above this counts as present. None means that the rows already contain only 0 and 1.
    fit_prior : bool, default=True
    class_prior : array of shape (K,), optional
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
    >>> from bayeskit import BernoulliNB
    >>> BernoulliNB().fit([[1, 0], [0, 1]], ["a", "b"]).predict([[1, 0]]).tolist()
    ['a']
    """

    network_ = is_network

    _family = "bernoulli"
    _positive_only = False

    def __init__(
        self,
        *,
        alpha: ArrayLike = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        n_jobs: int | None = None,
        calibration: str | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.calibration = calibration
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    def _check_settings(self) -> None:
        super()._check_settings()
        cut: Any = self.binarize
        if cut is not None and not (isinstance(cut, (int, float, np.number)) and np.isfinite(cut)):
            raise SettingError(
                "binarize is {cut!r}; it must be a finite number, or None for rows of 0 and 1.", cut=cut
            )

    @property
    def _threshold(self) -> float | None:  # type: ignore[override]
        return self.binarize


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
