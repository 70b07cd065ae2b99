"""BIF: axis order, rows in any order, odd files, what is refused, and the same bytes after a round trip."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings

from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._io.networks.bif import bif_text, read_bif
from bayeskit._io.networks.raw import read_bytes
from bayeskit.errors import ModelFormatError, SettingError, UsageError
from bayeskit.networks import Deterministic, LinearGaussian, NoisyMax, Table
from network_files import NETWORKS, check_asymmetric, check_valid, golden, in_words, networks
from network_twin import joint_table, margin, with_evidence
from refusals import refuses
from work import check_growth, steps

HEAD = """network n { }
variable a { type discrete [2] { x, y }; }
variable b { type discrete [2] { x, y }; }
probability ( a ) { table 0.25, 0.75; }
"""


@pytest.mark.parametrize("name", ["asymmetric.bif", "asymmetric_table.bif"])
def test_the_axes_of_a_table(name):
    network = read_bif(golden(name))
    check_asymmetric(network)
    assert network.name == "asymmetric"
    assert network.notes == {"author": "by hand", "version": "1.0"}
    assert network["c"].notes == {"position": "(10, 20)"}


def test_the_chest_clinic():
    """Netica's tutorial: lung cancer 5.5 %, 48.9 % with an abnormal X-ray, 37.1 % after a visit to Asia too."""
    network = read_bif(golden("asia.bif"))
    joint, place = joint_table(network), network.dag.position

    def lung(**codes):
        found = margin(with_evidence(joint, {place[k]: v for k, v in codes.items()}), place["lung"])
        return found[0] / found.sum()

    assert abs(lung() - 0.055) < 1e-12
    assert abs(lung(xray=0) - 192500 / 393893) < 1e-12
    assert abs(lung(xray=0, asia=0) - 3080 / 8291) < 1e-12


@pytest.mark.parametrize(
    "block",
    [
        "(x) 0.1 0.9; (y) 0.6, 0.4;",
        "(y) 0.6 .4; ( x ) 1e-1, 9e-1;",
        '("x") 0.1 0.9; ("y") 0.6 0.4;',
        "table 0.1 0.6 0.9 0.4;",
        "default 0.1 0.9; (y) 0.6 0.4;",
        "property note; (x) 0.1 0.9; property tail }; // never\n(y) 0.6 0.4;".replace(" }", ""),
        "/* (x) 1 0; */ (x) 0.1 0.9; // (y) 1 0;\n (y) 0.6 0.4;",
    ],
)
def test_ways_to_write_a_table(block):
    network = read_bif(HEAD + f"probability ( b | a ) {{ {block} }}")
    assert np.array_equal(network["b"].distribution.table(), [[0.1, 0.9], [0.6, 0.4]])


def test_states_are_always_text():
    network = read_bif(
        "network n {} variable a { type discrete [2] { 0, True }; } probability (a) { default 1 0; }"
    )
    assert network["a"].variable.states == ("0", "True")


def test_variables_come_before_tables():
    """Else a file cut after the first table would load as the network of its first variables."""
    text = HEAD.replace("variable b { type discrete [2] { x, y }; }\n", "")
    assert len(read_bif(text).nodes) == 1
    with refuses(ModelFormatError, 4, 1, "variable"):
        read_bif(
            text + "variable b { type discrete [2] { x, y }; } probability (b) { default 1 0; }", "n.bif"
        )


