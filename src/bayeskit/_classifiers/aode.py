"""Averaged one-dependence estimators (AODE), and averaged n-dependence estimators (AnDE)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.semi_naive import SemiNaive
from bayeskit._data.encode import Unseen
from bayeskit._data.source import Source
from bayeskit._fitting.averaging import Averaging, TwoDependence, single_counts
from bayeskit._fitting.model import ModelForm
from bayeskit._fitting.naive import Naive, Sampling
from bayeskit._schema import Label, Name, Schema
from bayeskit._statistics.information import class_information
from bayeskit._statistics.triples import within_budget
from bayeskit.errors import SettingError
from bayeskit.priors import Laplace, MEstimate, SmoothingLike, as_smoothing, backs_off
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight, Seed


class AODE(SemiNaive):
    r"""Averaged one-dependence estimators: each attribute in turn is the parent of all others.

    .. math:: P(c, x) \propto \sum_{i:\, n(x_i) \ge m} P(c, x_i) \prod_{j \ne i} P(x_j \mid c, x_i)

    No structure is chosen, so the model is a function of the counts: after ``partial_fit``, ``forget`` and
    ``merge`` it equals a fresh fit (with the same cut points).

    Parameters
    ----------
    min_count : number, default=1
        m: how often a value must occur in the training rows (in any class) for its attribute to be a
        super-parent. Rows in which no value qualifies are predicted by naive Bayes.
    weights : None or "mutual-information"
        Weight each super-parent by I(X_i; Y).
    subsumption : False or int
        Leave out a value that is implied by another value of the same row. The implication must hold without
        exception in at least this many training rows (50 to 100 is usual).
    smoothing : number, name, prior or mapping, default=Laplace()
        P(c, x_i) = (n + 1)/(N + K·N_i) and P(x_j | c, x_i) = (n + 1)/(n(c, x_i) + N_j). ``MEstimate(1)`` is Weka's.
    class_prior
        Only for rows that naive Bayes predicts. The average itself has no factor P(c).
    class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`. A missing value is neither a super-parent nor a child.
    numeric, cut_points, calibration
        As in :class:`~bayeskit.TAN`. With "gaussian", a numeric attribute has a Gaussian for every class and
        state of the super-parent.
    views : int, optional
        Cut the numeric attributes at random quantiles in this many ways, and average the log-posteriors over
        them. 8 to 16 views are usually better than one set of cut points. There is then no P(x).
    random_state : int, numpy Generator or None, default=0
        Seed for the cut points of the views.
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    References
    ----------
    G. Webb, J. Boughton and Z. Wang, "Not so naive Bayes", Machine Learning 58, 2005.

    Examples
    --------
    >>> from bayeskit import AODE
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]]
    >>> AODE().fit(X, ["go", "go", "stay", "stay"]).predict([["rain", None]]).tolist()
    ['stay']
    """

    _base_prior = Laplace()

    min_count: float
    weights: str | None
    subsumption: bool | int

    def __init__(
        self,
        *,
        min_count: float = 1,
        weights: str | None = None,
        subsumption: bool | int = False,
        smoothing: SmoothingLike = None,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        numeric: str = "mdl",
        cut_points: Mapping[Any, ArrayLike] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        states: Mapping[Any, Collection[Label]] | None = None,
        missing: str = "ignore",
        unseen: Unseen = "ignore",
        calibration: str | None = None,
        views: int | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.min_count = min_count
        self.weights = weights
        self.subsumption = subsumption
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.numeric = numeric
        self.cut_points = cut_points
        self.categorical_features = categorical_features
        self.states = states
        self.missing = missing
        self.unseen = unseen
        self.calibration = calibration
        self.views = views
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    @property
    def weights_(self) -> dict[Name, float]:
        """The weight of each super-parent."""
        names = [v.name for v in self.schema_.categorical]
        conditionals = self._model.conditionals
        if not names or not hasattr(conditionals[0], "log_weights"):
            return {}
        found = np.exp(conditionals[0].log_weights[0])
        return dict(zip(names, (found / found.sum()).tolist(), strict=True))

    def _form(self, schema: Schema) -> ModelForm:
        least = float(self.subsumption) if self.subsumption is not False else None
        return Averaging(float(self.min_count), self.weights is not None, least)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_count("min_count", self.min_count)
        if self.weights is not None:
            one_of("weights", self.weights, ("mutual-information",))
        if self.subsumption is True:
            raise SettingError("subsumption is True; give the minimum count, such as 100, or False.")
        if self.subsumption is not False:
            check_count("subsumption", self.subsumption)


def check_count(name: str, value: object, of: str = "rows") -> None:
    """Raise an error if the value is not a valid count."""
    number = value if isinstance(value, (int, float, np.integer, np.floating)) else math.nan
    if isinstance(value, bool) or not np.isfinite(number) or number < 0:
        raise SettingError(
            "{name} is {value!r}; it must be a number of {of}, 0 or more.", name=name, value=value, of=of
        )


class AnDE(SemiNaive):
    r"""Averaged n-dependence estimators: naive Bayes (n = 0), AODE (n = 1) and A2DE (n = 2).

    .. math:: P(c, x) \propto \sum_{i < j} P(c, x_i, x_j) \prod_{k \ne i, j} P(x_k \mid c, x_i, x_j) \qquad (n = 2)

    Parameters
    ----------
    n : {0, 1, 2}, default=1
        The number of super-parents in each member of the average.
    min_count : number, default=1
        How often the super-parents' values must occur together in the training rows.
    max_memory : int, default=2**29
        The memory limit for the counts of triples (n = 2), in bytes. If not all attributes fit, those with
        the highest I(X; Y) are the super-parents. All attributes remain children.
    smoothing : number, name, prior or mapping, default=MEstimate(1)
    class_prior
        Only for n = 0 and for rows without super-parents. The averages themselves have no factor P(c).
    class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`. A missing value is neither a super-parent nor a child.
    numeric, cut_points, calibration
        As in :class:`~bayeskit.TAN`. With "gaussian" and n = 2, a numeric attribute depends on the class and
        on the one discrete attribute with the highest conditional mutual information.
    views : int, optional
        Cut the numeric attributes at random quantiles in this many ways, and average the log-posteriors over
        them. 8 to 16 views are usually better than one set of cut points. There is then no P(x).
    random_state : int, numpy Generator or None, default=0
        Seed for the cut points of the views.
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    Attributes
    ----------
    super_parents_ : tuple of names
        The super-parents (n = 2). Later batches keep them.

    References
    ----------
    G. Webb, J. Boughton, F. Zheng, K. Ting and H. Salem, "Learning by extrapolation from marginal to full-multivariate
    probability distributions", Machine Learning 86, 2012.

    Examples
    --------
    >>> from bayeskit import AnDE
    >>> X = [["sun", "dry", "a"], ["sun", "dry", "b"], ["rain", "wet", "a"], ["rain", "wet", "b"]]
    >>> AnDE(n=2).fit(X, ["go", "go", "stay", "stay"]).predict([["rain", None, "b"]]).tolist()
    ['stay']
    """

    _base_prior = MEstimate(1.0)

    n: int
    min_count: float
    max_memory: int

    def __init__(
        self,
        n: int = 1,
        *,
        min_count: float = 1,
        max_memory: int = 2**29,
        smoothing: SmoothingLike = None,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        numeric: str = "mdl",
        cut_points: Mapping[Any, ArrayLike] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        states: Mapping[Any, Collection[Label]] | None = None,
        missing: str = "ignore",
        unseen: Unseen = "ignore",
        calibration: str | None = None,
        views: int | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.n = n
        self.min_count = min_count
        self.max_memory = max_memory
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.numeric = numeric
        self.cut_points = cut_points
        self.categorical_features = categorical_features
        self.states = states
        self.missing = missing
        self.unseen = unseen
        self.calibration = calibration
        self.views = views
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    @property
    def super_parents_(self) -> tuple[Name, ...]:
        """The attributes that are super-parents."""
        held = self.held_.get("super_parents")
        if held is not None:
            return tuple(held)
        read = self.schema_.attributes if "views" in self.held_ else self.schema_.categorical
        return tuple(v.name for v in read) if self.n else ()

    def _choose_more(self, source: Source) -> dict[str, Any]:
        if self.n != 2:
            return {}
        budget = int(self.max_memory)
        if "views" in self._held:
            sample = self._trial(source, lambda schema: Sampling()).statistics
            statistics = single_counts(sample, self._held["views"][-1], Naive())
            budget //= len(self._held["views"])
        else:
            statistics = self._trial(source, lambda schema: Naive()).statistics
        schema = statistics.schema
        information = class_information(statistics.tables.counts, schema.offsets)
        return {"super_parents": within_budget(schema, np.round(information, 12), budget)}

    def _form(self, schema: Schema) -> ModelForm:
        if self.n == 0:
            return Naive()
        if self.n == 1:
            return Averaging(float(self.min_count))
        return TwoDependence(tuple(self._held.get("super_parents", ())), float(self.min_count))

    def _check_settings(self) -> None:
        whole = isinstance(self.n, (int, np.integer)) and not isinstance(self.n, bool)
        if not whole or self.n not in (0, 1, 2):
            raise SettingError("n is {n!r}; choose 0 (naive Bayes), 1 (AODE) or 2 (A2DE).", n=self.n)
        super()._check_settings()
        check_count("min_count", self.min_count)
        check_count("max_memory", self.max_memory, "bytes")
        found = as_smoothing(self.smoothing, self._base_prior)
        if self.n != 1 and any(backs_off(prior) for prior in (found.default, *found.by_name.values())):
            raise SettingError(
                "AnDE(n={n}) does not back off, and smoothing is {smoothing!r}. Use MEstimate, Laplace, "
                "Lidstone, Dirichlet, MAP, BDeu or MLE, or AnDE(n=1), which does.",
                n=self.n,
                smoothing=self.smoothing,
            )
