"""What the tests of network files share: golden files, the table they must give, random networks, validity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from bayeskit._graphs.network import Network, Node, discrete
from bayeskit.networks import LinearGaussian, Table
from outside import DATA as SHARED

GOLDEN = Path(__file__).parent / "golden" / "networks" / "formats"
NETWORKS = SHARED / "networks"

# P(c | a, b) of tests/golden/networks/formats/README.md, a slowest.
ASYMMETRIC = np.array(
    [
        [[0.10, 0.20, 0.30, 0.40], [0.11, 0.22, 0.29, 0.38], [0.12, 0.24, 0.28, 0.36]],
        [[0.13, 0.26, 0.27, 0.34], [0.14, 0.28, 0.26, 0.32], [0.15, 0.30, 0.25, 0.30]],
    ]
)


def golden(name):
    return (GOLDEN / name).read_bytes()


def check_asymmetric(network, states=("Asy/Patch", "<5", "5-12", "12 or more")):
    assert network.dag.nodes == ("a", "c", "b")
    assert network["c"].parents == ("a", "b") and network["c"].variable.states == states
    assert network["a"].variable.states == ("no", "yes")
    assert np.array_equal(network["c"].distribution.table(), ASYMMETRIC)
    assert np.array_equal(network["a"].distribution.table(), [0.25, 0.75])
    assert np.array_equal(network["b"].distribution.table(), [0.5, 0.3, 0.2])


def check_valid(network):
    """A network that was loaded is one: shapes right, rows distributions, nothing infinite."""
    assert network.nodes
    for node in network.nodes:
        distribution = node.distribution
        if isinstance(distribution, LinearGaussian):
            for part in (distribution.intercept, distribution.coefficients, distribution.variance):
                assert np.isfinite(part).all()
            assert (distribution.variance >= 0).all()
            continue
        states = node.variable.states
        assert states and len(set(states)) == len(states)
        table = distribution.table()
        assert table.shape == network.shape_of(node.name)
        assert np.isfinite(table).all() and (table >= 0).all()
        assert np.abs(table.sum(axis=-1) - 1).max() < 1e-9


def in_words(network):
    """The network as a file of texts gives it back: every name and state its ``str``."""
    return Network(
        tuple(
            Node(
                discrete(str(node.name), map(str, node.variable.states)),
                tuple(map(str, node.parents)),
                Table(node.distribution.table()),
            )
            for node in network.nodes
        )
    )


ODD_WORDS = [
    "Asy/Patch",
    "<5",
    "5 12",
    "湿",
    'a "b"',
    "a\\b",
    "a\nb",
    "",
    "property",
    "a;b",
    "{",
    "//",
    "%x",
    "é",
    "\ud800",
    "1e5",
]
words = st.one_of(
    st.sampled_from(ODD_WORDS), st.text(max_size=4), st.integers(-3, 3), st.sampled_from(["yes", "no", "x_1"])
)
notes = st.dictionaries(
    st.one_of(st.sampled_from(["label", "position", "experience"]), st.text(max_size=5)),
    st.one_of(st.sampled_from(["(1 2)", "a b", "; }", "(1", ""]), st.text(max_size=6)),
    max_size=3,
)


@st.composite
def networks(draw):
    """Small networks with names and states of any kind, and notes."""
    names = draw(st.lists(words, min_size=1, max_size=4, unique_by=str))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states = {name: draw(st.lists(words, min_size=1, max_size=3, unique_by=str)) for name in names}
    nodes = []
    for place, name in enumerate(names):
        parents = tuple(draw(st.permutations(names[:place]))[: draw(st.integers(0, 2))])
        table = rng.dirichlet(np.ones(len(states[name])), [len(states[p]) for p in parents])
        nodes.append(Node(discrete(name, states[name]), parents, Table(table), draw(notes)))
    nodes = draw(st.permutations(nodes))
    return Network(tuple(nodes), draw(st.sampled_from(["", "grass", "wet grass", "湿\n"])), draw(notes))
