"""Any learned Bayesian network as a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from bayeskit.classifiers.bayes_net_arcs import METHODS, known_before, learn_arcs
from bayeskit.classifiers.bayes_net_columns import by_node, with_class
from bayeskit.classifiers.doors import dtype_of_target, plain_dtype
from bayeskit.classifiers.naive_bayes import one_of
from bayeskit.classifiers.state import State
from bayeskit.data.encode import match_columns
from bayeskit.data.source import Source
from bayeskit.data.table import open_table
from bayeskit.errors import DataTypeError, SettingError
from bayeskit.graphs.dag import Dag
from bayeskit.graphs.network import Network, Node
from bayeskit.graphs.relations import markov_blanket
from bayeskit.networks.bayesian_network import BayesianNetwork
from bayeskit.networks.fitting import fit_settings
from bayeskit.schema import Name, Schema
from bayeskit.statistics import Statistics
from bayeskit.structure.scores import as_score

Floats = NDArray[np.float64]


class BayesNetClassifier(State):
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

    Attributes
    ----------
    network_ : BayesianNetwork over the class and the columns
    markov_blanket_ : tuple of columns
    target_ : the name of the class in ``network_``
    held_ : the arcs and cut points that ``fit`` chose
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

    def fit(self, X: Any, y: Any = None, *, target: Name | None = None) -> Self:
        """Learn the arcs, then the tables.

        Parameters
        ----------
        X : array, frame or mapping of columns, in memory
            Text, categories, booleans and whole numbers are discrete, floats are continuous. Arcs are learned from the
            rows without a missing cell, tables from all rows that have the cells they need.
        y : array of shape (n,), optional
            The class of each row; or give ``target``.
        target : column name, optional
            The column of X that holds the class.
        """
        self._check_settings()
        self._refuse_sparse(X)
        source = Source(X, y, None, target)
        if not source.in_memory:
            raise DataTypeError(
                f"A search over networks looks at all rows at once, and a {type(X).__name__} is not rows in memory. "
                "Pass a frame or an array."
            )
        self._say_y_is_needed(source)
        rows = next(iter(source))
        columns, name = with_class(rows.table, rows.y, target, self.states, self.discretize)
        dag = learn_arcs(columns, name, self)
        blanket = markov_blanket(dag, name)
        if self.markov_blanket:
            dag = _restricted(dag, {name, *blanket})
        nodes = tuple(
            Node(columns.variables[columns.names.index(node)], parents)
            for node, parents in zip(dag.nodes, dag.parents)
        )
        network = BayesianNetwork._of(Network(nodes, name=type(self).__name__))
        network._fit_columns(columns, fit_settings(self.prior), None)
        self._adopt_network(network, name, blanket, columns.variables, rows.table)
        dtype = getattr(y if target is None else dtype_of_target(X, target), "dtype", None)
        self._class_dtype = dtype if isinstance(dtype, np.dtype) else plain_dtype(y)
        return self

    def _adopt_network(
        self, network: BayesianNetwork, name: Name, blanket: tuple[Name, ...], variables: Any, table: Any
    ) -> None:
        self.network_, self.target_ = network, name
        by_name = {variable.name: variable for variable in variables}
        self._schema = Schema(tuple(by_name[column] for column in table.names), by_name[name])
        self.markov_blanket_ = tuple(column for column in table.names if column in blanket)
        self._named = table.named
        self.n_features_in_ = len(table.names)
        if table.named and all(isinstance(column, str) for column in table.names):
            self.feature_names_in_ = np.array(table.names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def predict_proba(self, X: Any) -> Floats:
        """Return P(c | x) of each row: shape (n, K). Columns that are no node of ``network_`` are not looked at."""
        schema = self.schema_
        self._refuse_sparse(X)
        names = tuple(schema.position)
        table = match_columns(open_table(X), schema, names if self._named else None, type(self).__name__)
        unseen: Any = self.unseen
        return self.network_.predict_proba(by_node(table, names), self.target_, unseen=unseen)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(c | x) of each row: shape (n, K)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; of equals the first."""
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    @property
    def schema_(self) -> Schema:
        """The columns and the class, with their states."""
        self._require_fitted()
        return self._schema

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )

    @property
    def held_(self) -> dict[str, Any]:
        """What ``fit`` chose: the parents of each node, and the cut points of columns that were cut."""
        cuts = {v.name: v.cuts for v in self.schema_.attributes if v.cuts is not None}
        return {"structure": self.network_._network.dag.as_mapping(), "cut_points": cuts}

    @property
    def statistics_(self) -> Statistics:
        """The raw counts behind the tables of ``network_``; no smoothing is in them."""
        self._require_fitted()
        return self.network_._fitted("statistics_").tables

    def _check_settings(self) -> None:
        one_of("method", self.method, METHODS)
        one_of("unseen", self.unseen, ("ignore", "error"))
        for name in ("markov_blanket", "conditional"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise SettingError(f"{name} is {getattr(self, name)!r}; it is True or False.")
        as_score(self.criterion)
        fit_settings(self.prior)
        if self.method in ("naive", "tan") and known_before(self):
            raise SettingError(
                f"method={self.method!r} has its own arcs and cannot keep {known_before(self)}. Use "
                '"auto" or "hill-climbing".'
            )

    def __sklearn_is_fitted__(self) -> bool:
        return "network_" in self.__dict__


def _restricted(dag: Dag, names: set[Name]) -> Dag:
    """Return the part of a graph over some of its nodes."""
    kept = [node for node in dag.nodes if node in names]
    return Dag(tuple(kept), tuple(tuple(p for p in dag.parents_of(node) if p in names) for node in kept))
