"""UAI files: the last variable fastest, numbers for names, evidence in both forms."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import MarkovNetwork
from bayeskit._graphs.network import FactorGraph, Network, Node, continuous, discrete
from bayeskit._io.networks.uai import read_uai, uai_text
from bayeskit.errors import ModelFormatError, SettingError, SourceNote
from bayeskit.networks import Factor, LinearGaussian, read_uai_evidence
from format_networks import C_GIVEN_A_B, DATA, GOLDEN, asymmetric, check_valid, networks, sample_files
from network_files import ASYMMETRIC
from refusals import refuses, warns_of

GOOD = (GOLDEN / "asymmetric.uai").read_text()
MARKOV = (GOLDEN / "asymmetric_markov.uai").read_text()


def test_axes_come_in_the_order_of_the_format():
    assert read_uai(GOOD) == asymmetric(named=False)
    field = read_uai(MARKOV)
    assert field.factors[0].names == (2, 0, 1)
    np.testing.assert_allclose(field.factors[0].ordered((0, 1, 2)).values, 10 * C_GIVEN_A_B)
    assert [v.states for v in field.variables] == [(0, 1), (0, 1, 2), (0, 1, 2, 3)]


@given(networks(notes=False))
@settings(max_examples=100, deadline=None)
def test_written_read_written_is_the_same(network):
    text = uai_text(network)
    back = read_uai(text)
    assert uai_text(back) == text
    place = network.dag.position
    for k, node in enumerate(network.nodes):
        assert back[k].parents == tuple(place[p] for p in node.parents)
        assert (back[k].distribution.table() == node.distribution.table()).all()


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.data())
@settings(max_examples=100, deadline=None)
def test_fields_come_back(sizes, data):
    variables = [discrete(name, range(size)) for name, size in enumerate(sizes)]
    positive = st.floats(1e-300, 1e300)
    factors = []
    for scope in data.draw(
        st.lists(st.lists(st.sampled_from(variables), unique_by=lambda v: v.name), max_size=3)
    ):
        shape = [v.size for v in scope]
        cells = data.draw(st.lists(positive, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        factors.append(Factor([v.name for v in scope], [v.states for v in scope], np.reshape(cells, shape)))
    field = FactorGraph(tuple(variables), tuple(factors))
    text = uai_text(field)
    assert read_uai(text) == field
    assert uai_text(read_uai(text)) == text


BAD = {
    "kind": (GOOD.replace("BAYES", "BAYE"), ["UAI", "BAYE"], 1, 1),
    "cut": (GOOD[: GOOD.rindex("0.3")], ["ends", 21, 5], None, None),
    "cut in a number": (GOOD.rstrip(), ["cut", 21, 9], 21, 9),
    "left over": (GOOD + "1\n", [22, "1"], 22, 1),
    "no states": (GOOD.replace("2 3 4", "2 0 4"), ["variable", 1, "states"], None, None),
    "child twice": (GOOD.replace("\n1 1\n", "\n1 0\n"), ["BAYES", "MARKOV", "child"], None, None),
    "unknown variable": (GOOD.replace("\n1 1\n", "\n1 7\n"), ["scope", 2, 7], 7, 3),
    "variable twice": (GOOD.replace("3 0 1 2", "3 0 0 2"), ["scope", 0, "twice"], 5, 7),
    "count": (GOOD.replace("24", "23"), [23, 24], 9, 1),
    "no number": (GOOD.replace("0.45", "nan"), [14, "nan"], 14, 16),
    "row sum": (GOOD.replace("0.45", "0.55"), [1.1, "normalize=True"], 9, 1),
    "negative": (MARKOV.replace("0.8", "-0.8"), [12, 18, "negative"], None, None),
    "all zero": (MARKOV.replace("0.2 0.5 0.3", "0 0 0"), [15, 5, "zero"], None, None),
    "too large": (MARKOV.replace("0.8", "1e999"), [12, 18, "finite"], None, None),
    "no whole number": (GOOD.replace("2 3 4", "2 3.0 4"), [3, "3.0"], 3, 3),
    "vast": ("MARKOV\n99999999999999\n2\n", [3, 99_999_999_999_999], None, None),
    "vast states": (MARKOV.replace("2 3 4", "2 3 99999999999"), [3, 5, 100_000_000_004], None, None),
    "empty": ("", ["ends", "BAYES", "MARKOV"], None, None),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_refused_and_named(case):
    text, message, line, column = BAD[case]
    with refuses(ModelFormatError, *message) as error:
        read_uai(text, "m.uai")
    if line is not None:
        assert (error.value.line, error.value.column) == (line, column)


def test_a_markov_file_that_says_bayes_is_refused():
    with refuses(ModelFormatError, 6, 3, "MARKOV"):
        read_uai(MARKOV.replace("MARKOV", "BAYES"))


def test_a_cycle_is_refused():
    with refuses(ModelFormatError, "cycle", "0 → 1 → 0"):
        read_uai("BAYES 2 1 1 2  2 1 0  2 0 1  1 1  1 1 ")


def test_continuous_nodes_are_not_written():
    with refuses(SettingError, "x", "continuous", "UAI"):
        uai_text(Network((Node(continuous("x"), (), LinearGaussian(0.0, [], 1.0)),)))


EVIDENCE = {
    "nothing": ("0", {}),
    "one line": ("2 184 1 85 0", {184: 1, 85: 0}),
    "samples": ("1\n2 184 1 85 0\n", {184: 1, 85: 0}),
    "an empty sample": ("1\n0\n", {}),
    "one pair": ("1 3 2", {3: 2}),
}


@pytest.mark.parametrize("case", EVIDENCE)
def test_evidence_in_both_forms(case, tmp_path):
    text, wanted = EVIDENCE[case]
    (tmp_path / "m.evid").write_text(text)
    assert read_uai_evidence(tmp_path / "m.evid") == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ["m.evid", 1]),
        ("2 184 1", ["m.evid", 2, 3]),
        ("2\n1 3 0\n1 4 0", ["m.evid", 2, 7]),
        ("2 5 1 5 0", [5, "twice"]),
        ("1 a 0", ["m.evid", 1, "a"]),
        ("1 -1 0", ["m.evid", 1, "-1"]),
    ],
)
def test_odd_evidence_is_refused(text, message, tmp_path):
    (tmp_path / "m.evid").write_text(text)
    with refuses(ModelFormatError, *message):
        read_uai_evidence(tmp_path / "m.evid")


@pytest.mark.parametrize("text", [GOOD, MARKOV])
def test_comments_are_passed_over(text):
    lines = text.splitlines(keepends=True)
    remarks = [f"{line.rstrip()} # {k} 2 {{0, 1}} BAYES\n" for k, line in enumerate(lines)]
    for commented in ("# by hand\n" + text, text + "#", "".join(remarks), text.replace("\n", "\n#\n")):
        assert read_uai(commented) == read_uai(text)


def test_a_comment_leaves_lines_and_columns_as_they_are():
    with refuses(ModelFormatError, "m.uai", 8, "x") as caught:
        read_uai("# one\nBAYES # two\n1 # three\n2\n1\n1 0\n2\n.5 x # four\n", "m.uai")
    assert (caught.value.line, caught.value.column) == (8, 4)


THEIRS = (GOLDEN / "pyagrum.uai").read_text()
THEIR_FIELD = (GOLDEN / "pyagrum_markov.uai").read_text()


def test_a_markov_network_of_pyagrum_has_its_factors():
    """Its scope lines are in no order; that of the numbers stands in the comments, the first variable fastest."""
    with warns_of(SourceNote, "pyAgrum"):
        field = read_uai(THEIR_FIELD)
    np.testing.assert_allclose(field.factors[0].ordered((0, 1, 2)).values, ASYMMETRIC)
    np.testing.assert_allclose(field.factors[1].ordered((0, 2)).values, np.arange(1, 9).reshape(2, 4))
    margins = MarkovNetwork._of(field).posteriors()
    np.testing.assert_allclose(margins[0][0], 0.30309278350515456)
    np.testing.assert_allclose(margins[1][:2], [0.3374570446735395, 0.33333333333333337])
    np.testing.assert_allclose(margins[2][:3], [0.08350515463917525, 0.21855670103092784, 0.277319587628866])
    with refuses(ModelFormatError, 6, 5, "pyAgrum") as caught:
        read_uai(THEIR_FIELD.replace("# {0, 1, 2}", "# {0, 1}"), "m.uai")
    assert caught.value.path == "m.uai"


def test_nothing_is_said_where_pyagrum_has_nothing_in_another_order():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_uai("BAYES\n2\n2 2 \n2\n1 0   # a\n2 0 1   # b\n\n\n2\n  0.5 0.5 \n\n4\n  1 0 \n  0 1 \n\n\n")
        # Some comments, or comments elsewhere as well, are not pyAgrum's: the order is that of UAI.
        for text in (THEIRS.replace("   # b", ""), THEIRS.replace("0.25 0.75", "0.25 0.75 # P(a)")):
            wrong = read_uai(text)[1].distribution.table()
            np.testing.assert_array_equal(wrong.ravel(), ASYMMETRIC.transpose(1, 0, 2).ravel())


def test_evidence_may_have_comments(tmp_path):
    (tmp_path / "m.evid").write_text("# seen\n1 # one\n184 1\n")
    assert read_uai_evidence(tmp_path / "m.evid") == {184: 1}


def test_a_long_chain_is_read_in_linear_time():
    n = 10_000
    lines = ["BAYES", str(n), "2 " * n, str(n), "1 0", *(f"2 {k - 1} {k}" for k in range(1, n))]
    lines += ["2 .5 .5", *["4 .9 .1 .2 .8"] * (n - 1), ""]
    assert len(read_uai("\n".join(lines)).nodes) == n


@pytest.mark.parametrize("path", [*sample_files("uai", "*.uai"), *sample_files("formats", "*.uai")])
def test_samples_load_or_say_why(path):
    if path.name == "pgmpy_grid4x4_with_triplets.uai":
        # It ends right after its last digit: whole, but nobody could tell.
        with refuses(ModelFormatError, path.name, 137, 28):
            read_uai(path.read_bytes(), path)
        check_valid(read_uai(path.read_bytes() + b"\n", path))
        return
    field = read_uai(path.read_bytes(), path)
    check_valid(field)
    evidence = path.with_name(path.name + ".evid")
    if evidence.exists():
        found = read_uai_evidence(evidence)
        assert all(code < field.variables[name].size for name, code in found.items())


def test_a_grid_sums_to_what_another_program_found():
    table = DATA / "networks" / "uai" / "checked.csv"
    if not table.exists():
        pytest.skip(f"no sample files under {DATA}; set BAYESKIT_DATA")
    wanted = {row["model"]: row["log10_Z_exact"] for row in csv.DictReader(table.open())}
    field = read_uai((table.parent / "Grids_12.uai").read_bytes())
    assert grid_log10_z(field) == pytest.approx(float(wanted["Grids_12.uai"]), abs=1e-4)


def grid_log10_z(field):
    """Sum a 10 × 10 grid of binary variables out row by row: a table over ten variables at a time."""
    side = 10
    log_scale, table, remaining = 0.0, Factor([], [], 1.0), list(field.factors)
    for variable in range(side * side):
        touching = [f for f in remaining if variable in f.names]
        remaining = [f for f in remaining if variable not in f.names]
        for factor in touching:
            table = table * factor
        table = table.marginal(*(n for n in table.names if n != variable))
        top = table.values.max()
        table = Factor(table.names, table.states, table.values / top)
        log_scale += np.log10(top)
    return log_scale + np.log10(float(table.values))
