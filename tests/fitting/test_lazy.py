"""Lazy counting: the answers of a fitted model, from as few passes and counts as they need."""

from __future__ import annotations

import os
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bayeskit import Batches, ComplementNB, MultinomialNB, NaiveBayes
from bayeskit.errors import DataError, OneShotSource, SettingError, UsageError
from refusals import refuses

ROWS = [
    ["a", "p", 1.0],
    ["b", "q", 2.5],
    ["a", "q", None],
    ["b", None, 4.0],
    ["a", "p", 3.0],
    ["c", "q", 0.5],
]
LABELS = ["no", "yes", "yes", "no", "yes", "no"]
QUERIES = [
    ["a", "p", 1.0],
    ["b", None, None],
    [None, "q", None],
    [None, None, 2.0],
    [None, None, None],
    ["new", "p", 2.0],
]
HOW = {"categorical_features": [0, 1]}


def lazy(rows=ROWS, labels=LABELS, options=None, **how):
    return NaiveBayes(**{**HOW, **how}).lazy(rows, labels, **(options or {}))


def check_same(model, queries, rows=ROWS, labels=LABELS, **how):
    fitted = NaiveBayes(**{**HOW, **how}).fit(rows, labels)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(queries), fitted.predict_joint_log_proba(queries), rtol=1e-12
    )
    np.testing.assert_allclose(model.predict_proba(queries), fitted.predict_proba(queries), rtol=1e-12)
    assert model.predict(queries).tolist() == fitted.predict(queries).tolist()


SETTINGS = [
    {},
    {"missing": "state"},
    {"unseen": "smooth"},
    {"class_prior": [1.0, 0.0]},
    {"class_prior": {"no": 0.25, "yes": 0.75}},
    {"class_weight": "balanced"},
    {"smoothing": 0.5, "variance": "unbiased"},
    {"numeric": "kernel"},
]


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, len(QUERIES) - 1), min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from(SETTINGS),
    st.sampled_from([1, 200, 2**26]),
    st.sampled_from(["manual", "always"]),
)
def test_any_questions_in_any_order_are_answered_as_by_a_fitted_model(asked, how, max_memory, refresh):
    model = lazy(options={"max_memory": max_memory, "refresh": refresh}, **how)
    for places in asked:
        check_same(model, [QUERIES[i] for i in places], **how)


@pytest.mark.parametrize(
    ("questions", "passes"),
    [
        ([["a", None, None]], [1]),
        ([["a", None, None], ["b", None, None]], [1, 1]),
        ([["a", None, None], [None, "q", None]], [1, 2]),
        ([["a", "p", None], [None, "q", None], [None, None, 1.0]], [1, 1, 2]),
        ([["a", "p", 1.0], ["a", None, None], [None, None, None]], [1, 1, 1]),
        ([[None, None, None], [None, None, None]], [1, 1]),
    ],
    ids=str,
)
def test_only_what_was_never_counted_costs_a_pass(questions, passes):
    model = lazy()
    assert model._lazy.passes == 0
    for question, wanted in zip(questions, passes, strict=True):
        model.predict([question])
        assert model._lazy.passes == wanted


def test_only_the_attributes_asked_about_are_counted():
    model = lazy()
    model.predict([[None, "q", None]])
    (look,) = model._lazy._counts.values()
    assert [v.name for v in look.statistics.schema.attributes] == ["x1"]
    assert look.n_bytes > 0
    model.predict([["a", None, None]])
    assert [sorted(names) for names in model._lazy._counts] == [["x1"], ["x0"]]


def test_the_memory_for_counts_is_bounded():
    model = lazy(options={"max_memory": 1})
    for question in QUERIES[:4]:
        model.predict([question])
        assert len(model._lazy._counts) <= 1
    check_same(model, QUERIES)


def test_what_a_lazy_model_can_tell():
    model, fitted = lazy(), NaiveBayes(**HOW).fit(ROWS, LABELS)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.schema_ == fitted.schema_
    np.testing.assert_array_equal(model.statistics_.tables.counts, fitted.statistics_.tables.counts)
    assert model.table("x0")["no", "a"] == fitted.table("x0")["no", "a"]
    np.testing.assert_allclose(model.log_evidence(QUERIES), fitted.log_evidence(QUERIES), rtol=1e-12)
    X, y = model.sample(4, random_state=1)
    assert (len(X), len(y)) == (4, 4)


