"""Texts: words by hand and by scikit-learn, exact verbs, terms that add up, files, tables, and texts of every kind."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_get_params_invariance, check_no_attributes_set_in_init

import bayeskit
from bayeskit import Batches, TextBayes
from bayeskit._data.source import Source
from bayeskit._data.texts import TextSettings, choose_vocabulary, is_free_text, open_texts
from bayeskit._fitting import weighting
from bayeskit._words import WEIGHTINGS, Splitting, Vocabulary, document_counts, shown_word, split
from bayeskit.errors import (
    ColumnError,
    DataError,
    DataTypeError,
    Incompatible,
    ModelFormatError,
    NeedsRows,
    NotCounted,
    NotSupported,
    OneShotSource,
    SettingError,
    UnseenClass,
    UsageError,
)
from refusals import refuses

SPAM = ["win a free phone", "free call, WIN now!", "claim your free prize now", "free free free"]
HAM = ["see you at lunch", "lunch at one?", "call me when you are home", "home now, see you"]
TEXTS, LABELS = SPAM + HAM, ["spam"] * 4 + ["ham"] * 4
CHINESE = [
    "味道很好，很快",
    "太慢了，不好吃",
    "送餐很快！好吃",
    "难吃，凉了",
    "很好吃，还会再来",
    "不会再来，太慢",
]
TASTE = ["好", "差", "好", "差", "好", "差"]
WORDS = st.lists(st.sampled_from(["to", "be", "or", "not", "好", "吃", "That", "is"]), max_size=6).map(
    " ".join
)


def drawn(n: int = 200, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts of two classes, whose words overlap."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["a", "b", "b"], n)
    vocabulary = np.array([f"w{i}" for i in range(40)])
    shares = {"a": np.linspace(2, 1, 40), "b": np.linspace(1, 2, 40)}
    texts = [
        " ".join(rng.choice(vocabulary, rng.integers(1, 12), p=shares[label] / shares[label].sum()))
        for label in labels
    ]
    return texts, labels.tolist()


def table(n: int = 120, seed: int = 0) -> tuple[dict[str, Any], list[str]]:
    """A text, a number and a word, each of which tells something of the class."""
    texts, labels = drawn(n, seed)
    rng = np.random.default_rng(seed + 1)
    is_a = np.array(labels) == "a"
    noise = rng.random(n) < 0.3
    return {
        "price": rng.normal(is_a * 1.0, 1.0),
        "note": [f"{text} and more of it" for text in texts],
        "colour": np.where(is_a ^ noise, "red", "green"),
    }, labels


# -- words -----------------------------------------------------------------------------------------


def slow_words(text: str, splitting: Splitting) -> Counter[str]:
    """Count the rows of units of a text, one by one."""
    units = splitting.units(text)
    low, high = splitting.ngram_range
    return Counter(
        splitting.between.join(units[i : i + n])
        for n in range(low, high + 1)
        for i in range(len(units) - n + 1)
    )


SPLITTINGS = [
    Splitting(analyzer, given, stop_words=frozenset(stop))
    for analyzer in ("auto", "word", "char")
    for given in ((1, 1), (1, 2), (2, 3))
    for stop in ((), ("be", "a"))
]


@pytest.mark.parametrize("splitting", SPLITTINGS)
@settings(max_examples=20, deadline=None)
@given(st.lists(WORDS, max_size=8), st.integers(1, 3), st.lists(WORDS, max_size=3))
def test_words_are_counted_as_one_by_one(
    splitting: Splitting, texts: list[str], least: int, others: list[str]
) -> None:
    documents = Counter(word for text in texts for word in slow_words(text, splitting))
    expected = {word: count for word, count in documents.items() if count >= least}
    assert document_counts(split(texts, splitting), splitting, least) == expected
    if not expected:
        return
    vocabulary = Vocabulary(tuple(sorted(expected)), splitting=splitting, weighting="count")
    for asked in (texts, others):
        block = vocabulary.block(split(asked, splitting)).toarray()
        for text, row in zip(asked, block, strict=True):
            counts = np.array([slow_words(text, splitting)[word] for word in vocabulary.words])
            np.testing.assert_allclose(row * max(math.hypot(*counts), 1.0), counts, atol=1e-12)


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_a_block_is_that_of_scikit_learn(ngram_range: tuple[int, int], weighting: str) -> None:
    texts, _ = drawn(60)
    texts += CHINESE
    splitting = Splitting(ngram_range=ngram_range)
    chosen, rare = choose_vocabulary(
        Source(texts, ["a"] * len(texts), opener=open_texts),
        TextSettings(None, splitting, weighting, 2, 10**6),
    )
    theirs = TfidfVectorizer(
        tokenizer=splitting.units, token_pattern=None, lowercase=False, ngram_range=ngram_range, min_df=2,
        sublinear_tf=weighting in ("log", "tf-idf"), binary=weighting == "binary", use_idf=weighting == "tf-idf",
    )  # fmt: skip
    expected = theirs.fit_transform(texts).toarray()
    np.testing.assert_array_equal(rare, (expected > 0).sum(axis=0) == 2)
    assert chosen.words == tuple(sorted(theirs.vocabulary_))
    np.testing.assert_allclose(chosen.block(split(texts, splitting)).toarray(), expected, atol=1e-14)


def test_characters_are_units_where_writing_has_no_spaces() -> None:
    assert Splitting().units("买 iPhone 15，很好吃。ｗｉｎ Émile") == [
        "买", "iphone", "15", "很", "好", "吃", "win", "émile",
    ]  # fmt: skip
    assert Splitting("word").units("很好吃，来") == ["很好吃", "来"]
    assert Splitting("char").units("A \n b") == ["a", " ", "b"]
    assert Splitting(lowercase=False).units("Win ｗ") == ["Win", "ｗ"]
    assert TextBayes().fit(CHINESE, TASTE).vocabulary_.count("好吃") == 1
    assert shown_word("好 吃") == "好吃" and shown_word("free call") == "free call"


def test_rare_words_go_and_the_most_frequent_stay() -> None:
    texts, labels = ["a b", "a b", "a c", "d"], ["x", "y", "x", "y"]
    assert TextBayes(min_count=2, ngram_range=(1, 1)).fit(texts, labels).vocabulary_ == ("a", "b")
    assert TextBayes(max_features=1).fit(texts, labels).vocabulary_ == ("a",)
    assert len(TextBayes(ngram_range=(1, 1)).fit(texts, labels).vocabulary_) == 4
    assert TextBayes(max_features=3).fit(["z y", "z x"], ["x", "y"]).vocabulary_ == ("x", "y", "z")


def test_batches_have_the_words_of_the_whole_and_bounded_memory() -> None:
    texts, labels = drawn(90)
    batches = Batches(lambda: ((texts[i : i + 30], labels[i : i + 30]) for i in (0, 30, 60)))
    whole, parts = TextBayes().fit(texts, labels), TextBayes().fit(batches)
    assert whole.vocabulary_ == parts.vocabulary_
    np.testing.assert_allclose(whole.predict_proba(texts), parts.predict_proba(texts), rtol=1e-9)
    few = TextBayes(max_features=2, ngram_range=(1, 1)).fit(batches)
    assert len(few.vocabulary_) == 2
    with refuses(OneShotSource, "TextBayes"):
        TextBayes().fit(iter([(texts, labels)]))


# -- the model -------------------------------------------------------------------------------------


def test_scores_are_those_of_both_models_weighed() -> None:
    texts, labels = drawn()
    model = TextBayes(word_smoothing=0.5).fit(texts, labels)
    vectors = TfidfVectorizer(
        tokenizer=Splitting().units, token_pattern=None, ngram_range=(1, 2), sublinear_tf=True, use_idf=False
    )
    X = vectors.fit_transform(texts)
    first = MultinomialNB(alpha=0.5).fit(X, labels).feature_log_prob_
    second = ComplementNB(alpha=0.5).fit(X, labels).feature_log_prob_
    u, w = model.weights_["multinomial"], model.weights_["complement"]
    prior = [math.log((labels.count(c) + 1) / (len(labels) + 2)) for c in ("a", "b")]
    expected = X @ (u * first + w * second).T + prior + list(model.biases_.values())
    np.testing.assert_allclose(model.predict_joint_log_proba(texts), expected, rtol=1e-9)


def test_the_weights_have_the_least_leave_one_out_loss() -> None:
    texts, labels = drawn(150)
    model = TextBayes().fit(texts, labels)
    best = model.loo_score(texts, labels)
    held = model.held_["word_weights"]
    for name, factor in itertools.product(("multinomial", "complement"), (0.7, 1.4)):
        other = TextBayes().fit(texts, labels)
        other._held = {"word_weights": {**held, name: held[name] * factor + 0.05 * (factor > 1)}}
        fitted: Any = other._fitted
        fitted.spec = other._spec(fitted.schema)
        fitted._model = None
        assert other.loo_score(texts, labels) > best - 1e-3


def test_posteriors_are_calibrated() -> None:
    """A temperature finds nothing to mend, where plain naive Bayes is far too sure of long texts."""
    texts, labels = drawn(400)
    long = [" ".join([text] * 5) for text in texts]
    model = TextBayes(calibration="temperature").fit(long, labels)
    assert 0.9 < model.held_["calibration"]["t"] < 1.1
    np.testing.assert_allclose(
        TextBayes(weighting="binary").fit(texts, labels).predict_proba(texts),
        TextBayes(weighting="binary", ngram_range=(1, 2)).fit(texts, labels).predict_proba(texts),
    )


@pytest.mark.parametrize("more", [{}, {"weighting": "tf-idf"}, {"analyzer": "char"}])
def test_leave_one_out_is_a_refit_without_the_row(more: dict[str, Any]) -> None:
    texts, labels = drawn(40)
    model = TextBayes(**more).fit(texts, labels)
    found = model.leave_one_out(texts, labels)
    for i in (0, 7, 31):
        without = pickle.loads(pickle.dumps(model)).forget([texts[i]], [labels[i]])
        np.testing.assert_allclose(found[i], without.predict_proba([texts[i]])[0], rtol=1e-9)


def test_words_of_one_text_alone_are_unknown_where_it_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are chosen by what models without the text would say of it, to which such words are unknown."""
    texts, labels = drawn(30)
    longer = [f"{text} only{i} alone{i}" for i, text in enumerate(texts)]
    seen: list[Any] = []

    class Recorded(weighting._WordLoss):
        def __init__(self, terms: Any, *more: Any) -> None:
            seen.append(terms)
            super().__init__(terms, *more)

    monkeypatch.setattr(weighting, "_WordLoss", Recorded)
    model = TextBayes(ngram_range=(1, 1)).fit(longer, labels)
    (terms,) = seen
    in_texts = Counter(word for text in longer for word in set(text.split()))
    for i in (0, 3, 11, 29):
        known = " ".join(word for word in longer[i].split() if in_texts[word] > 1)
        without: Any = pickle.loads(pickle.dumps(model)).forget([longer[i]], [labels[i]])
        words = without._fitted.spec.form.word_score(without.statistics_)
        chunk = without._fitted.encode(without._open([known]), without.schema_, "ignore").chunk(0, 1)
        for place, score in enumerate((words.multinomial, words.complement)):
            wanted = np.zeros((1, 2))
            score.add_log_prob(chunk, wanted)
            # The length of the class still has them, which is little: a rare word that stays costs several nats.
            np.testing.assert_allclose(terms[i, place], wanted[0], rtol=0.02)


