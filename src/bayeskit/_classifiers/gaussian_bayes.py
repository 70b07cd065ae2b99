"""Gaussian classes: one multivariate normal per class; and naive Bayes with scikit-learn's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from bayeskit._classifiers.base_classifier import is_network
from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import one_of, taken_over
from bayeskit._conditionals.covariance_rule import CovarianceRule
from bayeskit._conditionals.gaussian import Gaussian
from bayeskit._data.reading import Reading
from bayeskit._data.source import Source
from bayeskit._fitting.coded_columns import CodedColumns, Coding, choose_coding
from bayeskit._fitting.model import ModelSpec, RowChoice, weighted_classes
from bayeskit._fitting.naive import Naive
from bayeskit._io.trial import held_choice
from bayeskit._schema import Label, Schema
from bayeskit._statistics.scatter import CodedScatter
from bayeskit.errors import SettingError
from bayeskit.priors import Lidstone
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight, Floats


class GaussianBayes(CountClassifier):
    r"""The Bayes classifier for normal classes: quadratic (QDA), linear (LDA) or naive.

    Parameters
    ----------
    covariance : {"full", "shared", "diagonal"}, default="full"
        One covariance matrix per class, one for all classes, or variances only.
    shrinkage : None, float or "ledoit-wolf"
        Shrink the matrices towards a multiple of the identity. This is automatic if a class has too few rows and
        there is no ridge.
    ridge : float or two numbers (r, v), default=0
        Add r times the mean variance of the columns, and the constant v, to every variance.
    imaginary_rows : two numbers (κ, ν), default=(0, 0)
        Imaginary rows of each class. κ rows at the mean of all rows pull the class mean towards that mean. ν rows
        with the shared covariance pull the class covariance towards it (``covariance="full"`` only; "auto" is the
        number of columns + 2). If ν > 0, shrinkage and ridge apply to the shared covariance.
    predictive : {"normal", "student"}, default="normal"
        The density of a class: normal, or Student's t, which allows for the uncertainty of a covariance that was
        estimated from few rows. Its degrees of freedom are the number of those rows + 2.
    categorical_features : None, "from_dtype", "all", columns or a mask
        Columns whose states become columns of 0 and 1 (one-hot). None: all columns are numbers.
    missing : {"ignore", "mean", "indicator"}, default="ignore"
        "ignore" estimates from complete rows and integrates over missing values when predicting. "mean" replaces
        them by the mean of the column. "indicator" does the same, and adds a 0/1 column that marks them.
    clip : float, optional
        Clip numbers at this many standard deviations from the mean of their column.
    coding : tuple, optional
        ``held_["coding"]`` of another model, to use the same means, deviations and states. Models with the same
        coding can be merged.
    variance : {"mle", "unbiased"}, default="mle"
    class_prior : array or mapping, optional
    class_weight : None, "balanced" or mapping
    n_jobs : int, optional
    calibration : None, "temperature" or "isotonic"
        Calibrate the posteriors on leave-one-out predictions of the training rows. At most 100,000 evenly
        spaced rows are used. ``fit`` chooses the calibration, and later batches keep it (``held_``).
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    Notes
    -----
    With :math:`\bar x_c` and :math:`S_c` the mean and scatter of the :math:`n_c` rows of a class, g the mean of all N
    rows and :math:`W = \sum_c S_c / N`, the estimates are

    .. math:: \mu_c = \frac{n_c \bar x_c + \kappa g}{n_c + \kappa}, \qquad
        \Sigma_c = \frac{S_c + \nu \tilde W}{n_c + \nu}, \qquad
        \tilde W = (1 - s) W + \Big((s + r) \frac{\operatorname{tr} W}{d} + v\Big) I.

    With ``categorical_features``, ``missing`` or ``clip`` the attributes are first turned into numeric columns. Numbers
    are measured in standard deviations from their mean. ``fit`` or the first ``partial_fit`` chooses the means, the
    deviations and the states. Later batches keep them (``held_["coding"]``), so sums still add, subtract and merge
    exactly. A state that appears later is treated as missing. Such a model scores classes and has no P(x).

    A shared covariance is :math:`\tilde W`. With ν = 0, the matrix of each class is shrunk in the same way instead.

    References
    ----------
    J. H. Friedman, "Regularized discriminant analysis", JASA 84, 1989. O. Ledoit and M. Wolf, "A well-conditioned
    estimator for large-dimensional covariance matrices", Journal of Multivariate Analysis 88, 2004.

    Examples
    --------
    >>> from bayeskit import GaussianBayes
    >>> X = [[0.0, 0.1], [1.0, 0.9], [2.0, 2.2], [0.0, 2.1], [1.0, 1.0], [2.0, 0.2]]
    >>> GaussianBayes().fit(X, [0, 0, 0, 1, 1, 1]).predict([[0.1, 0.0], [0.0, 2.0]]).tolist()
    [0, 1]
    """

    _accepts_sparse = False
    _takes_over = frozenset({"coding"})

    def __init__(
        self,
        covariance: str = "full",
        *,
        shrinkage: float | Literal["ledoit-wolf"] | None = None,
        ridge: float | tuple[float, float] = 0.0,
        imaginary_rows: tuple[float, float | Literal["auto"]] = (0.0, 0.0),
        predictive: str = "normal",
        categorical_features: CategoricalFeatures | None = None,
        missing: str = "ignore",
        clip: float | None = None,
        coding: Coding | None = None,
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
        self.ridge = ridge
        self.imaginary_rows = imaginary_rows
        self.predictive = predictive
        self.categorical_features = categorical_features
        self.missing = missing
        self.clip = clip
        self.coding = coding
        self.variance = variance
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.calibration = calibration
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    def _reading(self) -> Reading:
        return Reading(categorical=self.categorical_features)

    @property
    def _makes_columns(self) -> bool:
        others = (self.categorical_features, self.clip, self.coding)
        return self.missing != "ignore" or any(setting is not None for setting in others)

    def _choose(self, source: Source) -> dict[str, Any]:
        if not self._makes_columns:
            return {}
        source.need_many_passes(type(self).__name__)
        counted = self._count(source, lambda schema: ModelSpec(class_weight=self.class_weight))
        counted.check_classes()
        assert counted.spec is not None
        # As everywhere, a class weight multiplies the weights of the rows of that class.
        statistics = weighted_classes(counted.statistics, counted.spec)
        if self.coding is None:
            most = np.inf if self.clip is None else self.clip
            return {"coding": choose_coding(statistics, self.missing, most)}
        return taken_over("coding", {"coding": self.coding}, statistics.schema, 'held_["coding"]')

    def _row_choices(self) -> list[RowChoice]:
        found = []
        for name in ("categorical_features", "missing", "clip", "coding"):
            value = getattr(self, name)
            if value is not None and not (name == "missing" and value == "ignore"):
                found.append(RowChoice(f"{name}={value!r}"[:200], f"Leave {name} out."))
        return found + super()._row_choices()

    def _spec(self, schema: Schema) -> ModelSpec:
        return ModelSpec(
            form=CodedColumns(self._held["coding"]) if "coding" in self._held else Naive(),
            class_smoothing=Lidstone(0.0),
            class_prior=self.class_prior,
            class_weight=self.class_weight,
            unbiased=self.variance == "unbiased",
            covariance=None if self.covariance == "diagonal" else self._rule(),
        )

    def _rule(self) -> CovarianceRule:
        ridge = self.ridge if isinstance(self.ridge, Sequence) else (self.ridge, 0.0)
        mean_rows, covariance_rows = self.imaginary_rows
        return CovarianceRule(
            shared=self.covariance == "shared",
            unbiased=self.variance == "unbiased",
            shrinkage=self.shrinkage,
            ridge=(float(ridge[0]), float(ridge[1])),
            mean_rows=float(mean_rows),
            covariance_rows="auto" if isinstance(covariance_rows, str) else float(covariance_rows),
            student=self.predictive == "student",
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("covariance", self.covariance, ("full", "shared", "diagonal"))
        one_of("variance", self.variance, ("mle", "unbiased"))
        one_of("predictive", self.predictive, ("normal", "student"))
        one_of("missing", self.missing, ("ignore", "mean", "indicator"))
        if self.clip is not None and not (_are_numbers((self.clip, 0.0)) and self.clip > 0):
            raise SettingError("clip is {clip!r}; give a number above 0.", clip=self.clip)
        if not _are_numbers(self.ridge if isinstance(self.ridge, Sequence) else (self.ridge, 0.0)):
            raise SettingError(
                "ridge is {ridge!r}; give a number of at least 0, or two of them.", ridge=self.ridge
            )
        rows: Any = self.imaginary_rows
        is_pair = isinstance(rows, Sequence) and len(rows) == 2
        if not is_pair or not _are_numbers((rows[0], 0.0 if _is_auto(rows[1]) else rows[1])):
            raise SettingError(
                'imaginary_rows is {rows!r}; give two numbers of at least 0, the second of which may be "auto".',
                rows=rows,
            )
        self._rule()
        if self.covariance == "diagonal":
            if self.shrinkage is not None:
                raise SettingError(
                    "shrinkage shrinks covariances towards the diagonal, so it has no effect with "
                    'covariance="diagonal".'
                )
            self._refuse_for_matrices()
        if self.covariance == "shared" and rows[1] != 0:
            raise SettingError(
                "imaginary_rows is {rows!r}: the second number shrinks the covariance of each class towards the "
                'shared one, and with covariance="shared" there is no other. Make it 0.',
                rows=rows,
            )

    def _refuse_for_matrices(self) -> None:
        """Raise an error for settings about covariance matrices if the model has none."""
        plain = type(self)()
        names = ("ridge", "imaginary_rows", "predictive", "categorical_features", "missing", "clip", "coding")
        for name in names:
            value = getattr(self, name)
            if value is not getattr(plain, name) and value != getattr(plain, name):
                raise SettingError(
                    '{name}={value!r} is for covariance="full" or "shared". With variances only, use '
                    'NaiveBayes(numeric="student").',
                    name=name,
                    value=value,
                )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self.categorical_features is not None
        tags.input_tags.string = self.categorical_features is not None
        return tags


@held_choice("coding")
def _is_coding(value: object, schema: Schema) -> bool:
    return type(value) is tuple and CodedScatter.is_pattern(schema, value)


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"


def _are_numbers(pair: Sequence[Any]) -> bool:
    """Whether the pair is two finite, non-negative numbers."""
    return len(pair) == 2 and all(
        isinstance(v, (int, float, np.number)) and not isinstance(v, bool) and 0 <= v < np.inf for v in pair
    )


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
