"""Frames that are not in memory are read piece by piece: Polars' lazy frames, datasets of PyArrow, Ibis, Dask."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayeskit import TAN, NaiveBayes, learn_network
from bayeskit.errors import BayeskitError, DataError
from refusals import refuses


def table(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "word": rng.choice(["u", "v", "w"], n),
            "number": rng.normal(size=n).round(3),
            "class": rng.choice(["no", "yes"], n),
        }
    )
    frame.loc[frame.index[:40], "word"] = None
    return frame


def polars_frame(frame: pd.DataFrame, folder: Path) -> Any:
    frame.to_parquet(folder / "rows.parquet")
    return pl.scan_parquet(folder / "rows.parquet").filter(pl.col("number") > -99)


def arrow_dataset(frame: pd.DataFrame, folder: Path) -> Any:
    dataset = pytest.importorskip("pyarrow.dataset")
    frame[:40].to_parquet(folder / "a.parquet")
    frame[40:].to_parquet(folder / "b.parquet")
    return dataset.dataset([folder / "a.parquet", folder / "b.parquet"])


def ibis_table(frame: pd.DataFrame, folder: Path) -> Any:
    ibis = pytest.importorskip("ibis", reason="ibis is not installed: pip install 'ibis-framework[sqlite]'")
    with closing(sqlite3.connect(folder / "rows.db")) as connection:
        frame.to_sql("rows", connection, index=False)
    return ibis.sqlite.connect(folder / "rows.db").table("rows")


def dask_frame(frame: pd.DataFrame, folder: Path) -> Any:
    dask = pytest.importorskip(
        "dask.dataframe", reason="Dask is not installed: pip install 'dask[dataframe]'"
    )
    # Of its five partitions one has no rows.
    parts = dask.from_pandas(frame, npartitions=4)
    return dask.concat([parts, dask.from_pandas(frame[:1], npartitions=1).loc[-2:-1]])


ways = pytest.mark.parametrize("make", [polars_frame, arrow_dataset, ibis_table, dask_frame])


@ways
@pytest.mark.parametrize("model", [NaiveBayes, TAN])
def test_pieces_are_the_whole(make: Any, model: Any, tmp_path: Path) -> None:
    frame = table()
    asked = frame.drop(columns="class")
    found = model().fit(make(frame, tmp_path), target="class")
    whole = model().fit(asked, frame["class"])
    assert [v.name for v in found.schema_.attributes] == [v.name for v in whole.schema_.attributes]
    np.testing.assert_allclose(found.predict_proba(asked), whole.predict_proba(asked), rtol=0, atol=1e-12)


@ways
def test_the_target_must_be_named(make: Any, tmp_path: Path) -> None:
    with pytest.raises(BayeskitError, match="target"):
        NaiveBayes().fit(make(table(), tmp_path))


@ways
def test_a_missing_target_is_named(make: Any, tmp_path: Path) -> None:
    with pytest.raises(BayeskitError, match="'clas'"):
        NaiveBayes().fit(make(table(), tmp_path), target="clas")


@ways
def test_networks_are_learned_from_them(make: Any, tmp_path: Path) -> None:
    frame = table()
    assert sorted(learn_network(make(frame, tmp_path)).arcs) == sorted(learn_network(frame).arcs)


@ways
def test_lazy_counts_them(make: Any, tmp_path: Path) -> None:
    frame = table()
    asked = frame.drop(columns="class")
    found = NaiveBayes().lazy(make(frame, tmp_path), target="class")
    whole = NaiveBayes().fit(asked, frame["class"])
    np.testing.assert_allclose(found.predict_proba(asked), whole.predict_proba(asked), rtol=0, atol=1e-12)


def test_what_ibis_cannot_read_is_told_by_an_error_of_ours() -> None:
    """A release of Ibis may not fit that of its database: then what it says is an error of Python."""

    def to_pyarrow_batches(self: Any, chunk_size: int) -> Any:
        raise AttributeError("no attribute 'fetch_record_batch'")

    table_of_ibis = type("Table", (), {"__module__": "ibis.expr", "to_pyarrow_batches": to_pyarrow_batches})()
    with refuses(DataError, "Ibis", "'fetch_record_batch'"):
        NaiveBayes().fit(table_of_ibis, target="class")
