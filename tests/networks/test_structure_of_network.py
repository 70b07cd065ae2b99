"""What the public object says of its graph, and what it refuses."""

from __future__ import annotations

import sys
import types
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from bayeskit import BayesianNetwork
from bayeskit.errors import BayeskitError, DataTypeError, Incompatible, SettingError, UsageError
from bayeskit.networks import Deterministic, LinearGaussian, NoisyMax, Table
from refusals import refuses


def binary(parents, size=2):
    return BayesianNetwork(parents, states=[*range(size)])


GRASS = binary({"rain": [], "sprinkler": [], "joe": ["rain"], "wet": ["rain", "sprinkler"]})
SEVEN = binary(
    {
        **{f"x{k}": [] for k in (1, 2, 3)},
        "x4": ["x1", "x2", "x3"],
        "x5": ["x1", "x2", "x3"],
        "x6": ["x4"],
        "x7": ["x4", "x5"],
    }
)
MELON = binary({"x1": [], "x2": [], "x3": ["x1"], "x4": ["x1", "x2"], "x5": ["x2"]})


def test_what_it_tells():
    assert GRASS.nodes == ("rain", "sprinkler", "joe", "wet")
    assert GRASS.arcs == [("rain", "joe"), ("rain", "wet"), ("sprinkler", "wet")]
    assert GRASS.parents("wet") == ("rain", "sprinkler")
    assert GRASS.children("rain") == ("joe", "wet")
    assert GRASS.ancestors("wet") == ("rain", "sprinkler")
    assert GRASS.descendants("sprinkler") == ("wet",)
    assert GRASS.topological_order() == GRASS.nodes
    assert GRASS.markov_blanket("sprinkler") == ("rain", "wet")
    assert GRASS.moral_graph()["rain"] == ("sprinkler", "joe", "wet")
    assert len(GRASS) == 4
    assert "rain" in GRASS and "snow" not in GRASS and ["rain"] not in GRASS
    assert str(GRASS.cpdag()) == "rain → wet, sprinkler → wet, rain — joe"
    assert GRASS.cpdag() is GRASS.cpdag()


def test_parameters_of_the_textbook():
    assert SEVEN.n_parameters == 25
    assert MELON.n_parameters == 10
    full = binary({k: list(range(k)) for k in range(5)})
    assert full.n_parameters == 31
    assert binary({k: list(range(k)) for k in range(7)}).n_parameters == 127
    assert binary({"a": [], "b": ["a"]}, size=3).n_parameters == 2 + 6
    assert binary({"a": [], "b": ["a"]}, size=1).n_parameters == 0
    many = binary({k: list(range(k)) for k in range(80)})  # beyond 64 bits
    assert many.n_parameters == 2**80 - 1


def test_parameters_of_other_kinds():
    noisy = NoisyMax((np.full((3, 4), 0.25), np.full((2, 4), 0.25)), np.full(4, 0.25))
    rule = Deterministic(np.zeros((3, 2), int), 4)
    mixed = LinearGaussian(np.zeros(3), np.zeros((3, 1)), np.ones(3))
    for states, parents, distribution, wanted in (
        ([*"pqrs"], ["a", "b"], noisy, 3 * (1 + 2 + 1)),
        ([*"pqrs"], ["a", "b"], rule, 0),
        ([*"pqrs"], ["a", "b"], Table(np.full((3, 2, 4), 0.25)), 18),
        (float, ["a", "z"], mixed, 3 * 3),
    ):
        kinds = {"a": [*"xyz"], "b": [*"uv"], "z": float, "c": states}
        network = BayesianNetwork({"a": [], "b": [], "z": [], "c": parents}, states=kinds)
        network.set_cpt("c", distribution)
        assert network.n_parameters == 2 + 1 + 2 + wanted


def test_parameters_need_states():
    with refuses(UsageError, "a", "states="):
        _ = BayesianNetwork({"a": [], "b": ["a"]}, states={"b": [*"uv"]}).n_parameters


def test_independence():
    assert GRASS.independent("rain", "sprinkler") is True
    assert GRASS.independent("rain", "sprinkler", given="wet") is False
    assert GRASS.independent(["rain", "joe"], {"sprinkler"})
    assert GRASS.independent("joe", ("wet", "sprinkler"), ["rain"])
    assert SEVEN.independent("x6", "x7", "x4") and not SEVEN.independent("x6", "x7")
    odd = binary({("a", 1): [], "self": [("a", 1)], "class": ["self"], "湿": []})
    assert not odd.independent(("a", 1), "class") and odd.independent(("a", 1), "class", ["self"])
    assert odd.independent("湿", [("a", 1), "class"])


def test_why():
    why = GRASS.why_independent("rain", "sprinkler")
    assert (why.independent, why.complete, len(why.paths)) == (True, True, 1)
    assert str(why) == (
        "rain and sprinkler are independent when nothing is observed.\n"
        "There is one path between them, and it is blocked.\n\n"
        "1. rain → wet ← sprinkler: blocked\n"
        "   wet is head-to-head and is not observed, nor is any descendant of it: it blocks."
    )
    why = GRASS.why_independent("joe", "sprinkler", ["wet"])
    assert not why.independent
    assert str(why) == (
        "joe and sprinkler may depend on each other when wet is observed.\n"
        "There is one path between them, and it is open.\n\n"
        "1. joe ← rain → wet ← sprinkler: open\n"
        "   rain is tail-to-tail and is not observed: it does not block.\n"
        "   wet is head-to-head and is observed: it does not block."
    )
    assert "No path joins them." in str(binary({"a": [], "b": []}).why_independent("a", "b"))
    assert "An arc joins them: nothing can block it." in str(GRASS.why_independent("rain", "joe", "wet"))
    assert "of which 1 is open" in str(SEVEN.why_independent("x1", "x4", ["x5", "x2", "x3"]))


