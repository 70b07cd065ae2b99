"""DynamicNetwork: a Bayesian network over time, given by two slices."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._data.sequences import Sequences, SequencesLike, open_sequences
from bayeskit._fitting.em import StoppingRule, run_em_from_starts
from bayeskit._fitting.mixtures.hidden_states import impossible_row
from bayeskit._fitting.networks.dynamic_em import DynamicCounts
from bayeskit._graphs.dag import unknown_node
from bayeskit._inference.chain import Impossible
from bayeskit._inference.exact import allowed
from bayeskit._inference.two_slices import SliceRows, TwoSlices
from bayeskit._messages import Joined
from bayeskit._networks.arguments import Rows, columns_of, number_below, whole_number
from bayeskit._networks.bayesian_network import BayesianNetwork
from bayeskit._networks.discrete_adapter import MostProbable
from bayeskit._networks.network_io import read_network
from bayeskit._networks.slice_families import SliceFamilies, read_families
from bayeskit._random_state import generator_of
from bayeskit._schema import Label, Name
from bayeskit._visible import visible
from bayeskit.errors import (
    ColumnError,
    DataError,
    DataTypeError,
    NotConverged,
    SettingError,
    UnseenState,
    UsageError,
)
from bayeskit.typing import Floats, NamesLike, PathLike, Seed

# An unrolled network of more nodes is a mistake: it takes minutes to make, and no question to it ends.
MOST_UNROLLED = 1_000_000


class DynamicNetwork:
    r"""A Bayesian network over time: the same variables in every time step, each with parents there or one step before.

    .. math:: P(x_{0:T}) = \prod_v P(x_0^v \mid \pi_0^v) \prod_{t > 0} \prod_v P(x_t^v \mid \pi_t^v)

    Parameters
    ----------
    network : BayesianNetwork
        Two slices. A node ``"rain"`` is rain at any time, and ``"rain[t-1]"`` is rain one step before. The tables of
        the nodes ``"…[t-1]"`` are those of the first slice, whose arcs lead from one such node to another. A node
        without its own ``"…[t-1]"`` has the same table in all slices; then all its parents are in its own slice.
    prior : BayesianNetwork, optional
        The first slice as a network of its own, with the names of the nodes as they are. The tables of ``"…[t-1]"`` are
        then not used.

    Notes
    -----
    Rows are time steps, and columns are nodes. A node without a column is hidden, and missing cells are summed out.
    Sequences are given as in :class:`~bayeskit.HiddenMarkov`: one table, a list of tables, rows with ``lengths=``, or a
    frame with a column ``sequence=``. Answers take time that is linear in the number of steps and memory that grows
    with the square of the joint states of the *interface*: the nodes with children in the next slice.

    Examples
    --------
    The umbrella world (Russell and Norvig, *Artificial Intelligence*, section 14.2): a guard sees only whether the
    director carries an umbrella.

    >>> two = BayesianNetwork(
    ...     {"rain[t-1]": [], "rain": ["rain[t-1]"], "umbrella": ["rain"]}, states=["no", "yes"]
    ... )
    >>> two.set_cpt("rain[t-1]", [0.5, 0.5])
    >>> two.set_cpt("rain", [[0.7, 0.3], [0.3, 0.7]])
    >>> two.set_cpt("umbrella", [[0.8, 0.2], [0.1, 0.9]])
    >>> world = DynamicNetwork(two)
    >>> seen = {"umbrella": ["yes", "yes"]}
    >>> [round(float(step["rain"][1]), 3) for step in world.filter(seen)]
    [0.818, 0.883]
    >>> world.smooth(seen)["rain"][:, 1].round(3).tolist()
    [0.883, 0.883]
    """

    def __init__(self, network: BayesianNetwork, prior: BayesianNetwork | None = None) -> None:
        for given, what in ((network, "network"), (prior, "prior")):
            if not (isinstance(given, BayesianNetwork) or (what == "prior" and given is None)):
                raise SettingError("{what} is {given!r}; give a BayesianNetwork.", what=what, given=given)
        self._become(read_families(network._network, None if prior is None else prior._network))

    def _become(self, families: SliceFamilies) -> None:
        self._families = families
        self._history: tuple[float, ...] = ()

    @classmethod
    def read(cls, path: PathLike, format: str | None = None) -> Self:
        """Read two slices from a file of any format for networks, see :func:`~bayeskit.read_network`."""
        network = read_network(path, format)
        if not isinstance(network, BayesianNetwork):
            raise SettingError(
                "{path!r} holds a Markov network, which has no direction of time.", path=str(path)
            )
        return cls(network)

    # -- the network ---------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[Name, ...]:
        """The nodes of a slice."""
        return self._families.names

    @property
    def interface(self) -> tuple[Name, ...]:
        """The nodes with children in the next slice: given them, the past and the future are independent."""
        n = len(self.nodes)
        found = {v for scope in self._families.later for v in scope if v < n}
        return tuple(self.nodes[v] for v in sorted(found))

    def states(self, name: Name) -> tuple[Label, ...]:
        """Return the states of a node in their order."""
        return self._families.variables[self._place(name)].states

    @property
    def history_(self) -> tuple[float, ...]:
        """The objective of EM at the start and after every step; empty without a fit."""
        return self._history

    def to_network(self) -> BayesianNetwork:
        """Return the two slices as one network, which can be written to a file and read again."""
        return BayesianNetwork._of(self._families.two_slices())

    def unroll(self, n_steps: int) -> BayesianNetwork:
        """Return the network of the first steps. Its nodes are named ``"rain[0]"``, ``"rain[1]"``, …

        Examples
        --------
        >>> two = BayesianNetwork({"x[t-1]": [], "x": ["x[t-1]"]}, states=["a", "b"])
        >>> two.set_cpt("x[t-1]", [0.5, 0.5])
        >>> two.set_cpt("x", [[0.9, 0.1], [0.2, 0.8]])
        >>> DynamicNetwork(two).unroll(3)
        BayesianNetwork: P(x[0]) P(x[1] | x[0]) P(x[2] | x[1])
        """
        number = whole_number(n_steps, "n_steps", 1)
        if number * len(self.nodes) > MOST_UNROLLED:
            raise SettingError(
                "{n_steps:,} steps of {n} nodes would be {total:,} nodes, and {most:,} are unrolled. Unroll fewer, or "
                "pass the rows to filter, smooth or mpe, which need no such network.",
                n_steps=number,
                n=len(self.nodes),
                total=number * len(self.nodes),
                most=MOST_UNROLLED,
            )
        return BayesianNetwork._of(self._families.unrolled(number))

    def __repr__(self) -> str:
        interface = visible(", ".join(map(str, self.interface)))
        return f"DynamicNetwork: {len(self.nodes)} nodes per slice, interface {interface}"

    # -- questions -----------------------------------------------------------------------------

    def filter(
        self,
        X: SequencesLike | Iterator[Mapping[Any, Any]],
        targets: NamesLike | None = None,
        *,
        max_memory: float | None = None,
    ) -> Iterator[dict[Name, Floats]]:
        """Yield P(node | observations so far) after each step of one sequence.

        The memory does not grow with the sequence. From an iterator, steps are taken one by one, and each is answered
        before the next is taken: mappings of node → state.

        Parameters
        ----------
        X : one sequence
        targets : a node or a list of nodes; by default all

        Yields
        ------
        dict of node → array in the order of ``states(node)``
        """
        places = self._targets(targets)
        slices = self._slices(max_memory)
        if isinstance(X, Iterator):
            return self._filter_live(slices, X, places)
        given, rows = self._one(X)
        return self._filter(slices, given, rows, places)

    def _filter(
        self, slices: TwoSlices, given: Sequences, rows: SliceRows, places: list[int]
    ) -> Iterator[dict[Name, Floats]]:
        try:
            for block in slices.chain(rows).forward():
                future = np.ones_like(block.alpha)
                found = slices.node_margins(rows, block.begin, block.before, future, places)
                for i in range(len(future)):
                    yield {self.nodes[v]: found[v][i] for v in places}
        except Impossible as impossible:
            raise impossible_row(impossible.row, given.fresh) from None

    def _filter_live(
        self, slices: TwoSlices, steps: Iterator[Mapping[Any, Any]], places: list[int]
    ) -> Iterator[dict[Name, Floats]]:
        carry = None
        for number, step in enumerate(steps):
            if not isinstance(step, Mapping):
                raise DataTypeError(
                    "Step {step} is {value!r}; give a mapping of node → state.", step=number, value=step
                )
            for name in step:
                self._place(name)
            one = {name: [step.get(name)] for name in self.nodes}
            codes = self._codes(one, number)
            rows = SliceRows.of(codes, self._families.sizes, np.array([carry is None], np.uint8))
            try:
                (block,) = slices.chain(rows).forward(carry)
            except Impossible:
                raise impossible_row(number, np.eye(1, number + 1, dtype=np.uint8)[0]) from None
            carry = block.after
            found = slices.node_margins(rows, 0, block.before, np.ones_like(block.alpha), places)
            yield {self.nodes[v]: found[v][0] for v in places}

    def smooth(
        self,
        X: SequencesLike,
        lengths: ArrayLike | None = None,
        *,
        targets: NamesLike | None = None,
        sequence: Name | None = None,
        max_memory: float | None = None,
    ) -> dict[Name, Any]:
        """Return P(node | whole sequence) of each step.

        Returns
        -------
        dict of node → array of shape (steps, states); a list of arrays for a list of sequences
        """
        places = self._targets(targets)
        slices = self._slices(max_memory)
        given, rows = self._rows(X, lengths, sequence)
        out = {v: np.empty((len(rows.which), self._families.sizes[v])) for v in places}
        try:
            for part in slices.chain(rows).backward():
                block = part.block
                found = slices.node_margins(rows, block.begin, block.before, part.beta, places)
                for v in places:
                    out[v][block.begin : block.end] = found[v]
        except Impossible as impossible:
            raise impossible_row(impossible.row, given.fresh) from None
        return {self.nodes[v]: given.answers(out[v]) for v in places}

    def predict(
        self,
        X: SequencesLike | None = None,
        steps: int = 1,
        *,
        targets: NamesLike | None = None,
        max_memory: float | None = None,
    ) -> dict[Name, Floats]:
        """Return P(node) at the steps after one sequence; without a sequence, at the first steps.

        Returns
        -------
        dict of node → array of shape (steps, states)
        """
        n, places = whole_number(steps, "steps", 1), self._targets(targets)
        slices = self._slices(max_memory)
        codes = np.zeros((0, len(self.nodes)), np.int64)
        if X is not None:
            given, rows = self._one(X)
            codes = rows.patterns[rows.which]
        unknown = np.full((n, len(self.nodes)), -1)
        fresh = np.zeros(len(codes) + n, np.uint8)
        fresh[0] = 1
        longer = SliceRows.of(np.vstack([codes, unknown]), self._families.sizes, fresh)
        here = Sequences(given.table if X is not None else None, fresh)  # type: ignore[arg-type]
        every = [step for t, step in enumerate(self._filter(slices, here, longer, places)) if t >= len(codes)]
        return {self.nodes[v]: np.array([step[self.nodes[v]] for step in every]) for v in places}

    def mpe(
        self,
        X: SequencesLike,
        lengths: ArrayLike | None = None,
        *,
        sequence: Name | None = None,
        max_memory: float | None = None,
    ) -> MostProbable:
        """Return the most probable states of all nodes in all steps together (Viterbi).

        Returns
        -------
        dict of node → states of all steps, with ``.log_probability`` = log P(states)
        """
        slices = self._slices(max_memory)
        given, rows = self._rows(X, lengths, sequence)
        try:
            found, value = slices.best_slices(rows)
        except Impossible as impossible:
            raise impossible_row(impossible.row, given.fresh) from None
        states = {
            name: given.answers(np.array(self._families.variables[v].states)[found[:, v]])
            for v, name in enumerate(self.nodes)
        }
        return MostProbable(states, value)

    def log_probability(
        self,
        X: SequencesLike,
        lengths: ArrayLike | None = None,
        *,
        sequence: Name | None = None,
        max_memory: float | None = None,
    ) -> float:
        """Return log P(observations), the sum over all sequences; −inf if one is impossible."""
        slices = self._slices(max_memory)
        return slices.chain(self._rows(X, lengths, sequence)[1]).log_probability()

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> dict[Name, NDArray[Any]]:
        """Draw one sequence of so many steps. Return its columns."""
        n, rng = whole_number(n_samples, "n_samples", 1), generator_of(random_state)
        families = self._families
        families.require()
        codes = np.zeros((n, len(self.nodes)), np.int64)
        orders = [families.order(families.first, 0), families.order(families.later, len(self.nodes))]
        draws = rng.random(codes.shape)
        for t in range(n):
            scopes, tables = (
                (families.later, families.tables[1]) if t else (families.first, families.tables[0])
            )
            for v in orders[min(t, 1)]:
                at = tuple(
                    codes[t - 1, u] if u < len(self.nodes) else codes[t, u - len(self.nodes)]
                    for u in scopes[v][:-1]
                )
                table = tables[v]
                assert table is not None
                row = np.cumsum(table[at])
                codes[t, v] = min(int((draws[t, v] >= row).sum()), len(row) - 1)
        return {name: np.array(self.states(name))[codes[:, v]] for v, name in enumerate(self.nodes)}

    # -- learning ------------------------------------------------------------------------------

    def fit(
        self,
        X: SequencesLike,
        lengths: ArrayLike | None = None,
        *,
        sequence: Name | None = None,
        smoothing: float = 0.0,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_init: int = 1,
        random_state: Seed = 0,
        time_limit: float | None = None,
        max_memory: float | None = None,
    ) -> Self:
        """Learn the tables of all nodes from sequences by EM. From complete rows this is counting.

        Parameters
        ----------
        X, lengths, sequence : sequences
        smoothing : the imaginary count of each cell of every table; above 0 EM maximises the posterior
        tol : EM stops when a step of it gains less than this per time step
        max_iter : int
        n_init : the number of starts. The first are the tables of this network, if it has any; others are random
        random_state : int, numpy Generator, RandomState or None
        time_limit : seconds, optional

        Returns
        -------
        self, with tables for all nodes
        """
        families = self._families
        given, rows = self._rows(X, lengths, sequence)
        problem = families.problem(rows, allowed(max_memory), number_below(smoothing, "smoothing"))
        rng = generator_of(random_state)
        starts = [lambda: problem.random_tables(rng)] * whole_number(n_init, "n_init", 1)
        known = families.known_tables()
        if known is not None:
            starts[0] = lambda: known
        total = float(len(given.fresh))
        limit = None if time_limit is None else number_below(time_limit, "time_limit")
        how = StoppingRule(number_below(tol, "tol") * total, whole_number(max_iter, "max_iter", 1), limit)
        result, _ = run_em_from_starts(problem, starts, how)
        if not result.converged and not (how.tol == 0.0 and result.stopped is None):
            warnings.warn(
                NotConverged(
                    "EM ended after {n} steps, before it had converged. The best tables found are kept; raise max_iter "
                    "or tol, or call fit again to go on.",
                    n=result.n_iter,
                ),
                stacklevel=2,
            )
        self._become(families.with_tables(result.parameters))
        self._history = result.history
        return self

    def expected_counts(
        self,
        X: SequencesLike,
        lengths: ArrayLike | None = None,
        *,
        sequence: Name | None = None,
        max_memory: float | None = None,
    ) -> DynamicCounts:
        """Return the expected counts of sequences under this network. Those of parts can be merged exactly."""
        rows = self._rows(X, lengths, sequence)[1]
        families = self._families
        families.require()
        known = families.known_tables()
        assert known is not None
        return families.problem(rows, allowed(max_memory), 0.0).counts(known)

    def forget(self, X: SequencesLike, lengths: ArrayLike | None = None) -> NoReturn:
        """Not supported: how a step was split between the states of hidden nodes depends on all others."""
        raise UsageError(
            "A dynamic network cannot forget sequences: each step was split between the states of hidden nodes under "
            "tables that have changed since, so what it added is not known. Fit again without them."
        )

    # -- rows and names ------------------------------------------------------------------------

    def _slices(self, max_memory: float | None) -> TwoSlices:
        return self._families.slices(allowed(max_memory))

    def _rows(
        self, X: SequencesLike, lengths: ArrayLike | None, sequence: Name | None
    ) -> tuple[Sequences, SliceRows]:
        given = open_sequences(X, lengths, sequence, type(self).__name__)
        if given.table.named and not columns_of(self.nodes, given.table.names):
            raise ColumnError(
                "No column is named after a node. The nodes are {names}.",
                names=Joined(map(repr, self.nodes[:12])),
            )
        codes = self._codes(given.table)
        return given, SliceRows.of(codes, self._families.sizes, given.fresh)

    def _codes(self, table: Any, first: int = 0) -> NDArray[Any]:
        """Return the codes of all nodes; ``first`` is the number of the first row."""
        try:
            return Rows(table, self._families.variables, "error").matrix(range(len(self.nodes)))
        except UnseenState as error:
            error.move_rows(first)
            raise UnseenState(
                "{place}: {name!r} has no state {label!r} (it has {states}). Leave the cell empty (None), which means "
                "missing, or declare the state in the network.",
                **error.values,
            ) from None

    def _one(self, X: Any) -> tuple[Sequences, SliceRows]:
        given, rows = self._rows(X, None, None)
        if len(given.lengths) != 1:
            raise DataError(
                "filter follows one sequence, and {n} were given. Call it for each.", n=len(given.lengths)
            )
        return given, rows

    def _place(self, name: Name) -> int:
        try:
            return self.nodes.index(name)
        except ValueError:
            raise unknown_node(name, self.nodes) from None

    def _targets(self, targets: NamesLike | None) -> list[int]:
        if targets is None:
            return list(range(len(self.nodes)))
        if isinstance(targets, (str, bytes)) or not isinstance(targets, Iterable):
            return [self._place(targets)]
        return [self._place(name) for name in targets]
