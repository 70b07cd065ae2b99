"""A Dask DataFrame is counted on Dask's workers as the kernels count it in memory, and predicted lazily."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    BernoulliNB,
    CountForest,
    MultinomialNB,
    NaiveBayes,
    TextBayes,
    WeightedNB,
    load,
)
from bayeskit._counting import partitions
from bayeskit._counting.cluster_tasks import tree
from bayeskit.errors import ColumnError, DataError, DataTypeError, InfiniteValue, UsageError, WeightError
from cluster_tables import CASES, ReducedBytes, counted, mixed, same_statistics
from refusals import refuses

dask: Any = pytest.importorskip("dask", reason="Dask is not installed: pip install 'bayeskit[dask]'")
dd: Any = pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install 'bayeskit[dask]'")


def in_parts(frame: pd.DataFrame, bounds: list[int]) -> Any:
    """The rows between bounds as partitions; equal bounds are a partition without rows."""
    edges = [0, *bounds, len(frame)]
    parts = [frame[a:b] for a, b in pairwise(edges)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame[:0], verify_meta=False)


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("bounds", [[], [30, 30], [7, 8, 30, 100], list(range(3, 36, 3))], ids=len)
def test_counts_are_those_of_the_kernels(case: str, bounds: list[int]) -> None:
    frame, weights = CASES[case]
    same_statistics(counted(in_parts(frame, bounds), weights), counted(frame, weights))


@pytest.mark.parametrize("weights", [None, "w"])
def test_the_order_of_partitions_does_not_matter(weights: str | None) -> None:
    frame = mixed()
    pieces = [frame[:50], frame[50:51], frame[51:]]
    found = [
        counted(in_parts(pd.concat([pieces[k] for k in order]), [60, 90]), weights)
        for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0])
    ]
    for other in found[1:]:
        same_statistics(other, found[0])


MODELS = [
    NaiveBayes(),
    NaiveBayes(families="auto"),
    NaiveBayes(numeric="kernel"),
    TAN(),
    TAN(calibration="isotonic"),
    AODE(),
    KDB(k=2),
    SPODE(),
    WeightedNB(),
    CountForest(n_trees=3),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:40])
@pytest.mark.filterwarnings("ignore")
def test_a_model_of_partitions_is_the_model_of_the_rows(model: Any) -> None:
    frame = mixed().drop(columns="w")
    asked = frame.drop(columns="class")
    there = clone(model).fit(in_parts(frame, [50, 50, 90]), target="class")
    here = clone(model).fit(frame, target="class")
    np.testing.assert_allclose(there.predict_proba(asked), here.predict_proba(asked), rtol=0, atol=1e-12)
    assert set(there.held_) == set(here.held_)


@pytest.mark.parametrize("model", [MultinomialNB(), BernoulliNB(binarize=2.0)], ids=str)
def test_blocks_are_counted_there(model: Any) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 5, (60, 3)), columns=["a", "b", "c"]).assign(
        y=rng.choice(["n", "p"], 60)
    )
    there = clone(model).fit(in_parts(frame, [20, 25]), target="y")
    here = clone(model).fit(frame, target="y")
    asked = frame[["a", "b", "c"]]
    assert there.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(there.predict_proba(asked), here.predict_proba(asked), rtol=1e-13)
    turned = frame[["c", "y", "a", "b"]]
    there.partial_fit(in_parts(turned, [9]), target="y")
    here.partial_fit(turned, target="y")
    np.testing.assert_allclose(there.predict_proba(asked), here.predict_proba(asked), rtol=1e-13)
    frame.loc[33, "b"] = -1
    with refuses(DataError, "b", -1.0, "33"):
        MultinomialNB().fit(in_parts(frame, [20, 25]), target="y")


def test_texts_are_counted_there() -> None:
    words = ["good film", "bad film", "good good", "awful bad", None]
    frame = pd.DataFrame({"text": words * 8, "y": ["p", "n", "p", "n", "p"] * 8})
    there = TextBayes(min_count=1).fit(in_parts(frame, [11]), target="y")
    here = TextBayes(min_count=1).fit(frame, target="y")
    asked = frame[["text"]]
    assert there.vocabulary_ == here.vocabulary_
    np.testing.assert_allclose(there.predict_proba(asked), here.predict_proba(asked), rtol=1e-9)


def test_more_rows_are_learned_and_forgotten() -> None:
    frame = mixed().drop(columns="w")
    asked = frame.drop(columns="class")
    model = NaiveBayes().fit(in_parts(frame[:100], [30]), target="class")
    before = model.predict_proba(asked)
    model.partial_fit(in_parts(frame[100:], [30]), target="class")
    whole = NaiveBayes().fit(frame, target="class")
    np.testing.assert_allclose(model.predict_proba(asked), whole.predict_proba(asked), rtol=0, atol=1e-12)
    model.forget(in_parts(frame[100:], [30]), target="class")
    np.testing.assert_allclose(model.predict_proba(asked), before, rtol=0, atol=1e-12)


def test_what_arrives_does_not_grow_with_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    monkeypatch.setattr(partitions, "MOST_CHOSEN_FROM", 200)
    for times in (4, 40):
        frame = pd.concat([mixed(seed=0)] * times, ignore_index=True)
        reduced = ReducedBytes(monkeypatch)
        TAN().fit(in_parts(frame, [500, 700]), target="class", exclude=["w"])
        sizes.append(sum(reduced.sizes))
        monkeypatch.undo()
        monkeypatch.setattr(partitions, "MOST_CHOSEN_FROM", 200)
    assert sizes[1] <= 1.05 * sizes[0]


def test_choices_are_made_from_a_sample_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(partitions, "MOST_CHOSEN_FROM", 100)
    frame = mixed()
    model = TAN().fit(in_parts(frame, [50, 120]), target="class", sample_weight="w")
    n = int((frame["w"] > 0).sum())
    assert model.held_["chosen_from"] == {"rows": 100, "of": n, "seed": 0}
    again = TAN().fit(in_parts(frame, [50, 120]), target="class", sample_weight="w")
    assert again.held_ == model.held_
    assert model.statistics_.total == frame["w"].sum()
    model.save(tmp_path / "model.bayes")
    assert load(tmp_path / "model.bayes").held_ == model.held_
    assert "chosen_from" not in NaiveBayes().fit(in_parts(frame, [50]), target="class").held_


def test_predictions_are_lazy_and_keep_index_and_divisions() -> None:
    frame = mixed().drop(columns="w").set_index(np.arange(1000, 1240))
    model = NaiveBayes().fit(frame, target="class")
    asked = frame.drop(columns="class")
    lazy = dd.from_pandas(asked, npartitions=5, sort=True)
    labels, shares = model.predict(lazy), model.predict_proba(lazy)
    wanted = model.predict(asked)
    assert labels.divisions == shares.divisions == lazy.divisions and labels.name == "prediction"
    assert list(shares.columns) == ["p_no", "p_yes"] and (shares.dtypes == np.float64).all()
    model.partial_fit(frame[:50].assign(**{"class": "no"}), target="class")  # too late for these answers
    found = labels.compute()
    assert found.index.tolist() == asked.index.tolist() and found.dtype == labels.dtype
    assert found.tolist() == wanted.tolist()
    np.testing.assert_array_equal(
        shares.compute().to_numpy(), NaiveBayes().fit(frame, target="class").predict_proba(asked)
    )
    empty = in_parts(asked, [0, 10, 10])
    assert len(model.predict_log_proba(empty).compute()) == len(asked)
    with refuses(ColumnError, "extra"):
        model.predict(lazy.assign(extra=1))
    with refuses(UsageError, "Dask"):
        NaiveBayes().lazy(frame, "class").predict(lazy)


@pytest.mark.parametrize("model", [NaiveBayes(), TAN()], ids=str)
def test_columns_that_training_set_aside_may_be_in_the_rows_to_predict(model: Any) -> None:
    frame = mixed().assign(extra=1)
    parts = in_parts(frame, [50, 50, 120])
    there = clone(model).fit(parts, target="class", sample_weight="w", exclude=["extra"])
    wanted = there.predict_proba(frame.drop(columns=["class", "w", "extra"]))
    shares = there.predict_proba(parts)
    assert isinstance(shares, dd.DataFrame)  # nothing is predicted yet
    np.testing.assert_array_equal(shares.compute().to_numpy(), wanted)
    only = clone(model).fit(parts, target="class", columns=["x", "count"])
    assert only.predict(parts).compute().tolist() == only.predict(frame[["x", "count"]]).tolist()
    with refuses(ColumnError, "more"):
        there.predict(parts.assign(more=1))


def broken(frame: pd.DataFrame, row: int, column: str, value: Any) -> Any:
    frame = frame.copy()
    frame[column] = frame[column].astype(object)
    frame.iloc[row, frame.columns.get_loc(column)] = value
    return frame


def test_bad_input_is_named() -> None:
    frame = mixed().drop(columns="w")
    changed = dd.from_delayed(
        [dask.delayed(frame[:50]), dask.delayed(frame[50:].assign(x=frame["色泽"][50:]))],
        meta=frame[:0],
        verify_meta=False,
    )
    with refuses(ColumnError, "x", "partition"):
        NaiveBayes().fit(changed, target="class")
    infinite = frame.assign(x=[*frame["x"][:-7], *[np.inf] * 7])
    with refuses(InfiniteValue, "x", len(frame) - 7):
        NaiveBayes().fit(in_parts(infinite, [50, 90]), target="class")
    parts = in_parts(frame, [50])
    with refuses(ColumnError, "clas"):
        NaiveBayes().fit(parts, target="clas")
    with refuses(DataError, "target="):
        NaiveBayes().fit(parts)
    with refuses(DataTypeError, "target="):
        NaiveBayes().fit(parts, parts["class"])
    with refuses(DataTypeError, "sample_weight"):
        NaiveBayes().fit(parts, target="class", sample_weight=np.ones(len(frame)))
    with refuses(WeightError, -1.0):
        NaiveBayes().fit(in_parts(frame.assign(w=-1), [50]), target="class", sample_weight="w")
    with refuses(DataError, 0):
        NaiveBayes().fit(in_parts(frame[:0], []), target="class")
    with pytest.raises(DataError):
        NaiveBayes().fit(in_parts(broken(frame, 200, "class", None), [50]), target="class")
    dates = in_parts(frame.assign(day=pd.Timestamp("2020-01-01")), [50])
    with refuses(ColumnError, "day", "exclude"):
        NaiveBayes().fit(dates, target="class")


# -- workers in processes of their own: -m dask ----------------------------------------------------


@pytest.fixture
def client(tmp_path: Any) -> Any:
    distributed = pytest.importorskip(
        "distributed", reason="distributed is not installed: pip install distributed"
    )
    settings = {
        "temporary-directory": str(tmp_path),
        "distributed.worker.use-file-locking": False,
        "distributed.scheduler.allowed-failures": 5,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def die_once(part: pd.DataFrame, mark: str) -> pd.DataFrame:
    """Kill the worker that reads this partition, unless a worker died here before."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return part
    os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.dask
