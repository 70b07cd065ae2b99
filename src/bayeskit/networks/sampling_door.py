"""One network at one moment, ready to be drawn from: evidence read, rows drawn, estimates made."""

from __future__ import annotations

import math
import warnings
from functools import cached_property

import numpy as np

from bayeskit.errors import SettingError, SuspectResult, UsageError
from bayeskit.graphs.factor import Factor
from bayeskit.graphs.network import Field, Network
from bayeskit.inference.loopy import loopy
from bayeskit.inference.potentials import Contradiction, Evidence, Floats, Ints, Potentials
from bayeskit.inference.relevant import ancestral, relevant_factors, with_tables
from bayeskit.inference.sampling.estimate import Cells, Estimate
from bayeskit.inference.sampling.forward import Forward, uniform_chunks
from bayeskit.inference.sampling.gibbs import gibbs
from bayeskit.inference.sampling.likelihood_weighting import likelihood_weighting, rejection
from bayeskit.inference.sampling.numeric_nodes import Numeric, Part, discrete_part, parts_of
from bayeskit.inference.sampling.posterior_network import posterior_network
from bayeskit.networks.exact_door import Door, Given

# Half-chains that disagree by more than this are told of. (Vehtari and others, 2021, ask for 1.01, which short
# chains of a binary variable pass by chance.)
_R_HAT = 1.05
# Samples worth less than so many, and less than a tenth of their number: their error is not to be relied on.
_WORTH = 100