@pytest.mark.parametrize("refresh", ["manual", "always", 3600.0])
def test_new_rows_are_seen_when_it_was_said(refresh):
    rows, labels = list(ROWS), list(LABELS)
    source = Batches(lambda: iter([(rows[:3], labels[:3]), (rows[3:], labels[3:])]))
    model = lazy(source, None, {"refresh": refresh})
    check_same(model, QUERIES)
    rows.append(["z", "q", 9.0])
    labels.append("perhaps")
    now = refresh == "always"
    assert len(model.classes_) == (3 if now else 2)
    check_same(model, QUERIES, *((rows, labels) if now else (ROWS, LABELS)))
    model.refresh()
    check_same(model, QUERIES, rows, labels)
    assert len(model.classes_) == 3


def test_text_that_changed_in_place_is_read_as_it_is_now():
    """Codes of text are kept within a fit; a lazy model must not keep them between its passes."""
    colour, sort = np.array(["red", "blue"] * 4, object), np.array(["a", "b"] * 4, object)
    model = NaiveBayes().lazy({"colour": colour, "sort": sort}, target="sort", refresh="always")
    assert model.predict({"colour": ["red"]}).tolist() == ["a"]
    colour[:] = ["blue", "red"] * 4
    assert model.predict({"colour": ["red"]}).tolist() == ["b"]


def test_after_some_seconds_the_counts_are_taken_anew(monkeypatch):
    from bayeskit._fitting import lazy_state as module

    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    rows, labels = list(ROWS), list(LABELS)
    model = lazy(Batches(lambda: iter([(rows, labels)])), None, {"refresh": 5})
    check_same(model, QUERIES)
    rows.append(["z", "q", 9.0])
    labels.append("no")
    clock[0] += 4.0
    check_same(model, QUERIES)
    clock[0] += 2.0
    check_same(model, QUERIES, rows, labels)


def test_all_counts_of_an_answer_are_of_one_state_of_the_source():
    rows, labels = list(ROWS), list(LABELS)
    model = lazy(Batches(lambda: iter([(rows, labels)])), None)
    model.predict([["a", None, None]])
    rows.append(["a", "p", 9.0])
    labels.append("yes")
    # The counts of x1 are new, so those of x0 must not be old.
    check_same(model, [["a", "q", None]], rows, labels)


def write_csv(path, rows, stamp):
    path.write_text("x0,x1,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    os.utime(path, ns=(stamp, stamp))


OLD = [("a", "p", "no"), ("b", "q", "yes"), ("a", "q", "yes"), ("b", "p", "no")]
NEW = [("a", "q", "no"), ("a", "p", "yes"), ("b", "p", "yes"), ("b", "q", "no")]


@pytest.mark.parametrize("refresh", ["manual", 3600, "always"])
def test_a_file_that_was_written_anew_is_not_mixed_with_the_old(tmp_path, refresh):
    path = tmp_path / "rows.csv"
    write_csv(path, OLD, 10**18)
    model = NaiveBayes().lazy(path, "y", refresh=refresh)
    model.predict(pd.DataFrame({"x0": ["a"], "x1": [None]}))
    write_csv(path, NEW, 2 * 10**18)  # the same classes as often
    both = pd.DataFrame({"x0": ["a"], "x1": ["q"]})
    wanted = NaiveBayes().fit(path, target="y").predict_proba(both)
    np.testing.assert_allclose(model.predict_proba(both), wanted, rtol=1e-12)


def test_a_file_with_new_states_and_classes_after_refresh(tmp_path):
    path = tmp_path / "rows.csv"
    write_csv(path, OLD, 10**18)
    model = NaiveBayes().lazy(path, "y")
    query = pd.DataFrame({"x0": ["a", "brand new"], "x1": ["q", "p"]})
    model.predict(query)
    write_csv(path, [*NEW, ("brand new", "p", "perhaps")], 2 * 10**18)
    model.refresh()
    fitted = NaiveBayes().fit(path, target="y")
    np.testing.assert_allclose(model.predict_proba(query), fitted.predict_proba(query), rtol=1e-12)
    assert model.classes_.tolist() == ["no", "perhaps", "yes"]


@pytest.mark.parametrize("estimator", [MultinomialNB, ComplementNB])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_blocks(estimator, make):
    X, y = np.array([[2, 0, 1], [0, 3, 1], [1, 1, 0], [0, 2, 5]]), [0, 1, 0, 1]
    model = estimator().lazy(make(X), y)
    np.testing.assert_allclose(model.predict_proba(X), estimator().fit(X, y).predict_proba(X), rtol=1e-12)


def test_weights_and_columns_as_in_fit():
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"]).assign(w=[1, 2, 0, 1, 3, 1], y=LABELS)
    model = NaiveBayes().lazy(frame, "y", sample_weight="w", exclude=["c"])
    fitted = NaiveBayes().fit(frame, sample_weight="w", target="y", exclude=["c"])
    np.testing.assert_allclose(
        model.predict_proba(frame[["a", "b"]]), fitted.predict_proba(frame[["a", "b"]]), rtol=1e-12
    )


def test_columns_in_another_order():
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    model = NaiveBayes().lazy(frame, LABELS)
    turned = frame[["c", "a", "b"]]
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(frame))


