"""A store: a model in a directory that counts each batch once."""

from __future__ import annotations

import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimators import CLASSES, small_labels, small_rows

import bayeskit
from bayeskit import (
    TAN,
    Batches,
    BayesDecision,
    CategoricalNB,
    GaussianMixture,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    TallyStore,
)
from bayeskit.errors import (
    DataError,
    DataTypeError,
    Incompatible,
    ModelFormatError,
    NotCounted,
    SettingError,
    UnseenClass,
    UsageError,
)
from refusals import refuses

MELONS = [["青绿", 0.7], ["乌黑", 0.6], ["青绿", 0.2], ["浅白", 0.4]]
LABELS = ["好", "好", "坏", "坏"]
FOUR = (MELONS, LABELS)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


def same(model: Any, other: Any, rows: Any) -> None:
    assert model.schema_ == other.schema_
    np.testing.assert_allclose(
        model.predict_joint_log_proba(rows), other.predict_joint_log_proba(rows), rtol=1e-11
    )


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_classifier(cls, place):
    """Batches, a removal, a snapshot and another reader give what partial_fit and forget give."""
    X, y = small_rows(48), small_labels(48)
    parts = [slice(0, 24), slice(24, 36), slice(36, 48)]
    model = cls()
    with TallyStore(place, cls()) as store:
        for n, part in enumerate(parts):
            assert store.append(n, X[part], y[part])
            model.partial_fit(X[part], y[part])
            if n == 1:
                store.compact()
        same(store.model(), model, X)
        assert store.forget("without 1", X[parts[1]], y[parts[1]])
        model.forget(X[parts[1]], y[parts[1]])
        same(store.model(), model, X)
        before = store.model().predict_joint_log_proba(X)
    again = TallyStore(place)
    np.testing.assert_array_equal(again.model().predict_joint_log_proba(X), before)
    again.compact()
    np.testing.assert_array_equal(TallyStore(place).model().predict_joint_log_proba(X), before)
    assert again.batch_ids == (0, 1, 2, "without 1")
    assert sorted(os.listdir(place)) == ["lock", "manifest.bayes", "snapshot-0000000004.bayes"]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_classifier_is_merged(cls, place):
    X, y = small_rows(48), small_labels(48)
    model = cls().fit(X[:24], y[:24])
    with TallyStore(place, model) as store:
        rest = model._without_rows().partial_fit(X[24:36], y[24:36])
        assert store.merge(rest, "rest")
        assert not store.merge(rest, batch_id="rest")
        assert store.append("last", X[36:], y[36:])
        same(store.model(), model._copy().partial_fit(X[24:], y[24:]), X)


def test_an_id_is_counted_once(place):
    with TallyStore(place, NaiveBayes()) as store:
        assert store.append("a", *FOUR) is True
        assert store.append("a", [["another", 1.0]], ["batch"]) is False
        assert store.append(7, *FOUR) is True
        assert store.append("7", *FOUR) is True
        assert store.append(np.int64(7), *FOUR) is False
        assert store.append(np.str_("7"), *FOUR) is False
        assert store.batch_ids == ("a", 7, "7")
        assert store.statistics().total == 12
        store.compact()
        assert store.append("a", *FOUR) is False
    assert TallyStore(place, NaiveBayes()).append(7, *FOUR) is False


@pytest.mark.parametrize("batch_id", ["", None, True, 1.5, ("a",), b"a", 1 << 5000], ids=repr)
def test_what_is_no_id(place, batch_id):
    store = TallyStore(place, NaiveBayes())
    with refuses(DataTypeError, "batch_id"):
        store.append(batch_id, *FOUR)


def test_an_id_of_another_verb_is_refused(place):
    store = TallyStore(place, NaiveBayes())
    store.append("a", *FOUR)
    with refuses(UsageError, "a", "append"):
        store.forget("a", *FOUR)
    assert store.statistics().total == 4


@pytest.mark.parametrize("name", ["\ud800", "a'b", "好瓜 \n", "x" * 5000])
def test_ids_of_any_text(place, name):
    with TallyStore(place, NaiveBayes()) as store:
        store.append(name, *FOUR)
    again = TallyStore(place)
    assert again.batch_ids == (name,) and not again.append(name, *FOUR)