def test_why_is_capped_and_says_so():
    full = binary({k: list(range(k)) for k in range(12)})
    why = full.why_independent(0, 11)
    assert len(why.paths) == 50 and not why.complete and not why.independent
    assert "There are more paths between them than are listed, not all blocked. Of the 50 listed, " in str(
        why
    )
    assert len(full.why_independent(0, 11, max_paths=3).paths) == 3
    # All of the first paths are blocked, and the open one is long.
    parents = {"a": [], "b": [], **{f"c{k}": ["a", "b"] for k in range(9)}, "m": ["a"], "n": ["m"], "b2": []}
    parents["b"] = ["n"]
    why = binary(parents).why_independent("a", "b", max_paths=4)
    assert not why.complete and not why.independent
    assert [path.blocked for path in why.paths] == [False, True, True, True]


def test_notebooks_see_a_page_that_hostile_names_cannot_break():
    net = binary({"<a>": [], "b&": ["<a>"], "c": ["b&"]})
    why = net.why_independent("<a>", "c", "b&")
    html = why._repr_html_()
    assert "<a>" not in html and "&lt;a&gt; → b&amp; → c" in html
    ElementTree.fromstring(f"<div>{html.replace('<br>', '<br/>')}</div>")


def test_distance():
    turned = binary({"joe": [], "rain": ["joe"], "sprinkler": [], "wet": ["rain", "sprinkler"]})
    assert GRASS.shd(turned) == 0 and GRASS.shd(turned, dag=True) == 1
    with refuses(Incompatible, "x1", "graph"):
        MELON.shd(GRASS)
    with refuses(DataTypeError, "dict", "BayesianNetwork"):
        GRASS.shd({})


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda n: n.parents("rian"), ["rian", "rain"]),
        (lambda n: n.children(["rain"]), ["['rain']", "rain"]),
        (lambda n: n.ancestors(None), [None, "rain", "sprinkler"]),
        (lambda n: n.descendants("x"), ["x", "rain", "sprinkler"]),
        (lambda n: n.markov_blanket({}), ["{}", "rain", "sprinkler"]),
        (lambda n: n.independent("rain", "rain"), ["rain", "itself"]),
        (lambda n: n.independent(["rain", "wet"], ["joe", "wet"]), ["wet", "itself"]),
        (lambda n: n.independent("rain", "joe", ["rain"]), ["rain", "given"]),
        (lambda n: n.independent("rain", "joe", "joe"), ["joe", "given"]),
        (lambda n: n.independent([], "joe"), ["node"]),
        (lambda n: n.independent("rain", ()), ["b", "node"]),
        (lambda n: n.independent("rain", "joe", {"wet": 1}), ["given", "{'wet': 1}"]),
        (lambda n: n.independent("rain", "joe", ["snow"]), ["snow", "rain", "sprinkler"]),
        (lambda n: n.independent("rain", "joe", None), [None, "rain", "sprinkler"]),
        (lambda n: n.independent("rain", ("joe", ["wet"])), ["['wet']", "wet"]),
        (lambda n: n.independent("rain", 5), [5, "rain", "sprinkler"]),
        (lambda n: n.why_independent("rain", "joe", max_paths=0), ["max_paths", 0]),
        (lambda n: n.why_independent("rain", "joe", max_paths=True), ["max_paths", True]),
        (lambda n: n.why_independent("rain", "joe", max_paths="many"), ["max_paths", "many"]),
        (lambda n: n.why_independent("rain", "rain"), ["rain", "itself"]),
    ],
)
def test_what_is_refused(ask, says):
    with refuses(SettingError, *says) as error:
        ask(GRASS)
    assert isinstance(error.value, BayeskitError)


def test_an_empty_network():
    empty = BayesianNetwork()
    assert empty.nodes == () and empty.arcs == [] and empty.topological_order() == ()
    assert empty.n_parameters == 0 and empty.moral_graph() == {} and len(empty) == 0
    with refuses(SettingError, "node", "a"):
        empty.parents("a")


class Graph:
    """What is used of networkx.DiGraph."""

    def __init__(self, name):
        self.name, self.nodes, self.edges = name, {}, []

    def add_node(self, name, **told):
        self.nodes[name] = told

    def add_edges_from(self, edges):
        self.edges += edges


def test_to_networkx(monkeypatch):
    net = BayesianNetwork({"a": [], "z": ["a"]}, states={"a": [*"uv"], "z": float}, name="two")
    monkeypatch.setitem(sys.modules, "networkx", types.SimpleNamespace(DiGraph=Graph))
    graph = net.to_networkx()
    assert graph.nodes == {"a": {"states": ("u", "v")}, "z": {"states": None}}
    assert graph.edges == [("a", "z")] and graph.name == "two"
    monkeypatch.setitem(sys.modules, "networkx", None)
    with refuses(UsageError, "to_networkx", "pip install"):
        net.to_networkx()


def test_the_real_networkx_agrees():
    networkx = pytest.importorskip("networkx")
    graph = SEVEN.to_networkx()
    assert list(graph.nodes) == list(SEVEN.nodes) and set(graph.edges) == set(SEVEN.arcs)
    assert set(networkx.ancestors(graph, "x7")) == set(SEVEN.ancestors("x7"))
