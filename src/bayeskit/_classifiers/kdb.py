"""k-dependence Bayesian classifiers, and selective ones, which choose their attributes and their number of parents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.semi_naive import GraphClassifier, given_dag
from bayeskit._conditionals.class_prior import class_factors, given_class_prior
from bayeskit._data.encode import Unseen
from bayeskit._data.encoded import Chunk
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.leave_one_out import learned_chunks
from bayeskit._fitting.model import ModelForm, RowChoice, weighted_classes
from bayeskit._fitting.selective import Criterion, Selection, select
from bayeskit._fitting.with_parents import Tree, WithParents, with_numeric
from bayeskit._graphs.dag import Dag
from bayeskit._schema import Label, Name, Schema
from bayeskit._structure.learners import k_dependence, learn
from bayeskit.errors import SettingError
from bayeskit.priors import BackOff, SmoothingLike
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight


class KDB(GraphClassifier):
    r"""The k-dependence Bayesian classifier: every attribute has the class and up to k attributes as parents.

    .. math:: P(c, x) = P(c) \prod_j P(x_j \mid c, x_{p_1}, …, x_{p_k})

    Attributes are ordered by I(X; Y). The parents of each are the k attributes before it with the highest
    I(X_i; X_j | Y). k = 0 is naive Bayes. The structure needs two passes over the rows, so ``fit`` (or the
    first ``partial_fit``) chooses it and later batches keep it. If the counts of all pairs do not fit into memory, only
    the attributes with the highest I(X; Y), as many as fit, have other parents than the class.

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
        trial, _, others = self._trial_of_arcs(source, lambda schema: Tree(), self._too_wide(source))
        learned = learned_structure(trial, self.k).as_mapping()
        return {"structure": {**learned, **dict.fromkeys(others, ())}}

    def _form(self, schema: Schema) -> ModelForm:
        if self.structure is not None:
            return WithParents(given_dag(self.structure, schema, most=None))
        return WithParents.held(self._held.get("structure", {}))

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


