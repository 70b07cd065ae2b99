"""Damaged files: each is refused with a ModelFormatError or is a valid model, and quickly."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import tracemalloc
from functools import cache

import pytest

from bayeskit import read_network
from bayeskit._io.networks.native_json import read_native
from bayeskit._io.networks.normal_nodes import read_gaussian_json
from bayeskit._io.networks.uai import read_fg, read_uai
from bayeskit._io.networks.xdsl import read_xdsl
from bayeskit._io.networks.xmlbif import read_xmlbif
from bayeskit.errors import ModelFormatError
from format_networks import GOLDEN, check_valid
from refusals import unnamed
from work import steps

XMLBIF = b"""<?xml version="1.0"?>
<!DOCTYPE BIF [<!ELEMENT NAME (#PCDATA)>]>
<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME>
<PROPERTY>bayeskit_name = "a b"</PROPERTY>
<PROPERTY>bayeskit_states = " x" " y"</PROPERTY></VARIABLE>
<VARIABLE TYPE="nature"><NAME>b</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>0.25 0.75 1 0</TABLE></DEFINITION>
</NETWORK></BIF>
"""
XDSL = b"""<smile version="1.0" id="n"><nodes>
<cpt id="a"><state id="x"/><state id="y"/><probabilities>0.5 0.5</probabilities></cpt>
<noisymax id="b"><state id="x"/><state id="y"/><parents>a</parents><strengths>0 1</strengths>
<parameters>0.7 0.3 0 1 0.1 0.9</parameters>
<property id="bayeskit_states">" x" " y"</property></noisymax>
<deterministic id="c"><state id="x"/><state id="y"/><parents>a b</parents>
<resultingstates>x y y x</resultingstates></deterministic>
</nodes><extensions><genie name="n"><node id="a"><name>A</name></node></genie></extensions></smile>
"""
NATIVE = b"""{"format": "bayeskit network", "version": 1, "kind": "bayesian", "name": "n", "nodes": [
{"name": "a", "states": [1, "y"], "parents": [], "distribution": {"kind": "table", "rows": [[0.5, 0.5]]}},
{"name": {"tuple": [1, 2]}, "states": ["x", true], "parents": ["a"], "distribution":
 {"kind": "noisy-max", "causes": [[[1, 0], [0.5, 0.5]]], "leak": [0.9, 0.1]}},
{"name": "c", "states": ["x", "y"], "parents": ["a"], "distribution": {"kind": "deterministic", "outcomes": [0, 1]}},
{"name": "g", "parents": ["a"], "distribution":
 {"kind": "linear-gaussian", "intercepts": [1, 2], "coefficients": [[], []], "variances": [1, 0.5]}}]}
"""
FILES = {
    "xmlbif": (XMLBIF, read_xmlbif),
    "xdsl": (XDSL, read_xdsl),
    "uai": (b"BAYES\n2\n2 2\n2\n1 0\n2 0 1\n\n2\n0.5 0.5\n\n4\n0.25 0.75\n1 0\n", read_uai),
    "uai markov": (b"MARKOV\n3\n2 2 3\n2\n1 0\n2 0 2\n\n2\n0.5 0.5\n\n6\n0.25 0.75 2\n1 0 1e3\n", read_uai),
    "fg": (b"# two\n2\n\n1\n0\n2\n2\n0 0.5\n1 0.5\n\n2\n0 3\n2 2\n3\n0 0.25\n3 1\n1 2.5\n", read_fg),
    "json": (NATIVE, read_native),
    "gaussian-json": ((GOLDEN / "gaussian.json").read_bytes(), read_gaussian_json),
    "pyagrum.uai": ((GOLDEN / "pyagrum.uai").read_bytes(), read_uai),
    "pyagrum_markov.uai": ((GOLDEN / "pyagrum_markov.uai").read_bytes(), read_uai),
}
SMALL = {
    **FILES,
    "asymmetric.bifxml": ((GOLDEN / "asymmetric.bifxml").read_bytes(), read_xmlbif),
    "asymmetric.xdsl": ((GOLDEN / "asymmetric.xdsl").read_bytes(), read_xdsl),
    "pyagrum.xdsl": ((GOLDEN / "pyagrum.xdsl").read_bytes(), read_xdsl),
    "noisy.xdsl": ((GOLDEN / "noisy.xdsl").read_bytes(), read_xdsl),
    "asymmetric.uai": ((GOLDEN / "asymmetric.uai").read_bytes(), read_uai),
    "asymmetric_markov.uai": ((GOLDEN / "asymmetric_markov.uai").read_bytes(), read_uai),
    "asymmetric.fg": ((GOLDEN / "asymmetric.fg").read_bytes(), read_fg),
    "asymmetric.json": ((GOLDEN / "asymmetric.json").read_bytes(), read_native),
}
N_MUTANTS = 10_000

# Files of pyAgrum are read with a note, thousands of times here.
pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.SourceNote")


@pytest.mark.parametrize("name", SMALL)
def test_a_truncated_file_never_loads(name):
    data, read = SMALL[name]
    whole = read(data, "whole", False)
    check_valid(whole)
    for end in range(len(data)):
        try:
            model = read(data[:end], "cut", False)
        except ModelFormatError:
            continue
        assert data[end:].strip() == b"", f"{data[max(0, end - 30) : end]!r} loads"
        assert model == whole


@pytest.mark.parametrize("name", FILES)
def test_mutants_are_refused_or_valid(name):
    data, read = FILES[name]
    rng = random.Random(f"mutants of {name}")
    loaded = 0
    for _ in range(N_MUTANTS):
        mutant = mutated(data, rng)
        try:
            model = read(mutant, "mutant", rng.random() < 0.2)
        except ModelFormatError:
            continue
        except Exception as error:
            raise AssertionError(f"{mutant!r} raises {type(error).__name__}: {error}") from error
        check_valid(model)
        loaded += 1
    # Some changes do no harm (a name, a blank); if all were refused, or none, the mutants would test nothing.
    assert N_MUTANTS * 0.005 < loaded < N_MUTANTS * 0.8


NUMBERS = [
    b"0",
    b"1",
    b"-1",
    b"2",
    b"0.5",
    b"1e999",
    b"nan",
    b"1e-320",
    b"99999999999",
    b"-0.0",
    b"1_0",
    b"0.3333",
]
WORD = re.compile(rb"[A-Za-z]+|[0-9.]+|[^A-Za-z0-9.]")


def mutated(data, rng):
    """Return the bytes with one to three changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind = rng.randrange(7)
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 5, 40)))
        if kind == 0:
            data = (
                data[:at] + bytes([rng.choice((rng.randrange(256), *b"<>/&\"'{}[],: \n0"))]) + data[at + 1 :]
            )
        elif kind == 1:
            data = data[:at] + data[end:]
        elif kind == 2:
            data = data[:end] + data[at:]
        elif kind == 3:
            words = WORD.findall(data)
            if len(words) > 1:
                i, j = rng.sample(range(len(words)), 2)
                words[i], words[j] = words[j], words[i]
            data = b"".join(words)
        elif kind == 4:
            places = list(re.finditer(rb"[0-9][0-9.]*", data))
            if places:
                place = rng.choice(places)
                data = data[: place.start()] + rng.choice(NUMBERS) + data[place.end() :]
        elif kind == 5:  # a line that belongs elsewhere
            lines = data.splitlines(keepends=True) or [b""]
            lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
            data = b"".join(lines)
        else:
            to = rng.randrange(len(data) + 1)
            data = data[:to] + data[at:end] + data[to:]
    return data


