"""Rows from JSON, Arrow, ARFF, packed files and databases: the same as from CSV; what is wrong is named."""

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import numpy as np
import pytest

from bayeskit import NaiveBayes
from bayeskit._data.file_set import open_files
from bayeskit.errors import ColumnError, DataError, SettingError
from refusals import refuses

ROWS = (
    "SELECT 'v' || i % 3 AS a, CASE WHEN i % 4 > 0 THEN i / 2 END AS x, ['u', 'w'][1 + i % 2] AS class "
    "FROM range(40) t(i)"
)


def as_csv(folder: Path) -> Path:
    path = folder / "rows.csv"
    duckdb.sql(f"COPY ({ROWS}) TO '{path}'")
    return path


def as_json_lines(folder: Path) -> Path:
    path = folder / "rows.jsonl"
    duckdb.sql(f"COPY ({ROWS}) TO '{path}' (FORMAT json)")
    return path


def as_json_list(folder: Path) -> Path:
    path = folder / "rows.json"
    duckdb.sql(f"COPY ({ROWS}) TO '{path}' (FORMAT json, ARRAY true)")
    assert path.read_bytes().startswith(b"[")
    return path


def as_json_lines_by_another_name(folder: Path) -> Path:
    return as_json_lines(folder).rename(folder / "rows.json")


def as_arrow(folder: Path, stream: bool = False) -> Path:
    pa = pytest.importorskip("pyarrow")
    table = duckdb.sql(ROWS).to_arrow_table()
    path = folder / ("rows.arrows" if stream else "rows.feather")
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    return path


def as_arff(folder: Path) -> Path:
    path = folder / "rows.arff"
    lines = [
        "% melons",
        "@relation 'r s'",
        "@ATTRIBUTE a {v0, v1, 'v2'}",
        "@attribute 'x' real",
        "@attribute class string",
    ]
    lines += ["@data", *(f"'{a}',{'?' if x is None else x},{c}" for a, x, c in duckdb.sql(ROWS).fetchall())]
    path.write_text("\n".join(lines))
    return path


def packed(folder: Path, ending: str = ".gz") -> Path:
    plain = as_json_lines(folder)
    path = plain.with_name(plain.name + ending)
    if ending == ".gz":
        path.write_bytes(gzip.compress(plain.read_bytes()))
    else:
        pa = pytest.importorskip("pyarrow")
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(plain.read_bytes())
    return path


def packed_csv(folder: Path) -> Path:
    pa = pytest.importorskip("pyarrow")
    path = folder / "rows.csv.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(as_csv(folder).read_bytes())
    return path


def database(folder: Path, table: str = 'select "q"') -> Path:
    path = folder / "shop.db"
    name = '"' + table.replace('"', '""') + '"'
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE {name} AS {ROWS}")
    return path


def as_table(folder: Path) -> str:
    name = quote('select "q"')
    return f"duckdb://{database(folder)}?table={name}"


def as_query(folder: Path) -> str:
    return f"duckdb://{database(folder, 't')}?query={quote('SELECT * FROM t;')}"


MAKERS = [
    *(as_json_lines, as_arrow, lambda f: as_arrow(f, True), as_arff, packed, lambda f: packed(f, ".zst")),
    *(packed_csv, as_table, as_query, as_json_list, as_json_lines_by_another_name),
]


@pytest.mark.parametrize("make", MAKERS)
def test_counts_and_predictions_are_those_of_csv(make: Any, tmp_path: Path) -> None:
    plain = as_csv(tmp_path)
    (tmp_path / "other").mkdir()
    source = make(tmp_path / "other")
    wanted, found = (NaiveBayes().fit(one, target="class") for one in (plain, source))
    assert found.schema_ == wanted.schema_
    assert (found.statistics_.tables.counts == wanted.statistics_.tables.counts).all()
    np.testing.assert_allclose(
        found.statistics_.moments.centred(), wanted.statistics_.moments.centred(), rtol=1e-12
    )
    two = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for model, one, sink in (wanted, plain, two[0]), (found, source, two[1]):
        model.predict(one, sink=sink)
    assert two[0].read_text() == two[1].read_text()
    both = NaiveBayes().fit([str(plain), str(source)], target="class")
    assert both.statistics_.total == 80


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda f: (f / "a.jsonl").write_text('{"x": 1}\n{"x": \n') and f / "a.jsonl",
            DataError,
            ["a.jsonl"],
        ),
        (lambda f: (f / "a.jsonl").write_text('{"x": {"y": 1}}\n') and f / "a.jsonl", ColumnError, ["'x'"]),
        (lambda f: (f / "a.json").write_text("[1, 2]") and f / "a.json", DataError, ["a.json", "object"]),
        (
            lambda f: (f / "a.json").write_text('{"x": [1, 2], "y": [3, 4]}') and f / "a.json",
            ColumnError,
            ["'x'"],
        ),
        (lambda f: (f / "a.json").write_text('[{"x": 1}, {"x": ') and f / "a.json", DataError, ["a.json"]),
        (lambda f: (f / "a.json").write_text('[{"x": 1}, {"x":]') and f / "a.json", DataError, ["a.json"]),
        (lambda f: (f / "a.csv").write_text('[{"x": 1}]') and f / "a.csv", DataError, ["a.csv", ".json"]),
        (lambda f: r"C:\Users\me\a.csv", DataError, ["/mnt/c/Users/me/a.csv"]),
        (lambda f: (f / "a.arrow").write_text("no arrow") and f / "a.arrow", DataError, ["a.arrow"]),
        (lambda f: (f / "a.arff").write_text("no arff") and f / "a.arff", DataError, ["@attribute"]),
        (
            lambda f: (f / "a.arff").write_text("@attribute x real\n@data\n1\n1,2\n") and f / "a.arff",
            DataError,
            ["Line 4", "2", "1"],
        ),
        (lambda f: "duckdb:///nowhere.db?table=t", DataError, ["nowhere.db"]),
        (lambda f: f"duckdb://{database(f)}?table=tt", DataError, ["'tt'", "select"]),
        (lambda f: f"duckdb://{database(f)}", SettingError, ["table"]),
        (lambda f: f"duckdb://{database(f)}?query=SELECT+nothing", DataError, ["nothing"]),
        (lambda f: f"duckdb://{database(f)}?table=tt", DataError, ["duckdb:///"]),
        (lambda f: f / "nowhere.jsonl", DataError, ["nowhere.jsonl"]),
    ],
)
def test_what_is_wrong_is_named(make: Any, error: Any, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(error) as said:
        open_files(make(tmp_path))
    for word in words:
        assert word in str(said.value)


def test_a_database_that_another_process_writes_is_named(tmp_path: Path) -> None:
    path = database(tmp_path)
    code = f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with refuses(DataError, "shop.db"):
            open_files(f"duckdb://{path}?table=t")
        holder.communicate()
