"""Finding and changing encodings: any text, in any encoding, cut at any place."""

from __future__ import annotations

import gzip
import os
import tempfile
import tracemalloc
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._data import encodings
from bayeskit._data.encodings import decoded, detect, is_utf8, resolve, utf8_copy
from bayeskit.errors import DataError, EncodingError, SettingError, SourceNote
from refusals import refuses, warns_of

MELON = "编号,色泽,好瓜\n1,青绿,是\n2,乌黑,否\n"
MARKED = {
    "utf-8-sig": b"\xef\xbb\xbf",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "utf-32-le": b"\xff\xfe\x00\x00",
    "utf-32-be": b"\x00\x00\xfe\xff",
}


def written(folder: Path, data: bytes) -> Path:
    path = folder / "table.csv"
    path.write_bytes(data)
    return path


def as_bytes(text: str, encoding: str) -> bytes:
    return (
        text.encode(encoding)
        if encoding == "utf-8-sig"
        else MARKED.get(encoding, b"") + text.encode(encoding)
    )


@pytest.fixture(autouse=True)
def no_copy_left(tmp_path, monkeypatch):
    """Every test here also tests that no temporary file outlives it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", *MARKED])
@pytest.mark.parametrize("block_size", [1, 2, 3, 7, 1 << 20])
def test_each_encoding_is_found_and_copied(tmp_path, encoding, block_size):
    path = written(tmp_path, as_bytes(MELON, encoding))
    assert detect(path, block_size=block_size) == encoding
    assert detect(path.read_bytes(), block_size=block_size) == encoding
    with utf8_copy(path, encoding, block_size=block_size) as copy:
        assert copy.read_bytes() == MELON.encode()


@pytest.mark.parametrize("encoding", ["gbk", "gb2312", "GB18030"])
def test_the_chinese_family_is_found_as_its_largest_member(tmp_path, encoding):
    assert detect(written(tmp_path, MELON.encode(encoding))) == "gb18030"


def test_gbk_after_two_kilobytes_of_ascii(tmp_path):
    text = "id,name\n" + "1,plain\n" * 512 + "2,青绿\n"
    assert text[:2048].isascii()
    path = written(tmp_path, text.encode("gbk"))
    assert detect(path) == "gb18030"
    assert detect(path.read_bytes()[:2048]) == "utf-8"  # the head alone cannot know
    assert "".join(decoded(path, "gb18030")) == text


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_an_emoji_across_a_block_edge(tmp_path, cut):
    text = "a" * (64 - cut) + "🍉" + "b"
    path = written(tmp_path, text.encode())
    assert detect(path, block_size=64) == "utf-8"
    assert "".join(decoded(path, "utf-8", block_size=64)) == text


def test_a_head_may_end_within_a_character_and_a_file_may_not(tmp_path):
    # The file ends in half of 瓜, and its last three bytes are no GB18030 either.
    data = "好瓜".encode()[:-1]
    assert detect(data) == "utf-8"
    with refuses(EncodingError, "table.csv", "utf-8", 3):
        list(decoded(written(tmp_path, data), "utf-8"))


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff")),
    encoding=st.sampled_from(["utf-8", "gb18030", *MARKED]),
    block_size=st.integers(1, 9),
)
def test_any_text_survives_any_cut(text, encoding, block_size):
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), as_bytes(text, encoding))
        with utf8_copy(path, encoding, block_size=block_size) as copy:
            assert copy.read_bytes() == text.encode()


@settings(max_examples=150, deadline=None)
@given(
    data=st.binary(max_size=40), block_size=st.integers(1, 9), encoding=st.sampled_from(["utf-8", "gb18030"])
)
def test_the_offset_is_the_one_of_the_whole_at_once(data, block_size, encoding):
    try:
        data.decode(encoding)
        expected = None
    except UnicodeDecodeError as error:
        expected = error.start
    data_is_gzip = data[:2] == encodings.GZIP_MAGIC
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), data)
        if expected is None or data_is_gzip:
            return
        with refuses(EncodingError, "table.csv", expected):
            list(decoded(path, encoding, block_size=block_size))


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.sampled_from("a\r\n瓜")), block_size=st.integers(1, 5))
def test_line_ends_are_evened(text, block_size):
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), text.encode())
        with utf8_copy(path, "utf-8", newlines=True, block_size=block_size) as copy:
            assert copy.read_bytes().decode() == text.replace("\r\n", "\n").replace("\r", "\n")


def test_neither_utf8_nor_gb18030_names_both_offsets_and_the_way_out(tmp_path):
    data = b"name\ncaf\xe9\nfin\xff\n"
    with refuses(EncodingError, "table.csv", "utf-8", "0xe9", 8, "gb18030", 'encoding="'):
        detect(written(tmp_path, data))
    assert resolve(tmp_path / "table.csv", "latin-1") == "iso8859-1"


def test_a_zero_byte_is_not_text(tmp_path):
    path = written(tmp_path, b"\xe7\x93\x9c,\n" * 30 + b"\x00")
    with refuses(EncodingError, 150, 'encoding="utf-16-le"'):
        detect(path, block_size=16)


def test_what_is_found_is_noted_and_what_is_told_is_not(tmp_path):
    path = written(tmp_path, MELON.encode("gbk"))
    with warns_of(SourceNote, "table.csv", "gb18030", 'encoding="..."'):
        assert resolve(path) == "gb18030"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert resolve(path, "GBK") == "gbk"
        assert resolve(written(tmp_path, MELON.encode("utf-8-sig"))) == "utf-8-sig"


@pytest.mark.parametrize("name", ["gkb", "base64", "rot13", ""])
def test_no_such_encoding(tmp_path, name):
    with refuses(SettingError, f"encoding={name!r}", "utf-8", "gb18030"):
        resolve(tmp_path / "any.csv", name)


@pytest.mark.parametrize(
    ("name", "answer"), [("UTF8", True), ("utf-8-sig", True), ("ascii", True), ("gbk", False)]
)
def test_is_utf8(name, answer):
    assert is_utf8(name) is answer


def test_gzip_is_unpacked_on_the_way(tmp_path):
    path = written(tmp_path, gzip.compress(MELON.encode("gbk")))
    assert detect(path) == "gb18030"
    assert "".join(decoded(path, "gbk")) == MELON


@pytest.mark.parametrize(
    "spoil", [lambda z: z[:-6], lambda z: z[:20] + b"\xff" * 20 + z[40:], lambda z: z[:2] + b"no"]
)
def test_a_damaged_gzip_file_is_a_typed_error(tmp_path, spoil):
    path = written(tmp_path, spoil(gzip.compress(os.urandom(300).hex().encode())))
    with refuses(DataError, "table.csv", "gzip"):
        detect(path)


def test_the_copy_goes_when_the_text_or_the_caller_fails(tmp_path, no_copy_left):
    path = written(tmp_path, "青绿".encode("gbk") + b"\xff\xff")
    with pytest.raises(EncodingError), utf8_copy(path, "gbk"):
        pytest.fail("must not be reached")
    good = written(tmp_path, "青绿".encode("gbk"))
    with pytest.raises(KeyError), utf8_copy(good, "gbk") as copy:  # noqa: PT012
        assert copy.exists()
        assert copy.parent == no_copy_left
        raise KeyError


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = written(tmp_path, "青绿,浅白\n".encode("gbk") * 1_500_000)
    assert path.stat().st_size == 15_000_000
    tracemalloc.start()
    try:
        assert detect(path) == "gb18030"
        with utf8_copy(path, "gb18030") as copy:
            assert copy.stat().st_size == 14 * 1_500_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
