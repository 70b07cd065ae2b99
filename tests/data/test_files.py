"""Files as sources of batches: formats, encodings, kinds of columns, and everything that is not a table."""

from __future__ import annotations

import csv
import gzip
import io
import os
import pickle
import sys
import tempfile
import threading
import warnings
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._data.files import Engine, FileSource
from bayeskit.errors import ColumnError, DataError, EncodingError, SettingError, SourceNote
from refusals import refuses, warns_of

MELON = "编号,色泽,密度\n1,青绿,0.5\n2,浅白,\n3,,0.25\n"


@pytest.fixture(autouse=True)
def no_copy_left(tmp_path_factory, monkeypatch):
    """Every test here also tests that no temporary file outlives it."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(params=["arrow", "rows"])
def path_of_reading(request, monkeypatch):
    """Both ways of fetching: pyarrow is no dependency, and the answer must not depend on it."""
    if request.param == "arrow":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return request.param


def put(folder, text, name="table.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def put_parquet(folder, select, name="table.parquet"):
    import duckdb

    path = folder / name
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


def whole(source):
    batches = list(source.batches())
    return {name: np.concatenate([batch[name] for batch in batches]) for name in source.names}


def lists(source):
    return {
        name: [None if value is None or value != value else value for value in column.tolist()]
        for name, column in whole(source).items()
    }


MELON_LISTS = {"编号": [1, 2, 3], "色泽": ["青绿", "浅白", None], "密度": [0.5, None, 0.25]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf8_is_read_silently(tmp_path, path_of_reading, encoding):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SourceNote)
        source = FileSource(put(tmp_path, MELON, encoding=encoding))
    assert source.names == ("编号", "色泽", "密度")
    assert source.dtypes == {"编号": "int64", "色泽": "str", "密度": "float64"}
    assert source.rows == 3
    assert lists(source) == MELON_LISTS
    assert lists(source) == MELON_LISTS  # it can be read again


@pytest.mark.parametrize("encoding", ["gbk", "gb18030", "utf-16", "utf-16-be"])
def test_other_encodings_are_found_and_noted(tmp_path, path_of_reading, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""  # "utf-16" writes its own
    path = put(tmp_path, mark + MELON, encoding=encoding)
    with warns_of(SourceNote, "table.csv", "utf-16" if "16" in encoding else "gb18030") as caught:
        source = FileSource(path)
    assert caught[0].filename == __file__
    assert lists(source) == MELON_LISTS


def test_gbk_after_two_kilobytes_of_ascii(tmp_path):
    text = "id,name\n" + "1,plain\n" * 512 + "2,青绿\n"
    assert text[:2048].isascii()
    with warns_of(SourceNote, "table.csv", "gb18030"):
        source = FileSource(put(tmp_path, text, encoding="gbk"))
    assert whole(source)["name"][-1] == "青绿"


def test_the_encoding_named_is_used(tmp_path):
    path = put(tmp_path, "ville,x\nOrléans,1\n", encoding="cp1252")
    assert lists(FileSource(path, encoding="cp1252"))["ville"] == ["Orléans"]
    with refuses(EncodingError, "table.csv", "utf-8", 11):
        FileSource(path, encoding="utf-8")
    with refuses(SettingError, "latin-x"):
        FileSource(path, encoding="latin-x")


def test_no_encoding_fits(tmp_path):
    with refuses(EncodingError, "table.csv", 3, 'encoding="big5"'):
        FileSource(put(tmp_path, b"a\nb\xff\n"))


def test_kinds_are_those_of_the_whole_file(tmp_path, path_of_reading):
    """The last of 70,000 rows decides, far beyond any sample."""
    n = 70_000
    rows = [f"{i},{i},{i % 2 == 0},{i},x" for i in range(n)]
    text = "whole,late_text,flag,late_fraction,text\n" + "\n".join(rows) + "\n5,oops,maybe,0.5,7\n"
    source = FileSource(put(tmp_path, text))
    kinds = {"whole": "int64", "late_text": "str", "flag": "str", "late_fraction": "float64", "text": "str"}
    assert source.dtypes == kinds
    data = whole(source)
    assert len(data["whole"]) == n + 1
    np.testing.assert_array_equal(data["whole"][:n], np.arange(n))  # in the order of the file
    assert data["late_text"][-2:].tolist() == [str(n - 1), "oops"]
    assert data["late_fraction"][-1] == 0.5


CELLS = {
    "int64": (["1", "-2", " 3 ", "+4"], np.int64, [1, -2, 3, 4]),
    "float64": (["1", "2.5", "1e3", "-.5"], np.float64, [1, 2.5, 1000, -0.5]),
    "beyond int64": (["1", "99999999999999999999", "2", "3"], np.float64, [1, 1e20, 2, 3]),
    "bool": (["true", "False", "TRUE", "false"], np.bool_, [True, False, True, False]),
    "letters t and f": (["t", "f", "t", "f"], object, ["t", "f", "t", "f"]),
    "underscores": (["1_000", "2", "3", "4"], object, ["1_000", "2", "3", "4"]),
    "hexadecimal": (["0x10", "2", "3", "4"], object, ["0x10", "2", "3", "4"]),
}


@pytest.mark.parametrize("case", CELLS)
def test_kinds_of_text_columns(tmp_path, path_of_reading, case):
    cells, dtype, values = CELLS[case]
    column = whole(FileSource(put(tmp_path, "x,y\n" + "".join(f"{cell},0\n" for cell in cells))))["x"]
    assert column.dtype == dtype
    assert column.tolist() == values
    column[:] = column[::-1].copy()  # the arrays are the caller's own


def test_missing_cells_of_every_kind_keep_one_dtype_in_all_batches(tmp_path, path_of_reading):
    rows = ["1,1.5,true,a"] * 5 + [",,,"] + ["2,2.5,false,b"] * 5
    source = FileSource(put(tmp_path, "i,f,b,s\n" + "\n".join(rows)), rows_per_batch=2)
    batches = list(source.batches())
    assert [len(batch["i"]) for batch in batches] == [2, 2, 2, 2, 2, 1]
    dtypes = {name: {batch[name].dtype for batch in batches} for name in source.names}
    assert dtypes == {
        "i": {np.dtype("f8")},
        "f": {np.dtype("f8")},
        "b": {np.dtype("O")},
        "s": {np.dtype("O")},
    }
    missing = batches[2]
    assert np.isnan(missing["i"][1])
    assert np.isnan(missing["f"][1])
    assert missing["b"].tolist() == [True, None]
    assert missing["s"].tolist() == ["a", None]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (("",), {"x": ["?", None, "NA"], "n": [1, None, 3]}),
        (("?", "NA", ""), {"x": [None, None, None], "n": [1, None, 3]}),
        ("?", {"x": [None, "", "NA"], "n": ["1", "", "3"]}),
        ((), {"x": ["?", "", "NA"], "n": ["1", "", "3"]}),
    ],
)
def test_what_means_missing(tmp_path, missing, expected):
    assert lists(FileSource(put(tmp_path, "x,n\n?,1\n,\nNA,3\n"), missing=missing)) == expected


def test_parquet_kinds(tmp_path, path_of_reading):
    select = (
        "SELECT * FROM (VALUES (1::TINYINT, 1.5::FLOAT, 2.25::DECIMAL(9,2), true, 'a', NULL::INTEGER, ''),"
        " (2, NULL, 3, false, NULL, 7, '?')) t(small, float, decimal, flag, text, holes, \"empty 'q'\")"
    )
    source = FileSource(put_parquet(tmp_path, select), missing=("", "?"))
    assert source.dtypes == dict(
        zip(source.names, ["int64", "float64", "float64", "bool", "str", "float64", "str"], strict=True)
    )
    assert lists(source) == {
        "small": [1, 2],
        "float": [1.5, None],
        "decimal": [2.25, 3.0],
        "flag": [True, False],
        "text": ["a", None],
        "holes": [None, 7.0],
        "empty 'q'": [None, None],
    }


def test_a_wide_text_file_with_few_rows_is_surveyed_in_one_read(tmp_path, monkeypatch):
    """To plan a query of a text file takes as long as it has columns: 2,000 of them in 32 queries took 1 s."""
    asked = []

    class Listening:
        def __init__(self, connection):
            self.connection = connection

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.connection.close()

        def execute(self, query):
            asked.append(query)
            return self.connection.execute(query)

    open_one = Engine.connection
    monkeypatch.setattr(Engine, "connection", lambda engine: Listening(open_one(engine)))
    names = [f"c{j}" for j in range(300)]
    rows = [",".join(("2.5", "x", "", "7")[(i + j) % 4] for j in range(300)) for i in range(20)]
    source = FileSource(put(tmp_path, "\n".join([",".join(names), *rows, ""])))
    assert source.rows == 20
    assert sum("read_csv" in query for query in asked) == 1


def test_both_ways_of_fetching_agree_over_many_pieces(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    select = (
        "SELECT i, CASE WHEN i % 7 > 0 THEN i / 3 END f, 'v' || i % 11 s, i % 2 = 0 b FROM range(150000) t(i)"
    )
    path = put_parquet(tmp_path, select)
    by_arrow = list(FileSource(path, rows_per_batch=40_000).batches())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    by_rows = list(FileSource(path, rows_per_batch=40_000).batches())
    assert [len(batch["i"]) for batch in by_rows] == [40_000, 40_000, 40_000, 30_000]
    for one, other in zip(by_arrow, by_rows, strict=True):
        for name in one:
            assert one[name].dtype == other[name].dtype
            np.testing.assert_array_equal(one[name], other[name])
    np.testing.assert_array_equal(np.concatenate([batch["i"] for batch in by_rows]), np.arange(150_000))


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(*[st.text(st.sampled_from("ab瓜🍉,;\"\n\t' "), min_size=1, max_size=6)] * 2),
        min_size=1,
        max_size=8,
    ),
    size=st.integers(1, 5),
)
def test_quoted_text_survives(tmp_path_factory, rows, size):
    """Whatever the csv module writes is read back: separators, quotation marks and line ends in cells."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerows([("x,1", "名 字"), *rows])
    source = FileSource(
        put(tmp_path_factory.mktemp("any"), out.getvalue()), separator=",", rows_per_batch=size
    )
    data = whole(source)
    assert list(zip(data["x,1"].tolist(), data["名 字"].tolist(), strict=True)) == rows


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a;b\n1,5;2,5\n1,6;x\n", "table.csv"),
        ("a\tb\n1,5\t2,5\n1,6\tx\n", "table.tsv"),
        ("a|b\n1,5|2,5\n1,6|x\n", "table.txt"),
        ('a,b\n"1,5","2,5"\n"1,6",x\n', "table.csv"),
        ('"a";"b"\n"1,5";"2,5"\n"1,6";"x"', "table.csv"),
    ],
)
@pytest.mark.filterwarnings("ignore::bayeskit.errors.SourceNote")
def test_the_separator_is_found(tmp_path, text, name):
    assert lists(FileSource(put(tmp_path, text, name))) == {"a": [1.5, 1.6], "b": ["2,5", "x"]}