def cheaply(read, *arguments, largest=8 * 2**20):
    """Return what a refusal says; it may not have held much, nor have taken many steps."""

    def refused():
        with pytest.raises(ModelFormatError) as error:
            read(*arguments)
        return str(error.value)

    tracemalloc.start()
    try:
        said = refused()
        assert tracemalloc.get_traced_memory()[1] < largest
    finally:
        tracemalloc.stop()
    assert steps(refused) < 4_000_000
    return said


@pytest.mark.parametrize("read", [read_xmlbif, read_xdsl])
def test_xml_cannot_grow_or_reach_outside(read):
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (k, b"&l%d;" % (k - 1) * 10) for k in range(1, 10))
    document = b'<!DOCTYPE BIF [<!ENTITY l0 "lol">' + laughs + b"]><BIF>&l9;</BIF>"
    assert unnamed(cheaply(read, document), "entity", "l0") == []
    outside = b'<!DOCTYPE BIF [<!ENTITY x SYSTEM "file:///etc/passwd">]><BIF>&x;</BIF>'
    assert unnamed(cheaply(read, outside), "entity", "x") == []
    assert "refers to 'http://x/y.dtd'" in cheaply(read, b'<!DOCTYPE BIF SYSTEM "http://x/y.dtd"><BIF/>')
    parameter = b'<!DOCTYPE BIF [<!ENTITY % p SYSTEM "http://x/y.dtd"> %p;]><BIF/>'
    assert unnamed(cheaply(read, parameter), "entity", "p") == []
    assert unnamed(cheaply(read, b"<a>" * 100_000 + b"</a>" * 100_000), 64, "elements") == []
    assert "undefined entity" in cheaply(read, b"<BIF>&lol;</BIF>")


def test_long_defaults_are_not_copied():
    default = b"x" * 10_000
    document = b'<!DOCTYPE BIF [<!ATTLIST a b CDATA "%s">]><BIF>%s</BIF>' % (default, b"<a/>" * 20_000)
    assert unnamed(cheaply(read_xmlbif, document), "<a>") == []


@cache
def bomb():
    """Return 300 MiB of blanks, packed."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(300):
            file.write(b" " * 2**20)
    return packed.getvalue()


@pytest.mark.parametrize("name", ["bomb.xml.gz", "bomb.json.gz", "bomb.uai.gz", "bomb.xdsl"])
def test_a_small_file_does_not_fill_the_memory(name, tmp_path):
    (tmp_path / name).write_bytes(bomb())
    assert "too large" in cheaply(read_network, tmp_path / name, largest=100 * 2**20)


def test_a_packed_file_that_was_cut_is_refused(tmp_path):
    packed = gzip.compress(XMLBIF)
    for end in range(3, len(packed) - 1):
        (tmp_path / "n.bifxml.gz").write_bytes(packed[:end])
        with pytest.raises(ModelFormatError):
            read_network(tmp_path / "n.bifxml.gz")


def test_deep_json_is_refused_cheaply():
    cheaply(read_native, b"[" * 1_000_000)
    cheaply(read_native, b'{"a":' * 1_000_000)
    deep = json.dumps("x")
    for _ in range(200):
        deep = f'{{"tuple": [{deep}]}}'
    assert "deeply" in cheaply(read_native, NATIVE.replace(b'{"tuple": [1, 2]}', deep.encode()))
