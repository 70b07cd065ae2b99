"""The door: which format a file is in, what may be written, and that a refusal touches nothing.

At the end a format is added from outside the library, by the recipe of CONTRIBUTING.
"""

from __future__ import annotations

import gzip
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from bayeskit import BayesianNetwork, MarkovNetwork, read_network
from bayeskit._graphs.dag import topological_order
from bayeskit._graphs.network import FactorGraph, Network, Node, discrete
from bayeskit._io.networks.assembly import (
    Budget,
    assembled,
    checked_states,
    lines_of,
    require_discrete,
    table_from,
    table_of,
)
from bayeskit._io.networks.mangling import mangled, quoted
from bayeskit._io.networks.raw import decode
from bayeskit._io.networks.registry import FORMATS, Format, read_model, sniffed, write_model
from bayeskit._io.networks.tokens import Tokens, is_number, pattern
from bayeskit._io.networks.uai import read_fg
from bayeskit.errors import ModelFormatError, SettingError, SourceNote, UsageError
from bayeskit.networks import Table
from format_networks import GOLDEN, as_text, asymmetric, mixed, networks, sample_files
from network_files import ASYMMETRIC
from refusals import refuses, warns_of

WRITTEN = {
    ".bif": "bif",
    ".bifxml": "xmlbif",
    ".xml": "xmlbif",
    ".net": "net",
    ".xdsl": "xdsl",
    ".json": "json",
}
FIELD = read_fg((GOLDEN / "asymmetric.fg").read_text())


@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
@pytest.mark.parametrize("suffix", [*WRITTEN, ".uai", ".BIF"])
def test_the_suffix_tells(suffix, packed, tmp_path):
    path = tmp_path / f"grass.v2{suffix}{packed}"
    write_model(path, asymmetric())
    data = path.read_bytes()
    assert data.startswith(b"\x1f\x8b") == bool(packed)
    assert read_model(str(path)) == asymmetric(named=suffix != ".uai")
    write_model(path, read_model(path))
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", WRITTEN)
def test_the_content_tells_where_the_suffix_does_not(suffix, tmp_path):
    path, odd = tmp_path / f"a{suffix}", tmp_path / "a.model"
    write_model(path, asymmetric())
    odd.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() if suffix != ".uai" else path.read_bytes())
    assert sniffed(odd.read_bytes()) == WRITTEN[suffix]
    assert read_model(odd) == asymmetric()


@pytest.mark.parametrize("suffix", ["bif", "bifxml", "dsl", "net", "xdsl", "uai"])
def test_files_of_pyagrum_give_its_posteriors(suffix):
    """Numbers of tests/golden/networks/formats/README.md; two formats it writes in another order than they have."""
    turned = suffix in ("xdsl", "uai")
    with warns_of(SourceNote, f"pyagrum.{suffix}", "pyAgrum") if turned else nullcontext():
        network = read_network(GOLDEN / f"pyagrum.{suffix}")
    a, b, c = "abc" if suffix != "uai" else (0, 2, 1)
    s4, high = (3, 2) if suffix == "uai" else ("s4", "high")
    found = network.posteriors({c: s4})
    np.testing.assert_allclose(found[a], [0.2829912023460411, 0.717008797653959], atol=1e-9)
    np.testing.assert_allclose(
        found[b], [0.5205278592375366, 0.29472140762463345, 0.1847507331378299], atol=1e-9
    )
    np.testing.assert_allclose(network.posteriors({c: s4, b: high})[a][0], 0.28571428571428575, atol=1e-9)
    table = network.cpt(c)
    axes = [table.names.index(name) for name in (a, b, c)]
    np.testing.assert_allclose(table.values.transpose(axes), ASYMMETRIC, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("asymmetric.xdsl", "xdsl"),
        ("asymmetric.bifxml", "xmlbif"),
        ("asymmetric.uai", "uai"),
        ("asymmetric_markov.uai", "uai"),
        ("asymmetric.fg", "fg"),
        ("asymmetric.json", "json"),
        ("gaussian.json", "gaussian-json"),
    ],
)
def test_golden_files_are_told_by_their_content(name, format):
    assert sniffed((GOLDEN / name).read_bytes()) == format


def test_a_shared_suffix_is_decided_by_the_content(tmp_path):
    for name in ("asymmetric.xdsl", "asymmetric.bifxml"):
        (tmp_path / "n.xml").write_bytes((GOLDEN / name).read_bytes())
        assert read_model(tmp_path / "n.xml") == asymmetric()
    (tmp_path / "n.net").write_text("% a comment\nnet\n{\n}\n")
    with refuses(ModelFormatError, "n.net", "node"):
        read_model(tmp_path / "n.net")
    assert sniffed(b"net Unnamed {\n node a {") == "dsl"
    assert sniffed(b'// by hand\nbelief network "x"') == "dsc"
    assert sniffed('<?xml version="1.0" encoding="UTF-16"?>\n<smile/>'.encode("utf-16")) == "xdsl"