def test_a_text_without_a_known_word_gets_the_class_prior() -> None:
    model = TextBayes().fit([*TEXTS, "extra ham"], [*LABELS, "ham"])
    expected = [(5 + 1) / (9 + 2), (4 + 1) / (9 + 2)]
    for text in ("", "   ", None, float("nan"), "zzz ???", "未知"):
        np.testing.assert_allclose(model.predict_proba([text])[0], expected)
    assert np.isfinite(model.predict_proba(["free " * 2_000_000])).all()  # 10 MB


def test_one_class_is_certain() -> None:
    model = TextBayes().fit(SPAM, ["spam"] * 4)
    assert model.predict_proba(["anything", "free"]).tolist() == [[1.0], [1.0]]


def test_classes_of_one_text_and_of_numbers() -> None:
    model = TextBayes().fit([*SPAM, "lunch"], [1, 1, 1, 1, 0])
    assert model.classes_.tolist() == [0, 1] and model.predict(["free phone", "lunch"]).tolist() == [1, 0]


# -- sums add up -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 100), st.integers(1, 39))
def test_batches_forgetting_and_merging_are_exact(seed: int, cut: int) -> None:
    texts, labels = drawn(40, seed)
    whole = TextBayes().fit(texts, labels)
    grown = TextBayes().fit(texts, labels)
    more, its = drawn(15, seed + 1)
    grown.partial_fit(more, its)
    other = pickle.loads(pickle.dumps(whole))
    other.forget(texts, labels).partial_fit(more, its)
    for found in (whole + other, grown):
        np.testing.assert_allclose(found.predict_proba(more), grown.predict_proba(more), rtol=1e-9)
    grown.forget(more, its)
    np.testing.assert_allclose(grown.predict_proba(more), whole.predict_proba(more), rtol=1e-9)
    grown.forget(texts[:cut], labels[:cut]).partial_fit(texts[:cut], labels[:cut])
    np.testing.assert_allclose(grown.predict_proba(more), whole.predict_proba(more), rtol=1e-9)


