"""MAP by constrained elimination: sums before maxima, against enumeration; ties; sizes that no table holds."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._inference.exact import Exact
from bayeskit._inference.most_probable import most_probable_targets
from bayeskit._inference.potentials import Evidence, Potentials
from bayeskit.errors import TooLarge
from engine_twin import log_joint, log_margin, random_evidence, random_field
from network_twin import random_network
from work import check_growth


def first_best(table, axes):
    """Return the first of the largest cells, axes taken in ascending order, and its log."""
    order = np.argsort(axes)
    turned = table.transpose(order)
    cell = np.unravel_index(int((turned >= turned.max() - 1e-10).argmax()), turned.shape)
    found = np.empty(len(axes), int)
    found[order] = cell
    return found.tolist(), turned.max()


def check(p, targets, evidence, tolerance=1e-11):
    table = log_margin(log_joint(p, evidence), *targets)
    found = most_probable_targets(p, targets, evidence, 2**30)
    if table.max() == -math.inf:
        assert found.log_probability == -math.inf
        return
    codes, log_best = first_best(table, targets)
    assert found.codes.tolist() == codes
    assert found.log_probability == pytest.approx(log_best, abs=tolerance)


def some_of(rng, n):
    return tuple(int(v) for v in rng.choice(n, int(rng.integers(1, n + 1)), replace=False))


@given(st.integers(0, 2**32 - 1))
def test_networks_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    p = Potentials.of(random_network(rng, int(rng.integers(1, 8)), 3, 3, zeros=0.3 * (seed % 2)))
    check(p, some_of(rng, p.n_variables), random_evidence(rng, p, 0.2))


@given(st.integers(0, 2**32 - 1))
def test_fields_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    p = random_field(rng, n=6, zeros=0.15)
    check(p, some_of(rng, 6), random_evidence(rng, p, 0.2))


@given(st.integers(0, 2**32 - 1))
def test_ties_go_to_the_lowest_states_in_the_order_of_variables(seed):
    """Tables of a few round numbers tie all the time."""
    rng = np.random.default_rng(seed)
    p = random_field(rng, n=6, numbers=lambda rng, shape: rng.choice([1.0, 2.0], shape), zeros=0.1)
    check(p, some_of(rng, 6), random_evidence(rng, p, 0.1))


@given(st.integers(0, 2**32 - 1))
def test_numbers_far_apart_equal_enumeration(seed):
    """The targets' own factors may span more than plain numbers can: they are split, not rounded to zero."""
    rng = np.random.default_rng(seed)
    p = random_field(
        rng, n=5, n_factors=7, numbers=lambda rng, shape: np.exp(rng.uniform(-700, 460, shape)), zeros=0.1
    )
    check(p, some_of(rng, 5), random_evidence(rng, p, 0.1), 1e-9)


