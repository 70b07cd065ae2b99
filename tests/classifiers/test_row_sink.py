"""Predictions written to a file: the same as in memory, in order, from every source; never half a file."""

import csv
import errno
import os
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from bayeskit import AODE, Batches, NaiveBayes
from bayeskit.errors import ColumnError, DataError, DataTypeError, SettingError, UsageError
from refusals import refuses

pd = pytest.importorskip("pandas")

N = 1_000
FRAME = pd.DataFrame(
    {
        "a": [f"v{i % 7}" for i in range(N)],
        "x": np.sin(np.arange(N)),
        "class": [["no", "yes"][i % 3 == 0] for i in range(N)],
    }
)
ROWS = FRAME.drop(columns="class")


@pytest.fixture
def model() -> Any:
    return NaiveBayes().fit(FRAME, target="class")


def saved(folder: Path) -> str:
    FRAME.to_parquet(folder / "rows.parquet")
    return str(folder / "rows.parquet")


def halves(folder: Path) -> list[str]:
    for name, part in ("a.csv", FRAME[:400]), ("b.csv", FRAME[400:]):
        part.to_csv(folder / name, index=False)
    return [str(folder / "a.csv"), str(folder / "b.csv")]


SOURCES = {
    "parquet": saved,
    "list": halves,
    "glob": lambda folder: [str(folder / "[ab].csv")] if halves(folder) else None,
    "frame": lambda folder: ROWS,
    "batches": lambda folder: Batches(lambda: iter([ROWS[:300], ROWS[300:]])),
    "iterator": lambda folder: iter([ROWS[:300], ROWS[300:]]),
    "relation": lambda folder: duckdb.from_df(FRAME),
    "lazy": lambda folder: pytest.importorskip("polars").from_pandas(FRAME).lazy(),
}


@pytest.mark.parametrize("verb", ["predict", "predict_proba"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", SOURCES)
def test_a_file_holds_what_memory_gives(
    name: str, ending: str, verb: str, model: Any, tmp_path: Path
) -> None:
    sink = tmp_path / f"out.{ending}"
    written = getattr(model, verb)(SOURCES[name](tmp_path), sink=sink, max_memory="200MB")
    assert (written.rows, written.path) == (N, sink)
    found = pd.read_csv(sink) if ending == "csv" else pd.read_parquet(sink)
    assert list(found) == ["prediction", "p_no", "p_yes"]
    assert found["prediction"].tolist() == model.predict(ROWS).tolist()
    np.testing.assert_allclose(found[["p_no", "p_yes"]], model.predict_proba(ROWS), rtol=1e-12)


def test_without_pyarrow(model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    model.predict(path, sink=tmp_path / "out.parquet")
    found = duckdb.sql(f"FROM '{tmp_path}/out.parquet'").fetchall()
    assert [row[0] for row in found] == model.predict(ROWS).tolist()
    assert sorted(os.listdir(tmp_path)) == ["out.parquet", "rows.parquet"]


def test_labels_that_are_numbers(tmp_path: Path) -> None:
    model = AODE().fit(FRAME[["a"]], np.arange(N) % 2)
    model.predict(ROWS[["a"]], sink=tmp_path / "out.parquet")
    assert (
        pd.read_parquet(tmp_path / "out.parquet")["prediction"].tolist()
        == model.predict(ROWS[["a"]]).tolist()
    )


@pytest.mark.parametrize("sink", ["out.xlsx", "out", "out.json"])
def test_an_unknown_ending_is_refused_first(sink: str, model: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="parquet"):
        model.predict("nowhere.csv", sink=tmp_path / sink)
    assert not os.listdir(tmp_path)


def test_what_was_there_stays_if_anything_fails(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = tmp_path / "out.csv"
    sink.write_text("before")

    def broken() -> Any:
        yield ROWS[:300]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.predict(Batches(broken), sink=sink)

    def full(self: Any, rows: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full:
        writerow = writerows = full

    monkeypatch.setattr(csv, "writer", lambda *given, **more: Full())
    with refuses(DataError, "out.csv"):
        model.predict(ROWS, sink=sink)
    assert sink.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_files_that_do_not_fit(model: Any, tmp_path: Path) -> None:
    path = saved(tmp_path)
    with pytest.raises(UsageError, match=r"rows\.parquet"):
        model.predict(path, sink=path)
    FRAME[["a"]].to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(ColumnError, match="'x'"):
        model.predict(tmp_path / "few.csv", sink=tmp_path / "out.csv")
    with refuses(DataError, "nowhere"):
        model.predict(path, sink=tmp_path / "nowhere" / "out.csv")
    (tmp_path / "out.csv").mkdir()
    with refuses(DataError, "out.csv"):
        model.predict(path, sink=tmp_path / "out.csv")


@pytest.mark.parametrize("verb", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("source", ["rows.csv", Path("rows.csv"), ["rows.csv", "more.csv"]], ids=repr)
def test_a_file_without_a_sink_is_told_of_it(verb: str, source: Any, model: Any) -> None:
    with refuses(DataTypeError, "rows.csv", "sink="):
        getattr(model, verb)(source)


def test_rows_in_pieces_without_a_sink_are_told_of_it(model: Any) -> None:
    polars = pytest.importorskip("polars")
    pieces = [polars.LazyFrame(ROWS.to_dict("list")), Batches(lambda: iter([ROWS])), iter([ROWS])]
    for source in [*pieces, duckdb.sql("SELECT 'v0' AS a, 1.0 AS x")]:
        with refuses(DataTypeError, type(source).__name__, 'sink="answers.csv"'):
            model.predict(source)


@pytest.mark.parametrize("verb", ["predict", "predict_proba"])
def test_a_limit_of_memory_is_for_a_sink(verb: str, model: Any) -> None:
    with refuses(UsageError, "max_memory=200000000", "sink="):
        getattr(model, verb)([["a", 1.0]], max_memory="200MB")


def test_a_relation_is_counted_without_pyarrow_and_its_rows_ask_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    rows = duckdb.sql("SELECT i % 3 AS a, i % 2 AS y FROM range(60) s(i)")
    model = NaiveBayes(categorical_features=["a"]).fit(rows, target="y")
    assert model.statistics_.total == 60
    with refuses(UsageError, "DuckDBPyRelation", "pyarrow"):
        model.predict(rows, sink=tmp_path / "answers.csv")
    assert not (tmp_path / "answers.csv").exists()