def check_depth(name: str, value: object) -> None:
    """Raise an error if the value is not a valid number of parents."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value <= 64:
        raise SettingError(
            "{name} is {value!r}; it must be a whole number from 0 to 64.", name=name, value=value
        )


# The most bytes of codes that are held in memory to choose the attributes. Rows beyond that are not used for it.
_MOST_BYTES = 2**30


class SelectiveKDB(GraphClassifier):
    r"""The k-dependence classifier with the attributes and k chosen by leave-one-out.

    Attributes are ordered by I(X; Y), as in :class:`~bayeskit.KDB`. One more pass over the rows then
    evaluates every prefix of that order (including none) with every number of parents from 0 to ``max_k`` by
    leave-one-out, and the best is taken. If the counts of all pairs do not fit into memory, only the attributes with
    the highest I(X; Y), as many as fit, are evaluated.

    Parameters
    ----------
    max_k : int, default=5
    criterion : {"rmse", "log-loss", "error", "mcc"}, default="rmse"
        With P the posterior of the true class: the root of the mean of (1 − P)², the mean of −log P, the
        error rate, or Matthews' correlation.
    smoothing : number, name, prior or mapping, default=BackOff()
    class_prior, class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`; missing parents as in :class:`~bayeskit.KDB`.
    numeric, cut_points, calibration
        As in :class:`~bayeskit.TAN`. With "gaussian", numeric attributes are always kept.
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`.

    Attributes
    ----------
    k_ : int
    attributes_ : tuple of the discrete attributes chosen, the most informative first
    loo_score_ : float
        The leave-one-out loss of the choice (for "mcc", one minus the correlation).
    losses_ : array of shape (max_k + 1, attributes + 1)
        The leave-one-out loss of every k (rows) with every number of attributes (columns).
    structure_, arcs_, held_
        As in :class:`~bayeskit.KDB`.

    References
    ----------
    A. Martínez, G. Webb, S. Chen and N. Zaidi, "Scalable learning of Bayesian network classifiers", JMLR 17, 2016.

    Examples
    --------
    >>> from bayeskit import SelectiveKDB
    >>> X = [["sun", "dry", "a"], ["sun", "dry", "b"], ["rain", "wet", "a"], ["rain", "wet", "b"]]
    >>> model = SelectiveKDB().fit(X, ["go", "go", "stay", "stay"])
    >>> model.attributes_, model.predict([["rain", None, "b"]]).tolist()
    (('x0', 'x1'), ['stay'])
    """

    _base_prior = BackOff()
    _holds = frozenset({"structure", "k", "losses"})

    max_k: int
    criterion: Criterion

    def __init__(
        self,
        max_k: int = 5,
        *,
        criterion: Criterion = "rmse",
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
        self.max_k = max_k
        self.criterion = criterion
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
    def k_(self) -> int:
        """The number of parents chosen."""
        return int(self.held_["k"])

    @property
    def attributes_(self) -> tuple[Name, ...]:
        """The discrete attributes chosen, the most informative first."""
        discrete = {v.name for v in self.schema_.categorical}
        return tuple(name for name in self.held_["structure"] if name in discrete)

    @property
    def losses_(self) -> NDArray[np.float64]:
        """The leave-one-out loss of every k with every number of attributes."""
        return np.array(self.held_["losses"], dtype=np.float64).reshape(self.max_k + 1, -1)

    @property
    def loo_score_(self) -> float:
        """The leave-one-out loss of the choice."""
        return float(self.losses_[self.k_, len(self.attributes_)])

    def _row_choices(self) -> list[RowChoice]:
        return [RowChoice(f"criterion={self.criterion!r}", "Use KDB."), *super()._row_choices()]

    def _choose_more(self, source: Source) -> dict[str, Any]:
        trial, among, _ = self._trial_of_arcs(source, lambda schema: Tree(), self._too_wide(source))
        dag, chosen = choose_selection(trial, among, self.max_k, self.criterion)
        losses = tuple(map(tuple, chosen.losses.tolist()))
        return {"structure": dag.as_mapping(), "k": chosen.k, "losses": losses}

    def _form(self, schema: Schema) -> ModelForm:
        return WithParents.held(self._held.get("structure", {}))

    def _check_settings(self) -> None:
        super()._check_settings()
        check_depth("max_k", self.max_k)
        one_of("criterion", self.criterion, get_args(Criterion))


def choose_selection(
    trial: FittedState, source: Source, max_k: int, criterion: Criterion
) -> tuple[Dag, Selection]:
    """Learn the structure of kDB from pair counts, then choose attributes and k by leave-one-out."""
    dag = learned_structure(trial, max_k)
    schema, spec = trial.schema, trial.spec
    assert spec is not None
    discrete = [name for name in dag.nodes if name in {v.name for v in schema.categorical}]
    prior = None if spec.class_prior is None else given_class_prior(spec.class_prior, schema.target)
    chosen = select(
        _rows_in_memory(trial, source),
        schema,
        [(name, *dag.parents_of(name)) for name in discrete],
        spec.smoothing,
        max_k=max_k,
        criterion=criterion,
        class_smoothing=spec.class_smoothing,
        class_prior=prior,
        missing=spec.missing,
        unseen=spec.unseen,
    )
    kept = discrete[: chosen.n_attributes]
    numeric = [v.name for v in schema.numeric if v.name in dag.position]
    parents = [dag.parents_of(name)[: chosen.k] for name in kept]
    parents += [tuple(p for p in dag.parents_of(name) if p in kept) for name in numeric]
    return Dag((*kept, *numeric), tuple(parents)), chosen


def _rows_in_memory(trial: FittedState, source: Source) -> list[Chunk]:
    """Return the encoded rows, weighted by class weights; only the first ``_MOST_BYTES`` of a larger source."""
    assert trial.spec is not None
    target = trial.schema.target
    factors = class_factors(trial.spec.class_weight, trial.statistics.class_counts, target)
    found: list[Chunk] = []
    held = 0
    for chunk in learned_chunks(trial, source):
        held += chunk.codes.nbytes
        if held > _MOST_BYTES and found:
            break
        if factors is not None:
            chunk = replace(chunk, weights=chunk.row_weights * factors[chunk.target])
        found.append(replace(chunk, values=np.empty((chunk.n_rows, 0))))
    return found
