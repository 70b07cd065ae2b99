"""A classifier whose model is a Bayesian network over the class and the attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._classifiers.count_classifier import CountClassifier
from bayeskit._classifiers.input_checks import one_of
from bayeskit._classifiers.labelled_tables import DependentTable, LabelledTable
from bayeskit._classifiers.semi_naive import ArcInformation, GraphClassifier, network_arcs
from bayeskit._data.encode import Unseen
from bayeskit._data.source import Source
from bayeskit._fitting.choose_interactions import MANY_ATTRIBUTES, telling_attributes
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.graph_search import GraphSearch, columns_among, gathered, searched_graph
from bayeskit._fitting.graphical import Graphical, as_graph, class_node
from bayeskit._fitting.model import ModelForm, RowChoice, weighted_classes
from bayeskit._fitting.naive import Naive, Sampling
from bayeskit._fitting.with_parents import Tree
from bayeskit._graphs.dag import Dag, markov_blanket
from bayeskit._inference.exact import get_max_memory
from bayeskit._random_state import seed_of
from bayeskit._schema import Label, Name, Schema
from bayeskit._structure.search_protocol import as_score
from bayeskit.errors import SettingError, UsageError
from bayeskit.priors import BDeu, SmoothingLike, as_smoothing, backs_off
from bayeskit.typing import CategoricalFeatures, ClassPriorLike, ClassWeight, LabelsLike, Seed


class BayesNetClassifier(GraphClassifier):
    r"""A Bayesian network over the class and the attributes, used as a classifier.

    .. math:: P(c, x) = P(c \mid \mathrm{pa}_c) \prod_j P(x_j \mid \mathrm{pa}_j)

    Prediction needs only the Markov blanket of the class: its parents, its children and the children's other
    parents. If a row has all of them, prediction is a table look-up. Missing cells are summed out exactly.
    The arcs are learned from rows, so ``fit`` (or the first ``partial_fit``) chooses them and later batches
    keep them.

    Parameters
    ----------
    method : {"auto", "naive", "tan", "hill-climbing", "tabu", "ges", "order", "exact", "k2", "chow-liu", "pc", "mmhc"}
        "naive": the class is the only parent of every attribute. "tan": as :class:`~bayeskit.TAN`, whose tree
        follows the counts; if there are numeric attributes, they have a separate tree, and later batches keep
        all arcs. The other methods are those of :func:`~bayeskit.learn_network`. They search for a network of
        all columns, so the class may end up with few neighbours. For "k2" the order is the class, then the
        columns in their order. If there are more than 100 columns, the search uses only those that inform about
        the class by more than chance, alone or together with another, unless ``markov_blanket=False`` or arcs are
        given.
    criterion : {"bic", "aic", "loglik", "bdeu", "bds", "k2"}
        The score of a network, as in :func:`~bayeskit.learn_network`.
    markov_blanket : bool
        Keep only the Markov blanket of the class. The posterior is the same for a row without missing cells
        in the blanket. Otherwise, attributes outside the blanket can no longer inform about the missing
        cells.
    conditional : bool
        Improve the network of ``method`` by greedy changes of arcs near the class, the best first, while they
        increase :math:`\sum \log P(c \mid x) - \lambda k` over the training rows. k is the number of
        parameters of the class and its children, and λ the penalty per parameter (criterion "bic", "aic" or
        "loglik").
    required, forbidden : (parent, child) pairs
        Arcs that the network must or must not have. The name of the class is ``target_``.
    tiers : lists of columns, the earliest first
    max_parents : int, optional
    time_limit : seconds, optional
        After this time the best network so far is taken, with a warning.
    random_state : int, numpy Generator or None
        For searches that use random numbers.
    smoothing : number, name, prior or mapping, default=BDeu(1)
        As in :class:`~bayeskit.NaiveBayes`.
    class_prior, class_weight, categorical_features, states, missing, unseen, n_jobs
        As in :class:`~bayeskit.NaiveBayes`. A class with parents has no prior P(c), so ``class_prior`` is
        then an error.
    numeric : "gaussian", "mdl", int, or mapping from attribute to one of these, default="gaussian"
        "gaussian": the attribute is Gaussian, its mean is linear in its numeric parents, and it is never a
        parent of a discrete attribute. "mdl": it is cut into intervals that separate the classes. An int: it
        is cut into this many intervals with about equal numbers of rows. Attributes that a mapping does not
        name are Gaussian.
    cut_points : mapping from attribute to ascending numbers, optional
        Known cut points of some attributes. ``numeric`` applies to the others.
    calibration : None, "temperature" or "isotonic"
    semi_supervised, unlabelled_weight, missing_label
        As in :class:`~bayeskit.NaiveBayes`. Arcs are learned from the labelled rows, tables from all rows.

    Attributes
    ----------
    network_ : BayesianNetwork over the class and the attributes
    markov_blanket_ : tuple of attributes
    target_ : the name of the class in ``network_``: its own name, or "class" if a column already has that
    name
    structure_ : dict from node to the tuple of its parents, the class among them
    arcs_ : list of (parent, child, I(parent; child | the other parents of the child) in nats)
    held_ : the learned structure and the cut points, which later batches keep

    Examples
    --------
    >>> from bayeskit import BayesNetClassifier
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]] * 5
    >>> model = BayesNetClassifier("tan").fit(X, ["go", "go", "stay", "stay"] * 5)
    >>> model.predict([["rain", None]]).tolist(), model.markov_blanket_
    (['stay'], ('x0', 'x1'))
    """

    _base_prior = BDeu()

    method: str
    criterion: Any
    markov_blanket: bool
    conditional: bool
    required: Iterable[Any]
    forbidden: Iterable[Any]
    tiers: Sequence[Any] | None
    max_parents: int | None
    time_limit: float | None
    random_state: Seed

    def __init__(
        self,
        method: str = "auto",
        *,
        criterion: str | None = "bic",
        markov_blanket: bool = True,
        conditional: bool = False,
        required: Iterable[Any] = (),
        forbidden: Iterable[Any] = (),
        tiers: Sequence[Any] | None = None,
        max_parents: int | None = None,
        time_limit: float | None = None,
        random_state: Seed = 0,
        smoothing: SmoothingLike = None,
        class_prior: ClassPriorLike = None,
        class_weight: ClassWeight = None,
        numeric: str | int | Mapping[Any, str | int] = "gaussian",
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
        self.method = method
        self.criterion = criterion
        self.markov_blanket = markov_blanket
        self.conditional = conditional
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers
        self.max_parents = max_parents
        self.time_limit = time_limit
        self.random_state = random_state
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

    # -- fitted attributes ---------------------------------------------------------------------

    @property
    def target_(self) -> Name:
        """The name of the class among the nodes."""
        return class_node(self.schema_)

    @property
    def markov_blanket_(self) -> tuple[Name, ...]:
        """The attributes in the Markov blanket of the class, in the order of the columns."""
        near = markov_blanket(self._dag, self.target_)
        return tuple(name for name in self.schema_.position if name in near)

    @property
    def structure_(self) -> dict[Name, tuple[Name, ...]]:
        """The parents of each node, the class among them."""
        return self._dag.as_mapping()

    @property
    def arcs_(self) -> list[ArcInformation]:
        """The arcs, each with I(parent; child | the other parents of the child), in nats."""
        fitted = self._reader("arcs_")
        assert fitted.spec is not None
        statistics, dag = weighted_classes(self.statistics_, fitted.spec), self._dag
        has_numbers = bool(statistics.schema.numeric)
        numbers = Graphical(dag).factors(statistics, fitted.spec).numbers if has_numbers else ()
        return network_arcs(dag, self.target_, statistics, numbers)

    def table(self, name: Name) -> LabelledTable | DependentTable:
        """Return P(x | c, parents) and the counts behind it, as a labelled table: classes × parents × states."""
        above = self.structure_[self.target_]
        if name == self.target_ and above:
            raise UsageError(
                "The class {name!r} has the parents {above!r}, so it has no table of its own alone. See "
                "network_.cpt({name!r}).",
                name=name,
                above=list(above),
            )
        return super().table(name)

    @property
    def _dag(self) -> Dag:
        schema = self.schema_
        if "structure" in self._held:
            return as_graph(self._held["structure"], schema)
        if self.method == "tan":
            return _below_class(super()._dag, schema)
        return _below_class(Dag((), ()), schema)

    # -- choice of the graph -------------------------------------------------------------------

    @property
    def _holds(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"structure"} if self._searches and self.method != "tan" else ())

    @property
    def _searches(self) -> bool:
        """Whether the arcs are learned by a search that needs the rows."""
        return bool(self.conditional) or self.method != "naive"

    def _row_choices(self) -> list[RowChoice]:
        if not self._searches:
            return super()._row_choices()
        setting = "conditional=True" if self.method == "naive" else f"method={self.method!r}"
        way_out = 'Use method="naive", or TAN or KDB, or read the rows.'
        return [RowChoice(setting, way_out), *super()._row_choices()]

    def _choose_more(self, source: Source) -> dict[str, Any]:
        if not self._searches:
            return {}
        if self._is_tan(source):
            return self._wide_tree(source)
        trial = self._trial(source, lambda schema: Sampling() if self._screens(schema) else Naive())
        rows = gathered(trial, source, get_max_memory())
        if self._screens(trial.schema):
            kept = telling_attributes(trial.statistics, self.missing, seed_of(self.random_state))
            rows = columns_among(rows, kept)
        return {"structure": searched_graph(rows, self._search())}

    def _wide_tree(self, source: Source) -> dict[str, Any]:
        """Hold the tree of TAN where the pairs of all attributes do not fit into memory."""
        singles = self._too_wide(source)
        if singles is None:
            return {}
        trial, _, _ = self._trial_of_arcs(source, lambda schema: Tree(), singles)
        assert trial.spec is not None
        learned = Tree().graph(weighted_classes(trial.statistics, trial.spec))
        return {"structure": _below_class(learned, singles.schema).as_mapping()}

    def _screens(self, schema: Schema) -> bool:
        """Whether attributes that tell nothing of the class are left out before the search."""
        free = not (self.required or self.forbidden or self.tiers)
        return self.markov_blanket and free and len(schema.attributes) > MANY_ATTRIBUTES

    def _is_tan(self, source: Source) -> bool:
        """Whether the graph is the tree of TAN, which is computed from the counts without a search over rows."""
        if self.method != "tan" or self.conditional:
            return False
        first = self._first_schema(source)
        return first is None or not first.numeric

    def _search(self) -> GraphSearch:
        smoothing = as_smoothing(self.smoothing, self._base_prior)
        return GraphSearch(
            self.method,
            as_score(self.criterion),
            self.markov_blanket,
            self.conditional,
            self.required,
            self.forbidden,
            self.tiers,
            self.max_parents,
            # The distribution of the class needs imaginary rows, which back-off does not have.
            self._base_prior if backs_off(smoothing.default) else smoothing.default,
            self.missing,
            self.time_limit,
            seed_of(self.random_state),
            get_max_memory(),
        )

    @property
    def _joining(self) -> tuple[Name, ...]:
        return (class_node(self.schema_),)

    def _form(self, schema: Schema) -> ModelForm:
        if "structure" in self._held:
            return Graphical(as_graph(self._held["structure"], schema))
        if self.method == "tan":
            return Tree()
        return Graphical(_below_class(Dag((), ()), schema))

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("markov_blanket", "conditional"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise SettingError(
                    "{name} is {value!r}; it must be True or False.", name=name, value=getattr(self, name)
                )
        self._search().check()

    def _check_numeric(self) -> None:
        ways = self.numeric if isinstance(self.numeric, Mapping) else {None: self.numeric}
        for name, way in ways.items():
            setting = "numeric" if name is None else f"numeric[{name!r}]"
            if not isinstance(way, (int, np.integer)) or isinstance(way, bool):
                one_of(setting, way, ("gaussian", "mdl"))
            elif way < 2:
                raise SettingError(
                    "{setting} is {way!r}; give a number of intervals of at least 2.",
                    setting=setting,
                    way=way,
                )

    def _adopt(self, fitted: FittedState, y: LabelsLike | None) -> None:
        # Skip SemiNaive._adopt: it warns if all attributes are numeric, but here numeric ones may be parents.
        CountClassifier._adopt(self, fitted, y)


def _below_class(dag: Dag, schema: Schema) -> Dag:
    """Return a graph over attributes, with the class added as a parent of every attribute of the schema."""
    target = class_node(schema)
    known = dag.as_mapping()
    parents = {target: (), **{name: (target, *known.get(name, ())) for name in schema.position}}
    return Dag(tuple(parents), tuple(parents.values()))
