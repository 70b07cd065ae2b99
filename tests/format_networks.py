"""Networks for the tests of file formats: the asymmetric one, random ones with odd names, and a check of any."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from bayeskit._graphs.network import FactorGraph, Network, Node, continuous, discrete
from bayeskit.networks import Deterministic, LinearGaussian, NoisyMax, Table

GOLDEN = Path(__file__).parent / "golden" / "networks" / "formats"
DATA = Path(os.environ.get("BAYESKIT_DATA", Path(__file__).parents[2] / "shared" / "data")).resolve()

# P(c | a, b), axes a, b, c: no two axes can be exchanged without being noticed.
C_GIVEN_A_B = np.array(
    [
        [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.4, 0.1]],
        [[0.7, 0.1, 0.15, 0.05], [0.05, 0.15, 0.35, 0.45], [0.6, 0.2, 0.08, 0.12]],
    ]
)


def asymmetric(named=True):
    """Return the network that the golden files hold; ``named``: with text for names and states, not numbers."""
    names = ("a", "b", "c") if named else (0, 1, 2)
    states = [
        [f"{n}{k}" for k in range(size)] if named else range(size)
        for n, size in zip("abc", (2, 3, 4), strict=True)
    ]
    a, b, c = (discrete(name, s) for name, s in zip(names, states, strict=True))
    return Network(
        (
            Node(a, (), Table([0.3, 0.7])),
            Node(b, (), Table([0.2, 0.5, 0.3])),
            Node(c, names[:2], Table(C_GIVEN_A_B)),
        )
    )


def sample_files(folder, *patterns):
    """Return collected files, or one mark to skip where they are not there."""
    found = sorted(path for pattern in patterns for path in (DATA / "networks" / folder).glob(pattern))
    if not found:
        return [
            pytest.param(
                None, marks=pytest.mark.skip(reason=f"no sample files under {DATA}; set BAYESKIT_DATA")
            )
        ]
    return [pytest.param(path, id=path.name) for path in found]


def check_valid(model):
    """Assert that a model is one: shapes as its nodes say, rows that are distributions, nothing but numbers."""
    if isinstance(model, FactorGraph):
        assert model.variables
        for factor in model.factors:
            assert np.isfinite(factor.values).all()
            assert (factor.values >= 0).all() and factor.values.any()
            assert factor.sizes == tuple(model.variables[model.position[n]].size for n in factor.names)
        return
    for node in model.nodes:
        states, d = node.variable.states, node.distribution
        assert len(set(states)) == len(states)
        if isinstance(d, LinearGaussian):
            for numbers in (d.intercept, d.coefficients, d.variance):
                assert np.isfinite(numbers).all()
            assert (d.variance >= 0).all()
        elif isinstance(d, NoisyMax):
            assert [len(cause) for cause in d.causes] == [model[p].variable.size for p in node.parents]
            for rows in (*d.causes, d.leak[None]):
                _check_rows(rows, len(states))
        elif d is not None:
            assert states
            table = d.table()
            assert table.shape == model.shape_of(node.name)
            _check_rows(table, len(states))


def _check_rows(rows, size):
    assert rows.shape[-1] == size
    assert np.isfinite(rows).all() and (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=-1), 1, rtol=0, atol=1e-12)


ODD = [
    "a b",
    "Asy/Patch",
    "<5",
    "湿",
    "q&a",
    'say "no"',
    "back\\slash",
    "two\nlines",
    " x ",
    "\x01",
    "",
    "x;y",
    "class",
]


def labels(size):
    texts = st.one_of(
        st.sampled_from(ODD),
        st.text(max_size=4),
        st.sampled_from(["a", "b", "c", "0", "1"]),
        st.integers(-2, 9),
    )
    return st.lists(texts, min_size=size, max_size=size, unique_by=str)


@st.composite
def networks(draw, special=True, notes=True, max_nodes=4):
    """Draw a discrete network with names of any kind; ``special``: also deterministic and noisy-MAX nodes."""
    names = draw(labels(draw(st.integers(1, max_nodes))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    order = draw(st.permutations(names))
    nodes = {}
    for place, name in enumerate(order):
        states = draw(labels(draw(st.integers(1, 3))))
        parents = (
            tuple(draw(st.lists(st.sampled_from(order[:place]), unique=True, max_size=2))) if place else ()
        )
        sizes = [nodes[p].variable.size for p in parents]
        kind = draw(st.sampled_from(["table", "deterministic", "noisy"])) if special else "table"
        if kind == "noisy":
            causes = [rng.dirichlet(np.ones(len(states)), size) for size in sizes]
            for cause in causes:
                cause[rng.integers(len(cause))] = np.eye(len(states))[0]
            distribution = NoisyMax(tuple(causes), rng.dirichlet(np.ones(len(states))))
            if draw(st.booleans()):
                distribution = distribution.turned()
        elif kind == "deterministic":
            distribution = Deterministic(rng.integers(len(states), size=sizes), len(states))
        else:
            distribution = Table(rng.dirichlet(np.ones(len(states)), sizes))
        about = draw(st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2)) if notes else {}
        nodes[name] = Node(discrete(name, states), parents, distribution, about)
    return Network(tuple(nodes[name] for name in names), draw(st.text(max_size=4)))


def as_text(network):
    """Return the network with every name and state as text: what a file without types gives back."""
    return Network(
        tuple(
            Node(
                discrete(str(node.name), map(str, node.variable.states)),
                tuple(map(str, node.parents)),
                node.distribution,
            )
            for node in network.nodes
        )
    )


def mixed():
    """Return a network with every kind of distribution and label."""
    d = Node(discrete("d", ["x", "y"]), (), Table([0.1 + 0.2, 1 - (0.1 + 0.2)]))
    e = Node(discrete(7, [False, 1.5, "1", 2]), ("d",), Deterministic([3, 0], 4))
    n = Node(discrete("湿", [0, 1]), ("d",), NoisyMax(([[0.25, 0.75], [1, 0]],), [0.9, 0.1]))
    g = Node(continuous("g"), (), LinearGaussian(1 / 3, [], 2.0))
    h = Node(
        continuous("h"),
        ("g", "d", 7),
        LinearGaussian(np.ones((2, 4)) / 7, np.ones((2, 4, 1)), np.zeros((2, 4))),
    )
    bare = Node(discrete("bare", []), ("d",), None)
    return Network((h, d, e, n, g, bare), "mixed", {"by": "hand\n"})
