"""libDAI factor graphs: the first variable fastest, cells in any order, each once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._io.networks.bif import read_bif
from bayeskit._io.networks.raw import read_bytes
from bayeskit._io.networks.uai import read_fg
from bayeskit.errors import ModelFormatError
from format_networks import C_GIVEN_A_B, GOLDEN, check_valid, sample_files
from refusals import refuses

GOOD = (GOLDEN / "asymmetric.fg").read_text()


def test_axes_come_in_the_order_of_the_format():
    field = read_fg(GOOD)
    assert [v.name for v in field.variables] == [0, 1, 2]
    assert field.factors[0].names == (0, 1, 2)
    np.testing.assert_array_equal(field.factors[0].values, C_GIVEN_A_B)
    np.testing.assert_array_equal(field.factors[1].values, [0.5, 0, 0.25])


@given(st.lists(st.integers(1, 3), max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_cells_stand_where_libdai_puts_them(shape, random):
    names = random.sample(range(20), len(shape))
    size = int(np.prod(shape))
    cells = {cell: random.random() + 0.1 for cell in random.sample(range(size), random.randint(1, size))}
    lines = [
        "2",
        "1\n99\n1\n1\n0 1",
        str(len(shape)),
        " ".join(map(str, names)),
        " ".join(map(str, shape)),
        str(len(cells)),
    ]
    lines += [f"{cell} {value!r}" for cell, value in cells.items()]
    factor = read_fg("\n".join(lines) + "\n").factors[1]
    assert factor.names == tuple(names)
    for place in np.ndindex(*shape):
        cell, step = 0, 1
        for code, length in zip(place, shape, strict=True):
            cell += code * step
            step *= length
        assert factor.values[place] == cells.get(cell, 0.0)


BAD = {
    "cell twice": (GOOD.replace("\n2 0.4", "\n1 0.4"), ["cell", 1, 0, "twice"], 10, 1),
    "no such cell": (GOOD.replace("\n2 0.4", "\n24 0.4"), ["cell", 24, 0], 10, 1),
    "negative": (GOOD.replace("\n2 0.4", "\n2 -0.4"), [2, 0, -0.4], 10, 3),
    "infinite": (GOOD.replace("\n2 0.4", "\n2 1e999"), [2, 0, "inf"], 10, 3),
    "no number": (GOOD.replace("\n2 0.4", "\n2 x"), ["x", 2], 10, 3),
    "size": (GOOD.replace("1\n1\n3\n", "1\n1\n2\n"), ["factor", 1, 2, 3], 36, 1),
    "no states": (GOOD.replace("2 3 4", "2 0 4"), ["factor", 0, 1, "states"], None, None),
    "variable twice": (GOOD.replace("0 1 2", "0 0 2"), ["variable", 0, "twice"], None, None),
    "zero everywhere": (GOOD.replace("0 0.5\n2 0.25", "0 0\n2 0"), ["factor", 1, "zero"], None, None),
    "cut": (GOOD[: GOOD.index("# a factor")], ["ends", 31, 4], None, None),
    "cut in a number": (GOOD.rstrip(), ["cut", 39, 3], 39, 3),
    "left over": (GOOD + "1\n", [40, 1, "'1'"], None, None),
    "vast": ("1\n2\n0 1\n99999999 99999999\n1\n0 1\n", ["factor 0", "10^16"], 4, 10),
    "many cells": ("1\n1\n0\n1\n999999999999999\n0 1\n", ["ends", 6, 3], None, None),
    "no variable": ("0\n", [1, "variable"], None, None),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_refused_and_named(case):
    text, message, line, column = BAD[case]
    with refuses(ModelFormatError, *message) as error:
        read_fg(text, "m.fg")
    if line is not None:
        assert (error.value.line, error.value.column) == (line, column)


@pytest.mark.parametrize("path", sample_files("formats", "*.fg"))
def test_samples_load(path):
    field = read_fg(path.read_bytes(), path)
    check_valid(field)
    if "alarm" in path.name:
        check_alarm(field, read_bif(read_bytes(path.parents[1] / "bif" / "alarm.bif.gz")))


def check_alarm(field, network):
    """The tables of ALARM, which libDAI took from another file: each is the one of some node."""
    assert len(field.variables) == len(network.nodes)
    left = [node.distribution.table() for node in network.nodes]
    for factor in field.factors:
        numbers = np.sort(factor.values.ravel())
        place = next(
            k
            for k, t in enumerate(left)
            if t.size == len(numbers) and abs(np.sort(t.ravel()) - numbers).max() < 1e-3
        )
        left.pop(place)
        # Read in the wrong order, a table of unequal sizes sums to one along no axis.
        assert any(abs(factor.values.sum(axis=a) - 1).max() < 2e-3 for a in range(len(factor.names)))
    assert not left
