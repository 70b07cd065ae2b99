"""Every way of reading a file gives the same statistics: with care, quickly, in codes by PyArrow, row by row."""

import sys
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from bayeskit import AODE, NaiveBayes
from bayeskit._data.source import Source, memory_in_bytes
from bayeskit.errors import BayeskitError, DataError, SettingError

LONG = 3_000  # more than the rows that a quick look sees


def rows(cells: list[str], late: list[str] = [], header: str = "x,a,class") -> str:  # noqa: B006
    """A table whose first column has these cells again and again, and some others only at the end."""
    first = [cells[i % len(cells)] for i in range(LONG)] + late
    return (
        "\n".join([header, *(f"{cell},{'uvw'[i % 3]},{'yn'[i % 2]}" for i, cell in enumerate(first))]) + "\n"
    )


TEXTS = {
    "numbers": rows(["1.5", "2", "-3e2"]),
    "integers": rows(["1", "22", "-3"]),
    "an integer is missing at the end": rows(["1", "2"], [""]),
    "an integer is a fraction at the end": rows(["1", "2"], ["2.5"]),
    "an integer in hexadecimal at the end": rows(["1", "2"], ["0x10"]),
    "an integer with an exponent at the end": rows(["1", "2"], ["1e3"]),
    "a number is a word at the end": rows(["1.5", "2"], ["many"]),
    "a number has an underscore at the end": rows(["1.5", "2"], ["1_000"]),
    "a number is blank at the end": rows(["1.5", "2"], [" "]),
    "a number is an empty text at the end": rows(["1.5", "2"], ['""']),
    "a number is missing now and then": rows(["1.5", "", "2"]),
    "words that are numbers at the end": rows(["a", "b"], ["1", "2"]),
    "a word for not a number": rows(["1.5", "2"], ["nan"]),
    "infinity at the end": rows(["1.5", "2"], ["inf"]),
    "true and false": rows(["true", "false"]),
    "true, false and a word at the end": rows(["true", "false"], ["maybe"]),
    "decimal commas": rows(['"1,5"', '"2,25"']),
    "numbers, then a decimal comma": rows(["1", "2"], ['"2,5"']),
    "per cent": rows(["3%", "4.5%"]),
    "numbers with spaces": rows([" 1.5", "2 "]),
    "nothing in the first rows": rows([""], ["1.5", "2"]),
    "nothing at all": rows([""]),
    "quotes and line ends in cells": rows(['"a ""b"""', '"c\nd"', '"e,f"']),
    "a word with an underscore": rows(["1.5", "2"]).replace("u", "u_1"),
    "another number of cells at the end": rows(["1.5"]) + "1,2,3,4\n",
    "a class is missing at the end": rows(["1.5"]) + "1,u,\n",
    "lines end in different ways": rows(["1.5"]) + "1,u,y\r\n2,u,n\r3,u,y\n",
    "a class only at the end": rows(["1.5"]) + "1,u,new\n",
}
CHINESE = rows(["1.5", "2"], header="密度,色泽,class").replace("u", "青绿")


