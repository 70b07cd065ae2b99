"""Bytes of network files: packed and not, too large, cut, in other encodings; rows; names that must be mangled."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._io.networks import raw
from bayeskit._io.networks.assembly import Budget, assembled, checked_table, require_discrete
from bayeskit._io.networks.mangling import IDENTIFIER, QUOTED, add_note, mangled, quoted, unquoted
from bayeskit.errors import DataTypeError, ModelFormatError, SettingError
from bayeskit.networks import Table
from refusals import refuses

# -- bytes -----------------------------------------------------------------------------------------


def test_a_gzip_file_is_known_by_its_bytes_not_by_its_name(tmp_path):
    for name in ("plain.bif", "packed.bif.gz", "misnamed.bif"):
        data = b"network x {}" if name == "plain.bif" else gzip.compress(b"network x {}")
        (tmp_path / name).write_bytes(data)
        assert raw.read_bytes(tmp_path / name) == b"network x {}"
    (tmp_path / "plain.gz").write_bytes(b"network x {}")
    assert raw.read_bytes(str(tmp_path / "plain.gz")) == b"network x {}"


def test_every_truncation_of_a_gzip_file_is_refused(tmp_path):
    data = gzip.compress(b"network x {}" * 20)
    for end in range(2, len(data)):
        with refuses(ModelFormatError, "x.gz", "gzip"):
            raw.unpacked(data[:end], "x.gz")
    with refuses(ModelFormatError, "gzip", "CRC"):
        raw.unpacked(data[:-8] + b"\0" * 8)


def test_a_file_made_to_fill_the_memory_is_refused_without_unpacking_it(monkeypatch):
    bomb = gzip.compress(b"\0" * (8 * 2**20))
    assert len(bomb) * raw.LARGEST_RATIO < 8 * 2**20
    with refuses(ModelFormatError, len(bomb), 256, 200):
        raw.unpacked(bomb)
    # A high ratio is no harm while the whole is small.
    assert len(raw.unpacked(gzip.compress(b"\0" * 2**20))) == 2**20


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(raw, "LARGEST_FILE", 10)
    (tmp_path / "x.bif").write_bytes(b"12345678901")
    with refuses(ModelFormatError, "x.bif", 0, "MiB"):
        raw.read_bytes(tmp_path / "x.bif")
    (tmp_path / "x.bif").write_bytes(b"1234567890")
    assert raw.read_bytes(tmp_path / "x.bif") == b"1234567890"


def test_the_systems_own_errors_pass(tmp_path):
    with pytest.raises(FileNotFoundError):
        raw.read_bytes(tmp_path / "absent.bif")
    with pytest.raises(DataTypeError):
        raw.read_bytes(7)


def test_what_is_written_is_read_and_packed_bytes_repeat(tmp_path):
    path, packed = tmp_path / "x.bif", tmp_path / "x.bif.gz"
    raw.write_atomically(path, b"one")
    raw.write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    raw.write_atomically(packed, b"two" * 1000)
    first = packed.read_bytes()
    raw.write_atomically(packed, b"two" * 1000)
    assert packed.read_bytes() == first and first[4:8] == b"\0\0\0\0"
    assert raw.read_bytes(packed) == b"two" * 1000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.bif", "x.bif.gz"]


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        ("湿".encode(), None, "湿"),
        ("\ufeff湿".encode(), None, "湿"),
        ("\ufeffx", None, "x"),
        (b"\xe9t\xe9", None, "été"),
        ("湿".encode("gb18030"), "gb18030", "湿"),
        ("湿".encode("utf-16"), "utf-16", "湿"),
        (b"a\r\nb\rc\n", None, "a\nb\nc\n"),
    ],
)
def test_encodings(data, encoding, text):
    assert raw.decode(data, "x.bif", encoding) == text


@pytest.mark.parametrize(
    ("data", "encoding", "says"),
    [
        (b"ab\ncd\0", None, [2, 3, "NUL"]),
        ("ab".encode("utf-16-le"), None, ["NUL", "UTF-16"]),
        (b"ab\n\xe9", "utf-8", [2, 1, "utf-8"]),
        (b"ab", "klingon", ["x.bif", "klingon", "UTF-8"]),
        (b"ab", "hex", ["x.bif", "hex", "UTF-8"]),
        (b"ab", "a\0b", ["a\\x00b", "UTF-8"]),
    ],
)
def test_bytes_that_are_no_text(data, encoding, says):
    with refuses(ModelFormatError, *says):
        raw.decode(data, "x.bif", encoding)


# -- rows ------------------------------------------------------------------------------------------


def test_a_row_that_sums_to_one_is_kept_bit_for_bit():
    row = np.array([0.1, 0.2, 0.7 - 5e-13])
    assert row.sum() != 1 and np.array_equal(checked_table(row, "x"), row)
    assert np.array_equal(checked_table(row, "x", normalize=True), row)


def test_a_printed_row_is_divided_once_and_then_stays():
    row = np.array([0.3333, 0.3333, 0.3333])
    once = checked_table(row, "x")
    assert np.array_equal(once, row / row.sum())
    assert np.array_equal(checked_table(once, "x"), once)


def test_only_the_rows_that_need_it_are_divided():
    rows = np.array([[0.1, 0.2, 0.7], [0.3333, 0.3333, 0.3333]])
    assert np.array_equal(checked_table(rows, "x")[0], rows[0])


@pytest.mark.parametrize(
    ("row", "normalize", "says"),
    [
        ([0.5, 0.502], False, [1.002, "normalize=True"]),
        ([0.5, 0.498], False, ["normalize=True"]),
        ([0.0, 0.0], False, ["zero"]),
        ([0.0, 0.0], True, ["zero"]),
        ([1.0 + 1e-15, -1e-15], True, [-1e-15]),
        ([np.nan, 1.0], True, ["nan"]),
        ([np.inf, 1.0], True, ["inf"]),
        ([1e308, 1e308], True, ["large"]),
    ],
)
def test_rows_that_are_refused(row, normalize, says):
    with refuses(ModelFormatError, "x.bif", 3, 4, "wet", *says):
        checked_table(row, "wet", path="x.bif", line=3, column=4, normalize=normalize)


def test_the_error_names_the_states_of_the_parents_and_the_place_of_the_row():
    parents = [discrete("rain", ["no", "yes"]), discrete("hose", ["off", "on", "stolen"])]
    values = np.full((2, 3, 2), 0.5)
    values[1, 2] = 0.7
    with refuses(ModelFormatError, 15, "wet", "rain = yes, hose = stolen", 1.4):
        checked_table(values, "wet", parents, place=lambda row: (10 + row, 1))
    assert np.array_equal(checked_table(values, "wet", parents, normalize=True), np.full((2, 3, 2), 0.5))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=6))
def test_normalize_gives_a_distribution_or_refuses(row):
    try:
        found = checked_table(row, "x", normalize=True)
    except ModelFormatError:
        assert sum(row) == 0
        return
    assert abs(found.sum() - 1) < 1e-12 and (found >= 0).all()


# -- names -----------------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.text(max_size=4), st.integers()), unique_by=str, max_size=12))
def test_mangled_names_are_identifiers_no_two_the_same_and_good_ones_stay(names):
    found = mangled(names, IDENTIFIER, ("node",))
    assert list(found) == names and len(set(found.values())) == len(names)
    for name, identifier in found.items():
        assert IDENTIFIER.fullmatch(identifier) and identifier != "node"
        if name != "node" and IDENTIFIER.fullmatch(str(name)):
            assert identifier == name


def test_a_mangled_name_does_not_take_the_place_of_a_true_one():
    assert mangled(["a b", "a_b", "a/b"]) == {"a b": "a_b_2", "a_b": "a_b", "a/b": "a_b_3"}


def test_names_that_are_written_the_same_way_are_refused():
    with refuses(SettingError, 1, "1"):
        mangled([1, "1"])


@given(st.text(alphabet=st.characters()))
def test_a_quoted_text_comes_back(text):
    written = quoted(text)
    assert unquoted(written) == text and QUOTED.fullmatch(written)
    assert not set(written[1:-1]) & set('";{}%/\n\r')
    written.encode()


def test_escapes_of_other_programs():
    assert unquoted('"one\\ntwo \\"x\\" C:\\foo"') == 'one\ntwo "x" C:\\foo'
    assert unquoted("bare") == "bare"
    assert unquoted(quoted("\ud800")) == "\ud800" and unquoted(quoted("\ud83d\ude00")) == "\ud83d\ude00"


def test_notes_of_one_name_are_all_kept():
    notes: dict[str, str] = {}
    for k in range(2000):
        add_note(notes, "x", str(k))
    assert list(notes.values()) == [str(k) for k in range(2000)]


# -- networks --------------------------------------------------------------------------------------


def test_what_is_no_network_is_refused():
    half = Table([0.5, 0.5])
    node = Node(discrete("a", "xy"), (), half)
    for nodes, says in (
        ([node, node], ["nodes", "a"]),
        ([Node(node.variable, ("b",), half)], ["b", "a"]),
        ([Node(node.variable, ("b",), half), Node(discrete("b", "xy"), ("a",), half)], ["cycle"]),
        ([], ["node"]),
    ):
        with refuses(ModelFormatError, "x.bif", *says):
            assembled(nodes, path="x.bif")


def test_tables_that_no_memory_could_hold_are_refused():
    assert Budget(100).take([2, 3], "a") == 6
    for sizes in ([2] * 27, [10**6] * 200, [1] * 40):
        with refuses(ModelFormatError, "a", "parents"):
            Budget(100).take(sizes, "a")
    with refuses(SettingError, "BIF", "node"):
        require_discrete(Network(()), "BIF")