def test_rows_are_divided_or_refused():
    text = HEAD + "probability ( b | a ) { (x) 0.333 0.667; (y) 2 6; }"
    with refuses(ModelFormatError, 5, 42, "b", "a = y", 8):
        read_bif(text, "n.bif")
    assert np.array_equal(
        read_bif(text, normalize=True)["b"].distribution.table(), [[0.333, 0.667], [0.25, 0.75]]
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["n.bif", 1]),
        ("graph { }", ["graph", "network"]),
        ("network n { }", ["n.bif", "node"]),
        ("network n { } variable a { type discrete [2] { x, y }; }", ["a", "probability"]),
        (HEAD.replace("{ x, y }", "{ x, y, z }", 1), [2, "2", "a", 3]),
        (HEAD.replace("{ x, y }", "{ x, x }", 1), ["a", "x", "twice"]),
        (HEAD.replace("variable b", "variable a"), [3, 10, "a"]),
        (HEAD.replace("discrete [2]", "continuous", 1), ["a", "continuous"]),
        (HEAD + "probability ( a ) { table 0.5 0.5; }", ["probability", "a"]),
        (HEAD + "probability ( b | a ) { (x) 0.5 0.5; }", ["b", "(y)"]),
        (HEAD + "probability ( b | a ) { (x) 0.5 0.5; (x) 0.5 0.5; }", [5, 38, "b"]),
        (
            HEAD + "probability ( b | a ) { (x) 0.5 0.5; (z) 0.5 0.5; }",
            [39, "a", "z", "x, y"],
        ),
        (HEAD + "probability ( b | a ) { (x, x) 0.5 0.5; }", [5, 25, 1]),
        (HEAD + "probability ( b | a ) { table 0.5 0.5; }", ["b", 4, 2]),
        (HEAD + "probability ( b | a ) { (x) 0.5 0.5 0; }", ["b", 2, 3]),
        (HEAD + "probability ( b | a ) { (x) 0.5 0.5 (y) 0.5 0.5; }", [5, 37, "("]),
        (HEAD + "probability ( b | a ) { table .5 .5 .5 .5; default 1 0; }", [5, 15, "b"]),
        (HEAD + "probability ( b | a ) { table .5 .5 .5 .5; table .5 .5 .5 .5; }", [5, 44, "table"]),
        (HEAD + "probability ( b | c ) { default 1 0; }", [5, 19, "c"]),
        (HEAD + "probability ( b | b ) { default 1 0; }", ["b", "twice"]),
        (HEAD + "probability ( b | a a ) { default 1 0; }", ["a", "twice"]),
        (HEAD + "probability ( b ) { default 1_0 0; }", [5, 29, "1_0"]),
        (HEAD + "probability ( b ) { default nan 0; }", [5, 29, "nan"]),
        (HEAD + "probability ( b ) { default 1e999 0; }", [5, 15, "inf"]),
        (HEAD + "probability ( b ) { default 1.5 -0.5; }", [5, 15, -0.5]),
        (HEAD + "probability ( b ) { default 1 0; ", [5, 34]),
        (HEAD + "probability ( b ) { default 1 0; } /* open", [5, 36, "comment"]),
        (HEAD + 'probability ( b ) { default 1 0; } "open', [5, 36, "quotation"]),
        (HEAD + "probability ( b ) { default 1 0; } }", [5, 36, "}"]),
        (HEAD + "probability ( b | a ) { property function max; (x) 1 0; (y) 1 0; }", [5, 25, "b"]),
    ],
)
def test_what_is_refused(text, says):
    with refuses(ModelFormatError, *says):
        read_bif(text, "n.bif")


def test_cycles_and_giant_tables_are_refused():
    text = HEAD.replace("probability ( a )", "probability ( a | b )").replace("0.25, 0.75", "0.5 0.5 0.5 0.5")
    with refuses(ModelFormatError, "'a' → 'b' → 'a'"):
        read_bif(text + "probability ( b | a ) { default 1 0; }")
    names = [f"v{k}" for k in range(70)]
    text = "network n {}" + "".join(f"variable {n} {{ type discrete [2] {{ x y }}; }}" for n in names)
    text += "".join(f"probability ( {n} ) {{ default 0.5 0.5; }}" for n in names[1:])
    with refuses(ModelFormatError, "v0", "10^21"):
        read_bif(text + f"probability ( v0 | {' '.join(names[1:])} ) {{ default 0.5 0.5; }}")


@settings(max_examples=250, deadline=None)
@given(networks())
def test_written_read_and_written_again_is_the_same(network):
    text = bif_text(network)
    again = read_bif(text.encode())
    assert again == in_words(network) and again.name == network.name
    assert bif_text(again) == text