def outcome(model: Any, path: Any, **settings: Any) -> Any:
    """What was counted and said, or the error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            statistics = model.fit(path, target="class", **settings).statistics_
        except BayeskitError as error:
            return type(error), str(error)
    arrays = {f"{kind}/{n}": a for kind, part in statistics.parts.items() for n, a in part.arrays().items()}
    return statistics.schema, arrays, sorted({str(warning.message) for warning in said})


def same(one: Any, other: Any) -> None:
    assert len(one) == len(other), (one, other)
    assert one[0] == other[0]
    assert one[-1] == other[-1]
    if len(one) == 3:
        assert one[1].keys() == other[1].keys()
        for name, array in one[1].items():
            np.testing.assert_array_equal(array, other[1][name], err_msg=name)


def careful(monkeypatch: pytest.MonkeyPatch, model: Any, path: Any) -> Any:
    """Read as before a quick look was possible: every cell twice, and every row as Python objects."""
    with monkeypatch.context() as way:
        way.setattr(Source, "quickly", lambda self: None)
        way.setitem(sys.modules, "pyarrow", None)
        way.setitem(sys.modules, "pyarrow.parquet", None)
        return outcome(model, path)


@pytest.mark.parametrize("make", [NaiveBayes, AODE])
@pytest.mark.parametrize("name", TEXTS)
def test_a_quick_look_changes_nothing(
    name: str, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TEXTS[name], newline="")
    monkeypatch.setattr("bayeskit._data.files._LARGE", 0)
    same(outcome(make(), path), careful(monkeypatch, make(), path))


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16"])
def test_in_any_encoding(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(CHINESE.encode(encoding))
    monkeypatch.setattr("bayeskit._data.files._LARGE", 0)
    same(outcome(NaiveBayes(), path), careful(monkeypatch, NaiveBayes(), path))


@pytest.mark.parametrize(
    ("first", "second"),
    [("1.5", "2"), ("1", "2"), ("1", "2.5"), ("1", ""), ("1.5", "many"), ("many", "few"), ("true", "1")],
)
def test_several_files(first: str, second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, cell in zip(paths, (first, second), strict=True):
        path.write_text(rows([cell]))
    monkeypatch.setattr("bayeskit._data.files._LARGE", 0)
    names = [*map(str, paths), str(paths[0])]
    same(outcome(NaiveBayes(), names), careful(monkeypatch, NaiveBayes(), names))


COLUMNS = {
    "text": "CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'v' || i % 7 END",
    "many words": "'v' || i",
    "enum": "(['p', 'q'][1 + i % 2])::ENUM('p', 'q', 'r')",
    "small": "(i % 4)::TINYINT",
    "unsigned": "(i % 4)::UINTEGER",
    "large": "(i + 9007199254740993)::BIGINT",
    "large with holes": "CASE WHEN i % 3 > 0 THEN (i + 9007199254740993)::BIGINT END",
    "huge": "(i % 4)::UBIGINT",
    "float": "CASE WHEN i % 3 > 0 THEN (i / 7)::FLOAT END",
    "double": "CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::DOUBLE ELSE i / 7 END",
    "decimal": "(i / 7)::DECIMAL(9, 3)",
    "bool": "i % 2 = 0",
    "bool with holes": "CASE WHEN i % 3 > 0 THEN i % 2 = 0 END",
    "empty": "NULL::DOUBLE",
    "empty text": "NULL::VARCHAR",
    "date": "DATE '2020-01-01' + i::INT",
    "infinity": "CASE WHEN i = 4000 THEN 'inf'::DOUBLE ELSE i END",
}


@pytest.mark.parametrize("group", [2_048, 100_000])
@pytest.mark.parametrize("name", COLUMNS)
def test_parquet_in_codes_and_row_by_row(
    name: str, group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.parquet"
    cell, label = COLUMNS[name], "['u', 'v'][1 + i % 2]"
    select = f'SELECT {cell} AS "x.y", {cell} AS x, {label} AS class FROM range(5000) t(i)'
    for text in (select, select.replace('"x.y"', '"select ""q"""')):
        duckdb.sql(f"COPY ({text}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE {group})")
        for make in NaiveBayes, lambda: NaiveBayes(categorical_features="all"):
            same(outcome(make(), path), careful(monkeypatch, make(), path))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_threads_and_memory_change_nothing(ending: str, n_jobs: int, tmp_path: Path) -> None:
    path = tmp_path / f"table.{ending}"
    select = "SELECT 'v' || i % 7 AS a, sin(i) AS x, ['u', 'v'][1 + i % 2] AS class FROM range(150000) t(i)"
    duckdb.sql(f"COPY ({select}) TO '{path}'")
    same(outcome(NaiveBayes(), path), outcome(NaiveBayes(n_jobs=n_jobs), path))
    limited = NaiveBayes(n_jobs=n_jobs).fit(path, target="class", max_memory="100MB").statistics_
    plain = NaiveBayes().fit(path, target="class").statistics_
    np.testing.assert_array_equal(limited.tables.counts, plain.tables.counts)
    np.testing.assert_allclose(limited.moments.centred(), plain.moments.centred(), rtol=1e-12)


@pytest.mark.parametrize("memory", ["many", "", "-1MB", 0, "12 parsecs", True])
def test_memory_is_an_amount(memory: Any) -> None:
    with pytest.raises(SettingError, match="512MB"):
        memory_in_bytes(memory)


def test_text_that_is_no_text(tmp_path: Path) -> None:
    """PyArrow does not check what it reads; a broken label is an error all the same."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    _, offsets, cells = pa.array([b"ok", b"\xff\xfe"]).buffers()
    column = pa.StringArray.from_buffers(2, offsets, cells)
    pq.write_table(pa.table({"a": column, "class": ["y", "n"]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet"):
        NaiveBayes().fit(tmp_path / "t.parquet", target="class")