def test_the_first_batch_chooses_and_later_ones_add_classes() -> None:
    model = TextBayes().partial_fit(TEXTS, LABELS)
    before = model.vocabulary_
    model.partial_fit(["lunch party tonight"], ["event"])
    assert model.vocabulary_ == before and model.classes_.tolist() == ["event", "ham", "spam"]
    assert np.isfinite(model.predict_proba(TEXTS)).all() and model.biases_.keys() == {"ham", "spam"}
    with refuses(UnseenClass, "other"):
        TextBayes().partial_fit(TEXTS, LABELS, classes=["ham", "spam"]).partial_fit(["x"], ["other"])


def test_what_was_not_learned_is_not_forgotten() -> None:
    model = TextBayes().fit(TEXTS, LABELS)
    before = model.predict_proba(TEXTS)
    with refuses(NotCounted):
        model.forget(["free lunch prize claim phone"] * 3, ["ham"] * 3)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), before)


def test_models_of_the_same_choices_merge_as_one_fit() -> None:
    for texts, labels in (drawn(60), (CHINESE, TASTE)):
        first = TextBayes().fit(texts[::2], labels[::2])
        taken: dict[str, Any] = {"vocabulary": first.vocabulary_, "weights": first.held_["word_weights"]}
        halves = [TextBayes(**taken).fit(texts[i::2], labels[i::2]) for i in (0, 1)]
        whole = TextBayes(**taken).fit(texts, labels)
        assert whole.vocabulary_ == first.vocabulary_ and whole.weights_ == first.weights_
        both = halves[0] + halves[1]
        np.testing.assert_allclose(both.predict_proba(texts), whole.predict_proba(texts), rtol=1e-9)


