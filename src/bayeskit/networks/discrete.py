"""Answers of networks whose nodes all have states: labels in, the exact engine, labels out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.graphs.factor import Factor
from bayeskit.graphs.field import Field
from bayeskit.graphs.network import Network
from bayeskit.inference.exact import Exact
from bayeskit.inference.lookup import Lookup, log_weights
from bayeskit.inference.potentials import Evidence, Potentials
from bayeskit.networks.data_rows import Rows
from bayeskit.networks.door import Door, Given, MostProbable
from bayeskit.networks.kept import Kept
from bayeskit.schema import Name

Floats = NDArray[np.float64]

# NumPy has no arrays of more axes.
MOST_AXES = 64 if int(np.__version__.split(".")[0]) >= 2 else 32


class DiscreteDoor(Door):
    """Questions to a discrete Bayesian network, or to a Markov network."""

    def __init__(self, network: Network | Field, kept: Kept) -> None:
        if isinstance(network, Field):
            super().__init__(network.variables)
        else:
            super().__init__([node.variable for node in network.nodes])
        self._network = network
        self._kept = kept
        self.exact: Exact = kept.get("exact", lambda: Exact(Potentials.of(network)))
        self.has_rules = bool(self.exact.potentials.rules)
        bounds = self.exact.potentials.offsets.tolist()
        self._parts = [(v.name, slice(a, b)) for v, a, b in zip(self.variables, bounds, bounds[1:])]

    def log_total(self, limit: float) -> float:
        """Return the logarithm of what the probabilities sum to without evidence: 0, or a Markov network's log Z."""
        if isinstance(self._network, Network):
            return 0.0
        nothing = Evidence.nothing(len(self.variables))
        total: float = self._kept.get("log total", lambda: self.exact.log_probability(nothing, limit))
        if total == -math.inf:
            raise self.impossible(None, None, limit)
        return total

    def log_evidence(self, evidence: Given, soft: Given, limit: float) -> float:
        found, log_scale = self.reader.read(evidence, soft)
        if log_scale == -math.inf:
            return log_scale
        if isinstance(self._network, Network) and found.is_empty:
            return log_scale  # every table sums to one: no need to find it out
        return self.exact.log_probability(found, limit) + log_scale

    def posteriors(self, evidence: Given, soft: Given, limit: float) -> dict[Name, Any]:
        found, log_scale = self.reader.read(evidence, soft)
        flat, log_p = self.exact.marginals(found, limit)
        if log_p + log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        return {name: flat[part] for name, part in self._parts}

    def family_margins(self, evidence: Given, limit: float) -> tuple[list[Floats], float]:
        """Return P(parents, node | evidence) of every node, and log P(evidence)."""
        found, log_scale = self.reader.read(evidence, None)
        margins, log_p = self.exact.family_margins(found, limit)
        if log_p + log_scale == -math.inf:
            raise self.impossible(evidence, None, limit)
        return margins, log_p + log_scale

    def query(self, names: tuple[Any, ...], evidence: Given, soft: Given, limit: float) -> Factor:
        places = self.targets(names)
        if len(places) > MOST_AXES:
            raise SettingError(
                f"{len(places)} nodes were asked for together; a table has at most {MOST_AXES} axes. Ask for fewer."
            )
        found, log_scale = self.reader.read(evidence, soft)
        asked = [self.variables[place] for place in places]
        codes = found.codes
        free = tuple(place for place in places if codes[place] < 0)
        if free:
            values = self.exact.posterior(free, found, limit)
        else:
            values = np.ones(()) if self.log_evidence(evidence, soft, limit) > -math.inf else None
        if values is None or log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        if len(free) < len(places):
            whole = np.zeros([v.size for v in asked])
            whole[tuple(slice(None) if codes[p] < 0 else codes[p] for p in places)] = values
            values = whole
        return Factor((v.name for v in asked), (v.states for v in asked), values)

    def mpe(self, evidence: Given, soft: Given, limit: float) -> MostProbable:
        found, log_scale = self.reader.read(evidence, soft)
        best = self.exact.mpe(found, limit)
        if best.log_probability + log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        states = {v.name: v.states[code] for v, code in zip(self.variables, best.codes.tolist())}
        return MostProbable(states, best.log_probability + log_scale - self.log_total(limit))

    def map(self, names: tuple[Any, ...], evidence: Given, soft: Given, limit: float) -> MostProbable:
        places = self.targets(names)
        found, log_scale = self.reader.read(evidence, soft)
        codes = found.codes.copy()
        free = tuple(place for place in places if codes[place] < 0)
        if free:
            best = self.exact.map(free, found, limit)
            codes[list(free)] = best.codes
            log_p = best.log_probability + log_scale
        else:
            log_p = self.log_evidence(evidence, soft, limit)
        if log_p == -math.inf:
            raise self.impossible(evidence, soft, limit)
        told = [place for place in range(len(codes)) if codes[place] >= 0 and place not in places]
        shown = [(self.variables[place], int(codes[place])) for place in (*places, *told)]
        return MostProbable({v.name: v.states[code] for v, code in shown}, log_p - self.log_total(limit))

    def predict(self, rows: Rows, target: int, limit: float) -> Floats:
        """Return P(target | row) of each row, zeros where a row is impossible.

        Rows whose Markov blanket of the target is complete are looked up; their other cells cannot matter.
        """
        lookup: Lookup = self._kept.get(("lookup", target), lambda: Lookup(self.exact.potentials, target))
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
        found, log_p = self.exact.batch(rest, target, limit)
        out[left] = np.where((log_p == -math.inf)[:, None], 0.0, found)
        return out

    def prior(self, target: int, limit: float) -> Floats:
        """Return P(target), nothing being observed."""
        values, log_p = self.exact.joint((target,), Evidence.nothing(len(self.variables)), limit)
        if log_p == -math.inf:
            raise self.impossible(None, None, limit)
        return values

    def log_prob(self, rows: Rows, limit: float) -> Floats:
        """Return log P(row) of each row, missing cells summed out."""
        codes = rows.matrix(range(len(self.variables)))
        out = np.empty(rows.n_rows)
        missing = codes >= self.exact.potentials.sizes
        left = missing.any(axis=1)
        if not left.all():
            out[~left] = log_weights(self.exact.potentials, codes[~left])
        while left.any():
            # A batch does not look at its target: any variable that is missing in a row will do for it.
            target = int(missing[left].sum(axis=0).argmax())
            now = left & missing[:, target]
            out[now] = self.exact.batch(codes[now], target, limit)[1]
            left &= ~now
        return out - self.log_total(limit)
