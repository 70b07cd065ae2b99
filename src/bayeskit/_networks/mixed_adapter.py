"""Answers queries of networks with continuous nodes, by strong elimination."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.dag import ancestors
from bayeskit._graphs.distributions import LinearGaussian, Softmax, uniform
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import Network, Node
from bayeskit._inference.gaussian.hybrid import Hybrid
from bayeskit._inference.gaussian.mixed_layout import HybridEvidence
from bayeskit._inference.lookup import log_prob
from bayeskit._networks.arguments import Rows
from bayeskit._networks.discrete_adapter import MostProbable, QueryAdapter
from bayeskit._networks.evidence import Given
from bayeskit._schema import Name
from bayeskit.errors import SettingError
from bayeskit.typing import Floats, Ints, NamesLike


class BlanketPosterior:
    r"""P(target | blanket), from the distributions of the target and its children only.

    .. math:: P(t \mid x) \propto P(t \mid \mathrm{pa}_t) \prod_{c \in \mathrm{ch}_t} p(x_c \mid \mathrm{pa}_c)

    Parameters
    ----------
    network : with all its distributions
    target : the position of a discrete node

    Attributes
    ----------
    blanket : positions of the parents, the children and the children's other parents, in order
    is_smooth : whether no child has variance zero. If one has, densities and probabilities occur together and
    cannot simply be multiplied.

    Examples
    --------
    >>> from bayeskit.networks import Table
    >>> from bayeskit._graphs.network import continuous, discrete
    >>> sex = Node(discrete("sex", ("f", "m")), (), Table([0.5, 0.5]))
    >>> height = Node(continuous("h"), ("sex",), LinearGaussian([165.0, 178.0], np.zeros((2, 0)), [36.0, 49.0]))
    >>> near = BlanketPosterior(Network((sex, height)), 0)
    >>> near.posteriors(np.array([[-1, -1]]), np.array([[np.nan, 180.0]])).round(3)
    array([[0.051, 0.949]])
    """

    def __init__(self, network: Network, target: int) -> None:
        dag = network.dag
        name = dag.nodes[target]
        deciding = [name, *dag.children[name]]
        near = {name, *(p for child in deciding for p in dag.parents_of(child)), *deciding}
        places = sorted(dag.position[n] for n in near)
        self.blanket = tuple(place for place in places if place != target)
        self._places, self._column = places, places.index(target)
        self._size = network.nodes[target].variable.size
        # The other nodes of the blanket do not depend on the target, so any distribution works for them.
        self._network = Network(
            tuple(
                network.nodes[place] if dag.nodes[place] in deciding else _alone(network.nodes[place])
                for place in places
            )
        )
        given = [network[name].distribution for name in deciding]
        self.is_smooth = all(distribution is not None and distribution.is_smooth for distribution in given)

    def posteriors(self, codes: Ints, values: Floats) -> Floats:
        """Return P(target | row) for rows of all nodes, in which those of the blanket are complete.

        A row of zeros means that no state of the target is possible.
        """
        codes, values = codes[:, self._places], values[:, self._places]
        logs = np.empty((len(codes), self._size))
        for state in range(self._size):
            codes[:, self._column] = state
            logs[:, state] = log_prob(self._network, codes, values)
        largest = logs.max(axis=1, keepdims=True)
        out: Floats = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
        total = out.sum(axis=1, keepdims=True)
        return np.asarray(out / np.where(total > 0, total, 1.0))


def _alone(node: Node) -> Node:
    """Return a node with the same variable and no parents."""
    if node.is_discrete:
        return Node(node.variable, (), uniform([node.variable.size]))
    nothing = np.zeros(0)
    return Node(node.variable, (), LinearGaussian(np.zeros(()), nothing, np.ones(())))


class MixedAdapter(QueryAdapter):
    """Queries of a Bayesian network with continuous nodes."""

    def __init__(self, network: Network) -> None:
        super().__init__([node.variable for node in network.nodes])
        self._network = network
        self._sizes = np.array([variable.size for variable in self.variables], np.int64)
        # Uniform tables stand in for nodes that depend on numbers; what these say follows from the evidence.
        self._hybrid = Hybrid(network.with_stand_ins())
        self.has_rules = self._hybrid.has_rules
        # The numbers of continuous nodes that are set, as by an intervention; NaN for all others.
        given = [node.distribution for node in network.nodes]
        self._set_numbers = np.array([math.nan if each is None else each.constant for each in given])

    def _with_softmax(self, observed: HybridEvidence, targets: Iterable[int]) -> HybridEvidence:
        """Return the evidence with the tables of softmax nodes.

        A softmax node is a table where its continuous parents are observed or set, and does not matter where neither
        it nor a descendant is observed or asked for. Otherwise there is no exact answer.
        """
        network = self._network
        if not network.softmax_nodes:
            return observed
        known = np.where(np.isnan(observed.values), self._set_numbers, observed.values)
        tables: list[tuple[tuple[int, ...], Floats]] = []
        unknown = []
        for name, given, discrete, numeric in self._softmax:
            values = known[numeric]
            if np.isnan(values).any():
                unknown.append(name)
            else:
                # Times the number of states, since one in so many is what the uniform table says.
                tables.append((discrete, given.logs_at(values) + math.log(given.size)))
        if unknown:
            seen = {
                p for p in range(len(self.variables)) if observed.codes[p] >= 0 or p in observed.likelihoods
            }
            seen |= set(np.flatnonzero(~np.isnan(observed.values)).tolist()) | set(targets)
            names = [network.nodes[p].name for p in sorted(seen)]
            matters = {*names, *ancestors(network.dag, *names)}
            for name in unknown:
                if name in matters:
                    network.refuse_softmax("an exact answer", name)
        return replace(observed, tables=tables)

    @cached_property
    def _softmax(self) -> list[tuple[Name, Softmax, tuple[int, ...], list[int]]]:
        """The softmax nodes: their names, numbers, discrete parents with the node itself, and numeric parents."""
        network, found = self._network, []
        for name in network.softmax_nodes:
            node = network[name]
            given = node.distribution
            assert isinstance(given, Softmax)
            place = network.dag.position
            discrete = tuple(place[p] for p in (*node.parents, name) if network[p].is_discrete)
            found.append((name, given, discrete, [place[p] for p in network.numeric_parents(node)]))
        return found

    def log_total(self, limit: float) -> float:
        """Return the log of the total without evidence."""
        return 0.0

    def log_evidence(self, evidence: Given, soft: Given, limit: float) -> float:
        observed, log_scale = self._read(evidence, soft)
        return (
            log_scale
            if log_scale == -math.inf
            else self._hybrid.log_probability(self._with_softmax(observed, ()), limit) + log_scale
        )

    def posteriors(self, evidence: Given, soft: Given, limit: float) -> dict[Name, Any]:
        observed, log_scale = self._read(evidence, soft)
        observed = self._with_softmax(observed, range(len(self.variables)))
        answers = self._hybrid.posteriors(observed, limit)
        if answers.log_density + log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        both: dict[int, Any] = {**answers.discrete, **answers.continuous}
        return {variable.name: both[place] for place, variable in enumerate(self.variables)}

    def query(self, targets: NamesLike, evidence: Given, soft: Given, limit: float) -> Any:
        """Return a Factor of discrete targets, a GaussianMixturePosterior of continuous ones."""
        places = self.targets(targets)
        observed, log_scale = self._read(evidence, soft)
        observed = self._with_softmax(observed, places)
        variables = [self.variables[place] for place in places]
        if any(v.kind != "categorical" for v in variables):
            mixture, log_density = self._hybrid.joint(places, observed, limit)
            if log_density + log_scale == -math.inf:
                raise self.impossible(evidence, soft, limit)
            return mixture
        values = self._hybrid.posterior(places, observed, limit)
        if values is None or log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        return Factor((v.name for v in variables), (v.states for v in variables), values)

    def mpe(self, evidence: Given, soft: Given, limit: float) -> MostProbable:
        observed, log_scale = self._read(evidence, soft)
        best = self._hybrid.mpe(self._with_softmax(observed, range(len(self.variables))), limit)
        log_p = best.log_density + log_scale
        if log_p == -math.inf:
            raise self.impossible(evidence, soft, limit)
        return MostProbable(self._named(range(len(self.variables)), best.codes, best.values), log_p)

    def map(self, targets: NamesLike, evidence: Given, soft: Given, limit: float) -> MostProbable:
        places = self.targets(targets)
        numeric = next((p for p in places if self.variables[p].kind != "categorical"), None)
        if numeric is not None:
            raise SettingError(
                "{name!r} is continuous and has no most probable state. Use query for its distribution, or mpe "
                "for the most probable states and values of all nodes.",
                name=self.variables[numeric].name,
            )
        observed, log_scale = self._read(evidence, soft)
        observed = self._with_softmax(observed, places)
        order = tuple(sorted(places))  # ties go by the order of the nodes, not of the targets
        table, log_density = self._hybrid.joint(order, observed, limit)
        if log_density + log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        assert isinstance(table, np.ndarray)
        best = np.unravel_index(int(table.argmax()), table.shape)
        codes = observed.codes.copy()
        codes[list(order)] = best
        also_observed = [
            p
            for p in range(len(codes))
            if p not in places and (codes[p] >= 0 or not np.isnan(observed.values[p]))
        ]
        log_p = math.log(table[best]) + log_density + log_scale
        return MostProbable(self._named((*places, *also_observed), codes, observed.values), log_p)

    def predict(self, rows: Rows, target: int, limit: float) -> Floats:
        """Return P(target | row) of each row; zeros if a row is impossible.

        Rows with a complete Markov blanket of the target need no elimination.
        """
        near = BlanketPosterior(self._network, target)
        codes, values = self._cells(rows, near.blanket)
        whole = np.full(rows.n_rows, near.is_smooth)
        for place in near.blanket:
            whole &= self._known(place, codes, values)
        out = np.zeros((rows.n_rows, self.variables[target].size))
        out[whole] = near.posteriors(codes[whole], values[whole])
        if not whole.all():
            codes, values = self._cells(rows, [p for p in range(len(self.variables)) if p != target])
            for row in np.flatnonzero(~whole).tolist():
                evidence = HybridEvidence.of_row(codes[row], values[row], self._sizes)
                evidence = self._with_softmax(evidence, (target,))
                table, log_density = self._hybrid.joint((target,), evidence, limit)
                if log_density > -math.inf:
                    out[row] = np.asarray(table)
        return out

    def prior(self, target: int, limit: float) -> Floats:
        """Return P(target) without evidence."""
        nothing = self._with_softmax(HybridEvidence.nothing(len(self.variables)), (target,))
        return np.asarray(self._hybrid.joint((target,), nothing, limit)[0])

    def log_prob(self, rows: Rows, limit: float) -> Floats:
        """Return the log density of each row, with missing cells integrated out."""
        codes, values = self._cells(rows, range(len(self.variables)))
        whole = np.ones(rows.n_rows, dtype=bool)
        for place in range(len(self.variables)):
            whole &= self._known(place, codes, values)
        out = np.empty(rows.n_rows)
        out[whole] = log_prob(self._network, codes[whole], values[whole])
        for row in np.flatnonzero(~whole).tolist():
            evidence = HybridEvidence.of_row(codes[row], values[row], self._sizes)
            out[row] = self._hybrid.log_probability(self._with_softmax(evidence, ()), limit)
        return out

    def _read(self, evidence: Given, soft: Given) -> tuple[HybridEvidence, float]:
        observed, values, log_scale = self.reader.read_mixed(evidence, soft)
        return HybridEvidence(observed.codes, values, observed.likelihoods), log_scale

    def _cells(self, rows: Rows, places: Iterable[int]) -> tuple[Ints, Floats]:
        """Return codes and numbers with a column for each node; these nodes are filled in, the others are missing."""
        shape = (rows.n_rows, len(self.variables))
        codes, values = np.tile(self._sizes, (rows.n_rows, 1)), np.full(shape, np.nan)
        for place in places:
            if self.variables[place].kind == "categorical":
                codes[:, place] = rows.codes(place)
            else:
                values[:, place] = rows.numbers(place)
        return codes, values

    def _known(self, place: int, codes: Ints, values: Floats) -> NDArray[np.bool_]:
        if self.variables[place].kind == "categorical":
            return np.asarray(codes[:, place] < self._sizes[place])
        return ~np.isnan(values[:, place])

    def _named(self, places: Iterable[int], codes: Ints, values: Floats) -> dict[Name, Any]:
        return {
            v.name: v.states[codes[place]] if v.kind == "categorical" else float(values[place])
            for place, v in ((place, self.variables[place]) for place in places)
        }
