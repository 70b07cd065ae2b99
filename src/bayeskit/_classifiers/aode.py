"""Averaged one-dependence estimators."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.semi_naive import SemiNaive
from bayeskit._data.encode import Unseen
from bayeskit._fitting.averaging import Averaging
from bayeskit._fitting.model import ModelForm
from bayeskit._schema import Label, Name, Schema
from bayeskit.errors import SettingError
from bayeskit.priors import Laplace, SmoothingLike
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
            raise SettingError("subsumption is True; give the least count it needs, such as 100, or False.")
        if self.subsumption is not False:
            check_count("subsumption", self.subsumption)


def check_count(name: str, value: object, of: str = "rows") -> None:
    """Raise an error if the value is not a valid count."""
    number = value if isinstance(value, (int, float, np.integer, np.floating)) else math.nan
    if isinstance(value, bool) or not np.isfinite(number) or number < 0:
        raise SettingError(
            "{name} is {value!r}; it must be a number of {of}, 0 or more.", name=name, value=value, of=of
        )
