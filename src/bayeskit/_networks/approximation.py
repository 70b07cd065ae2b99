"""Estimates posteriors by sampling or loopy belief propagation, where they cannot be computed exactly.

The function `approximate` is a method of networks. The same seed gives the same result.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit._graphs.factor import Factor
from bayeskit._inference.exact import allowed
from bayeskit._inference.loopy import loopy
from bayeskit._inference.potentials import Contradiction, Evidence, Potentials
from bayeskit._inference.relevant import ancestral, relevant_factors, with_tables
from bayeskit._inference.sampling.estimate import Cells, Estimate, NumericEstimate, WeightedSample
from bayeskit._inference.sampling.gibbs import Sampler, gibbs, shares_of_chains
from bayeskit._inference.sampling.likelihood_weighting import (
    rejection,
    relative_weights,
    weighted_cells,
    weighted_chunks,
    weighted_numbers,
    weighted_shares,
)
from bayeskit._messages import Joined, Message
from bayeskit._networks.arguments import choice, number_below, whole_number
from bayeskit._networks.evidence import Given
from bayeskit._networks.queries import Queries
from bayeskit._networks.sampling_adapter import SamplingAdapter, sampling_adapter_of
from bayeskit._random_state import generator_of
from bayeskit._schema import Name
from bayeskit.errors import NotSupported, SettingError, SuspectResult, TooLarge, UsageError
from bayeskit.typing import Floats, NamesLike, Seed

# Half-chains that disagree by more than this cause a warning. (Vehtari and others, 2021, recommend 1.01,
# which short chains of a binary variable exceed by chance.)
_R_HAT = 1.05
# With an effective sample size below this, and below a tenth of the samples, the standard error is unreliable.
_WORTH = 100
# Samples that miss more than this share of P(evidence), and more than chance explains, cause a warning.
_UNSEEN = 0.1
# The bytes that may be spent on the exact P(evidence): a few milliseconds.
_CHECKED_WITHIN = 2**22
# Why samples are worth little.
IMPROBABLE = Message("The evidence is improbable before it is seen: raise n_samples")


def approximate(
    self: Queries,
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
    max_memory: float | None = None,
) -> Any:
    r"""Estimate P(targets | evidence), by sampling where exact inference needs too much memory.

    Parameters
    ----------
    targets : a node, or a list of nodes with states, or of continuous nodes
    evidence, soft : as in `query`
    method : str, optional
        By default the answer is exact if that fits into memory. Otherwise it is estimated by likelihood weighting, or
        by Gibbs sampling for a Markov network. A method that is named is used in any case:

        - ``"likelihood weighting"``: free nodes are drawn after their parents, and each sample is weighted by the
          probability of the observed nodes. Good unless the evidence is improbable. Continuous nodes may be observed
          or asked for.
        - ``"gibbs"``: nodes are resampled one after the other given their
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
    max_memory : the limit in bytes for the exact answer that is tried first, by default the setting of
        `set_max_memory`

    Returns
    -------
    Estimate: ``["yes"]``, ``.values``, ``.factor``, and ``.standard_error``, ``.effective_sample_size``,
    ``.r_hat``, ``.converged`` where applicable. For continuous targets a `NumericEstimate`: ``.mean``, ``.sd``,
    ``.standard_error`` of the mean, ``.quantile(q)``, ``.interval(level)``. Its ``method`` is "exact" if nothing had
    to be estimated.

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
    >>> from bayeskit.networks import wet_grass
    >>> found = wet_grass().approximate("rain", method="loopy")
    >>> found.converged, round(found["yes"], 6)
    (True, 0.2)
    """
    adapter = sampling_adapter_of(self._cache)
    by_name = method or ("likelihood weighting" if adapter.directed else "gibbs")
    if by_name not in METHODS and isinstance(by_name, str):
        by_name = by_name.replace("-", " ").replace("_", " ")
    choice(by_name, "method", tuple(METHODS))
    engine = METHODS[by_name]
    places = adapter.targets(targets)
    n, chains = whole_number(n_samples, "n_samples", 1), whole_number(n_chains, "n_chains", 1)
    before = None if burn_in is None else whole_number(burn_in, "burn_in", 0)
    most, tolerance = whole_number(max_iter, "max_iter", 1), number_below(tol, "tol")
    share = number_below(damping, "damping", 1.0)
    limit, rng = allowed(max_memory), generator_of(random_state)
    observed, known = adapter.read(evidence, soft, limit)
    _check_method(adapter, places, known, by_name, engine)
    if method is None:
        exact = _exactly(self, adapter, places, evidence, soft, limit)
        if exact is not None:
            return exact
    try:
        return engine.answer(
            Question(adapter, places, observed, known, n, chains, before, most, tolerance, share, rng)
        )
    except Contradiction:
        raise adapter.impossible(evidence, soft, limit) from None


def estimated_nodes(
    network: Queries,
    evidence: Given = None,
    *,
    soft: Given = None,
    n_samples: int = 10_000,
    random_state: Seed = 0,
    max_memory: float | None = None,
) -> Mapping[Name, Estimate | NumericEstimate]:
    """Estimate P(node | evidence) of every node, all from the same samples.

    Likelihood weighting, unless the evidence leaves too little of the samples, or there are no parents: then Gibbs
    sampling, if the nodes have states only. Nothing warns; look at ``effective_sample_size``.

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> found = estimated_nodes(wet_grass(), {"wet": "yes"})
    >>> bool(abs(found["sprinkler"]["yes"] - 0.3382) < 4 * found["sprinkler"].standard_error[1])
    True
    """
    adapter = sampling_adapter_of(network._cache)
    limit, rng = allowed(max_memory), generator_of(random_state)
    observed, known = adapter.read(evidence, soft, limit)
    try:
        return _all_nodes(adapter, observed, known, n_samples, rng)
    except Contradiction:
        raise adapter.impossible(evidence, soft, limit) from None


def _all_nodes(
    adapter: SamplingAdapter, observed: Evidence, known: Floats, n: int, rng: np.random.Generator
) -> Mapping[Name, Estimate | NumericEstimate]:
    if not adapter.directed:
        return _all_visited(adapter, observed, n, rng)
    weighted: Mapping[Name, Estimate | NumericEstimate] = {}
    refused: SettingError | None = None
    try:
        weighted, worth = _all_weighted(adapter, observed, known, n, rng)
        if worth >= _WORTH or adapter.numeric is not None:
            return weighted
    except SettingError as error:  # no sample agrees with the evidence
        if adapter.numeric is not None:
            raise
        refused = error
    try:
        visited = _all_visited(adapter, observed, n, rng)
    except UsageError:  # zeros tie too many nodes together
        if refused is not None:
            raise refused from None
        return weighted
    # Chains that disagree are no better than samples of little worth, which at least say so.
    agree = all(each.r_hat is not None and each.r_hat <= _R_HAT for each in visited.values())
    return visited if agree or not weighted else weighted


def _all_weighted(
    adapter: SamplingAdapter, observed: Evidence, known: Floats, n: int, rng: np.random.Generator
) -> tuple[dict[Name, Estimate | NumericEstimate], float]:
    """Return the estimates, and how many independent samples all of them are worth."""
    states, numbers = len(adapter.discrete), len(adapter.continuous)
    if adapter.node_by_node is None:
        chunks = weighted_chunks(
            adapter.forward, range(states), range(numbers), observed, n, rng, adapter.numeric, known
        )
    else:
        everything = np.ones(len(adapter.node_by_node.order), bool)
        chunks = adapter.node_by_node.chunks(n, rng, observed, known, everything)
    codes, values, logs = np.zeros((states, n), np.int32), np.zeros((numbers, n)), np.zeros(n)
    for rows, drawn, measured, log_weights in chunks:
        codes[:, rows], values[:, rows], logs[rows] = drawn[:, :states].T, measured.T, log_weights
    weights, _ = relative_weights(logs)
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    found: dict[Name, Estimate | NumericEstimate] = {}
    discrete, continuous = iter(enumerate(codes)), iter(values)
    for place, variable in enumerate(adapter.variables):
        if variable.kind == "categorical":
            k, at = next(discrete)
            shares = weighted_shares(
                at.astype(np.int64), weights, Cells.of(adapter.potentials, (k,), observed)
            )
            factor = adapter.factor((place,), shares.values)
            found[variable.name] = Estimate(
                factor, "likelihood weighting", shares.standard_error, worth, n_samples=n
            )
        else:
            one = WeightedSample(next(continuous), weights)
            found[variable.name] = NumericEstimate(
                (variable.name,), "likelihood weighting", (one,), (one.standard_error,), worth, n
            )
    return found, worth


def _all_visited(
    adapter: SamplingAdapter, observed: Evidence, n: int, rng: np.random.Generator
) -> dict[Name, Estimate]:
    """Return the estimates from four chains; of every second sweep the states are kept."""
    chains, sweeps = 4, 2
    each = max(4, math.ceil(n / (chains * sweeps)))
    sampler = Sampler.of(adapter.potentials, observed, range(len(adapter.discrete)))
    codes = np.stack([sampler.visited(each, sweeps, each, own) for own in rng.spawn(chains)])
    found: dict[Name, Estimate] = {}
    for place, variable in enumerate(adapter.variables):
        shares = shares_of_chains(codes[:, :, place], Cells.of(adapter.potentials, (place,), observed))
        factor = adapter.factor((place,), shares.values)
        found[variable.name] = Estimate(
            factor, "gibbs", shares.standard_error, shares.worth, shares.r_hat, chains * each
        )
    return found


def _exactly(
    network: Queries,
    adapter: SamplingAdapter,
    places: tuple[int, ...],
    evidence: Given,
    soft: Given,
    limit: float,
) -> Estimate | NumericEstimate | None:
    """Return the exact answer as an estimate without error; None if it needs too much memory."""
    names = tuple(adapter.variables[place].name for place in places)
    try:
        found = network.query(list(names), evidence, soft=soft, max_memory=limit)
    except (TooLarge, NotSupported):
        return None
    if not adapter.is_numeric(places):
        return Estimate(found, "exact", np.zeros(found.values.shape))
    each = (found,) if len(names) == 1 else tuple(found.marginal(k) for k in range(len(names)))
    return NumericEstimate(names, "exact", each, (0.0,) * len(names))


def _check_method(
    adapter: SamplingAdapter, places: tuple[int, ...], known: Floats, method: str, engine: Engine
) -> None:
    """Raise an error for what a method cannot do."""
    numeric = next((p for p in places if adapter.variables[p].kind != "categorical"), None)
    discrete = next((p for p in places if adapter.variables[p].kind == "categorical"), None)
    if numeric is not None and discrete is not None:
        raise SettingError(
            "{name!r} is continuous, and {other!r} has states: they have no joint answer. Ask for them one "
            "after the other.",
            name=adapter.variables[numeric].name,
            other=adapter.variables[discrete].name,
        )
    if numeric is not None and not engine.answers_numbers:
        raise SettingError(
            "{name!r} is continuous, and method={method!r} answers for nodes with states only. Use "
            'method="likelihood weighting", or query, which is exact.',
            name=adapter.variables[numeric].name,
            method=method,
        )
    if adapter.node_by_node is not None and not engine.answers_numbers:
        network = adapter.node_by_node.network
        name = network.softmax_nodes[0]
        raise SettingError(
            "{name!r} is discrete and {numeric!r}, its parent, is continuous; method={method!r} cannot draw it. Use "
            'method="likelihood weighting".',
            name=name,
            numeric=network.numeric_parents(network[name])[0],
            method=method,
        )
    if not adapter.directed and engine.needs_parents:
        raise SettingError(
            "method={method!r} samples each node after its parents, and a Markov network has no parents. "
            'Use method="gibbs" or "loopy".',
            method=method,
        )
    if not engine.takes_numbers and not np.isnan(known).all():
        name = adapter.variables[adapter.continuous[int(np.flatnonzero(~np.isnan(known))[0])]].name
        raise SettingError(
            "{name!r} is continuous and observed; method={method!r} accepts observed states only. Use "
            'method="likelihood weighting", or query, which is exact.',
            name=name,
            method=method,
        )


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
    handle Markov networks, ``takes_numbers`` that continuous nodes may be observed, ``answers_numbers`` that they
    may be targets.
    """

    answer: Callable[[Question], Estimate | NumericEstimate]
    needs_parents: bool = False
    takes_numbers: bool = False
    answers_numbers: bool = False