def test_other_choices_are_not_merged() -> None:
    model = TextBayes().fit(TEXTS, LABELS)
    with refuses(Incompatible, "word weights"):
        model.merge(TextBayes().fit(TEXTS[1:], LABELS[1:]))
    with refuses(Incompatible, "weighting"):
        model.merge(TextBayes(weighting="binary").fit(TEXTS, LABELS))
    weights = model.held_["word_weights"]
    with refuses(Incompatible, len(model.vocabulary_)):
        TextBayes(weights=weights).fit(TEXTS, LABELS).merge(TextBayes(weights=weights).fit(SPAM, LABELS[:4]))


def test_weights_of_texts() -> None:
    model = TextBayes().fit([*TEXTS, "absent words"], [*LABELS, "none"], [*[1.0] * 8, 0.0])
    assert "absent" not in model.vocabulary_ and model.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_allclose(
        model.predict_proba(TEXTS), TextBayes().fit(TEXTS, LABELS).predict_proba(TEXTS)
    )
    twice = TextBayes().fit(TEXTS, LABELS, np.full(8, 2.0))
    both = TextBayes().fit(TEXTS, LABELS).partial_fit(TEXTS, LABELS)
    np.testing.assert_allclose(twice.statistics_.class_counts, both.statistics_.class_counts)


