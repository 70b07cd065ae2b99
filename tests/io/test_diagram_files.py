"""Influence diagrams in files: XDSL with decisions, utilities and sums, and the BIFXML of pyAgrum."""

from __future__ import annotations

import gzip
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesianNetwork, read_network
from bayeskit._graphs.network import Diagram, Utility
from bayeskit._io.networks.diagram_files import bifxml_text, read_diagram, write_diagram, xdsl_diagram_text
from bayeskit.errors import ModelFormatError, SettingError
from bayeskit.networks import (
    InfluenceDiagram,
    medical_test,
    oil_wildcatter,
    read_influence_diagram,
    wet_grass,
)
from format_networks import ODD, networks
from refusals import refuses

# As pyAgrum 3.3.1 writes it, comments and properties included.
PYAGRUM = """<?xml version="1.0" ?>

<BIF VERSION="0.3">
<NETWORK>

<!-- Variables -->
<VARIABLE TYPE="nature">
\t<NAME>Oil</NAME>
\t<PROPERTY>description = </PROPERTY>
\t<PROPERTY>fast = Oil{dry|wet|soaking}</PROPERTY>
<!-- OUTCOME are not used in pyAgrum BIFXML (see fast property) but are kept for compatibility-->
\t<OUTCOME>dry</OUTCOME>
\t<OUTCOME>wet</OUTCOME>
\t<OUTCOME>soaking</OUTCOME>
</VARIABLE>

<VARIABLE TYPE="nature">
\t<NAME>Res</NAME>
\t<PROPERTY>fast = Res{closed|open|diffuse}</PROPERTY>
\t<OUTCOME>closed</OUTCOME>
\t<OUTCOME>open</OUTCOME>
\t<OUTCOME>diffuse</OUTCOME>
</VARIABLE>

<VARIABLE TYPE="decision">
\t<NAME>Test</NAME>
\t<OUTCOME>yes</OUTCOME>
\t<OUTCOME>no</OUTCOME>
</VARIABLE>

<VARIABLE TYPE="decision">
\t<NAME>Drill</NAME>
\t<OUTCOME>yes</OUTCOME>
\t<OUTCOME>no</OUTCOME>
</VARIABLE>

<VARIABLE TYPE="utility">
\t<NAME>Cost</NAME>
\t<PROPERTY>fast = Cost{0}</PROPERTY>
\t<OUTCOME>0</OUTCOME>
</VARIABLE>

<VARIABLE TYPE="utility">
\t<NAME>Gain</NAME>
\t<OUTCOME>0</OUTCOME>
</VARIABLE>

<!-- Probability distributions -->
<DEFINITION>
\t<FOR>Oil</FOR><!--Oil | -->
\t<TABLE>0.5 0.3 0.2 </TABLE>
</DEFINITION>
<DEFINITION>
\t<FOR>Res</FOR><!--Res | Oil,Test,-->
\t<GIVEN>Test</GIVEN>
\t<GIVEN>Oil</GIVEN>
\t<TABLE>0.6 0.3 0.1 0.3 0.4 0.3 0.1 0.4 0.5 0.33 0.33 0.34 0.33 0.33 0.34 0.33 0.33 0.34 </TABLE>
</DEFINITION>
<DEFINITION>
\t<FOR>Drill</FOR><!--Drill | Res,Test,-->
\t<GIVEN>Test</GIVEN>
\t<GIVEN>Res</GIVEN>
</DEFINITION>
<DEFINITION>
\t<FOR>Cost</FOR><!--Cost | Test,-->
\t<GIVEN>Test</GIVEN>
\t<TABLE>-10 0 </TABLE>
</DEFINITION>
<DEFINITION>
\t<FOR>Gain</FOR><!--Gain | Drill,Oil,-->
\t<GIVEN>Drill</GIVEN>
\t<GIVEN>Oil</GIVEN>
\t<TABLE>-70 50 200 0 0 0 </TABLE>
</DEFINITION>

</NETWORK>
</BIF>
"""
# As GeNIe writes it: the last parent varies fastest, a mau node sums with weights.
GENIE = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="Venture" numsamples="1000">
<nodes>
<cpt id="Success"><state id="yes" /><state id="no" /><probabilities>0.25 0.75</probabilities></cpt>
<decision id="Invest"><state id="all" /><state id="half" /><state id="none" /></decision>
<submodel id="Values">
<utility id="Gain"><parents>Success Invest</parents><utilities>10 6 1 -5 -2 1</utilities></utility>
<utility id="Ease"><parents>Invest</parents><utilities>0 1 2</utilities></utility>
</submodel>
<mau id="Total"><parents>Gain Ease</parents><weights>2 0.5</weights></mau>
</nodes>
<extensions><genie name="Venture"><node id="Gain"><name>Financial gain</name></node></genie></extensions>
</smile>
"""


def written(tmp_path, text, name="diagram.xdsl"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_pyagrum_writes_what_we_read(tmp_path):
    diagram = read_influence_diagram(written(tmp_path, PYAGRUM, "oil.bifxml"))
    assert diagram.decisions == ("Test", "Drill") and diagram.utilities == ("Cost", "Gain")
    assert diagram.parents("Res") == ("Test", "Oil") and diagram.parents("Drill") == ("Test", "Res")
    assert diagram.cpt("Res")["yes", "soaking", "diffuse"] == 0.5
    assert diagram.utility("Gain")["yes", "wet"] == 50
    assert diagram.solve().expected_utility == pytest.approx(22.5)


def test_genie_writes_what_we_read(tmp_path):
    diagram = read_influence_diagram(written(tmp_path, GENIE))
    assert diagram.name == "Venture" and diagram.parents("Gain") == ("Success", "Invest")
    # Weights go into the numbers: 2 · gain + 0.5 · ease.
    assert diagram.utility("Gain")["no", "half"] == -4 and diagram.utility("Ease")["none"] == 1
    wanted = {"all": 5 - 7.5, "half": 3 - 3 + 0.5, "none": 2 + 1}
    assert diagram.decide().utilities == pytest.approx(wanted)
    path = tmp_path / "again.xdsl"
    diagram.write(path)
    assert "Financial gain" in path.read_text() and read_influence_diagram(path) == diagram


def test_sums_of_sums_and_no_sum(tmp_path):
    nested = GENIE.replace(
        "</nodes>", '<mau id="Top"><parents>Total Gain</parents><weights>3 1</weights></mau></nodes>'
    )
    diagram = read_influence_diagram(written(tmp_path, nested))
    assert diagram.utility("Gain")["yes", "all"] == 10 * (3 * 2 + 1)
    assert diagram.utility("Ease")["half"] == 1.5
    start, end = GENIE.index("<mau"), GENIE.index("</mau>") + len("</mau>")
    diagram = read_influence_diagram(written(tmp_path, GENIE[:start] + GENIE[end:]))
    assert diagram.utility("Gain")["yes", "all"] == 10 and diagram.utility("Ease")["half"] == 1


@pytest.mark.parametrize("name", ["a.xdsl", "a.bifxml", "a.xml", "a.xdsl.gz"])
@pytest.mark.parametrize("made", [oil_wildcatter, medical_test])
def test_a_diagram_comes_back(tmp_path, name, made):
    path, diagram = tmp_path / name, made()
    diagram.write(path)
    again = read_influence_diagram(path)
    assert again == diagram
    data = path.read_bytes()
    again.write(path)
    unpack = gzip.decompress if name.endswith(".gz") else bytes
    assert unpack(path.read_bytes()) == unpack(data)


@st.composite
def diagrams(draw):
    """Draw a diagram with odd names, in which one node of a network is decided."""
    network = draw(networks(max_nodes=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    chosen = draw(st.sampled_from(network.nodes))
    network = network.with_node(replace(chosen, distribution=None))
    utilities = []
    for k in range(draw(st.integers(1, 3))):
        parents = tuple(draw(st.lists(st.sampled_from(network.dag.nodes), unique=True, max_size=3)))
        name = f"{draw(st.sampled_from(ODD))}-u{k}"
        utilities.append(Utility(name, parents, rng.normal(0, 9, network.sizes_of(parents))))
    return Diagram(network, (chosen.name,), tuple(utilities))


@settings(max_examples=60)
@given(diagrams(), st.sampled_from(["xdsl", "bifxml"]))
def test_odd_names_and_all_numbers_come_back(tmp_path_factory, diagram, format):
    path = tmp_path_factory.mktemp("diagram") / "d"
    try:
        write_diagram(path, diagram, format)
    except SettingError:
        # A noisy-MAX that XDSL cannot hold, as in networks.
        assert format == "xdsl"
        return
    again = read_diagram(path, format)
    assert [str(name) for name in again.decisions] == [str(name) for name in diagram.decisions]
    # XDSL puts parents first; the strongest state of a noisy-MAX comes first there.
    assert sorted(map(str, again.dag.nodes)) == sorted(map(str, diagram.dag.nodes))
    ours, theirs = InfluenceDiagram._of(diagram).solve(), InfluenceDiagram._of(again).solve()
    assert ours.expected_utility == pytest.approx(theirs.expected_utility, rel=1e-12, abs=1e-12)
    if format == "bifxml":
        assert all(
            np.array_equal(a.values, b.values)
            for a, b in zip(diagram.utilities, again.utilities, strict=True)
        )
    text = xdsl_diagram_text if format == "xdsl" else bifxml_text
    assert text(again).encode() == path.read_bytes()


@pytest.mark.parametrize("text", [PYAGRUM, GENIE], ids=["bifxml", "xdsl"])
def test_no_truncated_file_is_read(tmp_path, text):
    for end in range(0, len(text.rstrip()), 7):
        with pytest.raises(ModelFormatError):
            read_influence_diagram(written(tmp_path, text[:end]))


@pytest.mark.parametrize("text", [PYAGRUM, GENIE], ids=["bifxml", "xdsl"])
def test_a_damaged_file_is_refused_or_a_diagram(tmp_path, text):
    rng = random.Random(3)
    words = [
        "utility",
        "decision",
        "nature",
        "1e999",
        "-1",
        "nan",
        "Oil",
        "Gain",
        "Invest",
        "<mau/>",
        "",
        "0",
    ]
    for _ in range(150):
        place = rng.randrange(len(text))
        cut = rng.choice([0, 1, 5, 20])
        path = written(tmp_path, text[:place] + rng.choice(words) + text[place + cut :])
        try:
            found = read_influence_diagram(path)
        except ModelFormatError:
            continue
        assert np.isfinite(found.solve().expected_utility)


def swapped(text, *pairs):
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


BAD = {
    "utility with a child": (
        swapped(GENIE, ('<decision id="Invest">', '<decision id="Invest"><parents>Gain</parents>')),
        ["Gain", "Invest"],
    ),
    "utility of a utility": (
        swapped(GENIE, ("<parents>Invest</parents>", "<parents>Gain</parents>")),
        ["Gain", "Ease"],
    ),
    "numbers": (swapped(GENIE, ("<utilities>0 1 2", "<utilities>0 1")), ["Ease", 2, 3]),
    "infinite": (swapped(GENIE, ("<utilities>0 1 2", "<utilities>0 1 1e999")), ["Ease", "inf"]),
    "no number": (swapped(GENIE, ("<utilities>0 1 2", "<utilities>0 1 x")), ["Ease", "x"]),
    "weights": (swapped(GENIE, ("<weights>2 0.5", "<weights>2")), ["Total", 2]),
    "no weights": (swapped(GENIE, ("<weights>2 0.5</weights>", "<expression>1</expression>")), ["Total"]),
    "stray summand": (swapped(GENIE, ("<parents>Gain Ease", "<parents>Gain Success")), ["Success", "Total"]),
    "a sum of itself": (swapped(GENIE, ("<parents>Gain Ease", "<parents>Gain Total")), ["Total"]),
    "twice": (swapped(GENIE, ('<utility id="Ease">', '<utility id="Success">')), ["Success"]),
    "no parent": (swapped(GENIE, ("<parents>Invest", "<parents>Inveest")), ["Inveest", "Ease"]),
    "order": (
        swapped(GENIE, ("</nodes>", '<decision id="E"><state id="p"/></decision></nodes>')),
        ["Invest", "E"],
    ),
    "no utility": ('<smile><nodes><decision id="d"><state id="a"/></decision></nodes></smile>', []),
    "no decision": (
        '<smile><nodes><cpt id="d"><state id="a"/><probabilities>1</probabilities></cpt></nodes></smile>',
        [],
    ),
    "root": ("<net/>", ["net"]),
    "kind": (swapped(PYAGRUM, ('"decision"', '"choice"')), ["choice", "Test"]),
    "bifxml child": (
        swapped(PYAGRUM, ("<FOR>Drill</FOR>", "<FOR>Drill</FOR><GIVEN>Cost</GIVEN>")),
        ["Cost", "Drill"],
    ),
    "bifxml cycle": (swapped(PYAGRUM, ("\t<FOR>Oil</FOR>", "\t<FOR>Oil</FOR><GIVEN>Drill</GIVEN>")), []),
    "bifxml numbers": (swapped(PYAGRUM, ("-10 0 ", "-10 0 1")), ["Cost", 3, 2]),
    "bifxml without a table": (swapped(PYAGRUM, ("\t<TABLE>-10 0 </TABLE>\n", "")), ["TABLE"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named(tmp_path, case):
    text, values = BAD[case]
    with refuses(ModelFormatError, "diagram.xdsl", *values):
        read_influence_diagram(written(tmp_path, text))


def test_a_network_reader_says_what_it_is(tmp_path):
    for text, name in ((GENIE, "a.xdsl"), (PYAGRUM, "a.bifxml")):
        with refuses(ModelFormatError, "read_influence_diagram", "decision"):
            read_network(written(tmp_path, text, name))


def test_formats_are_named(tmp_path):
    with refuses(SettingError, "oil.bif", ".xdsl", ".bifxml"):
        oil_wildcatter().write(tmp_path / "oil.bif")
    with refuses(SettingError, "dsl", "xdsl", "bifxml"):
        oil_wildcatter().write(tmp_path / "oil", format="dsl")
    with refuses(SettingError, "net"):
        read_influence_diagram(written(tmp_path, GENIE), format="net")


def test_a_table_takes_no_more_memory_than_allowed(tmp_path):
    with refuses(ModelFormatError, "Gain", 6):
        read_influence_diagram(written(tmp_path, GENIE), max_memory=40)


def test_utilities_turn_with_the_states_of_a_noisy_or(tmp_path):
    """XDSL puts the strongest state first, also on the axes of utilities."""
    network = BayesianNetwork({"flu": [], "fever": ["flu"]}, states=["no", "yes"])
    network.set_cpt("flu", [0.9, 0.1])
    network.set_noisy_or("fever", {"flu": 0.8}, leak=0.05)
    diagram = InfluenceDiagram(
        network,
        {"treat": ["no", "yes"]},
        {"health": (["flu", "fever", "treat"], [[[9, 7], [5, 6]], [[3, 4], [0, 2]]])},
        observed={"treat": ["fever"]},
    )
    diagram.write(tmp_path / "flu.xdsl")
    again = read_influence_diagram(tmp_path / "flu.xdsl")
    assert again.states("fever") == ("yes", "no")
    assert again.utility("health")["yes", "no", "yes"] == 4
    assert again.solve().expected_utility == pytest.approx(diagram.solve().expected_utility)


@pytest.mark.parametrize("ending", ["bif", "json"])
def test_a_network_without_decisions_is_no_broken_xml(tmp_path, ending):
    path = tmp_path / f"grass.{ending}"
    wet_grass().write(path)
    with refuses(ModelFormatError, path.name, "XDSL", "read_network"):
        read_influence_diagram(path)