def test_rules_and_causes_are_written_as_tables():
    a = Node(discrete("a", "xy"), (), Table([0.3, 0.7]))
    rule = Node(discrete("r", "pqr"), ("a",), Deterministic(np.array([2, 0]), 3))
    causes = NoisyMax((np.array([[1, 0], [0.2, 0.8]]),), np.array([0.9, 0.1]))
    network = Network((a, rule, Node(discrete("n", "no"), ("a",), causes)))
    again = read_bif(bif_text(network))
    assert np.array_equal(again["r"].distribution.table(), [[0, 0, 1], [1, 0, 0]])
    assert np.array_equal(again["n"].distribution.table(), causes.table())


def test_what_cannot_be_written():
    with refuses(SettingError, "x", "continuous", "BIF"):
        bif_text(Network((Node(continuous("x"), (), LinearGaussian(0.0, [], 1.0)),)))
    with refuses(UsageError, "x", "set_cpt"):
        bif_text(Network((Node(discrete("x", "ab")),)))
    with refuses(SettingError, "x", 1, "1"):
        bif_text(Network((Node(discrete("x", [1, "1"]), (), Table([0.5, 0.5])),)))
    many = [Node(discrete(k, "ab"), (), Table([0.5, 0.5])) for k in range(40)]
    causes = NoisyMax((np.array([[1, 0], [0.2, 0.8]]),) * 40, np.array([0.9, 0.1]))
    with refuses(SettingError, "10^12", 41):
        bif_text(Network((*many, Node(discrete("n", "ab"), tuple(range(40)), causes))))


@pytest.mark.timeout(60)  # work within C is not counted: were it quadratic, this would take far longer
def test_time_is_linear_in_whatever_a_file_holds():
    def texts(n):
        return (
            '"\\' * n,
            "/*" * n,
            "network n { " + 'property bayeskit_states = "\\"' + '\\"' * n,
            "network n { " + "property a b;\n" * (n // 10) + "}",
            "network n { property a" + " " * n + "b; }",
            "network n { } " + "probability " * n,
            "network n { } variable x { type discrete [" + "9" * n + "] { a }; }",
        )

    def refusing(text):
        with pytest.raises(ModelFormatError):
            read_bif(text)

    for k in range(7):
        check_growth(lambda n, k=k: partial(refusing, texts(n)[k]), 2_000)
    for text in texts(200_000):
        refusing(text)


@pytest.mark.skipif(not NETWORKS.is_dir(), reason="the repository's networks are not here: set BAYESKIT_DATA")
class TestRepository:
    SIZES: ClassVar = {
        "alarm": (37, 46),
        "asia": (8, 8),
        "child": (20, 25),
        "link": (724, 1125),
        "munin1": (186, 273),
        "pigs": (441, 592),
    }

    def test_all_of_them_load_and_come_back(self):
        paths = sorted((NETWORKS / "bif").glob("*.bif.gz"))
        assert len(paths) == 18
        for path in paths:
            name = path.name.split(".")[0]
            network = read_bif(read_bytes(path), path)
            if name in self.SIZES:
                assert (len(network.nodes), len(network.dag.arcs)) == self.SIZES[name]
            check_valid(network)
            if name not in ("mildew", "barley"):
                text = bif_text(network)
                assert read_bif(text) == network and bif_text(read_bif(text)) == text

    def test_the_large_ones_take_little_work(self):
        for name in ("link", "munin1"):
            text = read_bytes(NETWORKS / "bif" / f"{name}.bif.gz")
            assert steps(partial(read_bif, text)) < 20 * len(text)

    def test_states_that_are_no_words(self):
        network = read_bif(read_bytes(NETWORKS / "bif" / "child.bif.gz"))
        assert network["ChestXray"].variable.states[-1] == "Asy/Patch"
        assert network["LowerBodyO2"].variable.states == ("<5", "5-12", "12+")

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("agrum_BIFReader_file3.bif", [58, 9, "n6", 12, 10]),
            ("agrum_carpo.bif", [504, 3, "N5", "property function"]),
            ("agrum_alarm.bif", None),
            ("agrum_asia.bif", None),
            ("agrum_insurance.bif", None),
            ("agrum_survey.bif", None),
        ],
    )
    def test_odd_samples(self, name, says):
        data = read_bytes(NETWORKS / "formats" / name)
        if says is None:
            check_valid(read_bif(data, name))
        else:
            with refuses(ModelFormatError, *says):
                read_bif(data, name)