@pytest.mark.parametrize(
    ("text", "numbers", "told"),  # told is the example that the note gives of such a spelling
    [
        ("a;b\n1.234,5;x\n-2;x\n", [1234.5, -2.0], "3,5"),
        ("a;b\n1,234;x\n12,250;x\n", [1.234, 12.25], "3,5"),
        ('a,b\n"1,234",x\n"12,250",x\n', [1234.0, 12250.0], "1,234"),
        ('a,b\n"1,234,567.5",x\n8,x\n', [1234567.5, 8.0], "1,234"),
        ('a,b\n"0,125",x\n"0,250",x\n', [0.125, 0.25], "3,5"),
        ("a;b\n12,5%;x\n3 %;x\n", [12.5, 3.0], "3.5%"),
        ("a;b\n￥1,234.5;x\n-¥3;x\n", [1234.5, -3.0], "¥1,234"),
        ("a;b\n1.234,5 €;x\n-3€;x\n", [1234.5, -3.0], "3,50 €"),
    ],
)
def test_numbers_as_spreadsheets_spell_them(tmp_path, text, numbers, told):
    path = put(tmp_path, text)
    with warns_of(SourceNote, "table.csv", told, "a"):
        source = FileSource(path)
    assert lists(source)["a"] == numbers
    assert lists(source.reread(["a"], {"a": "float64"}))["a"] == numbers
    assert (
        lists(source.reread(["a"], {"a": "str"}))["a"][0]
        == next(csv.reader(text.splitlines()[1:], delimiter=source._format.separator))[0]
    )