def _weighted(question: Question) -> Estimate | NumericEstimate:
    n, adapter = question.n_samples, question.adapter
    is_numeric = adapter.is_numeric(question.places)
    drawn, log_weights = _weighted_targets(question, is_numeric)
    weights, log_mean = relative_weights(log_weights)
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    if not _warn_of_unseen(question, log_mean, worth):
        _warn_of_few(worth, n, IMPROBABLE)
    if not is_numeric:
        shares = weighted_shares(drawn.astype(np.int64), weights, question.cells)
        factor = question.factor(shares.values)
        return Estimate(factor, "likelihood weighting", shares.standard_error, shares.worth, n_samples=n)
    each = tuple(WeightedSample(column, weights) for column in drawn.T)
    names = tuple(adapter.variables[place].name for place in question.places)
    errors = tuple(one.standard_error for one in each)
    return NumericEstimate(names, "likelihood weighting", each, errors, worth, n)


def _weighted_targets(question: Question, is_numeric: bool) -> tuple[Any, Floats]:
    """Return the cell of each sample, or the values of continuous targets (samples × targets), and the log weights."""
    n, adapter, rng, known = question.n_samples, question.adapter, question.rng, question.known
    if adapter.node_by_node is None and (adapter.numeric is None or not is_numeric):
        cells = question.cells
        return weighted_cells(adapter.forward, cells, question.evidence, n, rng, adapter.numeric, known)
    numeric = adapter.numeric_places(question.places) if is_numeric else []
    if adapter.node_by_node is None:
        assert adapter.numeric is not None
        evidence = question.evidence
        return weighted_numbers(adapter.forward, numeric, evidence, n, rng, adapter.numeric, known)
    evidence, network = question.evidence, adapter.node_by_node
    discrete = [*np.flatnonzero(evidence.codes >= 0), *evidence.likelihoods]
    targets = () if is_numeric else question.targets
    wanted = network.needed([*targets, *discrete], [*numeric, *np.flatnonzero(~np.isnan(known))])
    drawn = np.zeros((n, len(numeric))) if is_numeric else np.zeros(n)
    log_weights = np.zeros(n)
    for rows, codes, values, logs in network.chunks(n, rng, evidence, known, wanted):
        drawn[rows] = values[:, numeric] if is_numeric else question.cells.of_rows(codes)
        log_weights[rows] = logs
    return drawn, log_weights


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
                "The chains disagree (R-hat {r_hat:.3g}): they are too short to be reliable. Raise n_samples "
                "and burn_in.",
                r_hat=shares.r_hat,
            ),
            stacklevel=3,
        )
    else:
        _warn_of_few(shares.worth, n, Message("The chains move slowly: raise n_samples"))
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
            "No single table contains {names}, so loopy belief propagation has no joint answer for them. "
            'Query them one at a time, or use method="likelihood weighting" or "gibbs".',
            names=names,
        )
    if not beliefs.converged:
        warnings.warn(
            SuspectResult(
                "The messages did not converge in {n_iterations} iterations. Try damping=0.5, raise max_iter, "
                "or use another method.",
                n_iterations=beliefs.n_iterations,
            ),
            stacklevel=3,
        )
    factor = question.factor(values)
    return Estimate(factor, "loopy", converged=beliefs.converged, n_iterations=beliefs.n_iterations)


# The methods of `approximate`.
METHODS: dict[str, Engine] = {
    "likelihood weighting": Engine(_weighted, needs_parents=True, takes_numbers=True, answers_numbers=True),
    "gibbs": Engine(_gibbs),
    "rejection": Engine(_rejected, needs_parents=True),
    "loopy": Engine(_loopy),
}


def _warn_of_unseen(question: Question, log_mean: float, worth: float) -> bool:
    """Warn if the samples met only a part of what makes the evidence probable; return whether they did.

    Weights cannot tell: where no sample was drawn, there is none. So log P(evidence) is computed exactly, if that
    takes little memory, and compared with the mean weight.
    """
    if question.evidence.is_empty or not np.isnan(question.known).all() or question.adapter.node_by_node:
        return False
    try:
        log_p = question.adapter.exact.log_probability(question.evidence, _CHECKED_WITHIN)
    except TooLarge:
        return False
    met = math.exp(min(log_mean - log_p, 0.0))
    spread = math.sqrt(max(1.0 / worth - 1.0 / question.n_samples, 0.0))
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


def _warn_of_few(worth: float, n: int, why: Message) -> None:
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
