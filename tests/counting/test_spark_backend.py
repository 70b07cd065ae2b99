"""A Spark DataFrame is counted on Spark's executors as the kernels count it, and predicted there: -m spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayeskit import AODE, TAN, MultinomialNB, NaiveBayes
from bayeskit.errors import ColumnError, DataError, DataTypeError, InfiniteValue, SettingError
from cluster_tables import CASES, ReducedBytes, counted, mixed, same_statistics
from refusals import refuses
from spark_session import WITHOUT_SPARK, spark_session

if WITHOUT_SPARK:
    pytest.skip(WITHOUT_SPARK, allow_module_level=True)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Any:
    return spark_session()


def in_parts(spark: Any, frame: pd.DataFrame, n: int = 3) -> Any:
    """The rows in n partitions, and one without rows."""
    import pyarrow as pa

    whole = spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))
    return whole.repartition(n).union(whole.limit(0).coalesce(1))


@pytest.mark.parametrize("case", list(CASES))
def test_counts_are_those_of_the_kernels(spark: Any, case: str) -> None:
    frame, weights = CASES[case]
    same_statistics(counted(in_parts(spark, frame), weights), counted(frame, weights))


@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), AODE()], ids=str)
def test_a_model_of_partitions_is_the_model_of_the_rows_and_predicts_there(spark: Any, model: Any) -> None:
    frame = mixed().drop(columns="w")
    asked = frame.drop(columns="class")
    rows = in_parts(spark, frame)
    there = clone(model).fit(rows, target="class")
    here = clone(model).fit(frame, target="class")
    wanted = here.predict_proba(asked)
    np.testing.assert_allclose(there.predict_proba(asked), wanted, rtol=0, atol=1e-12)
    numbered = spark.createDataFrame(asked.assign(row=np.arange(len(asked))))
    found = there.predict_proba(numbered).toPandas().sort_values("row")
    assert list(found.columns) == [*numbered.columns, "p_no", "p_yes"]
    np.testing.assert_allclose(found[["p_no", "p_yes"]].to_numpy(), wanted, rtol=0, atol=1e-9)
    labels = there.predict(numbered).toPandas().sort_values("row")
    assert labels["prediction"].tolist() == there.predict(asked).tolist()
    logs = there.predict_log_proba(numbered.limit(3)).toPandas()
    np.testing.assert_allclose(np.exp(logs[["p_no", "p_yes"]].to_numpy()).sum(axis=1), 1.0)
    with refuses(SettingError, "prediction"):
        there.predict(there.predict(numbered))
    with refuses(ColumnError, "色泽"):
        there.predict(numbered.drop("色泽"))
    left_out = there.leave_one_out(
        in_parts(spark, frame), target="class"
    )  # reads rows here, partition by partition
    assert left_out.shape == (len(frame), 2)


def test_the_spark_dialect_of_sql_answers_as_python_does(spark: Any) -> None:
    frame = mixed(4000).drop(columns="w")
    asked = frame.drop(columns="class").assign(row=np.arange(len(frame)))
    asked.loc[:50, "色泽"] = "never seen"
    spark.createDataFrame(asked).createOrReplaceTempView("asked")
    for model in (NaiveBayes(), TAN(), NaiveBayes(calibration="isotonic")):
        model.fit(frame, target="class")
        found = spark.sql(model.to_sql("spark", "asked", "row")).toPandas().sort_values("row")
        wanted = model.predict_proba(asked.drop(columns="row"))
        np.testing.assert_allclose(found[["p_no", "p_yes"]].to_numpy(), wanted, rtol=0, atol=1e-9)


def test_what_arrives_does_not_grow_with_the_rows(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    for times in (2, 20):
        frame = pd.concat([mixed()] * times, ignore_index=True)
        with monkeypatch.context() as patch:
            reduced = ReducedBytes(patch)
            NaiveBayes().fit(in_parts(spark, frame), target="class", exclude=["w"])
            sizes.append(sum(reduced.sizes))
    assert sizes[1] <= 1.05 * sizes[0]


def test_a_lost_worker_changes_nothing(spark: Any, tmp_path: Any) -> None:
    frame, mark = mixed().drop(columns="w"), str(tmp_path / "died")

    def die_once(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                try:
                    os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                    os.kill(os.getpid(), signal.SIGKILL)
                except FileExistsError:
                    pass
            yield batch

    names = list(frame.columns)
    rows = in_parts(spark, frame.set_axis([f"c{j}" for j in range(len(names))], axis=1))
    there = TAN().fit(rows.mapInArrow(die_once, rows.schema).toDF(*names), target="class")
    assert os.path.exists(mark)
    here = TAN().fit(frame, target="class")
    np.testing.assert_array_equal(there.statistics_.tables.counts, here.statistics_.tables.counts)


def test_bad_input_is_named(spark: Any) -> None:
    frame = mixed(60).drop(columns="w")
    rows = in_parts(spark, frame)
    with refuses(ColumnError, "clas"):
        NaiveBayes().fit(rows, target="clas")
    with refuses(DataTypeError, "target="):
        NaiveBayes().fit(rows, frame["class"])
    with refuses(InfiniteValue, "x"):
        NaiveBayes().fit(in_parts(spark, frame.assign(x=np.inf)), target="class")
    with refuses(ColumnError, "day", "exclude"):
        NaiveBayes().fit(in_parts(spark, frame.assign(day=pd.Timestamp("2020-01-01"))), target="class")
    with refuses(DataError, 0):
        NaiveBayes().fit(rows.limit(0), target="class")
    with refuses(DataError, "Spark"):
        NaiveBayes().fit(rows.selectExpr("*", "raise_error('no such file') AS z"), target="class")


def test_blocks_are_counted_there(spark: Any) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 5, (60, 3)), columns=["a", "b", "c"]).assign(
        y=rng.choice(["n", "p"], 60)
    )
    there = MultinomialNB().fit(in_parts(spark, frame), target="y")
    asked = frame[["a", "b", "c"]]
    wanted = MultinomialNB().fit(frame, target="y").predict_proba(asked)
    np.testing.assert_allclose(there.predict_proba(asked), wanted, rtol=1e-12)


CONNECTED = """
import sys
import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from bayeskit import AODE, NaiveBayes

settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
spark = SparkSession.builder.remote("local[2]").config(map=settings).getOrCreate()
rng = np.random.default_rng(0)
kind = np.where(rng.random(200) < 0.5, "{a}", "b`{}")
frame = pd.DataFrame({"kind": kind, "x": rng.normal(size=200), "y": np.where(kind == "{a}", "n", "p")})
rows = spark.createDataFrame(frame).repartition(3)
for model in NaiveBayes(), AODE():
    found = model.fit(rows, target="y").predict_proba(rows.drop("y")).toPandas()
    wanted = model.predict_proba(found[["kind", "x"]])
    np.testing.assert_allclose(found[["p_n", "p_p"]].to_numpy(), wanted, rtol=0, atol=1e-9)
    print(len(found), "rows")
spark.stop()
"""


def test_spark_connect_answers_too() -> None:
    """In a process of its own: one with a classic session has no other."""
    pytest.importorskip("grpc", reason="pip install 'pyspark[connect]'")
    named = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    found = subprocess.run(
        [sys.executable, "-c", CONNECTED],
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, **named},
    )
    assert found.returncode == 0, found.stderr[-2_000:]
    assert found.stdout.split("\n")[:2] == ["200 rows", "200 rows"]
