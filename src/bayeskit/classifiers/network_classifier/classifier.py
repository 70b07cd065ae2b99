"""Any learned Bayesian network as a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Self

import numpy as np

from bayeskit.classifiers.doors import dtype_of_target, plain_dtype, refuse_sparse, say_y_is_needed
from bayeskit.classifiers.naive_bayes import one_of
from bayeskit.classifiers.network_classifier.arcs import METHODS, known_before, learn_arcs
from bayeskit.classifiers.network_classifier.columns import network_of, with_class
from bayeskit.classifiers.network_classifier.unlabelled import Completion, complete_network
from bayeskit.classifiers.network_classifier.verbs import BayesNetVerbs
from bayeskit.classifiers.semi_supervision import (
    check_unlabelled,
    completion_of,
    label_source,
    numbering,
    parted,
)
from bayeskit.data.reading import check_states
from bayeskit.data.source import Source
from bayeskit.errors import DataTypeError, SettingError
from bayeskit.graphs.dag import Dag
from bayeskit.graphs.relations import markov_blanket
from bayeskit.networks.bayesian_network import BayesianNetwork
from bayeskit.networks.learned.fitting import fit_settings
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Statistics
from bayeskit.structure.scores import as_score


class BayesNetClassifier(BayesNetVerbs):
    r"""A Bayesian network learned over the columns and the class, asked for the class.

    .. math:: P(c \mid x) \propto P(c \mid \mathrm{pa}_c) \prod_{j \in \mathrm{ch}_c} P(x_j \mid \mathrm{pa}_j)

    Only the Markov blanket of the class has a part in it: its parents, its children and their other parents. A row
    that has all of them is looked up; missing cells are summed out exactly.

    Parameters
    ----------
    method : {"auto", "naive", "tan", "hill-climbing", "tabu", "ges", "order", "exact", "k2", "chow-liu", "pc", "mmhc"}
        "naive": the class is the one parent of every column. "tan": the tree of :class:`~bayeskit.TAN` over the
        discrete columns, and one over the continuous ones. The rest as in :func:`~bayeskit.learn_network`, which looks
        for a network of all columns and so may leave the class with few neighbours; the order of "k2" is the class,
        then the columns as they stand.
    criterion : {"bic", "aic", "loglik", "bdeu", "bds", "k2"}
        The score of networks: what ``learn_network`` calls ``score``, which here is the accuracy.
    markov_blanket : bool
        Keep only the blanket of the class in ``network_``. A row that has the whole blanket gets the same answer;
        for one that has not, columns outside the blanket can then tell nothing about the missing cells.
    conditional : bool
        Go on from the network of ``method`` while an arc near the class raises
        :math:`\sum \log P(c \mid x) - \lambda k` over the training rows, k being the parameters of the class and its
        children and λ what one costs (criterion "bic", "aic" or "loglik"): greedy, the best arc first.
    required, forbidden : (parent, child) pairs
        The class is called ``target_``: "y", or "class" where a column has that name.
    tiers : lists of columns, the earliest first
    max_parents : int, optional
    prior : prior, name or number, default="bdeu"
        Of the tables, see :meth:`bayeskit.BayesianNetwork.fit`.
    states : {column: states}, optional
        Declared states; such a column is discrete whatever it holds.
    discretize : int, or {column: int or cut points}, optional
        Cut continuous columns into intervals. Left as they are they are Gaussian, and never parents of the class.
    unseen : {"ignore", "error"}, default="ignore"
        A value that is no state counts as missing, or is refused.
    time_limit : seconds, optional
        When they have passed the best network so far is taken, with a warning.
    seed : int
        For what a search draws at random.
    semi_supervised : bool
        Take in rows without a class: arcs are learned from the labelled rows, tables from all, by EM over the network,
        in which the class is one more missing cell (and so is any other: available cases are for counting alone).
    unlabelled_weight : float from 0 to 1, or "loo", default=1.0
        λ: what an unlabelled row weighs beside a labelled one; 0 leaves them out. "loo": of 0, 0.01, 0.03, 0.1, 0.3 and
        1 the one with the least log-loss on labelled rows (300 at most), each left out of the counts.
    missing_label : label, optional
        What stands for a missing class, as in :class:`~bayeskit.NaiveBayes`.

    Attributes
    ----------
    network_ : BayesianNetwork over the class and the columns
    markov_blanket_ : tuple of columns
    target_ : the name of the class in ``network_``
    held_ : the arcs and cut points that ``fit`` chose
        ``partial_fit``, ``forget``, ``fade`` and ``merge`` change the tables and leave these as they are.
    history_, converged_, n_iter_, em_fell_, unlabelled_weight_, unlabelled_losses_
        How EM went, with ``semi_supervised=True``; the prior's imaginary rows are in ``history_``.
    classes_, n_features_in_, feature_names_in_, schema_
        As in :class:`~bayeskit.NaiveBayes`.

    Examples
    --------
    >>> from bayeskit import BayesNetClassifier
    >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]] * 5
    >>> model = BayesNetClassifier("tan").fit(X, ["go", "go", "stay", "stay"] * 5)
    >>> model.predict([["rain", None]]).tolist(), model.markov_blanket_
    (['stay'], ('x0', 'x1'))
    """

    _accepts_sparse = False

    def __init__(
        self,
        method: str = "auto",
        *,
        criterion: Any = "bic",
        markov_blanket: bool = True,
        conditional: bool = False,
        required: Iterable[Any] = (),
        forbidden: Iterable[Any] = (),
        tiers: Sequence[Any] | None = None,
        max_parents: int | None = None,
        prior: Any = "bdeu",
        states: Mapping[Name, Any] | None = None,
        discretize: Any = None,
        unseen: str = "ignore",
        time_limit: float | None = None,
        seed: int = 0,
        semi_supervised: bool = False,
        unlabelled_weight: float | str = 1.0,
        missing_label: Any = None,
    ) -> None:
        self.method = method
        self.criterion = criterion
        self.markov_blanket = markov_blanket
        self.conditional = conditional
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers
        self.max_parents = max_parents
        self.prior = prior
        self.states = states
        self.discretize = discretize
        self.unseen = unseen
        self.time_limit = time_limit
        self.seed = seed
        self.semi_supervised = semi_supervised
        self.unlabelled_weight = unlabelled_weight
        self.missing_label = missing_label

    def fit(self, X: Any, y: Any = None, *, target: Name | None = None) -> Self:
        """Learn the arcs, then the tables.

        Parameters
        ----------
        X : array, frame or mapping of columns, in memory
            Text, categories, booleans and whole numbers are discrete, floats are continuous. Arcs are learned from the
            rows without a missing cell, tables from all rows that have the cells they need.
        y : array of shape (n,), optional
            The class of each row; or give ``target``. With ``semi_supervised=True`` some may be missing: None, NaN, or
            −1 among whole numbers.
        target : column name, optional
            The column of X that holds the class.
        """
        self._check_settings()
        refuse_sparse(self, X)
        source = Source(X, y, None, target)
        if not source.in_memory:
            raise DataTypeError(
                f"A search over networks looks at all rows at once, and a {type(X).__name__} is not rows in memory. "
                "Pass a frame or an array."
            )
        say_y_is_needed(self, source)
        labelled, unlabelled = parted(self, source) if self.semi_supervised else (source, None)
        rows = next(iter(labelled))
        with numbering(self, source) if self.semi_supervised else nullcontext():
            columns, name = with_class(rows.table, rows.y, target, self.states, self.discretize)
            dag = learn_arcs(columns, name, self)
            if self.markov_blanket:
                dag = _restricted(dag, {name, *markov_blanket(dag, name)})
            made: Completion | None = None
            if self.unlabelled_weight and next(iter(unlabelled or ()), None) is not None:
                made = complete_network(source, columns, dag, name, self)
            if made is not None and made.network is not None:
                network, columns = made.network, made.columns
            else:
                network = BayesianNetwork._of(network_of(dag, columns))
                network._fit_columns(columns, fit_settings(self.prior), None)
        by_name = {variable.name: variable for variable in columns.variables}
        schema = Schema(tuple(by_name[column] for column in rows.table.names), by_name[name])
        told = {} if unlabelled is None else {"completion": self._told_of(made)}
        labels = y if target is None else dtype_of_target(X, target)
        labels = label_source(labels) if self.semi_supervised else labels
        self._adopt_network(network, schema, rows.table.named, told, labels)
        return self

    def _told_of(self, made: Completion | None) -> dict[str, Any]:
        """Return what is held of how unlabelled rows took part."""
        if made is None:  # none did
            given = self.unlabelled_weight
            return completion_of(0.0 if isinstance(given, str) else given, None)
        return completion_of(made.weight, made.climb, made.losses)

    def _adopt_network(
        self, network: BayesianNetwork, schema: Schema, named: bool, held: dict[str, Any], labels: Any
    ) -> None:
        self.network_, self.target_, self._schema = network, schema.target.name, schema
        columns = tuple(schema.position)
        blanket = markov_blanket(network._network.dag, self.target_)
        self.markov_blanket_ = tuple(column for column in columns if column in blanket)
        self._named, self._held = named, held
        dtype = getattr(labels, "dtype", None)
        self._class_dtype = dtype if isinstance(dtype, np.dtype) else plain_dtype(labels)
        self.n_features_in_ = len(columns)
        if named and all(isinstance(column, str) for column in columns):
            self.feature_names_in_ = np.array(columns, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    @property
    def schema_(self) -> Schema:
        """The columns and the class, with their states."""
        self._require_fitted()
        return self._schema

    @property
    def held_(self) -> dict[str, Any]:
        """What ``fit`` chose: the parents of each node, the cut points of columns that were cut; and how EM went."""
        cuts = {v.name: v.cuts for v in self.schema_.attributes if v.cuts is not None}
        return {"structure": self.network_._network.dag.as_mapping(), "cut_points": cuts, **self._held}

    @property
    def statistics_(self) -> Statistics:
        """The raw counts behind the tables of ``network_``; no smoothing is in them."""
        self._require_fitted()
        return self._counts("statistics_").statistics

    def _check_settings(self) -> None:
        check_unlabelled(self)
        one_of("method", self.method, METHODS)
        one_of("unseen", self.unseen, ("ignore", "error"))
        for name in ("markov_blanket", "conditional"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise SettingError(f"{name} is {getattr(self, name)!r}; it is True or False.")
        check_states({} if self.states is None else self.states)
        as_score(self.criterion)
        fit_settings(self.prior)
        if self.method in ("naive", "tan") and known_before(self):
            raise SettingError(
                f"method={self.method!r} has its own arcs and cannot keep {known_before(self)}. Use "
                '"auto" or "hill-climbing".'
            )


def _restricted(dag: Dag, names: set[Name]) -> Dag:
    """Return the part of a graph over some of its nodes."""
    kept = [node for node in dag.nodes if node in names]
    return Dag(tuple(kept), tuple(tuple(p for p in dag.parents_of(node) if p in names) for node in kept))