# -- reasons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_words_of_an_explanation_add_up(lang: str) -> None:
    texts, labels = drawn()
    model = TextBayes().fit(texts, labels)
    for text in ("w1 w2 w39 w39", " ".join(texts[:12]), "zzz", ""):
        page = model.explain(text, lang=lang)
        np.testing.assert_allclose(page.log_joint, model.predict_joint_log_proba([text])[0], rtol=1e-9)
        np.testing.assert_allclose(page.posterior, model.predict_proba([text])[0], rtol=1e-9)
        assert str(page) and page.to_html() and page.to_latex() and page.to_dict()["form"] == "words"
    page = model.explain(" ".join(texts[:12]))
    told = [abs(a.factors[0].log - a.factors[1].log) for a in page.attributes[:-1]]
    assert told == sorted(told, reverse=True) and page.attributes[-1].name == "…"
    assert page.attributes[-1].value + 20 == len(
        set(model._fitted.encode(open_texts([" ".join(texts[:12])]), model.schema_, "ignore").block.indices)
    )  # type: ignore[union-attr]


def test_words_speak_for_and_against() -> None:
    page = TextBayes().fit(TEXTS, LABELS).explain("free lunch")
    spam = page.classes.index("spam")
    by_word = {a.name: a.factors[spam].log - a.factors[1 - spam].log for a in page.attributes}
    assert by_word["free"] > 0 > by_word["lunch"]
    assert TextBayes().fit(CHINESE, TASTE).explain("好吃").prediction == "好"


def test_contributions_have_one_column_for_the_text() -> None:
    X, y = table()
    model = TextBayes().fit(X, y)
    found = model.contributions(X)
    assert found.columns == ("(prior)", "price", "colour", "note")
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(found.logs.sum(axis=1), joint, rtol=1e-9)


def test_what_texts_do_not_have_is_refused() -> None:
    model = TextBayes().fit(TEXTS, LABELS)
    for verb in ("novelty", "predict_interval", "log_evidence"):
        with refuses((NotSupported, UsageError)):
            getattr(model, verb)(TEXTS)
    with refuses((NotSupported, UsageError)):
        model.sample(3)
    for verb in ("nomogram", "class_profile", "ask_next"):
        with refuses((NotSupported, UsageError, ColumnError)):
            getattr(model, verb)()
    assert model.reliability(TEXTS, LABELS) and "TextBayes" in model._repr_html_()


# -- tables ----------------------------------------------------------------------------------------


def test_the_other_columns_of_a_table_count() -> None:
    X, y = table()
    model = TextBayes().fit(X, y)
    assert [v.name for v in model.schema_.attributes] == ["price", "colour", "note"]
    assert model.n_features_in_ == 3 and model.weights_["columns"] > 0
    both, words = model.loo_score(X, y), TextBayes().fit(X["note"], y).loo_score(X["note"], y)
    assert both < words
    row = {"note": X["note"][0], "price": 0.3, "colour": "red"}
    page = model.explain(row)
    np.testing.assert_allclose(page.posterior, model.predict_proba({k: [v] for k, v in row.items()})[0])
    assert {a.name for a in page.attributes} >= {"price", "colour"}
    holes = {"note": [None], "price": [np.nan], "colour": [None]}
    np.testing.assert_allclose(model.predict_proba(holes)[0], np.exp(model._model.log_prior))


def test_a_table_of_any_kind_in_any_order() -> None:
    X, y = table()
    expected = TextBayes().fit(X, y).predict_proba(X)
    order = ("note", "colour", "price")
    for made in (pd.DataFrame, pl.DataFrame, pa.table):
        frame = made({name: X[name] for name in ("price", "note", "colour")})
        model = TextBayes(text="note").fit(frame, y)
        np.testing.assert_allclose(model.predict_proba(frame), expected)
        np.testing.assert_allclose(model.predict_proba({name: X[name] for name in order}), expected)
    cells = np.column_stack([np.asarray(X[name], dtype=object) for name in X])
    np.testing.assert_allclose(model.predict_proba(cells), expected)
    np.testing.assert_allclose(TextBayes(text="x1").fit(cells, y).predict_proba(cells), expected)


def test_several_columns_are_one_text() -> None:
    texts, labels = drawn(60)
    halves = {
        "title": [t.split(" ")[0] for t in texts],
        "body": [" ".join(t.split(" ")[1:]) or None for t in texts],
    }
    found = TextBayes(text=["title", "body"]).fit({**halves, "n": np.arange(60.0) % 3}, labels)
    assert found.vocabulary_ == TextBayes().fit(texts, labels).vocabulary_
    assert [v.name for v in found.schema_.attributes] == ["n", "title"] and found.n_features_in_ == 3
    assert found.explain({"title": "w1", "body": "w2", "n": 1.0}).posterior


