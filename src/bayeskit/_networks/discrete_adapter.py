"""Answers queries of discrete networks: reads evidence, calls the exact engine, labels the results.

`DiscreteAdapter` handles networks whose nodes all have states. `DerivedCache` caches what is derived from a
network.
"""

from __future__ import annotations

import itertools
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import FactorGraph, Network
from bayeskit._inference.exact import Exact
from bayeskit._inference.lookup import Lookup, log_weights
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._networks.arguments import Rows
from bayeskit._networks.evidence import Given, Reader
from bayeskit._schema import Label, Name, Variable, first_twice
from bayeskit.errors import BayeskitError, ImpossibleEvidence, SettingError, TooLarge
from bayeskit.typing import Floats, NamesLike

T = TypeVar("T")


class DerivedCache:
    """A cache of named values, each computed once. It is thread-safe, and never copied or pickled.

    It also holds the network that the values were derived from. A reader that takes both from here gets a
    consistent pair, even while another thread changes the network.
    """

    def __init__(self, network: Network | FactorGraph) -> None:
        self.network: Any = network
        self._values: dict[Any, Any] = {}
        self._lock = threading.RLock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a value by name, computing it if necessary."""
        try:
            value: T = self._values[key]
        except KeyError:
            with self._lock:
                value = self._values[key] if key in self._values else make()
                self._values[key] = value
        return value


class CachingNetwork(Protocol):
    """A network of any kind, with a cache of what is derived from it."""

    _network: Any
    _cache: DerivedCache


class MostProbable(dict[Name, Label]):
    """The most probable states, as a dict of node → state, with their joint probability.

    Attributes
    ----------
    log_probability : float
        The natural logarithm of P(states, evidence), or of the density for continuous nodes.

    Examples
    --------
    >>> best = MostProbable({"rain": "no"}, -0.25)
    >>> best["rain"], best.log_probability
    ('no', -0.25)
    >>> best
    MostProbable({'rain': 'no'}, log_probability=-0.25)
    """

    __slots__ = ("log_probability",)

    def __init__(self, states: Mapping[Any, Label], log_probability: float) -> None:
        super().__init__(states)
        self.log_probability = log_probability

    @property
    def probability(self) -> float:
        """P(states, evidence); zero if it underflows."""
        return math.exp(self.log_probability)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self.log_probability)

    def __repr__(self) -> str:
        return f"MostProbable({super().__repr__()}, log_probability={self.log_probability:.6g})"

    def _repr_html_(self) -> str:
        from bayeskit._display_table import DisplayTable, notebook_html

        rows = tuple((str(name), str(state)) for name, state in self.items())
        last = ("log probability", f"{self.log_probability:.6g}".replace("-", "−"))
        return notebook_html(DisplayTable("Most probable states", ("node", "state"), rows, (last,), ()))


def minimal_conflict(items: Sequence[T], impossible: Callable[[list[T]], bool]) -> list[T]:
    """Return a minimal subset of items that is impossible.

    Parameters
    ----------
    items : impossible together
    impossible : returns whether a subset of the items is impossible
        Supersets of an impossible set must be impossible. It may return False if it cannot decide; the result
        is then still impossible, but perhaps not minimal.

    The shortest impossible prefix ends in an item that every conflict within the prefix needs. It is found by
    bisection and moved to the front, and the search continues in the items before it. This takes about
    c·log₂(n) calls for a conflict of c items out of n, instead of n calls.

    Examples
    --------
    >>> minimal_conflict([3, 1, 4, 1, 5, 9], lambda some: 4 in some and 9 in some)
    [4, 9]
    """
    needed: list[int] = []
    rest = list(range(len(items)))
    while rest and not impossible([items[i] for i in needed]):
        low, high = 0, len(rest)  # needed + rest[:high] is impossible, needed + rest[:low] is not
        while high - low > 1:
            middle = (low + high) // 2
            if impossible([items[i] for i in (*needed, *rest[:middle])]):
                high = middle
            else:
                low = middle
        needed.append(rest[high - 1])
        rest = rest[: high - 1]
    return [items[i] for i in sorted(needed)]


# The number of queries to find a minimal impossible subset of the evidence; after that, all that is left is named.
MOST_QUESTIONS = 1000
# If a rule has too many cells for a table, each of these queries may use this many bytes: the fewer causes a
# subset observes, the more cells it takes to see that it is possible.
LIMIT_BESIDE_RULES = 2**20


class QueryAdapter(ABC):
    """A snapshot of one network, ready for queries. Changing the network creates another adapter."""

    has_rules: bool = False

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.variables = tuple(variables)
        self.reader = Reader(self.variables)

    @abstractmethod
    def log_evidence(self, evidence: Given, soft: Given, limit: float) -> float:
        """Return the log of the unnormalised probability of the evidence; −inf if it is impossible."""

    def targets(self, given: Any) -> tuple[int, ...]:
        """Return the positions of the target nodes: at least one, without duplicates."""
        several = isinstance(given, list) or (isinstance(given, tuple) and given not in self.reader)
        names = tuple(given) if several else (given,)
        if not names:
            raise SettingError("No node was asked for. Name one or more.")
        places = tuple(self.reader.place(name) for name in names)
        if len(set(places)) < len(places):
            raise SettingError("{name!r} is requested twice. Name each node once.", name=first_twice(names))
        return places

    def discrete_target(self, name: Name) -> int:
        """Return the position of the node to be predicted."""
        place = self.reader.place(name, "it is the target")
        if self.variables[place].kind != "categorical":
            raise SettingError(
                "{name!r} is continuous and has no states to predict. Ask posteriors for its distribution.",
                name=name,
            )
        return place

    def impossible(self, evidence: Given, soft: Given, limit: float) -> BayeskitError:
        """Return the error to raise, which names a minimal impossible subset of the evidence."""
        limit = min(limit, LIMIT_BESIDE_RULES) if self.has_rules else limit
        items = [(False, name) for name in evidence or ()] + [(True, name) for name in soft or ()]

        def part(some: list[tuple[bool, Name]]) -> tuple[dict[Name, Any], dict[Name, Any]]:
            hard = {name: (evidence or {})[name] for is_soft, name in some if not is_soft}
            return hard, {name: (soft or {})[name] for is_soft, name in some if is_soft}

        n_queries = itertools.count(1)

        def is_impossible(some: list[tuple[bool, Name]]) -> bool:
            if next(n_queries) > MOST_QUESTIONS:
                return False
            try:
                return self.log_evidence(*part(some), limit) == -math.inf
            except TooLarge:  # less evidence can mean larger tables
                return False

        hard, soft_part = part(minimal_conflict(items, is_impossible))
        if not hard and not soft_part:
            return SettingError(
                "The product of the factors is zero in every cell, so there is no distribution. At least one "
                "cell must be positive in all factors."
            )
        both = {name: (hard[name], likelihoods) for name, likelihoods in soft_part.items() if name in hard}
        return ImpossibleEvidence({**hard, **soft_part, **both})


# The maximum number of axes in NumPy.
MOST_AXES = 64 if int(np.__version__.split(".")[0]) >= 2 else 32


class DiscreteAdapter(QueryAdapter):
    """Queries of a discrete Bayesian network or a Markov network."""

    def __init__(self, network: Network | FactorGraph, cache: DerivedCache) -> None:
        if isinstance(network, FactorGraph):
            super().__init__(network.variables)
        else:
            super().__init__([node.variable for node in network.nodes])
        self._network = network
        self._cache = cache
        self.exact: Exact = cache.get("exact", lambda: Exact(Potentials.of(network)))
        self.has_rules = bool(self.exact.potentials.rules)

    @cached_property
    def _parts(self) -> list[tuple[Name, slice]]:
        """Where the numbers of each node are among all marginals."""
        bounds = self.exact.potentials.offsets.tolist()
        return [
            (v.name, slice(a, b)) for v, a, b in zip(self.variables, bounds[:-1], bounds[1:], strict=True)
        ]

    def log_total(self, limit: float) -> float:
        """Return the log of the total without evidence: 0, or log Z of a Markov network."""
        if isinstance(self._network, Network):
            return 0.0
        nothing = Evidence.nothing(len(self.variables))
        total: float = self._cache.get("log total", lambda: self.exact.log_probability(nothing, limit))
        if total == -math.inf:
            raise self.impossible(None, None, limit)
        return total

    def log_evidence(self, evidence: Given, soft: Given, limit: float) -> float:
        observed, log_scale = self.reader.read(evidence, soft)
        if log_scale == -math.inf:
            return log_scale
        if isinstance(self._network, Network) and observed.is_empty:
            return log_scale  # every table sums to one, so there is nothing to compute
        return self.exact.log_probability(observed, limit) + log_scale

    def posteriors(self, evidence: Given, soft: Given, limit: float) -> dict[Name, Any]:
        observed, log_scale = self.reader.read(evidence, soft)
        flat, log_p = self.exact.marginals(observed, limit)
        if log_p + log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        return {name: flat[part] for name, part in self._parts}

    def family_margins(self, evidence: Given, soft: Given, limit: float) -> tuple[list[Floats], float]:
        """Return P(parents, node | evidence) of every node, and log P(evidence)."""
        observed, log_scale = self.reader.read(evidence, soft)
        margins, log_p = self.exact.family_margins(observed, limit)
        if log_p + log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        return margins, log_p + log_scale

    def query(self, targets: NamesLike, evidence: Given, soft: Given, limit: float) -> Factor:
        places = self.targets(targets)
        if len(places) > MOST_AXES:
            raise SettingError(
                "{n} nodes were requested together; a table has at most {most_axes} axes. Ask for fewer.",
                n=len(places),
                most_axes=MOST_AXES,
            )
        observed, log_scale = self.reader.read(evidence, soft)
        variables = [self.variables[place] for place in places]
        codes = observed.codes
        free = tuple(place for place in places if codes[place] < 0)
        if free:
            values = self.exact.posterior(free, observed, limit)
        else:
            values = np.ones(()) if self.log_evidence(evidence, soft, limit) > -math.inf else None
        if values is None or log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        if len(free) < len(places):
            whole = np.zeros([v.size for v in variables])
            whole[tuple(slice(None) if codes[p] < 0 else codes[p] for p in places)] = values
            values = whole
        return Factor((v.name for v in variables), (v.states for v in variables), values)

    def mpe(self, evidence: Given, soft: Given, limit: float) -> MostProbable:
        observed, log_scale = self.reader.read(evidence, soft)
        best = self.exact.mpe(observed, limit)
        if best.log_probability + log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        states = {v.name: v.states[code] for v, code in zip(self.variables, best.codes.tolist(), strict=True)}
        return MostProbable(states, best.log_probability + log_scale - self.log_total(limit))

    def map(self, targets: NamesLike, evidence: Given, soft: Given, limit: float) -> MostProbable:
        places = self.targets(targets)
        observed, log_scale = self.reader.read(evidence, soft)
        codes = observed.codes.copy()
        free = tuple(place for place in places if codes[place] < 0)
        if free:
            best = self.exact.map(free, observed, limit)
            codes[list(free)] = best.codes
            log_p = best.log_probability + log_scale
        else:
            log_p = self.log_evidence(evidence, soft, limit)
        if log_p == -math.inf:
            raise self.impossible(evidence, soft, limit)
        also_observed = [place for place in range(len(codes)) if codes[place] >= 0 and place not in places]
        shown = [(self.variables[place], int(codes[place])) for place in (*places, *also_observed)]
        return MostProbable({v.name: v.states[code] for v, code in shown}, log_p - self.log_total(limit))

    def predict(self, rows: Rows, target: int, limit: float) -> Floats:
        """Return P(target | row) of each row; zeros if a row is impossible.

        Rows with a complete Markov blanket of the target are looked up; their other cells do not matter.
        """
        lookup: Lookup = self._cache.get(("lookup", target), lambda: Lookup(self.exact.potentials, target))
        codes = rows.matrix(lookup.blanket)
        sizes = self.exact.potentials.sizes
        whole = (codes < sizes[list(lookup.blanket)]).all(axis=1)
        if whole.all():
            return lookup.posteriors(codes)
        out = np.empty((rows.n_rows, self.variables[target].size))
        out[whole] = lookup.posteriors(codes[whole])
        left = np.flatnonzero(~whole)
        rest = np.tile(sizes, (len(left), 1))
        for place in range(len(self.variables)):
            if place != target:
                rest[:, place] = rows.codes(place).take(left)
        posteriors, log_p = self.exact.batch(rest, target, limit)
        out[left] = np.where((log_p == -math.inf)[:, None], 0.0, posteriors)
        return out

    def prior(self, target: int, limit: float) -> Floats:
        """Return P(target) without evidence."""
        values, log_p = self.exact.joint((target,), Evidence.nothing(len(self.variables)), limit)
        if log_p == -math.inf:
            raise self.impossible(None, None, limit)
        return values

    def log_prob(self, rows: Rows, limit: float) -> Floats:
        """Return log P(row) of each row, with missing cells summed out."""
        codes = rows.matrix(range(len(self.variables)))
        out = np.empty(rows.n_rows)
        missing = codes >= self.exact.potentials.sizes
        left = missing.any(axis=1)
        if not left.all():
            out[~left] = log_weights(self.exact.potentials, codes[~left])
        while left.any():
            # A batch ignores its target's column, so any variable that is missing in a row can be the target.
            target = int(missing[left].sum(axis=0).argmax())
            now = left & missing[:, target]
            out[now] = self.exact.batch(codes[now], target, limit)[1]
            left &= ~now
        return out - self.log_total(limit)
