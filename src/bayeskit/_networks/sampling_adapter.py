"""Samples rows from a network, and estimates posteriors by sampling or loopy belief propagation.

The same seed gives the same result.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import FactorGraph, Network
from bayeskit._inference.exact import Exact, allowed
from bayeskit._inference.loopy import loopy
from bayeskit._inference.potentials import Contradiction, Evidence, Potentials
from bayeskit._inference.relevant import ancestral, relevant_factors, with_tables
from bayeskit._inference.sampling.estimate import Cells, Estimate
from bayeskit._inference.sampling.forward import Forward, uniform_chunks
from bayeskit._inference.sampling.gibbs import gibbs
from bayeskit._inference.sampling.likelihood_weighting import Shares, likelihood_weighting, rejection
from bayeskit._inference.sampling.numeric_nodes import Numeric, Part, discrete_part, parts_of
from bayeskit._inference.sampling.posterior_network import posterior_network
from bayeskit._messages import Joined
from bayeskit._networks.arguments import choice, number_below, switch, whole_number
from bayeskit._networks.discrete_adapter import CachingNetwork, DerivedCache, QueryAdapter
from bayeskit._networks.evidence import Given
from bayeskit._random_state import generator_of
from bayeskit._schema import Name, Variable
from bayeskit.errors import SettingError, SuspectResult, TooLarge, UsageError
from bayeskit.typing import Floats, Ints, NamesLike, Seed


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
    >>> from bayeskit._networks.examples import wet_grass
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


def approximate(
    self: CachingNetwork,
    targets: NamesLike,
    evidence: Given = None,
    *,
    soft: Given = None,
    method: str | None = None,
    n_samples: int = 10_000,
    n_chains: int = 4,
    burn_in: int | None = None,
    max_iter: int = 1000,
    tol: float = 1e-9,
    damping: float = 0.0,
    random_state: Seed = 0,
) -> Estimate:
    r"""Estimate P(targets | evidence) when exact inference would need too much memory.

    Parameters
    ----------
    targets : a node with states, or a list of them
    evidence, soft : as in `query`
    method : str
        - ``"likelihood weighting"`` (the default for a Bayesian network): free nodes are drawn after their
          parents, and each sample is weighted by the probability of the observed nodes. Good unless the
          evidence is improbable. It also accepts observed continuous nodes.
        - ``"gibbs"`` (the default for a Markov network): nodes are resampled one after the other given their
          Markov blankets. Zeros in the tables can prevent single updates from reaching all states; such nodes
          are resampled together. If they are too many, the call is an error.
        - ``"rejection"``: rows are drawn without the evidence, and those that disagree with it are rejected.
        - ``"loopy"``: loopy belief propagation, exact if the graph has no loops. Nothing is sampled. Several
          targets must appear in one table.
    n_samples : int
        The number of rows drawn; for Gibbs, the number of sweeps kept in all chains together; for rejection,
        the number of rows before rejecting any.
    n_chains, burn_in : for Gibbs
        The number of chains, and the number of sweeps that each discards at the start (None: half as many as
        it keeps).
    max_iter, tol, damping : for loopy
        The maximum number of iterations; the largest change of a message at convergence; the share of the old
        message that is kept (0 to below 1), which helps if messages oscillate.
    random_state : int, numpy Generator or None

    Returns
    -------
    Estimate: ``["yes"]``, ``.values``, ``.factor``, and ``.standard_error``, ``.effective_sample_size``,
    ``.r_hat``, ``.converged`` where applicable

    Warns
    -----
    SuspectResult if chains disagree, messages do not converge, or the effective sample size is very small

    Notes
    -----
    The standard error is estimated from the same samples. Their weights are :math:`w_i`, the largest is
    :math:`w_*`; all are equal except in likelihood weighting. For Gibbs, the number of samples is the
    effective sample size:

    .. math:: \frac{1}{\sum_i w_i} \sqrt{\sum_i w_i^2 ([x_i = c] - \hat P)^2 +
              w_*^2 \left(\hat P^2 + (1 - \hat P)^2\right)}

    The second term is that of two imaginary samples, one in the cell and one outside: n samples that all fall
    into one cell give 1 ± 1/n, not certainty. Tiny nonzero probabilities can keep all Gibbs chains away from
    some states for a long time, and no diagnostic detects this. Evidence that is improbable before it is seen does
    the same to likelihood weighting; where the exact probability of the evidence takes little memory, the mean
    weight is compared with it, and a `SuspectResult` warns of what the samples missed. Otherwise the best check is
    that two methods agree.

    Examples
    --------
    >>> from bayeskit._networks.examples import wet_grass
    >>> found = wet_grass().approximate("rain", method="loopy")
    >>> found.converged, round(found["yes"], 6)
    (True, 0.2)
    """
    adapter = sampling_adapter_of(self._cache)
    if method is None:
        method = "likelihood weighting" if adapter.directed else "gibbs"
    choice(method, "method", tuple(METHODS))
    engine = METHODS[method]
    places = adapter.targets(targets)
    n, chains = whole_number(n_samples, "n_samples", 1), whole_number(n_chains, "n_chains", 1)
    before = None if burn_in is None else whole_number(burn_in, "burn_in", 0)
    most, tolerance = whole_number(max_iter, "max_iter", 1), number_below(tol, "tol")
    share = number_below(damping, "damping", 1.0)
    limit, rng = allowed(None), generator_of(random_state)
    observed, known = adapter.read(evidence, soft, limit)
    adapter.check_method(places, known, method, engine)
    try:
        return engine.answer(
            Question(adapter, places, observed, known, n, chains, before, most, tolerance, share, rng)
        )
    except Contradiction:
        raise adapter.impossible(evidence, soft, limit) from None


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


# Half-chains that disagree by more than this cause a warning. (Vehtari and others, 2021, recommend 1.01,
# which short chains of a binary variable exceed by chance.)
_R_HAT = 1.05
# With an effective sample size below this, and below a tenth of the samples, the standard error is unreliable.
_WORTH = 100
# Samples that miss more than this share of P(evidence), and more than chance explains, cause a warning.
_UNSEEN = 0.1
# The bytes that may be spent on the exact P(evidence): a few milliseconds.
_CHECKED_WITHIN = 2**22


class SamplingAdapter(QueryAdapter):
    """Samples and estimates of a Bayesian network, with or without continuous nodes, or of a Markov network."""

    def __init__(self, network: Network | FactorGraph) -> None:
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

    def factor(self, places: tuple[int, ...], values: Floats) -> Factor:
        variables = [self.variables[place] for place in places]
        return Factor((v.name for v in variables), (v.states for v in variables), values)

    def check_method(self, places: tuple[int, ...], known: Floats, method: str, engine: Engine) -> None:
        """Raise an error for what a method cannot do."""
        numeric = next((p for p in places if self.variables[p].kind != "categorical"), None)
        if numeric is not None:
            raise SettingError(
                "{name!r} is continuous; approximate answers for nodes with states only. Take "
                "the mean, or quantiles, of sample(n, evidence=...).",
                name=self.variables[numeric].name,
            )
        if not self.directed and engine.needs_parents:
            raise SettingError(
                "method={method!r} draws each node after its parents, and a Markov network has no parents. Use "
                'method="gibbs" or "loopy".',
                method=method,
            )
        if not engine.takes_numbers and not np.isnan(known).all():
            name = self.variables[self.continuous[int(np.flatnonzero(~np.isnan(known))[0])]].name
            raise SettingError(
                "{name!r} is continuous and observed; method={method!r} takes observed states only. Use "
                'method="likelihood weighting", or query, which is exact.',
                name=name,
                method=method,
            )

    def discrete_places(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """Return the numbers of these nodes among the discrete nodes."""
        return tuple(self._place[p] for p in places)


@dataclass(frozen=True)
class Question:
    """A query for an engine, in codes: the targets, the evidence, and the limits of the work."""

    adapter: SamplingAdapter
    places: tuple[int, ...]
    evidence: Evidence
    known: Floats
    n_samples: int
    n_chains: int
    burn_in: int | None
    max_iter: int
    tol: float
    damping: float
    rng: np.random.Generator

    @property
    def potentials(self) -> Potentials:
        """The tables of the nodes with states."""
        return self.adapter.potentials

    @property
    def targets(self) -> tuple[int, ...]:
        """The target nodes, numbered as in the potentials."""
        return self.adapter.discrete_places(self.places)

    @property
    def cells(self) -> Cells:
        """The joint states of the targets, to count samples in."""
        return Cells.of(self.potentials, self.targets, self.evidence)

    def factor(self, values: Floats) -> Factor:
        """Turn an answer into a Factor with the names of the targets."""
        return self.adapter.factor(self.places, values)


@dataclass(frozen=True)
class Engine:
    """A method to estimate P(targets | evidence).

    ``answer`` raises Contradiction if the evidence is impossible. ``needs_parents`` means that it cannot
    handle Markov networks, ``takes_numbers`` that continuous nodes may be observed.
    """

    answer: Callable[[Question], Estimate]
    needs_parents: bool = False
    takes_numbers: bool = False


def _weighted(question: Question) -> Estimate:
    n, adapter = question.n_samples, question.adapter
    shares = likelihood_weighting(
        adapter.forward, question.cells, question.evidence, n, question.rng, adapter.numeric, question.known
    )
    if not _warn_of_unseen(question, shares):
        _warn_of_few(shares.worth, n, "The evidence is improbable before it is seen: raise n_samples")
    factor = question.factor(shares.values)
    return Estimate(factor, "likelihood weighting", shares.standard_error, shares.worth, n_samples=n)


def _rejected(question: Question) -> Estimate:
    n = question.n_samples
    shares, accepted = rejection(question.adapter.forward, question.cells, question.evidence, n, question.rng)
    factor = question.factor(shares.values)
    return Estimate(
        factor, "rejection", shares.standard_error, shares.worth, n_samples=n, n_accepted=accepted
    )


def _gibbs(question: Question) -> Estimate:
    each = max(4, math.ceil(question.n_samples / question.n_chains))
    before = each // 2 if question.burn_in is None else question.burn_in
    n = each * question.n_chains
    shares = gibbs(
        question.potentials, question.cells, question.evidence, each, question.n_chains, before, question.rng
    )
    if shares.r_hat > _R_HAT:
        warnings.warn(
            SuspectResult(
                "The chains disagree (R-hat {r_hat:.3g}): they have not run long enough to be believed. Raise "
                "n_samples and burn_in.",
                r_hat=shares.r_hat,
            ),
            stacklevel=3,
        )
    else:
        _warn_of_few(shares.worth, n, "The chains move slowly: raise n_samples")
    factor = question.factor(shares.values)
    return Estimate(factor, "gibbs", shares.standard_error, shares.worth, shares.r_hat, n)


def _loopy(question: Question) -> Estimate:
    potentials, observed = question.potentials, question.evidence
    seeds = [*question.targets, *np.flatnonzero(observed.codes >= 0), *observed.likelihoods]
    factors = relevant_factors(potentials, ancestral(potentials, seeds))
    tables = with_tables(potentials, observed, factors)
    beliefs = loopy(tables, observed, question.max_iter, question.tol, question.damping)
    values = beliefs.joint(question.targets)
    if values is None:
        names = Joined(repr(question.adapter.variables[p].name) for p in question.places)
        raise UsageError(
            "No one table holds {names}, so loopy belief propagation has no joint answer for them. Ask for one at a "
            'time, or use method="likelihood weighting" or "gibbs".',
            names=names,
        )
    if not beliefs.converged:
        warnings.warn(
            SuspectResult(
                "The messages did not settle in {n_iterations} iterations. Try damping=0.5, raise max_iter, "
                "or use another method.",
                n_iterations=beliefs.n_iterations,
            ),
            stacklevel=3,
        )
    factor = question.factor(values)
    return Estimate(factor, "loopy", converged=beliefs.converged, n_iterations=beliefs.n_iterations)


# The methods of `approximate`.
METHODS: dict[str, Engine] = {
    "likelihood weighting": Engine(_weighted, needs_parents=True, takes_numbers=True),
    "gibbs": Engine(_gibbs),
    "rejection": Engine(_rejected, needs_parents=True),
    "loopy": Engine(_loopy),
}


def _warn_of_unseen(question: Question, shares: Shares) -> bool:
    """Warn if the samples met only a part of what makes the evidence probable; return whether they did.

    Weights cannot tell: where no sample was drawn, there is none. So log P(evidence) is computed exactly, if that
    takes little memory, and compared with the mean weight.
    """
    if question.evidence.is_empty or not np.isnan(question.known).all():
        return False
    try:
        log_p = question.adapter.exact.log_probability(question.evidence, _CHECKED_WITHIN)
    except TooLarge:
        return False
    met = math.exp(min(shares.log_mean - log_p, 0.0))
    spread = math.sqrt(max(1.0 / shares.worth - 1.0 / question.n_samples, 0.0))
    if 1.0 - met <= max(_UNSEEN, 5.0 * spread):
        return False
    warnings.warn(
        SuspectResult(
            "{n} samples met states that account for only {met:.2g} of the probability of the evidence, which is "
            "improbable before it is seen (log P = {log_p:.4g}). The rest may change the answer entirely, and the "
            "standard error does not contain it. Use query, which is exact and fits into memory here.",
            n=question.n_samples,
            met=met,
            log_p=log_p,
        ),
        stacklevel=4,
    )
    return True


def _warn_of_few(worth: float, n: int, why: str) -> None:
    if worth < min(_WORTH, n / 10):
        warnings.warn(
            SuspectResult(
                "{n} samples are worth only {worth:.0f} independent ones, too few for a standard error that can be "
                "relied on. {why}, or use query, which is exact.",
                n=n,
                worth=worth,
                why=why,
            ),
            stacklevel=4,
        )