def test_many_threads_ask_at_once():
    model, wanted = (
        lazy(options={"max_memory": 1}),
        NaiveBayes(**HOW).fit(ROWS, LABELS).predict_proba(QUERIES),
    )
    failures = []

    def ask(place):
        for step in range(10):
            i = (place + step) % len(QUERIES)
            if not np.allclose(model.predict_proba([QUERIES[i]])[0], wanted[i], rtol=1e-12):
                failures.append(i)

    asking = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert not failures


def test_a_lazy_model_travels():
    model = lazy()
    model.predict(QUERIES)
    again = pickle.loads(pickle.dumps(model))
    check_same(again, QUERIES)
    again.refresh()
    check_same(again, QUERIES)


def test_fitting_ends_laziness_and_the_other_way_round():
    model = lazy()
    model.fit(ROWS[:2], LABELS[:2])
    check_same(model, QUERIES, ROWS[:2], LABELS[:2])
    with refuses(UsageError, "lazy"):
        model.refresh()
    model.lazy(ROWS, LABELS)
    check_same(model, QUERIES)


@pytest.mark.parametrize("refresh", ["never", 0, -1.0, "", float("nan")])
def test_when_to_refresh_is_a_word_or_seconds(refresh):
    with refuses(SettingError, "refresh", "manual", "always"):
        lazy(options={"refresh": refresh})


def test_sources_that_cannot_be_asked():
    with refuses(OneShotSource, "list_iterator", "Batches"):
        lazy(iter([(ROWS, LABELS)]), None)
    with refuses(DataError, "source", "rows"):
        lazy(Batches(lambda: iter([])), None).predict(QUERIES)


@pytest.mark.parametrize(
    "verb",
    [
        lambda m: m.partial_fit(ROWS, LABELS),
        lambda m: m.forget(ROWS, LABELS),
        lambda m: m.fade(0.5),
        lambda m: m.merge(m),
        lambda m: m.families_,
    ],
)
def test_a_lazy_model_has_nothing_to_change(verb):
    with refuses(UsageError, "refresh()"):
        verb(lazy())


def test_rows_without_names_are_in_the_order_of_a_source_with_names(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\nu,1,p\nv,2,q\nu,2,q\nv,1,p\nw,1,q\n")
    model = NaiveBayes().lazy(path, target="y")
    named = {"a": ["u", "w", None], "b": [1.0, 2.0, 1.0]}
    plain = np.array([["u", 1.0], ["w", 2.0], [None, 1.0]], dtype=object)
    assert model.predict_proba(plain).tolist() == model.predict_proba(named).tolist()


@pytest.mark.parametrize("url", ["sqlite:///shop.db?table=orders", "postgresql://me@host/shop?table=orders"])
def test_a_live_table_is_not_taken_for_a_file(url):
    with refuses(DataError, url, "lazy", "Batches"):
        NaiveBayes().fit(url, target="y")
