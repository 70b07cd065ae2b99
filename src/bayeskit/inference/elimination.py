"""MAP by bucket elimination: sums first, then maxima. Numbers are logs, so nothing underflows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import TooLarge
from bayeskit.inference.assignment import Assignment
from bayeskit.inference.evidence import Evidence
from bayeskit.inference.log_tree import log_sum, spread
from bayeskit.inference.most_probable import TIE
from bayeskit.inference.potentials import Potentials
from bayeskit.inference.problem import Problem, make_problem
from bayeskit.inference.triangulation import Triangulation, triangulate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Factor:
    scope: tuple[int, ...]
    values: Floats


def most_probable_targets(
    potentials: Potentials, targets: tuple[int, ...], evidence: Evidence, max_memory: float
) -> Assignment:
    """Return the most probable states of the targets; ties go to the lowest states, variables in order.

    All other variables are summed out before any target is maximised, because a maximum does not commute
    with a sum. That constrains the order, and the tables may be larger than those of any other question.
    """
    fixed = evidence.codes.copy()
    best, log_best = _maximise(potentials, targets, Evidence(fixed, evidence.likelihoods), max_memory)
    if log_best == -math.inf:
        return Assignment(np.zeros(len(targets), np.int64), log_best)
    found = dict(zip(targets, best))
    for v in sorted(targets):
        # A lower state that does as well, with the earlier targets as they are, comes first.
        for code in range(found[v]):
            if evidence.codes[v] >= 0:
                break
            fixed[v] = code
            other, log_other = _maximise(
                potentials, targets, Evidence(fixed, evidence.likelihoods), max_memory
            )
            if log_other >= log_best - TIE:
                found = dict(zip(targets, other))
                break
        fixed[v] = found[v]
    return Assignment(np.array([found[v] for v in targets], np.int64), log_best)


def _maximise(
    p: Potentials, targets: tuple[int, ...], evidence: Evidence, max_memory: float
) -> tuple[list[int], float]:
    """Return some best states of the targets, and the log of their probability with the evidence."""
    codes = np.where(p.sizes == 1, 0, evidence.codes)  # an array has only so many axes: leave these out
    asked = codes >= 0
    asked[list(targets)] = True
    asked[list(evidence.likelihoods)] = True
    problem = make_problem(p, codes, asked)
    late = np.zeros(len(problem.sizes), np.bool_)
    late[[int(problem.place[v]) for v in targets if problem.place[v] >= 0]] = True
    triangulation = triangulate(problem, late)
    _require(p, problem, triangulation, max_memory)
    factors, total = _factors(p, problem, codes, evidence)
    choices: list[tuple[int, tuple[int, ...], NDArray[np.intp]]] = []
    for step, v in enumerate(triangulation.order.tolist()):
        mine = [f for f in factors if v in f.scope]
        factors = [f for f in factors if v not in f.scope]
        scope = tuple(u for u in triangulation.members(step) if u != v)
        product = _product(mine, (*scope, v), problem.sizes)
        if late[v]:
            choices.append((v, scope, product.argmax(axis=-1)))
            values = product.max(axis=-1)
        else:
            values = log_sum(product)
        factors.append(_Factor(scope, values))
    total += sum(float(f.values) for f in factors)
    chosen: dict[int, int] = {}
    for v, scope, choice in reversed(choices):
        chosen[v] = int(choice[tuple(chosen[u] for u in scope)])
    return [chosen[int(problem.place[v])] if problem.place[v] >= 0 else int(codes[v]) for v in targets], total


def _factors(p: Potentials, problem: Problem, codes: Ints, evidence: Evidence) -> tuple[list[_Factor], float]:
    """Return the logs of the relevant factors at the observed states, and the sum of those without a variable."""
    place, found, total = problem.place, [], 0.0
    tables = [(p.scope_of(f), p.table_of(f)) for f in np.flatnonzero(problem.kept).tolist()]
    tables += [([v], weight) for v, weight in evidence.likelihoods.items()]
    with np.errstate(divide="ignore"):
        for scope, table in tables:
            values = np.log(table[tuple(slice(None) if place[v] >= 0 else codes[v] for v in scope)])
            free = tuple(int(place[v]) for v in scope if place[v] >= 0)
            if free:
                found.append(_Factor(free, values))
            else:
                total += float(values)
    return found, total


def _product(factors: list[_Factor], scope: tuple[int, ...], sizes: Ints) -> Floats:
    """Return the sum of logs over a scope."""
    product = np.zeros([int(sizes[v]) for v in scope])
    for f in factors:
        product += spread(f.values, f.scope, scope)
    return product


def _require(p: Potentials, problem: Problem, triangulation: Triangulation, max_memory: float) -> None:
    members, cells = triangulation.largest(problem.sizes)
    # The product, its exponentials while it is summed, and what earlier steps left.
    needed = 8 * (2 * cells) + 8 * triangulation.cells / 2
    if needed > max_memory:
        names = [p.names[int(problem.variables[v])] for v in members]
        raise TooLarge(needed, max_memory, names, cells)
