"""Damaged text files: cut anywhere, or changed anyhow. Each is refused with ModelFormatError or is a valid network."""

from __future__ import annotations

import contextlib
import random
import re

import pytest

from bayeskit._io.networks.bif import bif_text, read_bif, read_dsc
from bayeskit._io.networks.dsl import read_dsl
from bayeskit._io.networks.net import net_text, read_net
from bayeskit.errors import ModelFormatError
from network_files import check_valid, golden
from work import steps

MIXED = b"""net { } node d { states = ("x" "y"); } continuous node u { } continuous node v { label = "V"; }
potential (d) { data = (0.25 0.75); } potential (u) { data = normal (1, 4); }
potential (v | u d) { data = (normal (1 + 2.5 * u, 3) normal (-0.5, 0.1)); }
"""
# A network whose names were mangled, so that the true ones stand in properties.
MANGLED = read_bif(
    'network "wet grass" {} variable "a b" { type discrete [2] { "<5", "湿" }; } '
    'variable c { type discrete [3] { x, "y z", w }; } '
    'probability ("a b") { table 0.2 0.8; } probability (c | "a b") { default 0.25 0.5 0.25; }'
)
SEEDS = {
    "bif": (
        read_bif,
        [
            golden("asymmetric.bif"),
            golden("asymmetric_table.bif"),
            golden("asia.bif"),
            bif_text(MANGLED).encode(),
        ],
    ),
    "net": (read_net, [golden("asymmetric.net"), golden("asia.net"), MIXED, net_text(MANGLED).encode()]),
    "dsl": (read_dsl, [golden("asymmetric.dsl")]),
    "dsc": (read_dsc, [golden("asymmetric.dsc")]),
}
MUTANTS = 10_000
# Instructions for each byte of a file.
MOST_STEPS = 300
SIGNS = [
    b"{",
    b"}",
    b"(",
    b")",
    b";",
    b"|",
    b'"',
    b"=",
    b"[",
    b"]",
    b",",
    b":",
    b"/*",
    b"*/",
    b"//",
    b"%",
    b"\\",
    b"\n",
    b" ",
    b"\0",
    b"\xff",
]
NUMBERS = [
    b"0",
    b"1",
    b"-1",
    b"2",
    b"nan",
    b"inf",
    b"1e999",
    b"1e-999",
    b"99999999999999999999",
    b"0.5",
    b"1_0",
    b"-0.0",
    b"",
]
TOKEN = re.compile(rb"[A-Za-z0-9_.+-]+|\S")
LINE = re.compile(rb"[^\n]*\n|[^\n]+")
NUMBER = re.compile(rb"[0-9]+(?:\.[0-9]+)?")


@pytest.mark.parametrize("form", SEEDS)
def test_a_truncated_file_never_loads(form):
    read, seeds = SEEDS[form]
    for seed in seeds:
        whole = read(seed)
        ends = len(seed.rstrip())
        for end in range(len(seed)):
            try:
                found = read(seed[:end])
            except ModelFormatError:
                assert end < ends
            else:
                assert end >= ends and found == whole


def mutant(seed, rng):
    """Change a file in one to three places."""
    data = bytearray(seed)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(9)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at : at + rng.choice((1, 1, 2, 5, 20, 100))]
        elif kind == 2:
            data[at:at] = data[at : at + rng.choice((1, 2, 5, 20, 100, 400))]
        elif kind == 3:
            data[at:at] = rng.choice(SIGNS)
        elif kind == 4 and at < len(data):
            data[at : at + 1] = rng.choice(SIGNS)
        elif kind == 5:
            numbers = list(NUMBER.finditer(data))
            if numbers:
                place = rng.choice(numbers)
                data[place.start() : place.end()] = rng.choice(NUMBERS)
        elif kind == 6:
            tokens = list(TOKEN.finditer(data))
            if len(tokens) > 1:
                first, second = sorted(rng.sample(range(len(tokens)), 2))
                one, two = tokens[first], tokens[second]
                text = bytes(data)
                data = bytearray(
                    text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :]
                )
        elif kind == 7:  # a statement or line that belongs elsewhere
            lines = LINE.findall(data)
            lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines or [b""]))
            data = bytearray(b"".join(lines))
        else:
            tokens = list(TOKEN.finditer(data))
            if tokens:
                place = rng.choice(tokens)
                data[place.start() : place.end()] = rng.choice(tokens)[0]
        if not data:
            return seed
    return bytes(data)


def read_quietly(read, data):
    with contextlib.suppress(ModelFormatError):
        read(data, "mutant")


@pytest.mark.parametrize("form", SEEDS)
def test_mutants_are_refused_or_valid(form):
    read, seeds = SEEDS[form]
    rng = random.Random(form)
    loaded = refused = unnamed = 0
    for number in range(MUTANTS):
        data = mutant(seeds[number % len(seeds)], rng)
        try:
            network = read(data, "mutant")
        except ModelFormatError as error:
            refused += 1
            unnamed += error.path != "mutant"
        else:
            loaded += 1
            check_valid(network)
        if number % 100 == 0:
            assert steps(lambda data=data: read_quietly(read, data)) < MOST_STEPS * len(data)
    assert not unnamed
    # Both happen, or the mutants are too tame or too wild to say anything.
    assert refused > MUTANTS // 4 and loaded > MUTANTS // 50