def test_what_nobody_knows_is_refused_with_a_list(tmp_path):
    (tmp_path / "n.model").write_text("once upon a time")
    with refuses(
        ModelFormatError,
        "n.model",
        "format=",
        "json, bif, xmlbif, xdsl, net, uai, dsl, dsc, fg, gaussian-json",
    ):
        read_model(tmp_path / "n.model")
    with refuses(SettingError, "yaml", "json, bif"):
        read_model(tmp_path / "n.model", format="yaml")
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "absent.bif")


def test_the_format_can_be_named(tmp_path):
    path = tmp_path / "n.txt"
    write_model(path, asymmetric(), format="xdsl")
    assert read_model(path, format="xdsl") == asymmetric()
    with refuses(ModelFormatError, 2, 1, "<smile>"):
        read_model(path, format="xmlbif")


def test_normalize_reaches_the_reader(tmp_path):
    path = tmp_path / "n.uai"
    path.write_text("BAYES 1 2 1 1 0 2 1 3\n")
    with refuses(ModelFormatError, "normalize=True"):
        read_model(path)
    assert read_model(path, normalize=True)[0].distribution == Table([0.25, 0.75])


@pytest.mark.parametrize("suffix", [*(s for s in WRITTEN if s != ".json" and s != ".net"), ".uai"])
def test_a_refusal_leaves_the_file_alone(suffix, tmp_path):
    path = tmp_path / f"n{suffix}"
    path.write_text("precious")
    network = Network(tuple(node for node in mixed().nodes if node.distribution is not None))
    with refuses(SettingError, "h", "continuous", ".json"):
        write_model(path, network)
    with refuses(UsageError, "x", "set_cpt"):
        write_model(path, Network((Node(discrete("x", "ab")),)))
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_formats_without_a_writer_say_so(tmp_path):
    for name in ("dsl", "dsc", "fg", "gaussian-json"):
        with refuses(SettingError, "json, bif"):
            write_model(tmp_path / "n.x", asymmetric(), format=name)
    with refuses(SettingError, "GeNIe DSL"):
        write_model(tmp_path / "n.dsl", asymmetric())
    with refuses(SettingError, "n.txt", ".json", ".bif"):
        write_model(tmp_path / "n.txt", asymmetric())
    assert not list(tmp_path.iterdir())


def test_fields_are_written_where_they_fit(tmp_path):
    for suffix in (".uai", ".json"):
        write_model(tmp_path / f"n{suffix}", FIELD)
        assert read_model(tmp_path / f"n{suffix}") == FIELD
    for suffix in (".bif", ".xml", ".xdsl", ".net"):
        with refuses(SettingError, ".json", ".uai"):
            write_model(tmp_path / f"n{suffix}", FIELD)


@given(network=networks(special=False, max_nodes=3))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_format_says_the_same(network, tmp_path):
    tables = {}
    for suffix in (".bif", ".bifxml", ".net", ".xdsl"):
        path = tmp_path / f"n{suffix}"
        write_model(path, network)
        first = path.read_bytes()
        back = read_model(path)
        write_model(path, back)
        assert path.read_bytes() == first
        assert {n.name: n.variable for n in back.nodes} == {
            n.name: n.variable for n in as_text(network).nodes
        }
        tables[suffix] = {n.name: n.distribution.table().tobytes() for n in back.nodes}
    assert all(found == tables[".bif"] for found in tables.values())


def test_the_public_objects(tmp_path):
    write_model(tmp_path / "n.json", asymmetric())
    network = read_network(tmp_path / "n.json")
    assert isinstance(network, BayesianNetwork)
    assert network.write(tmp_path / "n.bif.gz") is None
    assert gzip.decompress((tmp_path / "n.bif.gz").read_bytes()).startswith(b"network ")
    assert read_network(tmp_path / "n.bif.gz").states("c") == ("c0", "c1", "c2", "c3")
    assert network.to_json() == (tmp_path / "n.json").read_text("utf-8")

    markov = read_network(GOLDEN / "asymmetric.fg")
    assert isinstance(markov, MarkovNetwork)
    markov.write(tmp_path / "m.uai")
    assert isinstance(read_model(tmp_path / "m.uai"), FactorGraph)


def test_every_suffix_belongs_to_one_format():
    suffixes = [suffix for format in FORMATS.values() for suffix in format.suffixes]
    assert len(set(suffixes)) == len(suffixes)


@pytest.mark.parametrize("path", [*sample_files("formats", "*"), *sample_files("bif", "alarm*")])
def test_samples_are_told_by_their_content(path):
    suffix = path.name.removesuffix(".gz").rpartition(".")[2]
    wanted = {"bifxml": "xmlbif", "xml": "xmlbif"}.get(suffix, suffix)
    data = path.read_bytes()
    assert sniffed(gzip.decompress(data) if path.name.endswith(".gz") else data) == wanted


