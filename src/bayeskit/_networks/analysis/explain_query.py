"""Explains a query step by step: which factors are needed, and each sum in turn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.distributions import LinearGaussian, Softmax
from bayeskit._graphs.network import FactorGraph, Network
from bayeskit._networks.analysis.network_information import read_mapping, refuse_observed
from bayeskit._networks.discrete_adapter import QueryAdapter
from bayeskit._networks.evidence import Given
from bayeskit._report.fractions import exact, from_log
from bayeskit._report.network_explanation import (
    NETWORK_WORDS,
    NetworkExplanation,
    Piece,
    connected,
    eliminate,
    elimination_order,
    multiply,
)
from bayeskit._report.words import words_of
from bayeskit._schema import Name, Variable
from bayeskit.errors import SettingError

# A few factors without free variables are written out: the normaliser is then P(evidence).
MOST_CONSTANTS = 6

# Independent causes have few parameters, but their table may have too many cells for a page.
LARGEST = 100_000


def explain_query(
    network: Network | FactorGraph,
    adapter: QueryAdapter,
    target: Name,
    evidence: Given,
    soft: Given,
    lang: str,
    max_cells: int,
) -> NetworkExplanation:
    """Explain the result of ``query(target, evidence=evidence, soft=soft)``."""
    words_of(lang)
    if isinstance(max_cells, bool) or not isinstance(max_cells, (int, np.integer)) or max_cells < 1:
        raise SettingError(
            "max_cells is {max_cells!r}; give a whole number of at least 1.", max_cells=max_cells
        )
    place = adapter.reader.place(target)
    variable = adapter.variables[place]
    if variable.kind != "categorical":
        raise SettingError(
            "{target!r} is continuous; explain shows tables of states. Ask query({target!r}, ...).",
            target=target,
        )
    refuse_observed(target, read_mapping(evidence))
    found, values, _ = adapter.reader.read_mixed(evidence, soft)
    codes = {v.name: int(code) for v, code in zip(adapter.variables, found.codes, strict=True) if code >= 0}
    numbers = {v.name: float(x) for v, x in zip(adapter.variables, values, strict=True) if not math.isnan(x)}
    soft_nodes = [adapter.variables[p].name for p in found.likelihoods]
    observed = _Observed({v.name: v for v in adapter.variables}, codes, numbers, lang)
    pieces: list[tuple[Name | None, Piece]]
    if isinstance(network, FactorGraph):
        needed = tuple(observed.variables)
        pieces = [(None, observed.table(None, f.names, f.values)) for f in network.factors]
    else:
        needed = _needed(network, (target, *codes, *numbers, *soft_nodes))
        pieces = [(name, observed.of_node(network, name)) for name in needed]
    for p, likelihood in found.likelihoods.items():
        pieces.append((adapter.variables[p].name, observed.likelihood(adapter.variables[p].name, likelihood)))
    known = {**(evidence or {}), **_soft(soft)}
    # Likelihoods are scaled, and the factors of a Markov network are not probabilities.
    is_evidence = isinstance(network, Network) and not soft
    return _summed(network, observed, pieces, target, needed, known, max_cells, is_evidence)


def _summed(
    network: Network | FactorGraph,
    observed: _Observed,
    owned: list[tuple[Name | None, Piece]],
    target: Name,
    needed: tuple[Name, ...],
    evidence: dict[Name, Any],
    max_cells: int,
    exact_evidence: bool,
) -> NetworkExplanation:
    owners = {id(piece): name for name, piece in owned}
    near, apart = connected([piece for _, piece in owned], target)
    whole = len(apart) <= MOST_CONSTANTS and not any(piece.names for piece in apart)
    kept = [*near, *(apart if whole else [])]
    order = elimination_order(kept, target, max_cells)
    used = [_written_out(p, k) for k, p in enumerate(kept, 1)]
    steps, last = eliminate(used, order)
    states = observed.variables[target].states
    product = multiply(last, [target], {target: states})
    if isinstance(network, Network):
        barren = tuple(name for name in network.dag.nodes if name not in set(needed))
    else:
        barren = ()
    gone = () if whole else tuple(dict.fromkeys(n for p in apart if (n := owners[id(p)]) is not None))
    return NetworkExplanation(
        target,
        tuple(states),
        evidence,
        tuple(used),
        tuple(steps),
        tuple(last),
        tuple(product.tolist()),
        gone,
        barren,
        whole and exact_evidence,
        observed.lang,
    )


class _Observed:
    """Turns distributions into factors over the unobserved nodes."""

    def __init__(
        self,
        variables: Mapping[Name, Variable],
        codes: dict[Name, int],
        numbers: dict[Name, float],
        lang: str,
    ) -> None:
        self.variables, self.codes, self.numbers, self.lang = variables, codes, numbers, lang

    def of_node(self, network: Network, name: Name) -> Piece:
        node = network[name]
        if isinstance(node.distribution, LinearGaussian):
            return self._density(network, name, node.distribution)
        if isinstance(node.distribution, Softmax):
            values = [self.numbers[p] for p in network.numeric_parents(node) if p in self.numbers]
            if len(values) < len(network.numeric_parents(node)):
                network.refuse_softmax("an explanation")
            chosen = tuple(p for p in node.parents if network[p].is_discrete)
            return self.table(name, (*chosen, name), node.distribution.table_at(np.array(values)))
        assert node.distribution is not None
        names = (*node.parents, name)
        if math.prod(network.shape_of(name)) <= max(LARGEST, node.distribution.n_numbers):
            return self.table(name, names, node.distribution.table())
        cells = math.prod(network[n].variable.size for n in names if n not in self.codes)
        if cells > LARGEST:
            raise SettingError(
                "{name!r} would have a table of {cells:,} cells, and no page shows so many. Observe more of its "
                "parents, or ask query(...) for the numbers alone.",
                name=name,
                cells=cells,
            )
        at = [self.codes.get(n, -1) for n in names]
        return self._titled(name, names, np.exp(node.distribution.log_at(at)))

    def table(self, child: Name | None, names: tuple[Name, ...], table: NDArray[Any]) -> Piece:
        """Slice a table at the observed states."""
        return self._titled(child, names, table[tuple(self.codes.get(n, slice(None)) for n in names)])

    def _titled(self, child: Name | None, names: tuple[Name, ...], values: NDArray[Any]) -> Piece:
        free = tuple(n for n in names if n not in self.codes)
        written = [self._written(n) for n in names]
        if child is None:
            title = f"φ({', '.join(written)})"
        else:
            title = f"P({' | '.join(filter(None, (written[-1], ', '.join(written[:-1]))))})"
        return self._piece(title, free, values)

    def likelihood(self, name: Name, values: NDArray[Any]) -> Piece:
        title = NETWORK_WORDS.of(self.lang)["likelihood"].format(name=name)
        return self._piece(title, (name,), values)

    def _density(self, network: Network, name: Name, d: LinearGaussian) -> Piece:
        parents = network[name].parents
        discrete = tuple(p for p in parents if network[p].is_discrete)
        numeric = [p for p in parents if not network[p].is_discrete]
        hidden = next((n for n in (name, *numeric) if n not in self.numbers), None)
        if hidden is not None:
            raise SettingError(
                "{hidden!r} is continuous and not observed, and explain shows sums, not integrals. Observe it, or ask "
                "query(...) for the numbers alone.",
                hidden=hidden,
            )
        mean = d.intercept + d.coefficients @ np.array([self.numbers[p] for p in numeric])
        logs = -0.5 * ((self.numbers[name] - mean) ** 2 / d.variance + np.log(2 * np.pi * d.variance))
        logs = logs[tuple(self.codes.get(p, slice(None)) for p in discrete)]
        title = NETWORK_WORDS.of(self.lang)["density"].format(name=name, value=f"{self.numbers[name]:.6g}")
        free = tuple(p for p in discrete if p not in self.codes)
        return self._piece(title, free, np.vectorize(from_log, otypes=[object])(logs))

    def _piece(self, title: str, free: tuple[Name, ...], values: NDArray[Any]) -> Piece:
        states = tuple(tuple(self.variables[n].states) for n in free)
        return Piece("", title, free, states, np.asarray(values, dtype=object))

    def _written(self, name: Name) -> str:
        return (
            f"{name} = {self.variables[name].states[self.codes[name]]}" if name in self.codes else str(name)
        )


def _written_out(piece: Piece, k: int) -> Piece:
    """Number a factor and convert its numbers to fractions. This comes last, when there are few of them."""
    values = np.empty(piece.values.shape, dtype=object)
    for cell in np.ndindex(*values.shape):
        x: Any = piece.values.item(cell)
        values[cell] = x if isinstance(x, Fraction) else exact(x)
    return Piece(f"f{k}", piece.title, piece.names, piece.states, values)


def _needed(network: Network, names: Iterable[Name]) -> tuple[Name, ...]:
    """Return these nodes and their ancestors, in the order of the network."""
    found, stack = set[Name](), list(names)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += network[name].parents
    return tuple(name for name in network.dag.nodes if name in found)


def _soft(soft: Given) -> dict[Name, Any]:
    """Return soft evidence as likelihoods."""
    return {name: f"~{given}" for name, given in (soft or {}).items()}
