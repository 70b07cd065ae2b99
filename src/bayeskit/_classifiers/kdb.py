"""k-dependence Bayesian classifiers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.semi_naive import GraphClassifier
from bayeskit._classifiers.structures import given_dag
from bayeskit._data.encode import Unseen
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.model import ModelForm, weighted_classes
from bayeskit._fitting.one_dependence import Tree, with_numeric
from bayeskit._fitting.with_parents import WithParents
from bayeskit._graphs.dag import Dag
from bayeskit._schema import Label, Schema
from bayeskit._structure.learners import k_dependence, learn
from bayeskit.errors import SettingError
from bayeskit.priors import BackOff, SmoothingLike
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight


class KDB(GraphClassifier):
    r"""The k-dependence Bayesian classifier: every attribute has the class and up to k attributes as parents.

    .. math:: P(c, x) = P(c) \prod_j P(x_j \mid c, x_{p_1}, …, x_{p_k})

    Attributes are ordered by I(X; Y). The parents of each are the k attributes before it with the highest
    I(X_i; X_j | Y). k = 0 is naive Bayes. The structure needs two passes over the rows, so ``fit`` (or the
    first ``partial_fit``) chooses it and later batches keep it.

    Parameters
    ----------
    k : int, default=2
    structure : mapping from attribute to its parents, optional
        A given graph, instead of a learned one. When the model backs off, it drops the last parent first.
    smoothing : number, name, prior or mapping, default=BackOff()
    class_prior, class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`. Missing parents are summed over if they have at most 4,096 joint
        states. Otherwise only the parents before the first missing one are used.
    numeric, cut_points, calibration
        As in :class:`~bayeskit.TAN`.
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    Attributes
    ----------
    structure_ : dict from attribute to the tuple of its parents (the class, a parent of all, is not named)
    arcs_ : list of (parent, child, I(x_i; x_j | y) in nats)
    held_ : the cut points and the structure, which later batches keep

    References
    ----------
    M. Sahami, "Learning limited dependence Bayesian classifiers", KDD 1996.

    Examples
    --------
    >>> from bayeskit import KDB
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]]
    >>> KDB(k=1).fit(X, ["go", "go", "stay", "stay"]).predict([["rain", None]]).tolist()
    ['stay']
    """

    _base_prior = BackOff()

    k: int
    structure: Mapping[Any, Any] | None

    def __init__(
        self,
        k: int = 2,
        *,
        structure: Mapping[Any, Any] | None = None,
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
        n_jobs: int | None = None,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Label | None = None,
    ) -> None:
        self.k = k
        self.structure = structure
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
        self.n_jobs = n_jobs
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    def _choose_more(self, source: Source) -> dict[str, Any]:
        if self.structure is not None:
            return {}
        trial = self._trial(source, lambda schema: Tree())
        return {"structure": learned_structure(trial, self.k).as_mapping()}

    def _form(self, schema: Schema) -> ModelForm:
        if self.structure is not None:
            return WithParents(given_dag(self.structure, schema, most=None))
        return form_of_structure(self._held.get("structure", {}))

    def _check_settings(self) -> None:
        super()._check_settings()
        check_depth("k", self.k)


def learned_structure(trial: FittedState, k: int) -> Dag:
    """Learn the structure of kDB from pair counts, and the parents of numeric attributes."""
    assert trial.spec is not None
    statistics = weighted_classes(trial.statistics, trial.spec)
    if not statistics.schema.categorical:
        return Dag((), ())
    dag = learn(k_dependence(statistics.schema, k), lambda plan: statistics)
    if not statistics.schema.numeric:
        return dag
    whole = with_numeric(dag, statistics)
    numeric = tuple(v.name for v in statistics.schema.numeric)
    return Dag((*dag.nodes, *numeric), (*dag.parents, *(whole.parents_of(name) for name in numeric)))


def form_of_structure(structure: Mapping[Any, Any]) -> ModelForm:
    """Return the form of a structure that is already chosen."""
    return WithParents(Dag(tuple(structure), tuple(tuple(parents) for parents in structure.values())))


def check_depth(name: str, value: object) -> None:
    """Raise an error if the value is not a valid number of parents."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value <= 64:
        raise SettingError(
            "{name} is {value!r}; it must be a whole number from 0 to 64.", name=name, value=value
        )