class SamplingDoor(Door):
    """Samples and estimates of a Bayesian network, mixed ones included, or of a Markov network."""

    def __init__(self, network: Network | Field) -> None:
        self.directed = isinstance(network, Network)
        if isinstance(network, Network):
            network.require_distributions()
            super().__init__([node.variable for node in network.nodes])
            self.potentials = Potentials.of(discrete_part(network))
            self.numeric = None if network.is_discrete else Numeric(network)
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
    def forward(self) -> Forward:
        return Forward.of(self.potentials)

    def read(self, evidence: Given, soft: Given, limit: float) -> tuple[Evidence, Floats]:
        """Return what is known of the discrete nodes, and the values known of the continuous ones (NaN: free)."""
        found, values, log_scale = self.reader.read_mixed(evidence, soft)
        if log_scale == -math.inf:
            raise self.impossible(evidence, soft, limit)
        return self._of_discrete(found), values[self.continuous]

    def _of_discrete(self, found: Evidence) -> Evidence:
        """Return the evidence with discrete nodes numbered among themselves."""
        likelihoods = {self._place[v]: likelihood for v, likelihood in found.likelihoods.items()}
        return Evidence(found.codes[self.discrete], likelihoods)

    def log_evidence(self, evidence: Given, soft: Given, limit: float) -> float:
        """Return −inf where the states observed are impossible, else 0: all that an explanation needs."""
        found, values, log_scale = self.reader.read_mixed(evidence, soft)
        if log_scale == -math.inf:
            return log_scale
        try:
            self._given(self._of_discrete(found), values[self.continuous], limit)
        except Contradiction:
            return -math.inf
        return 0.0

    def _given(self, found: Evidence, known: Floats, limit: float) -> tuple[Forward, list[Part]]:
        """Return how to draw the discrete nodes, and how to mend the continuous ones, given what is known."""
        parts: list[Part] = []
        if self.numeric is not None:
            sizes = [int(size) for size in self.potentials.sizes]
            parts = parts_of(self.numeric, known, sizes, limit)
        if any(not part.cells and part.log_density == -math.inf for part in parts):
            raise Contradiction
        told = [part for part in parts if part.cells]
        if self.directed and found.is_empty and not told:
            return self.forward, parts
        try:
            beside = [(part.cells, part.outweighed) for part in told]
            return Forward.of(posterior_network(self.potentials, found, limit, beside)), parts
        except Contradiction:
            if not any(part.hits.any() for part in told):
                raise
        # What one value makes certain, something else may forbid: then densities count after all.
        beside = [(part.cells, part.log_density) for part in told]
        return Forward.of(posterior_network(self.potentials, found, limit, beside)), parts

    def sample(
        self, n: int, rng: np.random.Generator, evidence: Given, soft: Given, limit: float
    ) -> tuple[Ints, Floats]:
        """Return codes (rows × discrete nodes) and values (rows × continuous nodes) given the evidence."""
        found, known = self.read(evidence, soft, limit)
        try:
            forward, parts = self._given(found, known, limit)
        except Contradiction:
            raise self.impossible(evidence, soft, limit) from None
        width, more = len(self.discrete), len(self.continuous)
        try:
            codes, values = np.zeros((n, width), np.int64), np.zeros((n, more))
        except (MemoryError, ValueError):  # NumPy's words for more than there is, and more than it can count
            raise SettingError(
                f"{n} rows of {width + more} nodes need {8 * n * (width + more)} bytes, which are not to be had. Draw "
                "fewer at a time; one generator passed as seed= goes on where it stopped."
            ) from None
        inside = {k for part in parts for k in part.nodes}
        for start, uniforms in uniform_chunks(rng, n, width + more):
            rows = slice(start, start + len(uniforms))
            forward.fill(uniforms, codes[rows])
            if self.numeric is None:
                continue
            # First what the evidence speaks of, mended to agree with it; then what follows from that.
            for k in (k for k in self.numeric.order if k in inside):
                self.numeric.draw(k, codes[rows], uniforms[:, width:], values[rows])
            for part in parts:
                part.mend(codes[rows], values[rows])
            for k in (k for k in self.numeric.order if k not in inside):
                self.numeric.draw(k, codes[rows], uniforms[:, width:], values[rows])
        return codes, values

    def factor(self, places: tuple[int, ...], values: Floats) -> Factor:
        asked = [self.variables[place] for place in places]
        return Factor((v.name for v in asked), (v.states for v in asked), values)

    def ready(self, places: tuple[int, ...], method: str, known: Floats) -> tuple[int, ...]:
        """Return the targets among the discrete nodes; refuse what a method cannot do."""
        numeric = next((p for p in places if self.variables[p].kind != "categorical"), None)
        if numeric is not None:
            raise SettingError(
                f"{self.variables[numeric].name!r} is continuous; approximate answers for nodes with states only. Take "
                "the mean, or quantiles, of sample(n, evidence=...)."
            )
        if not self.directed and method in ("likelihood weighting", "rejection"):
            raise SettingError(
                f"method={method!r} draws each node after its parents, and a Markov network has no parents. Use "
                'method="gibbs" or "loopy".'
            )
        if method != "likelihood weighting" and not np.isnan(known).all():
            name = self.variables[self.continuous[int(np.flatnonzero(~np.isnan(known))[0])]].name
            raise SettingError(
                f"{name!r} is continuous and observed; method={method!r} takes observed states only. Use "
                'method="likelihood weighting", or query, which is exact.'
            )
        return tuple(self._place[p] for p in places)

    def weighted(
        self, places: tuple[int, ...], found: Evidence, known: Floats, n: int, rng: np.random.Generator
    ) -> Estimate:
        targets = self.ready(places, "likelihood weighting", known)
        cells = Cells.of(self.potentials, targets, found)
        shares = likelihood_weighting(self.forward, cells, found, n, rng, self.numeric, known)
        _tell_worth(shares.worth, n, "The evidence is improbable before it is seen: raise n_samples")
        factor = self.factor(places, shares.values)
        return Estimate(factor, "likelihood weighting", shares.standard_error, shares.worth, n_samples=n)

    def rejected(
        self, places: tuple[int, ...], found: Evidence, known: Floats, n: int, rng: np.random.Generator
    ) -> Estimate:
        targets = self.ready(places, "rejection", known)
        cells = Cells.of(self.potentials, targets, found)
        shares, accepted = rejection(self.forward, cells, found, n, rng)
        factor = self.factor(places, shares.values)
        return Estimate(
            factor, "rejection", shares.standard_error, shares.worth, n_samples=n, n_accepted=accepted
        )

    def gibbs(
        self,
        places: tuple[int, ...],
        found: Evidence,
        known: Floats,
        n: int,
        n_chains: int,
        burn_in: int | None,
        rng: np.random.Generator,
    ) -> Estimate:
        targets = self.ready(places, "gibbs", known)
        cells = Cells.of(self.potentials, targets, found)
        each = max(4, math.ceil(n / n_chains))
        before = each // 2 if burn_in is None else burn_in
        shares = gibbs(self.potentials, cells, found, each, n_chains, before, rng)
        if shares.r_hat > _R_HAT:
            warnings.warn(
                f"The chains disagree (R-hat {shares.r_hat:.3g}): they have not run long enough to be believed. Raise "
                "n_samples and burn_in.",
                SuspectResult,
                stacklevel=3,
            )
        else:
            _tell_worth(shares.worth, each * n_chains, "The chains move slowly: raise n_samples")
        return Estimate(
            self.factor(places, shares.values),
            "gibbs",
            shares.standard_error,
            shares.worth,
            shares.r_hat,
            each * n_chains,
        )

    def loopy(
        self,
        places: tuple[int, ...],
        found: Evidence,
        known: Floats,
        max_iter: int,
        tol: float,
        damping: float,
    ) -> Estimate:
        targets = self.ready(places, "loopy", known)
        told = [*targets, *np.flatnonzero(found.codes >= 0), *found.likelihoods]
        factors = relevant_factors(self.potentials, ancestral(self.potentials, told))
        beliefs = loopy(with_tables(self.potentials, found, factors), found, max_iter, tol, damping)
        values = beliefs.joint(targets)
        if values is None:
            raise UsageError(
                f"No one table holds {', '.join(repr(self.variables[p].name) for p in places)}, so loopy belief "
                'propagation has no joint answer for them. Ask for one at a time, or use method="likelihood weighting" '
                'or "gibbs".'
            )
        if not beliefs.converged:
            warnings.warn(
                f"The messages did not settle in {beliefs.n_iterations} iterations. Try damping=0.5, raise max_iter, "
                "or use another method.",
                SuspectResult,
                stacklevel=3,
            )
        factor = self.factor(places, values)
        return Estimate(factor, "loopy", converged=beliefs.converged, n_iterations=beliefs.n_iterations)


def _tell_worth(worth: float, n: int, why: str) -> None:
    if worth < min(_WORTH, n / 10):
        warnings.warn(
            f"{n} samples are worth only {worth:.0f} independent ones, too few for a standard error that can be relied "
            f"on. {why}, or use query, which is exact.",
            SuspectResult,
            stacklevel=4,
        )
