"""What a question needs: barren nodes go, observed variables are sliced out, everything else stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit._inference.triangulation import make_problem
from engine_twin import neighbours, random_field
from network_twin import joint_table, margin, random_network, with_evidence


def ancestors(network, names):
    found, waiting = set(names), list(names)
    while waiting:
        for parent in network[waiting.pop()].parents:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


def obvious_neighbours(potentials, problem, joined=()):
    """Two free variables of several states are linked where they stand in one kept factor, or are joined."""
    sets = [potentials.scope_of(f) for f in np.flatnonzero(problem.kept)] + [list(joined)]
    found = [set() for _ in problem.sizes]
    for scope in sets:
        free = [int(problem.place[v]) for v in scope if problem.place[v] >= 0 and potentials.sizes[v] > 1]
        for a in free:
            found[a] |= set(free) - {a}
    return found


@given(st.integers(0, 2**32 - 1))
def test_kept_is_what_is_asked_and_its_ancestors(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(1, 9)), 3, 3)
    p = Potentials.of(network)
    n = p.n_variables
    observed = np.where(rng.random(n) < 0.3, 0, -1)
    asked = (observed >= 0) | (rng.random(n) < 0.2)
    joined = tuple(int(v) for v in np.flatnonzero(asked & (p.sizes > 1))[:3])
    problem = make_problem(p, observed, asked, joined)
    nodes = network.dag.nodes
    needed = ancestors(network, [nodes[v] for v in np.flatnonzero(asked)])
    assert problem.kept.tolist() == [name in needed for name in nodes]
    free = [v for v in range(n) if nodes[v] in needed and observed[v] < 0]
    assert problem.variables.tolist() == free
    assert problem.sizes.tolist() == [int(p.sizes[v]) for v in free]
    assert problem.place.tolist() == [free.index(v) if v in free else -1 for v in range(n)]
    assert neighbours(problem) == obvious_neighbours(p, problem, joined)


@given(st.integers(0, 2**32 - 1))
def test_barren_nodes_do_not_matter(seed):
    """The factors that are kept give the same posterior as all of them."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(2, 8)), 3, 3)
    p = Potentials.of(network)
    n = p.n_variables
    target = int(rng.integers(n))
    observed = np.where(rng.random(n) < 0.3, rng.integers(0, p.sizes), -1)
    observed[target] = -1
    asked = observed >= 0
    asked[target] = True
    problem = make_problem(p, observed, asked)
    seen = {v: int(code) for v, code in enumerate(observed) if code >= 0}
    product = np.ones(p.sizes)
    for f in np.flatnonzero(problem.kept).tolist():
        scope = p.scope_of(f)
        table = p.table_of(f).transpose(np.argsort(scope))
        product = product * table.reshape([p.sizes[v] if v in scope else 1 for v in range(n)])
    pruned = margin(with_evidence(product, seen), target)
    whole = margin(with_evidence(joint_table(network), seen), target)
    assert pruned / pruned.sum() == pytest.approx(whole / whole.sum(), abs=1e-12)


def test_every_node_is_asked_for_where_nothing_is_said():
    p = Potentials.of(random_network(np.random.default_rng(1), 7, 3, 3))
    problem = make_problem(p, Evidence.nothing(7).codes, None)
    assert problem.kept.all() and problem.variables.tolist() == list(range(7))


@given(st.integers(0, 2**32 - 1))
def test_factors_of_a_markov_network_all_matter(seed):
    """A factor has no sum of one to drop it for; a variable in no factor still counts its states."""
    rng = np.random.default_rng(seed)
    p = random_field(rng, n=6, n_factors=3)
    observed = np.where(rng.random(6) < 0.3, 0, -1)
    problem = make_problem(p, observed, observed >= 0)
    assert problem.kept.all()
    assert problem.variables.tolist() == np.flatnonzero(observed < 0).tolist()
    assert neighbours(problem) == obvious_neighbours(p, problem)
