"""XMLBIF: the child fastest, names restored, what is odd refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._io.networks.bif import read_bif
from bayeskit._io.networks.raw import read_bytes
from bayeskit._io.networks.xmlbif import read_xmlbif, xmlbif_text
from bayeskit.errors import ModelFormatError, SettingError, UsageError
from bayeskit.networks import LinearGaussian, Table
from format_networks import GOLDEN, as_text, asymmetric, check_valid, networks, sample_files
from refusals import refuses

GOOD = (GOLDEN / "asymmetric.bifxml").read_bytes()


def test_axes_come_in_the_order_of_the_format():
    network = read_xmlbif(GOOD)
    assert network == asymmetric()
    assert network.name == "asymmetric"


def test_properties_are_kept_as_notes():
    network = read_xmlbif(GOOD)
    assert network["a"].notes == {"position": "(73, 165)"}
    assert read_xmlbif(xmlbif_text(network).encode())["a"].notes == {"position": "(73, 165)"}


@given(networks())
@settings(max_examples=150, deadline=None)
def test_written_read_written_is_the_same(network):
    text = xmlbif_text(network)
    back = read_xmlbif(text.encode())
    assert xmlbif_text(back) == text
    for node, again in zip(as_text(network).nodes, back.nodes, strict=True):
        assert (again.variable, again.parents) == (node.variable, node.parents)
        assert (again.distribution.table() == node.distribution.table()).all()


def test_it_is_read_with_and_without_a_dtd_and_written_without():
    start = GOOD.index(b"<!DOCTYPE")
    without = GOOD[:start] + GOOD[GOOD.index(b"]>", start) + 2 :]
    assert read_xmlbif(without) == read_xmlbif(GOOD) == asymmetric()
    assert "<!" not in xmlbif_text(read_xmlbif(GOOD))


def replaced(old, new, count=1):
    assert old in GOOD
    return GOOD.replace(old, new, count)


BAD = {
    "decision": (
        replaced(b'TYPE="nature">\n  <NAME>b', b'TYPE="decision">\n  <NAME>b'),
        ["b", "decision"],
    ),
    "utility": (
        replaced(b'TYPE="nature">\n  <NAME>a', b'TYPE="utility">\n  <NAME>a'),
        ["a", "utility"],
    ),
    "no definition": (GOOD[: GOOD.rindex(b"<DEFINITION>")] + b"</NETWORK></BIF>", ["b", "DEFINITION"]),
    "two definitions": (
        replaced(
            b"<DEFINITION>\n  <FOR>b",
            b"<DEFINITION><FOR>a</FOR><TABLE>.5 .5</TABLE></DEFINITION><DEFINITION><FOR>b",
        ),
        ["definition", "a"],
    ),
    "unknown parent": (replaced(b"<GIVEN>b</GIVEN>", b"<GIVEN>z</GIVEN>"), ["z", "VARIABLE"]),
    "too few numbers": (replaced(b"0.08 0.12", b"0.2"), ["c", 23, "2 × 3 × 4", 24]),
    "no number": (replaced(b"0.3 0.7", b"0.3 nan"), ["nan", "a"]),
    "negative": (replaced(b"0.3 0.7", b"-0.3 1.3"), ["a", -0.3]),
    "row sum": (replaced(b"0.3 0.7", b"0.3 0.8"), ["a", 1.1]),
    "zero row": (replaced(b"0.3 0.7", b"0 0"), ["a", "zero"]),
    "state twice": (replaced(b"b1</OUTCOME>", b"b0</OUTCOME>"), ["b", "b0", "twice"]),
    "name twice": (replaced(b"<NAME>b</NAME>", b"<NAME>a</NAME>"), ["VARIABLE", "a"]),
    "no states": (replaced(b"<OUTCOME>a0</OUTCOME> <OUTCOME>a1</OUTCOME>", b""), ["a", "states"]),
    "cycle": (replaced(b"<FOR>b</FOR>", b"<FOR>b</FOR><GIVEN>b</GIVEN>"), ["b", 3, "3 × 3", 9]),
    "parent twice": (replaced(b"<GIVEN>b</GIVEN>", b"<GIVEN>a</GIVEN>"), ["c", 24, "2 × 2 × 4", 16]),
    "unknown element": (
        replaced(b"<NAME>b</NAME>", b"<NAME>b</NAME><OBS>b0</OBS>"),
        ["<OBS>", "<VARIABLE>"],
    ),
    "other root": (b"<XML/>", ["<XML>", "<BIF>"]),
    "nothing": (b"<BIF><NETWORK/></BIF>", ["node"]),
    "old dialect": (replaced(b"DEFINITION>", b"PROBABILITY>", 99), ["<PROBABILITY>", 0.3]),
    "missing table": (replaced(b"<TABLE>0.3 0.7</TABLE>", b""), ["<DEFINITION>", "<TABLE>"]),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_refused_and_named(case):
    data, message = BAD[case]
    with refuses(ModelFormatError, *message) as error:
        read_xmlbif(data, "grass.bifxml")
    assert error.value.path == "grass.bifxml"


def test_errors_say_where():
    with refuses(ModelFormatError, "normalize=True") as error:
        read_xmlbif(BAD["row sum"][0], "grass.bifxml")
    assert (error.value.line, error.value.column) == (44, 3)
    assert read_xmlbif(BAD["row sum"][0], normalize=True)["a"].distribution.values[0] == 0.3 / 1.1


def test_a_cycle_is_named():
    text = (
        "<BIF><NETWORK>"
        + "".join(f"<VARIABLE><NAME>{n}</NAME><OUTCOME>s</OUTCOME></VARIABLE>" for n in "ab")
        + "<DEFINITION><FOR>a</FOR><GIVEN>b</GIVEN><TABLE>1</TABLE></DEFINITION>"
        + "<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>1</TABLE></DEFINITION></NETWORK></BIF>"
    )
    with refuses(ModelFormatError, "cycle", "'a' → 'b' → 'a'"):
        read_xmlbif(text.encode())


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("GBK", "湿"), ("ISO-8859-1", "été"), ("windows-1252", "€"), ("UTF-16", "湿"), ("UTF-8", "湿")],
)
def test_the_header_tells_the_encoding(encoding, name):
    text = GOOD.decode().replace("ISO-8859-1", encoding).replace(">a1<", f">{name}<")
    assert read_xmlbif(text.encode(encoding))["a"].variable.states == ("a0", name)


def test_a_file_as_weka_writes_it():
    head = GOOD[: GOOD.index(b"<!-- Made")].decode()
    text = (
        head
        + """<BIF VERSION="0.3">
