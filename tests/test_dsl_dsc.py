"""GeNIe DSL and DSC, which are only read."""

from __future__ import annotations

import numpy as np
import pytest

from bayeskit.errors import ModelFormatError
from bayeskit.io.networks.dsc import read_dsc
from bayeskit.io.networks.dsl import read_dsl
from bayeskit.io.networks.raw import read_bytes
from network_files import NETWORKS, check_asymmetric, check_valid, golden

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
    with pytest.raises(ModelFormatError, match="'c' given a = yes, b = mid sum to 100"):
        read_dsc(text)
    assert np.array_equal(
        read_dsc(text, normalize=True)["c"].distribution.table()[1, 1], [0.14, 0.28, 0.26, 0.32]
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("net asymmetric", "network x", "'network' where 'net' must stand"),
        ("TYPE = CPT", "TYPE = LIST", "'a' is a decision node"),
        ("TYPE = CPT", "TYPE = TABLE", "'a' is a utility node"),
        ("TYPE = CPT", "TYPE = EQUATION", "'a' is of the type 'EQUATION'"),
        ("   TYPE = CPT;\n", "", "'a' has no TYPE"),
        ("TYPE = CPT;", "TYPE = CPT; TYPE = CPT;", "'a' says TYPE twice"),
        ("PARENTS = ();", "", "'a' has no PARENTS"),
        ("PARENTS = ();", "PARENTS = (a);", "'a' needs 4 numbers"),
        ("PARENTS = (a, b)", "PARENTS = (a, z)", "no node 'z', which is a parent of 'c'"),
        ("PARENTS = (a, b)", "PARENTS = a", "must be a list"),
        ("PARENTS = (a, b)", "PARENTS = (b, a, a)", "needs 48 numbers, and there are 24"),
        ("(no, yes)", "(no, no)", "all of them different"),
        ("(no, yes)", "()", "needs states"),
        ("(0.25, 0.75)", "(0.25, 0.75, 0)", "'a' needs 2 numbers, and there are 3"),
        ("(0.25, 0.75)", "(0.25, 0.85)", "line 14, column 23: .*'a' sum to 1.1"),
        ("(0.25, 0.75);", "(0.25, 0.75)", "no semicolon"),
        ("node c", "node a", "second node 'a'"),
        ("\n};\n", "\n}\n", "ends too early"),
        ("\n};\n", "\n};\nmore", "'more' after the end of the network"),
    ],
)
def test_dsl_what_is_refused(old, new, says):
    assert old in DSL
    with pytest.raises(ModelFormatError, match=says):
        read_dsl(DSL.replace(old, new) if old == "\n};\n" else DSL.replace(old, new, 1), "n.dsl")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("belief", "bayes", "'bayes' where 'belief' must stand"),
        ("discrete[2]", "discrete[3]", "'a' is declared with '3' states and lists 2"),
        ("discrete[2]", "continuous", "'a' is of the type 'continuous'"),
        ('"no", "yes"', '"no", "no"', "1 of them different"),
        ("node c", "node a", "second node 'a'"),
        ("probability(a) { 0.25, 0.75; }", "", "'a' has no block 'probability'"),
        ("{ 0.25, 0.75; }", "{ 0.25, 0.75; } probability(a) { 1, 0; }", "second block 'probability' for 'a'"),
        ("probability(a)", "probability(z)", "no node 'z'"),
        ("probability(b)", "node z { } probability(b)", "a node is declared after a table"),
        ("(c | a, b)", "(c | a, a)", "'a' stands twice"),
        ("(1, 1): 0.14", "(1, 3): 0.14", r"'b' has no state '3' \(it has 0, 1, 2\)"),
        ("(1, 1): 0.14", "(1, 0): 0.14", "a second time"),
        ("(1, 1): 0.14", "(1, 1) 0.14", "'0.14' where ':' must stand"),
        ("(1, 1): 0.14, 0.28, 0.26, 0.32;", "", r"no probabilities for \(yes, mid\)"),
        ("{ 0.25, 0.75; }", "{ function: max; 0.25, 0.75; }", "'function' where a property"),
        ("{ 0.25, 0.75; }", "{ 0.25, 0.75; 0.25, 0.75; }", "'0.25' where a property"),
        ("{ 0.25, 0.75; }", "{ 0.25, 0.75 }", "'}' where a number"),
    ],
)
def test_dsc_what_is_refused(old, new, says):
    assert old in DSC
    with pytest.raises(ModelFormatError, match=says):
        read_dsc(DSC.replace(old, new, 1), "n.dsc")


def test_cycles_are_refused():
    definition = "DEFINITION = {{ NAMESTATES = (x, y); PROBABILITIES = (0, 1, 0, 1); }};"
    node = f"node {{}} {{{{ TYPE = CPT; PARENTS = ({{}}); {definition} }}}};"
    with pytest.raises(ModelFormatError, match=r"n.dsl: The graph has a cycle: 'a' → 'b' → 'a'"):
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