def test_free_text_is_told_from_categories() -> None:
    texts = [f"the {i}th message about something" for i in range(30)]
    assert is_free_text(texts) and is_free_text([*texts, None, float("nan")])
    assert is_free_text(f"第{i}次送餐很快味道也不错" for i in range(30))
    for cells in (
        ["dark red", "light green"] * 30,
        [f"name-{i}" for i in range(50)],
        [f"First{i} Last{i}" for i in range(50)],
        [f"2024-01-{i:02} 10:20:30 12 13" for i in range(1, 29)],
        [f"550e8400-e29b-41d4-a716-{i:012}" for i in range(50)],
        [f"品种{i}" for i in range(50)],
        texts[:10],
        [None] * 50,
        list(range(50)),
    ):
        assert not is_free_text(cells)


# -- files, copies, scikit-learn -------------------------------------------------------------------


@pytest.mark.parametrize(
    "more", [{}, {"weighting": "tf-idf", "stop_words": ["a"]}, {"calibration": "isotonic"}]
)
def test_a_saved_model_is_the_same(tmp_path: Any, more: dict[str, Any]) -> None:
    X, y = table()
    for rows, labels in ((TEXTS, LABELS), (CHINESE, TASTE), (X, y)):
        model = TextBayes(**more).fit(rows, labels)
        model.save(tmp_path / "model.bayes")
        again = bayeskit.load(tmp_path / "model.bayes")
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
        assert again.vocabulary_ == model.vocabulary_ and again.held_ == model.held_
        model.partial_fit(rows, labels)
        again.partial_fit(rows, labels)
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


def test_copies_and_pipelines() -> None:
    model = TextBayes(ngram_range=(1, 1), min_count=1)
    assert clone(model).get_params() == model.get_params()
    check_get_params_invariance("TextBayes", model)
    check_no_attributes_set_in_init("TextBayes", model)
    texts, labels = drawn(60)
    found = cross_val_predict(model, np.array(texts, dtype=object), labels, cv=3, method="predict_proba")
    assert found.shape == (60, 2)
    piped = make_pipeline(FunctionTransformer(lambda texts: [t.upper() for t in texts]), model).fit(
        texts, labels
    )
    np.testing.assert_allclose(piped.predict_proba(texts), model.fit(texts, labels).predict_proba(texts))
    assert 0.5 < model.score(texts, labels) <= 1.0
    tags = model.__sklearn_tags__().input_tags
    assert tags.string and not tags.two_d_array


@pytest.mark.parametrize(
    "made",
    [list, tuple, np.array, lambda t: np.array(t, dtype=object), pd.Series, pl.Series, pa.array,
     lambda t: pa.chunked_array([t]), lambda t: pd.Series(t, dtype="category"), lambda t: pd.Series(t, dtype="string")],
)  # fmt: skip
def test_any_sequence_of_texts(made: Any) -> None:
    np.testing.assert_array_equal(
        TextBayes().fit(made(TEXTS), made(LABELS)).predict_proba(made(TEXTS)),
        TextBayes().fit(TEXTS, LABELS).predict_proba(TEXTS),
    )


def test_a_lazy_model_answers_as_a_fitted_one() -> None:
    texts, labels = drawn(60)
    lazy = TextBayes().lazy(texts, labels)
    np.testing.assert_allclose(lazy.predict_proba(texts), TextBayes().fit(texts, labels).predict_proba(texts))


def test_texts_of_a_relation_are_counted_like_those_of_a_frame() -> None:
    duckdb = pytest.importorskip("duckdb")
    texts, labels = drawn(60)
    frame = pd.DataFrame({"text": texts, "y": labels})
    here = TextBayes(min_count=1).fit(frame, target="y")
    there = TextBayes(min_count=1).fit(duckdb.from_df(frame), target="y")
    assert there.schema_ == here.schema_
    np.testing.assert_array_equal(there.predict_proba(frame[["text"]]), here.predict_proba(frame[["text"]]))


def test_rows_are_needed(tmp_path: Any) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "texts.db") as database:
        database.execute("create table t as select 'a b' as text, 'x' as y")
    with refuses(NeedsRows, "TextBayes"):
        TextBayes().lazy(f"duckdb:///{tmp_path}/texts.db?table=t", target="y")


