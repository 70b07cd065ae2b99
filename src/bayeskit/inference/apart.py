"""The part of a problem that the targets are connected with, where the rest can be left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.potentials import Evidence, Potentials
from bayeskit.inference.relevant import is_directed
from bayeskit.inference.sampling.estimate import Cells
from bayeskit.inference.sampling.forward import Forward
from bayeskit.inference.sampling.likelihood_weighting import weighted_cells
from bayeskit.inference.triangulation import Problem, numbered

ROWS_TRIED = 4096


def connected(
    potentials: Potentials, problem: Problem, targets: Sequence[int], evidence: Evidence
) -> Problem | None:
    """Return the problem without what is not connected with the targets; None where that changes the answer.

    What is not connected multiplies every cell of the targets by the same number. Only if that were zero would
    it matter, and it is not where all its numbers are positive, nor where some states of everything agree with the
    evidence, be it one row drawn out of thousands.
    """
    near = _reached(problem, [int(problem.place[v]) for v in targets])
    places = potentials.scope
    held = problem.place[places] >= 0
    held[held] = near[problem.place[places[held]]]
    factor_of = np.repeat(np.arange(potentials.n_factors), np.diff(potentials.scope_start))
    kept = problem.kept & (np.bincount(factor_of, held, potentials.n_factors) > 0)
    positive = all(
        potentials.is_positive(f, evidence.codes) for f in np.flatnonzero(problem.kept & ~kept).tolist()
    )
    needed = np.zeros(potentials.n_variables, np.bool_)
    # Variables of one state are connected with nothing, and yet axes of the factors that stay.
    needed[problem.variables[near | (problem.sizes == 1)]] = True
    for v, weight in evidence.likelihoods.items():
        code = int(evidence.codes[v])
        positive = positive and (needed[v] or bool((weight if code < 0 else weight[code]).any()))
    if not positive and not _seen_possible(potentials, evidence):
        return None
    return numbered(potentials, evidence.codes, needed, kept, tuple(targets))


def _seen_possible(potentials: Potentials, evidence: Evidence) -> bool:
    """Tell whether a row of a Bayesian network agrees with the evidence among some that are drawn."""
    if not is_directed(potentials):
        return False
    rng = np.random.default_rng(0)  # the same question has the same answer
    nothing = Cells.of(potentials, (), evidence)
    _, log_weights = weighted_cells(Forward.of(potentials), nothing, evidence, ROWS_TRIED, rng)
    return bool(log_weights.max() > -np.inf)


def _reached(problem: Problem, places: list[int]) -> NDArray[np.bool_]:
    """Return which variables some places are connected with, themselves included."""
    near = np.zeros(len(problem.sizes), np.bool_)
    near[places] = True
    waiting = list(places)
    while waiting:
        row = problem.adjacency[waiting.pop()].astype("<u8").view(np.uint8)
        new = np.flatnonzero(np.unpackbits(row, count=len(near), bitorder="little"))
        new = new[~near[new]]
        near[new] = True
        waiting += new.tolist()
    return near
