"""Averaged n-dependence estimators."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.aode import check_count
from bayeskit._classifiers.semi_naive import SemiNaive
from bayeskit._data.encode import Unseen
from bayeskit._data.source import Source
from bayeskit._fitting.averaging import Averaging, TwoDependence
from bayeskit._fitting.log_linear import Sampling
from bayeskit._fitting.model import ModelForm
from bayeskit._fitting.naive import Naive
from bayeskit._fitting.over_views import single_counts
from bayeskit._schema import Label, Name, Schema
from bayeskit._statistics.information import class_information
from bayeskit._statistics.triples import within_budget
from bayeskit.errors import SettingError
from bayeskit.priors import MEstimate, SmoothingLike, as_smoothing, backs_off
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight, Seed


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
                "AnDE(n={n}) does not back off: smoothing is {smoothing!r}. Use MEstimate, Laplace, "
                "Lidstone, Dirichlet, MAP, BDeu or MLE, or AnDE(n=1), which does.",
                n=self.n,
                smoothing=self.smoothing,
            )
