"""Columns that training set aside may be in later rows: they are not read, and nobody has to take them out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayeskit import AODE, TAN, AutoBayes, Batches, NaiveBayes, WeightedNB, load
from bayeskit.errors import ColumnError, SourceNote
from refusals import refuses, warns_of

RNG = np.random.default_rng(4)
TABLE = pd.DataFrame(
    {
        "key": [f"k{i}" for i in range(60)],
        "colour": RNG.choice(["red", "green", "blue"], 60),
        "size": RNG.normal(size=60),
        "weight": RNG.integers(1, 4, 60).astype(float),
        "kind": np.where(RNG.random(60) < 0.5, "p", "q"),
    }
)
USED = ["colour", "size"]


def fitted(model, **more):
    return model.fit(TABLE, target="kind", exclude=["key"], sample_weight="weight", **more)


@pytest.mark.parametrize("model", [NaiveBayes(), TAN(numeric="mdl"), AODE(), WeightedNB(numeric="mdl")])
def test_answers_leave_out_what_training_set_aside(model):
    model = fitted(model)
    expected = model.predict_proba(TABLE[USED])
    assert np.array_equal(model.predict_proba(TABLE), expected)
    assert np.array_equal(model.predict_proba(TABLE[TABLE.columns[::-1]]), expected)
    assert model.score(TABLE, TABLE["kind"]) == model.score(TABLE[USED], TABLE["kind"])
    row = TABLE.iloc[3]
    assert str(model.explain(dict(row))) == str(model.explain(dict(row[USED])))
    assert np.array_equal(
        model.leave_one_out(TABLE, target="kind", sample_weight="weight"),
        model.leave_one_out(TABLE[USED], TABLE["kind"], sample_weight=TABLE["weight"]),
    )


def test_members_of_auto_bayes_leave_it_out_too():
    model = fitted(AutoBayes(effort="fast", random_state=0))
    assert np.array_equal(model.predict_proba(TABLE), model.predict_proba(TABLE[USED]))
    assert str(model.explain(dict(TABLE.iloc[3]))) == str(model.explain(dict(TABLE[USED].iloc[3])))


def test_rows_that_are_added_and_forgotten_leave_it_out():
    model = fitted(NaiveBayes())
    before = model.predict_proba(TABLE)
    model.partial_fit(TABLE[:9], target="kind", sample_weight="weight")
    assert not np.array_equal(model.predict_proba(TABLE), before)
    model.forget(TABLE[:9], target="kind", sample_weight="weight")
    assert np.allclose(model.predict_proba(TABLE), before, rtol=0, atol=1e-13)


def test_weights_are_not_forgotten_silently():
    model = fitted(NaiveBayes())
    with refuses(ColumnError, "weight"):
        model.partial_fit(TABLE[:9], target="kind")
    with refuses(ColumnError, "weight"):
        model.leave_one_out(TABLE, target="kind")


def test_with_columns_all_others_are_aside_except_that_none_may_be_absent():
    model = NaiveBayes().fit(TABLE, target="kind", columns=USED)
    more = TABLE.assign(other=1)
    assert np.array_equal(model.predict_proba(more), model.predict_proba(TABLE[USED]))
    with refuses(ColumnError, "size"):
        model.predict(TABLE.drop(columns="size"))


def test_columns_that_training_never_had_are_refused():
    with refuses(ColumnError, "other"):
        fitted(NaiveBayes()).predict(TABLE.assign(other=1))
    with refuses(ColumnError, "kind"):
        NaiveBayes().fit(TABLE[USED], TABLE["kind"]).predict(TABLE[[*USED, "kind"]])


def test_what_a_file_left_out_is_left_out_of_frames(tmp_path):
    TABLE.to_csv(tmp_path / "rows.csv", index=False)
    with warns_of(SourceNote, "key"):
        model = NaiveBayes().fit(tmp_path / "rows.csv", target="kind")
    assert "key" in model.reading_.left_out
    used = [name for name in TABLE.columns if name not in {*model.reading_.left_out, "kind"}]
    assert np.array_equal(model.predict_proba(TABLE), model.predict_proba(TABLE[used]))


def test_it_is_kept_in_copies_saved_models_and_lazy_ones(tmp_path):
    model = fitted(NaiveBayes())
    model.save(tmp_path / "model.bayes")
    loaded = load(tmp_path / "model.bayes")
    assert np.array_equal(loaded.predict_proba(TABLE), model.predict_proba(TABLE[USED]))
    with refuses(ColumnError, "weight"):
        loaded.partial_fit(TABLE, target="kind")
    lazy = NaiveBayes().lazy(TABLE, target="kind", exclude=["key"], sample_weight="weight")
    assert np.array_equal(lazy.predict_proba(TABLE), lazy.predict_proba(TABLE[USED]))
    batches = NaiveBayes().fit(Batches(lambda: [TABLE[:30], TABLE[30:]]), target="kind", exclude=["key"])
    assert np.array_equal(batches.predict(TABLE), batches.predict(TABLE[[*USED, "weight"]]))


def test_relations_of_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().from_df(TABLE)
    model = NaiveBayes().fit(relation, target="kind", exclude=["key", "weight"])
    assert np.array_equal(model.predict_proba(TABLE), model.predict_proba(TABLE[USED]))
    twice = model.predict_proba(TABLE)
    model.partial_fit(relation, target="kind").forget(relation, target="kind")
    assert np.allclose(model.predict_proba(TABLE), twice, rtol=0, atol=1e-13)