@pytest.mark.parametrize("model", [NaiveBayes(), TAN()], ids=str)
def test_a_lost_worker_changes_nothing(client: Any, model: Any, tmp_path: Any) -> None:
    frame = mixed().drop(columns="w")
    parts = [dask.delayed(frame[k : k + 40]) for k in range(0, 240, 40)]
    mark = tmp_path / "died"
    parts[3] = dask.delayed(die_once)(parts[3], str(mark))
    there = clone(model).fit(dd.from_delayed(parts, meta=frame[:0], verify_meta=False), target="class")
    assert mark.exists()
    here = clone(model).fit(frame, target="class")
    np.testing.assert_array_equal(there.statistics_.tables.counts, here.statistics_.tables.counts)
    asked = frame.drop(columns="class")
    np.testing.assert_allclose(there.predict_proba(asked), here.predict_proba(asked), rtol=0, atol=1e-12)
    lazy = there.predict_proba(dd.from_pandas(asked, npartitions=3)).compute()
    np.testing.assert_allclose(lazy.to_numpy(), here.predict_proba(asked), rtol=0, atol=1e-12)


@pytest.mark.dask
def test_errors_of_workers_are_those_of_the_rows(client: Any) -> None:
    frame = mixed().drop(columns="w")
    infinite = frame.assign(x=[*frame["x"][:-7], *[np.inf] * 7])
    with refuses(InfiniteValue, "x", len(frame) - 7):
        NaiveBayes().fit(in_parts(infinite, [50, 90]), target="class")


def test_outcomes_are_merged_a_few_at_a_time() -> None:
    frame = mixed(100)
    delayed = tree(in_parts(frame, list(range(1, 100))), [(5, "class")], _Widest())
    assert delayed.compute().value == 100


class _Widest:
    """Adds rows up, and refuses more than eight outcomes at once."""

    def __call__(self, frame: Any, number: int) -> int:
        return len(frame)

    def merge(self, a: int, b: int) -> int:
        assert b <= 64
        return a + b
