"""One-dependence classifiers: each attribute has at most one parent besides the class.

In tree-augmented naive Bayes (TAN) these arcs are a tree. In a super-parent one-dependence estimator (SPODE) one
attribute is the parent of all others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.semi_naive import GraphClassifier, check_discrete, given_dag
from bayeskit._conditionals.averaged import fits
from bayeskit._data.encode import Unseen
from bayeskit._data.source import Source
from bayeskit._fitting.averaging import Averaging, losses_by_folds, losses_left_out, star
from bayeskit._fitting.leave_one_out import learned_chunks
from bayeskit._fitting.model import ModelForm, RowChoice, weighted_classes
from bayeskit._fitting.with_parents import OneDependence, Tree, WithParents
from bayeskit._graphs.dag import Dag
from bayeskit._schema import Label, Name, Schema
from bayeskit.errors import SettingError
from bayeskit.priors import BackOff, Laplace, SmoothingLike
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight


class TAN(GraphClassifier):
    r"""Tree-augmented naive Bayes: each attribute's parents are the class and one other attribute, in a tree.

    .. math:: P(c, x) = P(c) \prod_j P(x_j \mid c, x_{pa(j)})

    The tree is a maximum spanning tree of :math:`I(x_i; x_j \mid y)`. It is a function of the counts and is
    recomputed whenever they change: after ``partial_fit``, ``forget`` and ``merge`` the model equals a fresh
    fit. If the counts of all pairs do not fit into memory, the tree has only the attributes with the highest
    I(X; Y), as many as fit. The others depend on the class only, and later batches keep the tree.

    Parameters
    ----------
    root : attribute name, optional
        The root of the tree, from which all arcs point away. By default, the first attribute. Under maximum
        likelihood the posterior does not depend on it; with smoothing it does, slightly.
    criterion : None, "aic" or "bic"
        Omit arcs that do not improve this criterion, which gives a forest.
    structure : mapping from attribute to its parents, optional
        A given tree or forest, instead of a learned one.
    smoothing : number, name, prior or mapping, default=BackOff()
        As in :class:`~bayeskit.NaiveBayes`.
    class_prior, class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`. Missing values are summed over, on the tree.
    numeric : {"mdl", "gaussian"}, default="mdl"
        Cut numeric attributes into intervals that separate the classes (MDL), or give each one a Gaussian for
        every class and state of the discrete attribute that it depends on most.
    cut_points : mapping from attribute to ascending numbers, optional
        Known cut points of some attributes.
    calibration : None, "temperature" or "isotonic"
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    Attributes
    ----------
    structure_ : dict from attribute to the tuple of its parents (the class, a parent of all, is not named)
    arcs_ : list of (parent, child, I(x_i; x_j | y) in nats)
    held_ : the cut points, which ``fit`` chooses and later batches keep

    References
    ----------
    N. Friedman, D. Geiger and M. Goldszmidt, "Bayesian network classifiers", Machine Learning 29, 1997.

    Examples
    --------
    >>> from bayeskit import TAN
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]]
    >>> TAN().fit(X, ["go", "go", "stay", "stay"]).predict([["rain", None]]).tolist()
    ['stay']
    """

    _base_prior = BackOff()

    root: Name | None
    criterion: str | None
    structure: Mapping[Any, Any] | None

    def __init__(
        self,
        *,
        root: Name | None = None,
        criterion: str | None = None,
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
        self.root = root
        self.criterion = criterion
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
        singles = self._too_wide(source)
        if singles is None:
            return {}
        if self.structure is not None:
            return {"structure": given_dag(self.structure, singles.schema, most=1).as_mapping()}
        trial, _, others = self._trial_of_arcs(source, self._tree, singles)
        assert trial.spec is not None
        learned = self._tree(trial.schema).graph(weighted_classes(trial.statistics, trial.spec))
        return {"structure": {**learned.as_mapping(), **dict.fromkeys(others, ())}}

    def _form(self, schema: Schema) -> ModelForm:
        if "structure" in self._held:
            return WithParents.held(self._held["structure"])
        if self.structure is not None:
            return OneDependence(given_dag(self.structure, schema, most=1))
        return self._tree(schema)

    def _tree(self, schema: Schema) -> Tree:
        if self.root is not None:
            check_discrete("root", self.root, schema)
        return Tree(self.root, self.criterion)

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.criterion is not None:
            one_of("criterion", self.criterion, ("aic", "bic"))
        if self.structure is not None and (self.root is not None or self.criterion is not None):
            raise SettingError(
                "root and criterion are for learning a tree, but structure= already gives one."
            )


class SPODE(GraphClassifier):
    r"""Super-parent one-dependence estimator: all attributes depend on the class and on one of them.

    .. math:: P(c, x) = P(c)\, P(x_s \mid c) \prod_{j \ne s} P(x_j \mid c, x_s)

    Parameters
    ----------
    super_parent : attribute name, optional
        The super-parent. By default, the attribute with the lowest held-out log-loss (see ``select``).
    select : {"loo", "cv"}, default="loo"
        Choose by exact leave-one-out, in one more pass over the rows, or by ten-fold cross-validation (row r
        is in fold r modulo 10). Ties go to the first column.
    structure : mapping from attribute to its parents, optional
        The parents of each attribute, instead of one super-parent for all.
    smoothing : number, name, prior or mapping, default=Laplace()
    class_prior, class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`. A missing super-parent is summed over.
    numeric, cut_points, calibration
        As in :class:`~bayeskit.TAN`.
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    Attributes
    ----------
    super_parent_ : the super-parent
    losses_ : dict from attribute to its held-out log-loss as the super-parent, if one was chosen
    loo_score_ : the loss of the chosen super-parent
    structure_, arcs_, held_
        As in :class:`~bayeskit.TAN`. The super-parent is kept together with the cut points.

    Examples
    --------
    >>> from bayeskit import SPODE
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]]
    >>> SPODE().fit(X, ["go", "go", "stay", "stay"]).predict([["rain", None]]).tolist()
    ['stay']
    """

    _base_prior = Laplace()

    super_parent: Name | None
    select: str
    structure: Mapping[Any, Any] | None

    def __init__(
        self,
        *,
        super_parent: Name | None = None,
        select: str = "loo",
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
        self.super_parent = super_parent
        self.select = select
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

    @property
    def super_parent_(self) -> Name | None:
        """The attribute that all others depend on. None if a structure was given or no attribute is discrete."""
        held: Name | None = self.held_.get("super_parent")
        return held

    @property
    def losses_(self) -> dict[Name, float]:
        """The held-out log-loss of each attribute as the super-parent. Empty if none was chosen."""
        return dict(self.held_.get("losses", {}))

    @property
    def loo_score_(self) -> float | None:
        """The held-out log-loss of the chosen super-parent. None if it was given."""
        return min(self.losses_.values(), default=None)

    def _row_choices(self) -> list[RowChoice]:
        if self.structure is not None or self.super_parent is not None:
            return super()._row_choices()
        chosen = RowChoice(f"select={self.select!r}", "Name the attribute with super_parent=, or use AODE.")
        return [chosen, *super()._row_choices()]

    def _choose_more(self, source: Source) -> dict[str, Any]:
        if self.structure is not None or self.super_parent is not None:
            held = {} if self.structure is not None else {"super_parent": self.super_parent}
            singles = self._too_wide(source)
            if singles is None:
                return held
            dag = self._given_graph(singles.schema, self.super_parent)
            return {**held, "structure": dag.as_mapping()}
        singles = self._too_wide(source, fits)
        trial, among, others = self._trial_of_arcs(source, lambda schema: Averaging(min_count=-1.0), singles)
        names = [v.name for v in trial.schema.categorical]
        assert trial.spec is not None
        if not names:
            return {}
        if self.select == "loo":
            losses = losses_left_out(trial.statistics, trial.spec, learned_chunks(trial, among))
        else:
            losses = losses_by_folds(trial.statistics, trial.spec, lambda: learned_chunks(trial, among))
        best = names[int(np.round(losses, 12).argmin())]
        found = {"super_parent": best, "losses": dict(zip(names, losses.tolist(), strict=True))}
        if singles is None:
            return found
        arcs = star(trial.schema, best).as_mapping()
        return {**found, "structure": {**arcs, **dict.fromkeys(others, ())}}

    @property
    def _joining(self) -> tuple[Name, ...]:
        chosen = self.super_parent_
        return () if chosen is None else (chosen,)

    def _form(self, schema: Schema) -> ModelForm:
        if "structure" in self._held:
            return WithParents.held(self._held["structure"])
        chosen = self._held.get("super_parent")
        if self.structure is None and chosen is None:
            return Averaging()  # no attribute is discrete, so this becomes naive Bayes
        return OneDependence(self._given_graph(schema, chosen))

    def _given_graph(self, schema: Schema, super_parent: Name | None) -> Dag:
        if self.structure is not None:
            return given_dag(self.structure, schema, most=1)
        check_discrete("super_parent", super_parent, schema)
        return star(schema, super_parent)

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("select", self.select, ("loo", "cv"))
        if self.structure is not None and self.super_parent is not None:
            raise SettingError("Give super_parent= or structure=, not both.")
