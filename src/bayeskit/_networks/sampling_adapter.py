"""Samples rows from a network. The same seed gives the same rows."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import FactorGraph, Network
from bayeskit._inference.exact import Exact, allowed
from bayeskit._inference.potentials import Contradiction, Evidence, Potentials
from bayeskit._inference.sampling.forward import Forward, posterior_network, uniform_chunks
from bayeskit._inference.sampling.numeric_nodes import NodeByNode, Numeric, Part, discrete_part, parts_of
from bayeskit._networks.arguments import switch, whole_number
from bayeskit._networks.discrete_adapter import CachingNetwork, DerivedCache, QueryAdapter
from bayeskit._networks.evidence import Given
from bayeskit._random_state import generator_of
from bayeskit._schema import Name, Variable
from bayeskit.errors import SettingError
from bayeskit.typing import Floats, Ints, Seed


def sample(
    self: CachingNetwork,
    n_samples: int,
    random_state: Seed = 0,
    evidence: Given = None,
    as_codes: bool = False,
    *,
    soft: Given = None,
    max_memory: float | None = None,
) -> Any:
    """Sample rows from P(nodes | evidence) exactly, with or without evidence.

    Parameters
    ----------
    n_samples : int
    random_state : int, numpy Generator or None
        With the same number, a short sample is the beginning of a longer one.
    evidence, soft : as in `query`; also observed values of continuous nodes
    as_codes : bool
        Return an array of shape (n, nodes) with the codes of the states instead of the states. For a network
        with continuous nodes the array holds floats.
    max_memory : the limit in bytes for the tables that evidence (or a Markov network) requires

    Returns
    -------
    pandas.DataFrame with a column for each node, or a dict of arrays if pandas is not installed

    Notes
    -----
    Without evidence each node is drawn after its parents. With evidence, the nodes that it can affect are
    eliminated once, which costs as much as one exact query. Then every row is drawn in the reverse order, as
    fast as without evidence. If this needs too much memory, `TooLarge` is raised.

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> wet_grass().sample(3, random_state=1, as_codes=True).shape
    (3, 4)
    """
    rows, in_codes = whole_number(n_samples, "n_samples", 0), switch(as_codes, "as_codes")
    limit, rng = allowed(max_memory), generator_of(random_state)
    adapter = sampling_adapter_of(self._cache)
    codes, values = adapter.sample(rows, rng, evidence, soft, limit)
    if in_codes:
        if not len(adapter.continuous):
            return codes
        both = np.zeros((rows, len(adapter.variables)))
        both[:, adapter.discrete], both[:, adapter.continuous] = codes, values
        return both
    columns: dict[Name, NDArray[Any]] = {}
    states, numbers = iter(codes.T), iter(values.T)
    for variable in adapter.variables:
        if variable.kind == "categorical":
            columns[variable.name] = _states_of(variable)[next(states)]
        else:
            columns[variable.name] = next(numbers).copy()
    return _frame_of(columns)


def sampling_adapter_of(cache: DerivedCache) -> SamplingAdapter:
    return cache.get("sampling", lambda: SamplingAdapter(cache.network))


def _states_of(variable: Variable) -> NDArray[Any]:
    """Return the states as an array to be indexed by codes; text and mixed types stay Python objects."""
    kinds = {type(state) for state in variable.states}
    if kinds in ({int}, {float}, {bool}) and not _too_large(variable):
        return np.array(variable.states)
    array = np.empty(variable.size, dtype=object)
    for code, state in enumerate(variable.states):  # one by one, because a state may be a tuple
        array[code] = state
    return array


def _too_large(variable: Variable) -> bool:
    return any(isinstance(state, int) and abs(state) >= 2**63 for state in variable.states)


def _frame_of(columns: dict[Name, NDArray[Any]]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return columns
    frame = pd.DataFrame(dict(enumerate(columns.values())))
    frame.columns = pd.Index(list(columns), tupleize_cols=False)
    return frame


class SamplingAdapter(QueryAdapter):
    """Samples and estimates of a Bayesian network, with or without continuous nodes, or of a Markov network."""

    node_by_node: NodeByNode | None = None

    def __init__(self, network: Network | FactorGraph) -> None:
        self.directed = isinstance(network, Network)
        if isinstance(network, Network):
            network.require_distributions()
            super().__init__([node.variable for node in network.nodes])
            # Nodes that depend on numbers have no table: a uniform one stands in, and they are drawn node by node.
            self.potentials = Potentials.of(discrete_part(network.with_stand_ins()))
            self.numeric = None if network.is_discrete else Numeric(network)
            if self.numeric is not None and network.softmax_nodes:
                self.node_by_node = NodeByNode(self.numeric)
        else:
            super().__init__(network.variables)
            self.potentials = Potentials.of(network)
            self.numeric = None
        self.has_rules = bool(self.potentials.rules)
        kinds = [v.kind == "categorical" for v in self.variables]
        self.discrete = np.flatnonzero(kinds)
        self.continuous = np.flatnonzero(np.logical_not(kinds))
        self._place = {int(v): k for k, v in enumerate(self.discrete)}

    @cached_property
    def exact(self) -> Exact:
        """The engine of the nodes with states, to check samples with."""
        return Exact(self.potentials)

    @cached_property
    def forward(self) -> Forward:
        return Forward.of(self.potentials)

    def read(self, evidence: Given, soft: Given, limit: float) -> tuple[Evidence, Floats]:
        """Return the evidence on discrete nodes, and the observed values of continuous nodes (NaN: free)."""
        observed, values, log_scale = self.reader.read_mixed(evidence, soft)
        if log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        return self._of_discrete(observed), values[self.continuous]

    def _of_discrete(self, observed: Evidence) -> Evidence:
        """Return the evidence with discrete nodes numbered among themselves."""
        likelihoods = {self._place[v]: likelihood for v, likelihood in observed.likelihoods.items()}
        return Evidence(observed.codes[self.discrete], likelihoods)

    def log_evidence(self, evidence: Given, soft: Given, limit: float) -> float:
        """Return −inf if the observed states are impossible, else 0: an explanation needs no more."""
        observed, values, log_scale = self.reader.read_mixed(evidence, soft)
        if log_scale == -math.inf:
            return log_scale
        try:
            self._samplers(self._of_discrete(observed), values[self.continuous], limit)
        except Contradiction:
            return -math.inf
        return 0.0

    def _samplers(self, observed: Evidence, known: Floats, limit: float) -> tuple[Forward, list[Part]]:
        """Return how to sample the discrete nodes and how to correct the continuous ones, given the evidence."""
        parts: list[Part] = []
        if self.numeric is not None:
            sizes = [int(size) for size in self.potentials.sizes]
            parts = parts_of(self.numeric, known, sizes, limit)
        if any(not part.cells and part.log_density == -math.inf for part in parts):
            raise Contradiction
        observed_parts = [part for part in parts if part.cells]
        if self.directed and observed.is_empty and not observed_parts:
            return self.forward, parts
        try:
            beside = [(part.cells, part.outweighed) for part in observed_parts]
            return Forward.of(posterior_network(self.potentials, observed, limit, beside)), parts
        except Contradiction:
            if not any(part.hits.any() for part in observed_parts):
                raise
        # A state that one value makes certain may be excluded by other evidence: then densities count after all.
        beside = [(part.cells, part.log_density) for part in observed_parts]
        return Forward.of(posterior_network(self.potentials, observed, limit, beside)), parts

    def sample(
        self, n: int, rng: np.random.Generator, evidence: Given, soft: Given, limit: float
    ) -> tuple[Ints, Floats]:
        """Return codes (rows × discrete nodes) and values (rows × continuous nodes) given the evidence."""
        observed, known = self.read(evidence, soft, limit)
        if self.node_by_node is not None:
            return self._by_node(n, rng, observed, known)
        try:
            forward, parts = self._samplers(observed, known, limit)
        except Contradiction:
            raise self.impossible(evidence, soft, limit) from None
        # Hidden variables of wide rules are drawn with the others, and then left out.
        width, more = len(forward.order), len(self.continuous)
        try:
            codes, values = np.zeros((n, width), np.int64), np.zeros((n, more))
        except (MemoryError, ValueError):  # NumPy's errors for too much memory and for too large sizes
            raise SettingError(
                "{n} rows of {width} nodes need {value} bytes, more than there is. Draw fewer at a time; a "
                "generator passed as random_state= continues where it stopped.",
                n=n,
                width=width + more,
                value=8 * n * (width + more),
            ) from None
        inside = {k for part in parts for k in part.nodes}
        for start, uniforms in uniform_chunks(rng, n, width + more):
            rows = slice(start, start + len(uniforms))
            forward.fill(uniforms, codes[rows])
            if self.numeric is None:
                continue
            # First the nodes that the evidence affects, corrected to agree with it; then the rest.
            for k in (k for k in self.numeric.order if k in inside):
                self.numeric.draw(k, codes[rows], uniforms[:, width:], values[rows])
            for part in parts:
                part.mend(codes[rows], values[rows])
            for k in (k for k in self.numeric.order if k not in inside):
                self.numeric.draw(k, codes[rows], uniforms[:, width:], values[rows])
        return codes[:, : len(self.discrete)], values

    def _by_node(
        self, n: int, rng: np.random.Generator, observed: Evidence, known: Floats
    ) -> tuple[Ints, Floats]:
        """Return rows of a network with softmax nodes, without evidence: given any, rows cannot be drawn exactly."""
        assert self.node_by_node is not None
        if not observed.is_empty or not np.isnan(known).all():
            self.node_by_node.network.refuse_softmax("a sample given evidence")
        codes, values = np.zeros((n, len(self.discrete)), np.int64), np.zeros((n, len(self.continuous)))
        everything = np.ones(len(self.node_by_node.order), bool)
        for rows, drawn, numbers, _ in self.node_by_node.chunks(n, rng, observed, known, everything):
            codes[rows], values[rows] = drawn, numbers
        return codes, values

    def factor(self, places: tuple[int, ...], values: Floats) -> Factor:
        variables = [self.variables[place] for place in places]
        return Factor((v.name for v in variables), (v.states for v in variables), values)

    def is_numeric(self, places: tuple[int, ...]) -> bool:
        """Return whether these are continuous nodes."""
        return self.variables[places[0]].kind != "categorical"

    def numeric_places(self, places: tuple[int, ...]) -> list[int]:
        """Return the numbers of these nodes among the continuous nodes."""
        return [int(np.searchsorted(self.continuous, p)) for p in places]

    def discrete_places(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """Return the numbers of these nodes among the discrete nodes."""
        return tuple(self._place[p] for p in places)