<NETWORK>
<NAME>iris-weka.filters.supervised.attribute.Discretize-Rfirst-last</NAME>
<VARIABLE TYPE="nature">
<NAME>sepal length</NAME>
<OUTCOME>&apos;\\&apos;(-inf-5.55]\\&apos;&apos;</OUTCOME>
<OUTCOME>&apos;\\&apos;(5.55-inf)\\&apos;&apos;</OUTCOME>
<PROPERTY>position = (0,0)</PROPERTY>
</VARIABLE>
<VARIABLE TYPE="nature">
<NAME>class</NAME>
<OUTCOME>Iris-setosa</OUTCOME>
<OUTCOME>Iris-virginica</OUTCOME>
<PROPERTY>position = (0,0)</PROPERTY>
</VARIABLE>
<DEFINITION>
<FOR>sepal length</FOR>
<TABLE>
0.39072847682119205 0.609271523178808
</TABLE>
</DEFINITION>
<DEFINITION>
<FOR>class</FOR>
<TABLE>
0.5 0.5
</TABLE>
</DEFINITION>
</NETWORK>
</BIF>
"""
    )
    network = read_xmlbif(text.encode())
    assert network["sepal length"].variable.states == (r"'\'(-inf-5.55]\''", r"'\'(5.55-inf)\''")
    assert not network.dag.arcs  # both nodes stand alone
    assert xmlbif_text(read_xmlbif(xmlbif_text(network).encode())) == xmlbif_text(network)


def test_unknown_encodings_are_refused():
    with refuses(ModelFormatError, 1, "unicode_escape", "UTF-8"):
        read_xmlbif(b'<?xml version="1.0" encoding="unicode_escape"?><BIF/>')
    with refuses(ModelFormatError, "gbk", 41, "UTF-8"):
        read_xmlbif(b'<?xml version="1.0" encoding="gbk"?><BIF>\xff\xff</BIF>')


def test_states_stay_text():
    text = xmlbif_text(Network((Node(discrete(1, [True, None, 0]), (), Table([0.5, 0.25, 0.25])),)))
    assert read_xmlbif(text.encode())["1"].variable.states == ("True", "None", "0")


def test_what_xmlbif_cannot_hold_is_not_written():
    with refuses(SettingError, "x", "continuous", "XMLBIF"):
        xmlbif_text(Network((Node(continuous("x"), (), LinearGaussian(0.0, [], 1.0)),)))
    with refuses(UsageError, "x", "set_cpt"):
        xmlbif_text(Network((Node(discrete("x", "ab")),)))
    with refuses(SettingError, "x", 1, "1"):
        xmlbif_text(Network((Node(discrete("x", [1, "1"]), (), Table([0.5, 0.5])),)))


def test_more_axes_than_numpy_has_are_refused():
    names = [f"n{k}" for k in range(70)]
    parts = [f"<VARIABLE><NAME>{n}</NAME><OUTCOME>s</OUTCOME></VARIABLE>" for n in names]
    parts += [f"<DEFINITION><FOR>{n}</FOR><TABLE>1</TABLE></DEFINITION>" for n in names[1:]]
    given = "".join(f"<GIVEN>{n}</GIVEN>" for n in names[1:])
    parts.append(f"<DEFINITION><FOR>n0</FOR>{given}<TABLE>1</TABLE></DEFINITION>")
    with refuses(ModelFormatError, "n0", 70):
        read_xmlbif(f"<BIF><NETWORK>{''.join(parts)}</NETWORK></BIF>".encode())


def test_a_long_chain_comes_back():
    chain = [Node(discrete(0, "ab"), (), Table([0.5, 0.5]))]
    chain += [Node(discrete(k, "ab"), (k - 1,), Table([[0.9, 0.1], [0.2, 0.8]])) for k in range(1, 10_000)]
    text = xmlbif_text(Network(tuple(chain)))
    assert len(read_xmlbif(text.encode()).nodes) == 10_000


REFUSED = {
    "agrum_carpo.bifxml": ["N5", "N143 = 1, N187 = 1", "zero"],
    "fastpgm_alarm.xml": [258, 9, "<PROBABILITY>", 0.3],
}


@pytest.mark.parametrize("path", sample_files("formats", "*.bifxml", "*.xml"))
def test_samples_load_or_say_why(path):
    if path.name in REFUSED:
        with refuses(ModelFormatError, path.name, *REFUSED[path.name]):
            read_xmlbif(path.read_bytes(), path)
        return
    network = read_xmlbif(path.read_bytes(), path)
    check_valid(network)
    if path.name != "agrum_dog.bifxml":
        check_same_rows(network, read_bif(read_bytes(path.parents[1] / "bif" / f"{path.stem[6:]}.bif.gz")))


def check_same_rows(network, twin):
    """The numbers of the same network in another format.

    The program that wrote these files lists parents in another order than it laid out the table, so where there
    are several parents only the rows can be compared, not their places.
    """
    spelt = {name.lower(): name for name in twin.dag.nodes}
    assert len(network.nodes) == len(twin.nodes)
    for node in network.nodes:
        other = twin[spelt[node.name.lower()]]
        assert sorted(p.lower() for p in node.parents) == sorted(p.lower() for p in other.parents)
        tables = [n.distribution.table().reshape(-1, node.variable.size) for n in (node, other)]
        if len(node.parents) > 1:
            tables = [table[np.lexsort(table.round(3).T)] for table in tables]
        np.testing.assert_allclose(tables[0], tables[1], rtol=0, atol=1e-3, err_msg=node.name)