def test_a_refused_batch_changes_nothing(place):
    with TallyStore(place, NaiveBayes()) as store:
        with refuses(UsageError, store.path):
            store.model()
        with refuses(UsageError, store.path):
            store.forget("none", *FOUR)
        store.append("a", *FOUR)
        for call, error in [
            (lambda: store.append("b", MELONS, LABELS[:2]), DataError),
            (lambda: store.append("b", [["青绿", np.inf]], ["好"]), DataError),
            (lambda: store.append("b", [["青绿"]], ["好"]), DataError),
            (lambda: store.append("b", MELONS), DataError),
            (lambda: store.append("b", *FOUR, [-1, 0, 0, 0]), DataError),
            (lambda: store.forget("b", [["青绿", 0.7]] * 3, ["好"] * 3), NotCounted),
            (lambda: store.merge(NaiveBayes(smoothing=2.0).fit(*FOUR), "b"), Incompatible),
            (lambda: store.merge(TAN().fit(*FOUR), "b"), Incompatible),
            (lambda: store.merge(NaiveBayes().fit(*FOUR)), UsageError),
        ]:
            with pytest.raises(error):
                call()
        assert store.batch_ids == ("a",) and store.statistics().total == 4
        assert store.append("b", *FOUR)
    assert TallyStore(place).statistics().total == 8


def test_weights_targets_and_declared_classes(place):
    rows = {"colour": ["a", "b", "a"], "class": ["no", "yes", "no"]}
    with TallyStore(place, NaiveBayes()) as store:
        store.append(1, rows, sample_weight=[1, 2, 0.5], target="class", classes=["no", "yes", "maybe"])
        assert store.statistics().class_counts.tolist() == [0.0, 1.5, 2.0]
        with refuses(UnseenClass, "perhaps"):
            store.append(2, {"colour": ["a"], "class": ["perhaps"]}, target="class")
        store.forget(3, {"colour": ["b"], "class": ["yes"]}, sample_weight=[2], target="class")
    assert TallyStore(place).model().classes_.tolist() == ["maybe", "no", "yes"]


def test_batches_and_sparse_rows(place):
    from scipy.sparse import csr_array

    with TallyStore(place, MultinomialNB()) as store:
        store.append(1, csr_array(np.eye(3)), [0, 1, 1])
        store.append(2, Batches(lambda: iter([(np.eye(3), [0, 0, 1])] * 2)))
        assert store.statistics().total == 9
        with pytest.raises(DataError):
            store.append(3, -np.eye(3), [0, 1, 1])
    assert TallyStore(place).statistics().total == 9


def test_all_rows_may_go(place):
    with TallyStore(place, NaiveBayes()) as store:
        store.append(1, *FOUR)
        store.forget(2, *FOUR)
        store.compact()
    with TallyStore(place) as store:
        assert store.statistics().total == 0
        store.append(3, *FOUR)
        same(TallyStore(place).model(), NaiveBayes().fit(*FOUR), MELONS)


def test_a_fitted_model_starts_a_store(place, tmp_path):
    """Its rows have an id as well: a store that is merged twice counts them once."""
    with TallyStore(place, NaiveBayes().fit(*FOUR)) as store:
        store.append(1, *FOUR)
        assert store.statistics().total == 8
        with TallyStore(tmp_path / "all", NaiveBayes()) as whole:
            assert whole.merge(store) and not whole.merge(store)
            assert whole.statistics().total == 8
            store.append(2, *FOUR)
            with refuses(Incompatible, 1, place):
                whole.merge(store)
            assert whole.merge(TallyStore(tmp_path / "more", NaiveBayes().fit(*FOUR)))
            assert not whole.append(1, *FOUR)
        assert TallyStore(tmp_path / "all").statistics().total == 12
        with refuses(UsageError, "batch_id", 5):
            whole.merge(store, batch_id=5)
        assert not store.merge(store)


def test_a_store_without_rows_is_not_merged(place, tmp_path):
    with TallyStore(place, NaiveBayes()) as store, refuses(UsageError, tmp_path / "other"):
        store.merge(TallyStore(tmp_path / "other", NaiveBayes()))


