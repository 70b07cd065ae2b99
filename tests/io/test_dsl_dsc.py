"""GeNIe DSL and DSC, which are only read."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit._io.networks.bif import read_dsc
from bayeskit._io.networks.dsl import read_dsl
from bayeskit._io.networks.raw import read_bytes
from bayeskit.errors import ModelFormatError
from network_files import NETWORKS, check_asymmetric, check_valid, golden
from refusals import refuses

DSL = golden("asymmetric.dsl").decode()
DSC = golden("asymmetric.dsc").decode()


def test_dsl_the_axes_of_a_table():
    network = read_dsl(DSL)
    check_asymmetric(network, ("s1", "s2", "s3", "s4"))
    assert network.name == "asymmetric" and network["c"].notes == {"label": "C (by hand)"}


def test_dsc_the_axes_of_a_table():
    network = read_dsc(DSC)
    check_asymmetric(network)
    assert network.name == "asymmetric" and network.notes == {"creator": "by hand"}
    assert network["a"].notes == {"label": "A?", "position": "( 7910 12170 )"}


def test_dsc_default_and_normalize():
    text = DSC.replace("(1, 1): 0.14, 0.28, 0.26, 0.32;", "default: 14, 28, 26, 32;")
    check_asymmetric(read_dsc(DSC.replace("(1, 1): 0.14", "default: 0.14")))
    with refuses(ModelFormatError, "c", "a = yes, b = mid", 100):
        read_dsc(text)
    assert np.array_equal(
        read_dsc(text, normalize=True)["c"].distribution.table()[1, 1], [0.14, 0.28, 0.26, 0.32]
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("net asymmetric", "network x", ["network", "net"]),
        ("TYPE = CPT", "TYPE = LIST", ["a", "decision"]),
        ("TYPE = CPT", "TYPE = TABLE", ["a", "utility"]),
        ("TYPE = CPT", "TYPE = EQUATION", ["a", "EQUATION"]),
        ("   TYPE = CPT;\n", "", ["a", "TYPE"]),
        ("TYPE = CPT;", "TYPE = CPT; TYPE = CPT;", ["a", "TYPE", "twice"]),
        ("PARENTS = ();", "", ["a", "PARENTS"]),
        ("PARENTS = ();", "PARENTS = (a);", ["a", 4]),
        ("PARENTS = (a, b)", "PARENTS = (a, z)", ["z", "c"]),
        ("PARENTS = (a, b)", "PARENTS = a", [25, 14, "PARENTS", "c"]),
        ("PARENTS = (a, b)", "PARENTS = (b, a, a)", [48, 24]),
        ("(no, yes)", "(no, no)", [2, "a", "states"]),
        ("(no, yes)", "()", [2, "a", "states"]),
        ("(0.25, 0.75)", "(0.25, 0.75, 0)", ["a", 2, 3]),
        ("(0.25, 0.75)", "(0.25, 0.85)", [14, 23, "a", 1.1]),
        ("(0.25, 0.75);", "(0.25, 0.75)", [14, 6, "PROBABILITIES"]),
        ("node c", "node a", [17, 2, "a"]),
        ("\n};\n", "\n}\n", [61, 1]),
        ("\n};\n", "\n};\nmore", [61, 1, "more"]),
    ],
)
def test_dsl_what_is_refused(old, new, says):
    assert old in DSL
    with refuses(ModelFormatError, *says):
        read_dsl(DSL.replace(old, new) if old == "\n};\n" else DSL.replace(old, new, 1), "n.dsl")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("belief", "bayes", ["bayes", "belief"]),
        ("discrete[2]", "discrete[3]", ["3", "a", 2]),
        ("discrete[2]", "continuous", ["a", "continuous"]),
        ('"no", "yes"', '"no", "no"', [3, 6, "no"]),
        ("node c", "node a", [9, 6, "a"]),
        ("probability(a) { 0.25, 0.75; }", "", ["a", "probability"]),
        ("{ 0.25, 0.75; }", "{ 0.25, 0.75; } probability(a) { 1, 0; }", ["probability", "a"]),
        ("probability(a)", "probability(z)", [19, 13, "z"]),
        ("probability(b)", "node z { } probability(b)", [20, 1, "node"]),
        ("(c | a, b)", "(c | a, a)", ["a", "twice"]),
        ("(1, 1): 0.14", "(1, 3): 0.14", ["b", "3", 0, 1, 2]),
        ("(1, 1): 0.14", "(1, 0): 0.14", [28, 3, "c"]),
        ("(1, 1): 0.14", "(1, 1) 0.14", [":", "0.14"]),
        ("(1, 1): 0.14, 0.28, 0.26, 0.32;", "", ["c", "(yes, mid)"]),
        ("{ 0.25, 0.75; }", "{ function: max; 0.25, 0.75; }", [19, 18, "function"]),
        ("{ 0.25, 0.75; }", "{ 0.25, 0.75; 0.25, 0.75; }", [19, 30, "0.25"]),
        ("{ 0.25, 0.75; }", "{ 0.25, 0.75 }", [19, 29, "}"]),
    ],
)
def test_dsc_what_is_refused(old, new, says):
    assert old in DSC
    with refuses(ModelFormatError, *says):
        read_dsc(DSC.replace(old, new, 1), "n.dsc")


def test_cycles_are_refused():
    definition = "DEFINITION = {{ NAMESTATES = (x, y); PROBABILITIES = (0, 1, 0, 1); }};"
    node = f"node {{}} {{{{ TYPE = CPT; PARENTS = ({{}}); {definition} }}}};"
    with refuses(ModelFormatError, "cycle", "'a' → 'b' → 'a'"):
        read_dsl(f"net n {{ {node.format('a', 'b')} {node.format('b', 'a')} }};", "n.dsl")


def test_dsl_nests_as_deeply_as_it_likes():
    n = 100_000
    deep = "X = { Y = 1; " * n + "};" * n
    check_asymmetric(
        read_dsl(DSL.replace(" OBSERVATION_COST", f"{deep} OBSERVATION_COST")), ("s1", "s2", "s3", "s4")
    )


@pytest.mark.skipif(not NETWORKS.is_dir(), reason="the sample files are not here: set BAYESKIT_DATA")
@pytest.mark.parametrize(
    ("name", "nodes"), [("Ling", 13), ("alarm", 37), ("hailfinder", 56), ("insurance", 27)]
)
def test_dsl_samples_load(name, nodes):
    network = read_dsl(read_bytes(NETWORKS / "formats" / f"agrum_{name}.dsl"))
    assert len(network.nodes) == nodes
    check_valid(network)
