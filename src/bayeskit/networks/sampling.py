"""Rows drawn from a network, and answers estimated from them: methods of networks, which take them by name.

Everything random is the same again with the same seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import SettingError
from bayeskit.inference.exact import allowed
from bayeskit.inference.potentials import Contradiction
from bayeskit.inference.sampling.estimate import Estimate
from bayeskit.networks.arguments import choice, number_below, switch, whole_number
from bayeskit.networks.exact_door import Keeping, Kept
from bayeskit.networks.sampling_door import SamplingDoor
from bayeskit.schema import Name, Variable
from bayeskit.typing import NamesLike, Seed

Given = Mapping[Any, Any] | None

METHODS = ("likelihood weighting", "gibbs", "rejection", "loopy")


def sample(
    self: Keeping,
    n: int,
    seed: Seed = 0,
    evidence: Given = None,
    as_codes: bool = False,
    *,
    soft: Given = None,
    max_memory: float | None = None,
) -> Any:
    """Draw n rows from P(nodes | evidence): exactly, with or without evidence.

    Parameters
    ----------
    n : int
    seed : int, or anything that ``numpy.random.default_rng`` takes
        The rows of a short sample are the first rows of a long one with the same seed.
    evidence, soft : as in `query`; also observed values of continuous nodes
    as_codes : bool
        Return an array of shape (n, nodes) with the places of the states instead of the states; of a network
        with continuous nodes the array holds floats.
    max_memory : bytes that the tables may take that evidence (or a Markov network) makes necessary

    Returns
    -------
    pandas.DataFrame with a column for each node, or a dict of arrays where pandas is not installed

    Notes
    -----
    Without evidence each node is drawn after its parents. With it, the nodes that the evidence can say
    something about are eliminated once, which costs as much as one exact query; then every row is drawn in
    the reverse order, as fast as without evidence. What is too large for that is refused with `TooLarge`.

    Examples
    --------
    >>> from bayeskit.networks.examples import wet_grass
    >>> wet_grass().sample(3, seed=1, as_codes=True).shape
    (3, 4)
    """
    rows, in_codes = whole_number(n, "n", 0), switch(as_codes, "as_codes")
    limit, rng = allowed(max_memory), _generator(seed)
    door = sampling_door(self._kept)
    codes, values = door.sample(rows, rng, evidence, soft, limit)
    if in_codes:
        if not len(door.continuous):
            return codes
        both = np.zeros((rows, len(door.variables)))
        both[:, door.discrete], both[:, door.continuous] = codes, values
        return both
    columns: dict[Name, NDArray[Any]] = {}
    states, numbers = iter(codes.T), iter(values.T)
    for variable in door.variables:
        if variable.kind == "categorical":
            columns[variable.name] = _states_of(variable)[next(states)]
        else:
            columns[variable.name] = next(numbers).copy()
    return _frame_of(columns)


def approximate(
    self: Keeping,
    *targets: NamesLike,
    evidence: Given = None,
    soft: Given = None,
    method: str | None = None,
    n_samples: int = 10_000,
    n_chains: int = 4,
    burn_in: int | None = None,
    max_iter: int = 1000,
    tol: float = 1e-9,
    damping: float = 0.0,
    seed: Seed = 0,
) -> Estimate:
    r"""Estimate P(targets | evidence) where an exact answer would be too large.

    Parameters
    ----------
    *targets : nodes with states, or one list of them
    evidence, soft : as in `query`
    method : str
        - ``"likelihood weighting"`` (the default of a Bayesian network): free nodes are drawn after their
          parents, the observed ones weigh the sample by their probability. Good unless the evidence is improbable.
          It also takes observed continuous nodes.
        - ``"gibbs"`` (the default of a Markov network): nodes are redrawn one after the other given their Markov
          blankets. Nodes that zeros of the tables tie together, so that a chain of single redraws could not
          reach all their states, are redrawn together; where these are too many, the call is refused.
        - ``"rejection"``: rows are drawn without the evidence and those that disagree are thrown away.
        - ``"loopy"``: loopy belief propagation, exact where the graph has no loops; nothing is drawn. Several
          targets must stand in one table.
    n_samples : int
        Rows drawn; of Gibbs, sweeps that are kept, all chains together; of rejection, rows before any are
        thrown away.
    n_chains, burn_in : Gibbs: how many chains, and how many sweeps each makes before any is kept (None: half as
        many as it keeps)
    max_iter, tol, damping : loopy: at most so many iterations, until no message changes by more than ``tol``;
        the share of the old message that is kept (0 to below 1), which helps where messages go round
    seed : int, or anything that ``numpy.random.default_rng`` takes

    Returns
    -------
    Estimate: ``["yes"]``, ``.values``, ``.factor``, and ``.standard_error``, ``.effective_sample_size``,
    ``.r_hat``, ``.converged`` where they apply

    Warns
    -----
    SuspectResult where chains disagree, messages do not settle, or the samples are worth very few

    Notes
    -----
    A standard error is estimated from the same samples, of weights :math:`w_i` with the largest :math:`w_*`, all
    equal but in likelihood weighting, and for Gibbs as many as its chains are worth:

    .. math:: \frac{1}{\sum_i w_i} \sqrt{\sum_i w_i^2 ([x_i = c] - \hat P)^2 +
              w_*^2 \left(\hat P^2 + (1 - \hat P)^2\right)}

    The second term is that of two imaginary samples, one in the cell and one outside: n samples that all fall
    into one cell give 1 ± 1/n, not certainty. Probabilities that are tiny but not zero can keep all
    chains of Gibbs sampling away from a part of the states for a long time, which no diagnostic sees; a few
    samples of great weight do the same to likelihood weighting. Two methods that agree are the best check.

    Examples
    --------
    >>> from bayeskit.networks.examples import wet_grass
    >>> found = wet_grass().approximate("rain", method="loopy")
    >>> found.converged, round(found["yes"], 6)
    (True, 0.2)
    """
    door = sampling_door(self._kept)
    if method is None:
        method = METHODS[0] if door.directed else "gibbs"
    choice(method, "method", METHODS)
    places = door.targets(targets)
    n, chains = whole_number(n_samples, "n_samples", 1), whole_number(n_chains, "n_chains", 1)
    before = None if burn_in is None else whole_number(burn_in, "burn_in", 0)
    most, tolerance = whole_number(max_iter, "max_iter", 1), number_below(tol, "tol")
    share = number_below(damping, "damping", 1.0)
    limit, rng = allowed(None), _generator(seed)
    found, known = door.read(evidence, soft, limit)
    try:
        if method == "likelihood weighting":
            return door.weighted(places, found, known, n, rng)
        if method == "rejection":
            return door.rejected(places, found, known, n, rng)
        if method == "gibbs":
            return door.gibbs(places, found, known, n, chains, before, rng)
        return door.loopy(places, found, known, most, tolerance, share)
    except Contradiction:
        raise door.impossible(evidence, soft, limit) from None


def sampling_door(kept: Kept) -> SamplingDoor:
    return kept.get("sampling", lambda: SamplingDoor(kept.network))


def _generator(seed: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise SettingError(f"seed is {seed!r}; give a whole number, 0 or more.") from None


def _states_of(variable: Variable) -> NDArray[Any]:
    """Return the states as an array to be indexed by codes; text and mixed kinds stay Python's own."""
    kinds = {type(state) for state in variable.states}
    if kinds in ({int}, {float}, {bool}) and not _too_large(variable):
        return np.array(variable.states)
    array = np.empty(variable.size, dtype=object)
    for code, state in enumerate(variable.states):  # one by one: a state may be a tuple
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