def test_a_forged_vocabulary_is_refused(tmp_path: Any) -> None:
    from bayeskit._io import statistics

    model = TextBayes().fit(TEXTS, LABELS)
    plain = statistics.pack_variable(model.schema_.attributes[-1])
    for key, value in {
        "words": [], "places": [-1], "analyzer": "none", "ngram_range": [0, 2], "lowercase": 1, "stop_words": [1],
        "weighting": "tf-idf", "idf": [1.0],
    }.items():  # fmt: skip
        forged = {**plain, "vocabulary": {**plain["vocabulary"], key: value}}
        with refuses(ModelFormatError, "text"):
            statistics.unpack_variable(forged, 100)
    for broken in ({**plain, "vocabulary": {}}, {**plain, "width": 3}, {**plain, "vocabulary": 7}):
        with refuses(ModelFormatError, "text"):
            statistics.unpack_variable(broken, 100)


# -- what is no text -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "error", "names"),
    [
        ("one text", DataTypeError, ["one text"]),
        (b"one text", DataTypeError, ["one text"]),
        ([1, 2], DataTypeError, [0, 1, "int"]),
        (["a", 2.5], DataTypeError, [1, 2.5]),
        ([b"a b", "c"], DataTypeError, [0, "a b"]),
        (["a", ["b"]], DataError, []),
        ([], DataError, [0]),
        (["", None], DataError, [2]),
        (["?!", "..."], DataError, [2]),
        (np.eye(2), ColumnError, ["x0"]),
        (np.array([1.0, 2.0]), DataTypeError, [1.0]),
        (None, DataTypeError, []),
        (7, DataTypeError, []),
        ({"a": [1.0, 2.0], "b": [3.0, 4.0]}, ColumnError, ["a", "b"]),
        (np.zeros((2, 2, 2)), DataError, [3]),
        (["a", "b", "c"], DataError, [2, 3]),
    ],
)
def test_what_is_no_text_is_refused(texts: Any, error: type[Exception], names: list[Any]) -> None:
    with refuses(error, *names):
        TextBayes().fit(texts, ["x", "y"])
    fitted = TextBayes().fit(TEXTS, LABELS)
    if error is DataTypeError:
        with refuses(DataTypeError):
            fitted.predict(texts)


def test_stop_words_alone_leave_nothing() -> None:
    with refuses(DataError, 2, "stop_words"):
        TextBayes(stop_words=["the", "a"]).fit(["the", "a the"], ["x", "y"])
    with refuses(DataError, 5):
        TextBayes(min_count=5).fit(TEXTS, LABELS)
    with refuses(ColumnError, "nothing"):
        TextBayes(text="nothing").fit({"a": TEXTS}, LABELS)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("analyzer", "words"), ("ngram_range", (2, 1)), ("ngram_range", 2), ("ngram_range", (0, 1)),
        ("ngram_range", (1, 99)), ("min_count", 0), ("min_count", "two"), ("max_features", 0), ("lowercase", "yes"),
        ("stop_words", "the"), ("stop_words", [1]), ("weighting", "tfidf"), ("word_smoothing", 0.0),
        ("word_smoothing", math.nan), ("vocabulary", "free"), ("vocabulary", []), ("vocabulary", ["?"]),
        ("weights", {}), ("weights", {"multinomial": -1}), ("smoothing", -1), ("calibration", "platt"),
    ],
)  # fmt: skip
def test_settings_that_mean_nothing(setting: str, value: Any) -> None:
    with refuses(SettingError, setting):
        TextBayes(**{setting: value}).fit(TEXTS, LABELS)


def test_a_failed_fit_changes_nothing() -> None:
    model = TextBayes().fit(TEXTS, LABELS)
    before: NDArray[Any] = model.predict_proba(TEXTS)
    with refuses(DataTypeError):
        model.fit([1, 2], ["x", "y"])
    np.testing.assert_array_equal(model.predict_proba(TEXTS), before)


def test_weights_come_from_texts_spread_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels = drawn(300)
    whole = TextBayes().fit(texts, labels)
    monkeypatch.setattr(weighting, "MOST_TEXTS", 100)
    some = TextBayes().fit(texts, labels)
    assert whole.weights_ != some.weights_
    assert abs(whole.loo_score(texts, labels) - some.loo_score(texts, labels)) < 0.05