def test_the_copy_is_yours(place):
    store = TallyStore(place, NaiveBayes())
    store.append(1, *FOUR)
    store.model().partial_fit(*FOUR)
    store.model().forget(*FOUR)
    assert store.statistics().total == 4


def test_a_class_of_ones_own(place):
    class Mine(NaiveBayes):
        pass

    with TallyStore(place, Mine()) as store:
        store.append(1, *FOUR)
        store.compact()
    with refuses(ModelFormatError, "Mine"):
        TallyStore(place)
    assert type(TallyStore(place, Mine()).model()) is Mine


# -- one writer -----------------------------------------------------------------------------------


def test_a_second_writer_is_refused(place):
    with TallyStore(place, NaiveBayes()) as first:
        first.append(1, *FOUR)
        second = TallyStore(place)
        for verb in (lambda: second.append(2, *FOUR), lambda: second.forget(2, *FOUR), second.compact):
            with refuses(UsageError, place):
                verb()
        assert second.statistics().total == 4
        first.append(2, *FOUR)
        assert second.statistics().total == 8 and second.batch_ids == (1, 2)
    assert second.append(3, *FOUR)
    with refuses(UsageError, place):
        first.append(4, *FOUR)
    second.close()
    assert first.append(4, *FOUR)
    assert first.batch_ids == (1, 2, 3, 4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_writer_in_another_process(place):
    context = multiprocessing.get_context("fork")
    with TallyStore(place, NaiveBayes()) as store:
        store.append(1, *FOUR)
        queue = context.SimpleQueue()

        def work() -> None:
            for writer in (store, TallyStore(place)):
                try:
                    writer.append(2, *FOUR)
                    queue.put("written")
                except UsageError as error:
                    queue.put(str(error))
            queue.put(store.statistics().total)

        child = context.Process(target=work)
        child.start()
        answers = [queue.get() for _ in range(3)]
        child.join()
        assert all(str(place) in answer for answer in answers[:2]) and answers[2] == 4.0
        assert store.append(2, *FOUR)


def test_threads_share_a_store(place):
    with TallyStore(place, NaiveBayes()) as store:
        store.append("first", *FOUR)
        threads = [
            threading.Thread(target=lambda k=k: [store.append(n, *FOUR) for n in range(k, 12, 2)])
            for k in (0, 1, 0)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.statistics().total == 4 * 13
    assert TallyStore(place).statistics().total == 4 * 13


def test_the_lock_is_no_file(place):
    """A lock file that lies there locks nothing: its writer may have been killed."""
    TallyStore(place, NaiveBayes()).close()
    (place / "lock").write_text("left by a writer that was killed")
    assert TallyStore(place).append(1, *FOUR)


# -- what else may lie there ----------------------------------------------------------------------


def test_paths_that_are_no_store(place, tmp_path):
    with refuses(DataError, place):
        TallyStore(place)
    with refuses(DataTypeError, None):
        TallyStore(None)
    (tmp_path / "file").write_text("melon")
    for model in (None, NaiveBayes()):
        with refuses(DataError, tmp_path / "file"):
            TallyStore(tmp_path / "file", model)
    place.mkdir()
    (place / "notes.txt").write_text("melon")
    with refuses(DataError, place):
        TallyStore(place)
    with refuses(DataError, place, "notes.txt"):
        TallyStore(place, NaiveBayes())
    assert (place / "notes.txt").read_text() == "melon"
    with pytest.raises(FileNotFoundError):
        TallyStore(tmp_path / "a" / "b", NaiveBayes())


@pytest.mark.parametrize("model", [GaussianMixture(), BayesDecision(NaiveBayes()), "NaiveBayes", NaiveBayes])
def test_what_is_no_classifier_that_counts(place, model):
    with pytest.raises(DataTypeError):
        TallyStore(place, model)
    assert not place.exists()


def test_models_that_cannot_start_a_store(place):
    with refuses(SettingError, "smoothing", -1):
        TallyStore(place, NaiveBayes(smoothing=-1))
    rows = {"a": ["x", "y"], "class": [0, 1]}
    with pytest.raises(UsageError):
        TallyStore(place, NaiveBayes().lazy(rows, "class"))
    assert TallyStore(place, NaiveBayes()).append(1, *FOUR)


def test_another_model_than_that_of_the_store(place):
    TallyStore(place, NaiveBayes(smoothing=2.0)).close()
    with refuses(Incompatible, "smoothing", 2.0):
        TallyStore(place, NaiveBayes())
    with refuses(Incompatible, "NaiveBayes", "GaussianNB"):
        TallyStore(place, GaussianNB())
    assert TallyStore(place).append(1, *FOUR)


def filled(place: Path) -> TallyStore[Any]:
    with TallyStore(place, NaiveBayes()) as store:
        for n in range(3):
            store.append(n, *FOUR)
        store.compact()
        for n in range(3, 6):
            store.append(n, *FOUR)
    return store


def test_leftovers_are_swept_and_other_files_stay(place):
    filled(place)
    left = [
        "segment-0000000007.bayes.new",
        "segment-0000000002.bayes",
        "snapshot-0000000001.bayes",
        "manifest.bayes.new",
    ]
    for name in left:
        (place / name).write_bytes(b"half a file")
    (place / "README").write_text("mine")
    assert TallyStore(place).statistics().total == 24
    assert set(left) <= set(os.listdir(place))  # readers change nothing
    with TallyStore(place) as store:
        assert store.append(6, *FOUR)
    assert set(os.listdir(place)) == {
        *("README", "lock", "manifest.bayes", "snapshot-0000000003.bayes"),
        *(f"segment-{n:010d}.bayes" for n in range(4, 8)),
    }


NEEDED = ["manifest.bayes", "snapshot-0000000003.bayes", "segment-0000000004.bayes"]


@pytest.mark.parametrize("name", NEEDED)
def test_damaged_files_are_named(place, name):
    filled(place)
    whole = (place / name).read_bytes()
    for damaged in (b"", b"melon", whole[:-1], whole[: len(whole) // 2], whole[:-1] + b"?", whole + b"?"):
        (place / name).write_bytes(damaged)
        for ask in (lambda: TallyStore(place).model(), lambda: TallyStore(place).append(9, *FOUR)):
            with refuses(ModelFormatError, name):
                ask()
    (place / name).unlink()
    with refuses(DataError if name == "manifest.bayes" else ModelFormatError, place):
        TallyStore(place).model()
    with refuses(DataError if name == "manifest.bayes" else ModelFormatError, place):
        TallyStore(place, NaiveBayes()).append(9, *FOUR)
    (place / name).write_bytes(whole)
    assert TallyStore(place).append(9, *FOUR)


def test_files_of_another_store(place, tmp_path):
    filled(place)
    other = tmp_path / "other"
    filled(other)
    name = "segment-0000000005.bayes"
    mine = (place / name).read_bytes()
    (place / name).write_bytes((other / name).read_bytes())
    with refuses(ModelFormatError, name, 5):
        TallyStore(place).model()
    (place / name).write_bytes((place / "segment-0000000004.bayes").read_bytes())
    with refuses(ModelFormatError, name, 4):
        TallyStore(place).model()
    (place / name).write_bytes(mine)
    assert TallyStore(place).statistics().total == 24


def test_files_are_read_by_who_can(place):
    filled(place)
    assert bayeskit.load(place / "snapshot-0000000003.bayes").statistics_.total == 12
    for name in ("manifest.bayes", "segment-0000000004.bayes"):
        with refuses(ModelFormatError, name, "bayeskit.TallyStore"):
            bayeskit.load(place / name)
    NaiveBayes().fit(*FOUR).save(place / "segment-0000000007.bayes")
    with refuses(ModelFormatError, "segment-0000000007.bayes", "bayeskit.load"):
        TallyStore(place).model()


def test_codes_beyond_those_of_the_first_batch(place):
    with TallyStore(place, CategoricalNB()) as store:
        store.append(1, [[0, 3], [1, 0]], [0, 1])
        store.append(2, [[5, 3], [1, 0]], [0, 1])
    assert [v.size for v in TallyStore(place).model().schema_.attributes] == [6, 4]