def test_a_maximum_of_sums_is_no_sum_of_maxima():
    """MAP of x alone is b (0.6), though the most probable explanation has x = a."""
    x = np.array([0.4, 0.6])
    y = np.array([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    p = Potentials.laid_out([2, 3], [[0], [0, 1]], [x, y], [0, 1], ("x", "y"))
    assert most_probable_targets(p, (0,), Evidence.nothing(2), 2**30).codes.tolist() == [1]
    assert Exact(p).mpe(Evidence.nothing(2)).codes.tolist() == [0, 0]


def star(leaves, share):
    tables = [np.array([0.4, 0.6]), *[np.array([[1 - share, share], [share, 1 - share]])] * leaves]
    scopes = [[0], *([0, i] for i in range(1, leaves + 1))]
    return Potentials.laid_out(
        [2] * (leaves + 1), scopes, tables, list(range(leaves + 1)), tuple(range(leaves + 1))
    )


@pytest.mark.parametrize("leaves", [60, 1_100])
def test_leaves_whose_hub_is_summed_out_are_refused(leaves):
    """Summing the hub joins all leaves in one table of 2**leaves cells; maximising first would be wrong."""
    with pytest.raises(TooLarge) as refused:
        Exact(star(leaves, 0.25)).map(tuple(range(1, leaves + 1)), Evidence.nothing(leaves + 1))
    assert refused.value.cells >= 2**leaves and len(refused.value.largest) == leaves + 1


def test_refusing_leaves_takes_little_work():
    """Squared, for every two of them are joined; not a cell of their table."""

    def refusing(leaves):
        def ask():
            with pytest.raises(TooLarge):
                engine.map(tuple(range(1, leaves + 1)), Evidence.nothing(leaves + 1))

        engine = Exact(star(leaves, 0.25))
        return ask

    check_growth(refusing, 60, most=4.2)


def hidden_chain(n):
    """x0 → x1 → …, each with an observed child: MAP of every x is the best path once all else is known."""
    move = np.array([[0.9, 0.1], [0.1, 0.9]])
    seen = np.array([[0.8, 0.2], [0.3, 0.7]])
    scopes = [[0], *([i - 1, i] for i in range(1, n)), *([i, n + i] for i in range(n))]
    tables = [np.array([0.5, 0.5]), *[move] * (n - 1), *[seen] * n]
    return Potentials.laid_out([2] * (2 * n), scopes, tables, list(range(2 * n)), tuple(range(2 * n)))


def viterbi(n, codes):
    move, seen = np.log([[0.9, 0.1], [0.1, 0.9]]), np.log([[0.8, 0.2], [0.3, 0.7]])
    best, back = np.log([0.5, 0.5]) + seen[:, codes[0]], []
    for code in codes[1:]:
        step = best[:, None] + move
        back.append(step.argmax(axis=0))
        best = step.max(axis=0) + seen[:, code]
    path = [int(best.argmax())]
    for choice in reversed(back):
        path.append(int(choice[path[-1]]))
    return path[::-1], float(best.max())


def test_a_thousand_targets_are_found_as_viterbi_finds_them():
    """Half the observations are missing, and their nodes are barren; the targets fit no joint table."""
    n = 1_500
    codes = np.full(2 * n, -1)
    codes[n:] = np.random.default_rng(0).integers(0, 2, n)

    def finding(n):
        p, seen = hidden_chain(n), Evidence(np.concatenate([codes[:n], codes[-n:]]))
        return lambda: Exact(p).map(tuple(range(n)), seen)

    check_growth(finding, 50, most=3.3)  # between linear and squared
    found = finding(n)()
    path, log_best = viterbi(n, codes[n:].tolist())
    assert found.log_probability == pytest.approx(log_best, rel=1e-12)
    # Where the observations are symmetric several paths are as good.
    own = (
        np.log(0.5)
        + sum(math.log([[0.9, 0.1], [0.1, 0.9]][a][b]) for a, b in pairwise(found.codes))
        + sum(math.log([[0.8, 0.2], [0.3, 0.7]][x][s]) for x, s in zip(found.codes, codes[n:], strict=True))
    )
    assert own == pytest.approx(log_best, rel=1e-12)
    assert found.codes.tolist() <= path


def test_every_other_node_of_a_long_chain():
    """The nodes between are summed: P(x0, x2, …) has the squared table, and is best where nothing changes."""
    n = 4_001
    move = np.array([[0.9, 0.1], [0.1, 0.9]])
    p = Potentials.laid_out(
        [2] * n,
        [[0], *([i - 1, i] for i in range(1, n))],
        [np.array([0.5, 0.5]), *[move] * (n - 1)],
        list(range(n)),
        tuple(range(n)),
    )
    found = Exact(p).map(tuple(range(0, n, 2)), Evidence.nothing(n))
    assert not found.codes.any()  # all zero and all one tie
    assert found.log_probability == pytest.approx(math.log(0.5) + (n // 2) * math.log(0.82), rel=1e-12)


def test_observed_and_one_state_targets():
    tables = [np.array([1.0]), np.array([[0.3, 0.7]]), np.array([[0.9, 0.1], [0.2, 0.8]])]
    p = Potentials.laid_out([1, 2, 2], [[0], [0, 1], [1, 2]], tables, [0, 1, 2], ("one", "b", "c"))
    evidence = Evidence(np.array([-1, -1, 0]))
    for found in (
        most_probable_targets(p, (2, 0, 1), evidence, 2**30),
        Exact(p).map((2, 0, 1), evidence),
    ):
        assert found.codes.tolist() == [0, 0, 0]
        assert found.log_probability == pytest.approx(math.log(0.27))
    assert Exact(p).map((0,), evidence).log_probability == pytest.approx(math.log(0.27 + 0.14))