@pytest.mark.parametrize("format", [["bif"], 5, "BIF", ""])
def test_a_format_that_there_is_not(format, tmp_path):
    (tmp_path / "x.bif").write_text("precious")
    network = BayesianNetwork({"a": []}, states=["x", "y"])
    network.set_cpt("a", [0.5, 0.5])
    for act in (
        lambda: read_network(tmp_path / "x.bif", format),
        lambda: network.write(tmp_path / "x.bif", format),
    ):
        with refuses(SettingError, repr(format), "json, bif"):
            act()
    assert (tmp_path / "x.bif").read_text() == "precious"


def test_normalize_is_a_switch(tmp_path):
    with refuses(SettingError, "normalize", "no"):
        read_network(tmp_path / "x.bif", normalize="no")


def lines_text(network: Network) -> str:
    """Write a network by lines: a node and its states, its parents, its numbers; then the end."""
    require_discrete(network, "lines")
    order = topological_order(network.dag)
    names = mangled(order, reserved=["end"])
    lines = ["lines network"]
    for node in (network[name] for name in order):
        mangled(node.variable.states, kind=f"states of {node.name!r}")  # refuses 1 beside "1"
        lines += [
            " ".join([names[node.name], *(quoted(str(state)) for state in node.variable.states)]),
            " ".join([str(len(node.parents)), *(names[parent] for parent in node.parents)]),
            *lines_of(table_of(node)),
            quoted(str(node.name)),
        ]
    return "\n".join([*lines, "end", ""])


LINE_TOKEN = pattern(r"\s", ";")


def read_lines(data, path=None, normalize=False, budget=None) -> Network:
    """Read what ``lines_text`` writes."""
    tokens = Tokens(decode(data, path), LINE_TOKEN, path)
    budget = budget or Budget(len(data))
    tokens.expect("lines", "at the top")
    tokens.expect("network", "at the top")
    nodes, true = {}, {}
    while not tokens.skip("end"):
        word = tokens.name()
        states = []
        while tokens.peek().startswith('"'):
            states.append(tokens.name())
        line, column = tokens.place()
        checked_states(states, word, path, line, column)
        count = tokens.take()
        if not count.isdecimal():
            raise tokens.error("a number of parents must stand here.", tokens.at - 1)
        parents = [tokens.name() for _ in range(min(int(count), len(tokens.words)))]
        unknown = [parent for parent in parents if parent not in nodes]
        if unknown:
            raise tokens.error("a parent is declared after its child.", tokens.at - 1)
        variable = discrete(word, states)
        given = [nodes[parent].variable for parent in parents]
        start = tokens.at
        while is_number(tokens.peek()):
            tokens.at += 1
        numbers = tokens.numbers(range(start, tokens.at))
        table = table_from(
            numbers, variable, given, budget, normalize=normalize, path=path, line=line, column=column
        )
        nodes[word] = Node(variable, tuple(parents), table)
        true[word] = tokens.name()
    if tokens.peek():
        raise tokens.error("something stands after the end.")
    named = (
        Node(discrete(true[w], n.variable.states), tuple(true[p] for p in n.parents), n.distribution)
        for w, n in nodes.items()
    )
    return assembled(named, path=path)


@pytest.fixture
def with_lines(monkeypatch):
    """The line of the recipe, undone after the test."""
    monkeypatch.setitem(
        FORMATS, "lines", Format("lines", (".lines",), r"lines network\b", read_lines, lines_text)
    )


def test_a_format_of_ones_own_is_read_and_written(with_lines, tmp_path):
    path = tmp_path / "asymmetric.lines.gz"
    network = BayesianNetwork(asymmetric())
    network.write(path)
    assert read_network(path) == network
    (tmp_path / "odd.model").write_bytes(gzip.decompress(path.read_bytes()))
    assert sniffed((tmp_path / "odd.model").read_bytes()) == "lines"
    assert read_network(tmp_path / "odd.model") == network
    with refuses(SettingError, "Markov", ".json", ".uai"):
        MarkovNetwork.of(network).write(path)
    with refuses(SettingError, ".lines", ".bif"):
        network.write(tmp_path / "asymmetric")
    text = lines_text(asymmetric())
    for end in range(len(text) - 1):
        with refuses(ModelFormatError):
            read_lines(text[:end].encode())
    with refuses(ModelFormatError, "max_memory"):
        read_lines(text.encode(), budget=Budget(0, max_memory=8))


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(networks())
def test_a_format_of_ones_own_gives_the_same_bytes_again(network):
    try:
        text = lines_text(network)
    except SettingError:
        return
    assert lines_text(read_lines(text.encode())) == text