@pytest.mark.parametrize("cell", ["1,2,3", "1.5,2", "01,234.5", "12,34,567", "$5", "1,", ",5", "1 2", "%"])
def test_what_only_resembles_a_number_stays_text(tmp_path, cell):
    assert lists(FileSource(put(tmp_path, f"a;b\n{cell};x\n3,5;x\n")))["a"] == [cell, "3,5"]


def test_the_separator_named_is_used(tmp_path):
    path = put(tmp_path, "a#b\n1#2\n")
    assert lists(FileSource(path, separator="#")) == {"a": [1], "b": [2]}
    assert FileSource(path).names == ("a#b",)
    for wrong in ("", ";;", '"', "\n"):
        with refuses(SettingError, f"separator={wrong!r}"):
            FileSource(path, separator=wrong)


def test_a_line_for_excel_is_named(tmp_path):
    with refuses(DataError, "table.csv", "sep=;"):
        FileSource(put(tmp_path, "sep=;\r\na;b\r\n1;2\r\n"))
    assert FileSource(put(tmp_path, "sep=a;b\n1;2\n")).names == ("sep=a", "b")


def test_an_interrupt_is_no_fault_of_the_file(tmp_path, monkeypatch):
    """DuckDB notices Ctrl-C itself, and raises a RuntimeError."""

    def interrupted(*_, **how):
        raise RuntimeError("Query interrupted")

    source = FileSource(put(tmp_path, MELON))
    monkeypatch.setattr("bayeskit._data.files.pieces", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(source.batches())


def test_a_table_of_one_column(tmp_path):
    assert lists(FileSource(put(tmp_path, "text\nhello world\nagain\n"))) == {
        "text": ["hello world", "again"]
    }
    assert lists(FileSource(put(tmp_path, "text\nhello, world\n", "one.tsv"))) == {"text": ["hello, world"]}


def test_long_cells_are_no_fault(tmp_path):
    long = "瓜" * 200_000
    assert lists(FileSource(put(tmp_path, f"a,b\n{long},1\n")))["a"] == [long]


@pytest.mark.parametrize("ends", [("\n", "\r\n"), ("\r\n", "\n")])
def test_mixed_line_ends_are_noted_and_read(tmp_path, ends):
    text = f'a,b{ends[0]}1,"x{ends[0]}y"{ends[1]}3,4{ends[0]}5,6'
    with warns_of(SourceNote, "table.csv", "CR", "LF"):
        source = FileSource(put(tmp_path, text))
    assert lists(source) == {"a": [1, 3, 5], "b": ["x\ny", "4", "6"]}


def test_line_ends_of_old_and_of_excel(tmp_path):
    assert lists(FileSource(put(tmp_path, "a,b\r1,2\r3,4\r"))) == {"a": [1, 3], "b": [2, 4]}
    assert lists(FileSource(put(tmp_path, 'a,b\r\n1,"x\ny"\r\n'))) == {"a": [1], "b": ["x\ny"]}


def test_databases_and_other_packings_are_named(tmp_path):
    import bz2
    import lzma
    import sqlite3

    import duckdb

    for name, packed in (
        ("a.csv.bz2", bz2.compress(b"x,y\n1,a\n")),
        ("a.csv.xz", lzma.compress(b"x,y\n1,a\n")),
    ):
        with refuses(DataError, name, {"bz2": "bzip2", "xz": "xz"}[name[6:]]):
            FileSource(put(tmp_path, packed, name))
    for name, connect in ("shop.sqlite", sqlite3.connect), ("shop.duckdb", duckdb.connect):
        with closing(connect(str(tmp_path / name))) as connection:
            connection.execute("CREATE TABLE orders (x INTEGER)")
            connection.commit()
        with refuses(DataError, name, f"{Path(name).suffix[1:]}:///{tmp_path / name}?table=…"):
            FileSource(tmp_path / name)


@pytest.mark.parametrize("encoding", ["utf-8", "gbk"])
def test_gzip(tmp_path, encoding):
    path = put(tmp_path, gzip.compress(MELON.encode(encoding)), "table.csv.gz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SourceNote)
        assert lists(FileSource(path)) == MELON_LISTS
    spoilt = put(tmp_path, path.read_bytes()[:-5], "spoilt.csv.gz")
    with refuses(DataError, "spoilt.csv.gz", "gzip"):
        FileSource(spoilt)


def test_columns_and_exclude(tmp_path):
    path = put(tmp_path, MELON)
    assert FileSource(path, columns=["密度", "编号"]).names == ("密度", "编号")
    assert FileSource(path, exclude="编号").names == ("色泽", "密度")
    assert lists(FileSource(path, columns=["密度", "编号"], exclude=["编号"])) == {
        "密度": MELON_LISTS["密度"]
    }
    with refuses(ColumnError, "columns=", "色择", "色泽"):
        FileSource(path, columns=["色择"])
    with refuses(ColumnError, "exclude=", "nothing", "编号", "色泽", "密度"):
        FileSource(path, exclude=["nothing"])
    with refuses(ColumnError, "columns=", "exclude=", "['编号', '色泽', '密度']"):
        FileSource(path, columns=["编号"], exclude=["编号"])


DATES = [
    "2020-01-31",
    "2020/1/31",
    "31/01/2020",
    "2020-01-31 10:00:00",
    "2020-01-31T10:00:00Z",
    "10:30",
    "10:30:15.5",
]


@pytest.mark.parametrize("cell", DATES)
def test_dates_are_refused_at_reading_and_can_be_left_out(tmp_path, cell):
    path = put(tmp_path, f"day,x\n{cell},1\n,2\n{cell},3\n")
    source = FileSource(path)  # looking is allowed
    assert source.dtypes["day"] in ("date", "time")
    with refuses(ColumnError, "day", "exclude=['day']"):
        source.batches()
    assert lists(FileSource(path, exclude=["day"])) == {"x": [1, 2, 3]}


@pytest.mark.parametrize(
    "cell",
    [
        "DATE '2020-01-31'",
        "TIMESTAMP '2020-01-31 10:00:00'",
        "TIMESTAMPTZ '2020-01-31'",
        "TIME '10:00:00'",
        "[1, 2]",
        "{'a': 1}",
        "'x'::BLOB",
    ],
)
def test_parquet_columns_that_are_no_values(tmp_path, cell):
    path = put_parquet(tmp_path, f"SELECT {cell} AS odd, 1 AS x")
    with refuses(ColumnError, "odd", "exclude=['odd']"):
        FileSource(path).batches()
    assert lists(FileSource(path, exclude=["odd"])) == {"x": [1]}


def test_twins_are_refused_and_names_that_differ_by_case_are_not(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    with refuses(ColumnError, "table.csv", "a"):
        FileSource(put(tmp_path, "a,b,a\n1,2,3\n"))
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "twins.parquet")
    with refuses(ColumnError, "twins.parquet", "a"):
        FileSource(tmp_path / "twins.parquet")
    assert lists(FileSource(put(tmp_path, "a,A\n1,2\n"))) == {"a": [1], "A": [2]}
    pq.write_table(pa.table([[1], [{"a": 5}], [2]], names=["a", "s", "A"]), tmp_path / "case.parquet")
    assert lists(FileSource(tmp_path / "case.parquet", exclude=["s"])) == {"a": [1], "A": [2]}


def test_names_that_sql_would_trip_over(tmp_path):
    names = ['say "x"', "it's", "a;b--", "select", "o0", "名 字", "c1"]
    out = io.StringIO()
    csv.writer(out).writerows([names, range(7)])
    assert lists(FileSource(put(tmp_path, out.getvalue()))) == {name: [i] for i, name in enumerate(names)}
    select = ", ".join(f'{i} AS "{name.replace(chr(34), chr(34) * 2)}"' for i, name in enumerate(names))
    path = put_parquet(tmp_path, f"SELECT {select}")
    assert lists(FileSource(path)) == {name: [i] for i, name in enumerate(names)}


def test_a_column_without_a_name_and_a_file_without_a_header_are_noted(tmp_path):
    with warns_of(SourceNote, 1, "column1", "exclude=['column1']") as caught:
        source = FileSource(put(tmp_path, ",a\n0,5\n1,6\n"))
    assert caught[0].filename == __file__
    assert source.names == ("column1", "a")
    with warns_of(SourceNote, "table.csv", "5.1"):
        FileSource(put(tmp_path, "5.1,3.5,setosa\n4.9,3.0,setosa\n"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SourceNote)
        FileSource(put(tmp_path, "0,1,class\n4.9,3.0,setosa\n"))


PATHS = ["quo'te", "sp ace", "瓜", "a[bc]d", "st*r", "qu?st", "~x", "s3:x", "[[x]]", "{a,b}", "a%20b", "k=v"]


@pytest.mark.parametrize("name", PATHS)
def test_paths_are_taken_literally(tmp_path, name):
    folder = tmp_path / "d[ir]*=1"
    folder.mkdir()
    for decoy in ("abd.csv", "acd.csv", "star.csv", "quest.csv", "a.csv", "b.csv"):
        put(folder, "decoy\n9\n", decoy)
    assert lists(FileSource(put(folder, "a,b\n1,2\n", f"{name}.csv"))) == {"a": [1], "b": [2]}
    parquet = put_parquet(tmp_path, "SELECT 1 AS a").rename(folder / f"{name}.parquet")
    assert lists(FileSource(parquet)) == {"a": [1]}


def test_paths_may_be_relative(tmp_path, monkeypatch):
    put(tmp_path, "a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    source = FileSource("table.csv")
    monkeypatch.chdir("/")
    assert lists(source) == {"a": [1], "b": [2]}


NO_TABLES = {
    "empty": (b"", ["empty"]),
    "header only": (b"a,b\n", ["columns", "rows"]),
    "header without line end": (b"a,b", ["columns", "rows"]),
    "blank first line": (b"\n\na,b\n1,2\n", ["blank"]),
    "workbook": (b"PK\x03\x04rubbish", ["Excel", "CSV"]),
    "zero bytes": (b"a,b\n1,\x00\n", [6, "UTF-16", 'encoding="utf-16-le"']),
    "rubbish": (bytes(range(1, 256)) * 9, ["0x80", 127, 'encoding="cp1252"']),
    # The words of these three are DuckDB's.
    "short row": (b"a,b\n1,2\n3\n", ["Line: 3", "Expected Number of Columns: 2 Found: 1", "separator="]),
    "long row": (b"a,b\n1,2\n3,4,5\n", ["Line: 3", "Expected Number of Columns: 2 Found: 3", "separator="]),
    "open quotation": (b'a,b\n1,"2\n3,4\n', ["Line: 2", "quote", "separator="]),
}


@pytest.mark.parametrize("case", NO_TABLES)
def test_what_is_no_table(tmp_path, case):
    data, named = NO_TABLES[case]
    with refuses(DataError, "table.csv", *named):
        FileSource(put(tmp_path, data))


@pytest.mark.parametrize("data", [b"a,b\n1,2\n", b"PAR1rubbish", b"PAR1\x05\x00\x00\x00PAR1"])
def test_what_is_no_parquet(tmp_path, data):
    with refuses(DataError, "bad.parquet"):
        FileSource(put(tmp_path, data, "bad.parquet"))


def test_parquet_without_rows_and_with_settings_for_text(tmp_path):
    with refuses(DataError, "table.parquet", "rows"):
        FileSource(put_parquet(tmp_path, "SELECT 1 AS a WHERE false"))
    for setting in ({"encoding": "gbk"}, {"separator": ";"}):
        with refuses(SettingError, "table.parquet", "Parquet"):
            FileSource(put_parquet(tmp_path, "SELECT 1 AS a"), **setting)


def test_parquet_is_known_by_its_bytes_and_text_by_its_own(tmp_path):
    path = put_parquet(tmp_path, "SELECT 1 AS a").rename(tmp_path / "renamed.data")
    assert lists(FileSource(path)) == {"a": [1]}
    assert lists(FileSource(put(tmp_path, "PAR1,b\n1,2\n"))) == {"PAR1": [1], "b": [2]}


def test_no_such_file(tmp_path):
    put(tmp_path, MELON, "melons.csv")
    with refuses(DataError, "melon.csv", "melons.csv"):
        FileSource(tmp_path / "melon.csv")
    with refuses(DataError, tmp_path / "nowhere" / "x.csv"):
        FileSource(tmp_path / "nowhere" / "x.csv")
    with refuses(DataError, tmp_path, "directory"):
        FileSource(tmp_path)


def test_settings(tmp_path):
    with refuses(SettingError, "rows_per_batch=0"):
        FileSource(put(tmp_path, MELON), rows_per_batch=0)


def test_a_file_that_changes_between_passes(tmp_path):
    source = FileSource(put(tmp_path, MELON))
    put(tmp_path, MELON + "4,乌黑,1\n")
    with refuses(DataError, "table.csv", "FileSource"):
        source.batches()


def test_a_pass_may_be_given_up(tmp_path, path_of_reading, no_copy_left):
    source = FileSource(
        put(tmp_path, "a,瓜\n" + "1,青\n" * 9000, encoding="gbk"), encoding="gbk", rows_per_batch=10
    )
    batches = source.batches()
    assert next(batches)["瓜"].tolist() == ["青"] * 10
    assert len(list(no_copy_left.iterdir())) == 1
    batches.close()
    assert list(no_copy_left.iterdir()) == []
    source.batches()  # one that is never begun holds nothing


def test_many_threads_read_one_source(tmp_path):
    n = 30_000
    text = "i,s\n" + "".join(f"{i},瓜{i % 7}\n" for i in range(n))
    source = FileSource(put(tmp_path, text, encoding="gbk"), encoding="gbk", rows_per_batch=4_000)
    answers, failures = [], []

    def read():
        try:
            answers.append(whole(source))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(answers) == 4
    for answer in answers:
        np.testing.assert_array_equal(answer["i"], np.arange(n))
        assert answer["s"].tolist() == [f"瓜{i % 7}" for i in range(n)]


def test_it_can_be_sent_to_another_process(tmp_path):
    source = FileSource(put(tmp_path, MELON), columns=["色泽"])
    assert lists(pickle.loads(pickle.dumps(source))) == {"色泽": MELON_LISTS["色泽"]}
    assert "3 rows, 1 columns, text in utf-8" in repr(source)


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are Unicode there")
def test_a_name_that_is_no_utf8_is_refused_by_name(tmp_path):
    path = os.fsencode(tmp_path / "melons") + b"\xff.csv"
    with open(path, "wb") as file:
        file.write(b"a,b\n1,2\n")
    with refuses(DataError, "udcff.csv", "UTF-8"):
        FileSource(os.fsdecode(path))


def test_memory_does_not_grow_with_the_row_groups_of_a_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows, path = 20_000, tmp_path / "rows.parquet"
    numbers = np.random.default_rng(0).normal(size=(2, 40 * rows))
    parquet.write_table(pa.table({"x": numbers[0], "y": numbers[1]}), path, row_group_size=rows)
    source = FileSource(path, rows_per_batch=rows)
    before, held, read = pa.total_allocated_bytes(), [], []
    for batch in source.batches():
        held.append(pa.total_allocated_bytes() - before)
        read.append(batch["y"])
    assert max(held) < path.stat().st_size / 4
    assert (np.concatenate(read) == numbers[1]).all()


def test_a_reader_that_is_left_ends_its_thread_and_closes_the_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def readers():
        return [thread for thread in threading.enumerate() if thread.name.startswith("bayeskit-read")]

    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"x": np.arange(50_000.0)}), path, row_group_size=10_000)
    source = FileSource(path, rows_per_batch=10_000, threads=2)
    batches = source.batches()
    assert next(batches)["x"][0] == 0 and readers()
    batches.close()
    assert not readers()
    assert [batch["x"][0] for batch in source.batches()] == [0, 10_000, 20_000, 30_000, 40_000]
    assert not readers()


def test_what_is_broken_in_the_middle_of_parquet_is_told_after_the_rows_before(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    table = pa.table({"x": np.random.default_rng(0).normal(size=50_000)})
    parquet.write_table(table, path, row_group_size=10_000, use_dictionary=False, compression="snappy")
    place = parquet.ParquetFile(path).metadata.row_group(3).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 5000] = b"\xff" * 5000
    path.write_bytes(content)
    batches, read = FileSource(path, rows_per_batch=10_000, threads=2).batches(), []
    with pytest.raises(DataError):
        read.extend(len(batch["x"]) for batch in batches)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("bayeskit-read")]
    assert read == [10_000] * 3
