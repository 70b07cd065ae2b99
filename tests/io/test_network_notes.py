"""Properties that readers obey: true names and states, checked in every place where they can stand."""

from __future__ import annotations

import pytest

from bayeskit import read_network
from bayeskit._io.networks.bif import read_bif
from bayeskit._io.networks.mangling import TRUE_NAME, TRUE_STATES, true_states
from bayeskit._io.networks.net import read_net
from bayeskit._io.networks.xdsl import read_xdsl
from bayeskit._io.networks.xmlbif import read_xmlbif
from bayeskit.errors import ModelFormatError
from refusals import refuses

# Two binary nodes; a property may stand in the header, where z is declared, and beside its table.
BIF = """network n { @header }
variable a { type discrete [ 2 ] { s, t }; }
variable z { type discrete [ 2 ] { u, v }; @node }
probability (a) { table .5, .5; }
probability (z | a) { (s) .4,.6; (t) .1,.9; @table }
"""
NET = """net { @header }
node a { states = ("s" "t"); }
node z { states = ("u" "v"); @node }
potential (a) { data = (.5 .5); }
potential (z | a) { data = ((.4 .6) (.1 .9)); @table }
"""
XMLBIF = """<BIF><NETWORK><NAME>n</NAME> @header
<VARIABLE><NAME>a</NAME><OUTCOME>s</OUTCOME><OUTCOME>t</OUTCOME></VARIABLE>
<VARIABLE><NAME>z</NAME><OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME> @node </VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>.5 .5</TABLE></DEFINITION>
<DEFINITION><FOR>z</FOR><GIVEN>a</GIVEN><TABLE>.4 .6 .1 .9</TABLE> @table </DEFINITION>
</NETWORK></BIF>
"""
XDSL = """<smile id="n"><nodes>
<cpt id="a"><state id="s"/><state id="t"/><probabilities>.5 .5</probabilities></cpt>
<cpt id="z"><state id="u"/><state id="v"/><parents>a</parents><probabilities>.4 .6 .1 .9</probabilities>
@node </cpt></nodes></smile>
"""
# The reader, the text, how a property is written, and which of them are obeyed where; elsewhere they are refused.
FORMATS = {
    "bif": (read_bif, BIF, "property {} = {};", {"@header": {TRUE_NAME}, "@node": {TRUE_NAME, TRUE_STATES}}),
    "net": (read_net, NET, "{} = {};", {"@header": {TRUE_NAME}, "@node": {TRUE_NAME}}),
    "xmlbif": (
        read_xmlbif,
        XMLBIF,
        "<PROPERTY>{} = {}</PROPERTY>",
        {"@header": {TRUE_NAME}, "@node": {TRUE_NAME, TRUE_STATES}},
    ),
    "xdsl": (read_xdsl, XDSL, '<property id="{}">{}</property>', {"@node": {TRUE_NAME, TRUE_STATES}}),
}
PLACES = ("@header", "@node", "@table")
KEYS = [
    (form, key) for form in FORMATS for key in (TRUE_NAME, TRUE_STATES) if (form, key) != ("net", TRUE_STATES)
]


def written(form, place, *lines):
    text = FORMATS[form][1].replace(place, "\n".join(lines))
    for other in PLACES:
        text = text.replace(other, "")
    return text.encode()


def line(form, key, value):
    return FORMATS[form][2].format(key, value)


def refusal(form, place, *lines):
    """Return the error of a file, which names the file, the line and the column."""
    with pytest.raises(ModelFormatError) as caught:
        FORMATS[form][0](written(form, place, *lines), "n.file")
    error = caught.value
    assert error.path == "n.file" and error.line is not None and error.column is not None
    return error


def test_states_beside_a_table_do_not_make_inference_read_out_of_bounds(tmp_path):
    path = tmp_path / "n.bif"
    path.write_bytes(written("bif", "@table", 'property bayeskit_states = "A" "B" "C";'))
    with refuses(ModelFormatError, "bayeskit_states") as caught:
        read_network(path).query("a")
    assert caught.value.path == path and (caught.value.line, caught.value.column) == (5, 45)


@pytest.mark.parametrize(("form", "key"), KEYS)
def test_a_true_name_or_states_are_obeyed_where_they_are_declared_and_refused_elsewhere(form, key):
    read, text, _, obeyed = FORMATS[form]
    value = '"x y"' if key == TRUE_NAME else '"A" "B"'
    for place in PLACES:
        if place not in text:
            continue
        if key not in obeyed.get(place, ()):
            assert key in refusal(form, place, line(form, key, value)).what
            continue
        network = read(written(form, place, line(form, key, value)))
        if key == TRUE_STATES:
            assert network["z"].variable.states == ("A", "B")
        elif place == "@header":
            assert network.name == "x y"
        else:
            assert network["x y"].parents == ("a",)


@pytest.mark.parametrize(("form", "key"), KEYS)
def test_a_second_one_is_refused(form, key):
    value = '"x y"' if key == TRUE_NAME else '"A" "B"'
    error = refusal(form, "@node", line(form, key, value), line(form, key, value))
    assert key in error.what and "twice" in error.what


@pytest.mark.parametrize("form", ["bif", "xmlbif", "xdsl"])
@pytest.mark.parametrize("value", ['"A" "B" "C"', '"A"', '"A" "A"', '"A" and "B"', "A B", "", '"A" "B" x'])
def test_states_must_be_as_many_as_there_are_and_different(form, value):
    error = refusal(form, "@node", line(form, TRUE_STATES, value))
    assert TRUE_STATES in error.what and "'z'" in error.what and "2" in error.what


@pytest.mark.parametrize("form", ["bif", "xmlbif", "xdsl"])
def test_true_states_do_not_hide_that_two_states_are_written_alike(form):
    """A row or an outcome that names such a state would mean either of the two."""
    read = FORMATS[form][0]
    text = written(form, "@node", line(form, TRUE_STATES, '"A" "B"')).replace(b">v<", b">u<")
    text = text.replace(b'"v"', b'"u"').replace(b"u, v", b"u, u")
    with refuses(ModelFormatError, "z", "u", "twice") as caught:
        read(text, "n.file")
    assert caught.value.line is not None


def test_states_are_quoted_texts():
    assert true_states('"A" "b c"', 2) == ["A", "b c"]
    assert true_states('"\\u6e7f"\n"x"', 2) == ["湿", "x"]
    assert true_states('"A" "B"', 3) is None
