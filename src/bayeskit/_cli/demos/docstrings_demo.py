"""The demonstration of texts: three kinds of naive Bayes on docstrings, and the most informative words."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from numpy.typing import NDArray

from bayeskit._cli.demos.demo_pages import DemoPage, DemoSection
from bayeskit._cli.demos.stories import WORDS
from bayeskit._cli.output import note, noting_compilation
from bayeskit._messages import text_in

# The first texts of the table are for training.
TRAINING, MOST_WORDS = 800, 8
# A word in every second text is not informative, one in a single text cannot be checked.
LEAST_TEXTS, LARGEST_SHARE = 2, 0.5


def docstrings_page(lang: str) -> DemoPage:
    """Return the demonstration in a language."""
    from bayeskit import datasets

    say, words = partial(text_in, lang), WORDS.of(lang)
    note(words["reading"].format(name="docstrings"))
    data = datasets.load_dataset("docstrings")
    texts, y = data.columns["text"], data.y
    other = len(y) - TRAINING
    with noting_compilation(words["compiling"].format(model="MultinomialNB, …")):
        scores = [_score(name, make, texts, y, words) for name, make in _models().items()]
        model, vocabulary = _fitted(_models()["MultinomialNB()"](), texts[:TRAINING], y[:TRAINING])
    telling = _telling(model, vocabulary)
    best = min(scores, key=lambda score: float(score["error"]))
    named = [(words.get(str(s["model"]), str(s["model"])), s) for s in scores]
    return DemoPage(
        "docstrings",
        say(data.title),
        (
            DemoSection(
                say("1. {n} docstrings for training, {other} for testing").format(n=TRAINING, other=other),
                (
                    say(
                        "{model} makes the fewest errors ({error:.1%}). Of its {errors} errors, {between} confuse "
                        "NumPy with SciPy, which use similar words."
                    ).format(**best | {"model": words.get(str(best["model"]), best["model"])}),
                ),
                (words["model"], words["error"], words["cpu"]),
                tuple((name, f"{s['error']:.1%}", f"{s['cpu_seconds']:.2f}") for name, s in named),
            ),
            DemoSection(
                say("2. The most informative words of each library"),
                (),
                (say("library"), say("words")),
                tuple((library, " ".join(found)) for library, found in telling.items()),
                right=2,
            ),
        ),
        (
            "from bayeskit import MultinomialNB, datasets; from sklearn.feature_extraction.text import "
            "CountVectorizer",
            'data = datasets.load_dataset("docstrings"); X = '
            'CountVectorizer(stop_words="english").fit_transform(data.columns["text"])',
            "print(MultinomialNB().fit(X[:800], data.y[:800]).score(X[800:], data.y[800:]))",
        ),
        {"source": data.source, "licence": data.licence, "rows": len(data), "trained_on": TRAINING}
        | {"models": scores, "telling_words": telling},
    )


def _models() -> dict[str, Any]:
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression

    from bayeskit import BernoulliNB, ComplementNB, MultinomialNB

    return {
        "MultinomialNB()": MultinomialNB,
        "ComplementNB()": ComplementNB,
        "BernoulliNB()": BernoulliNB,
        "logistic regression": lambda: LogisticRegression(max_iter=1000),
        "majority class": lambda: DummyClassifier(strategy="prior"),
    }


def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(stop_words="english", min_df=LEAST_TEXTS, max_df=LARGEST_SHARE)


def _fitted(model: Any, texts: NDArray[Any], y: NDArray[Any]) -> tuple[Any, Any]:
    vectorizer = _vectorizer()
    model.fit(vectorizer.fit_transform(texts), y)
    return model, vectorizer.get_feature_names_out()


def _score(
    name: str, make: Callable[[], Any], texts: NDArray[Any], y: NDArray[Any], words: Mapping[str, str]
) -> dict[str, Any]:
    note(words["training"].format(n=TRAINING) + f": {words.get(name, name)}")
    vectorizer = _vectorizer()  # its words are those of the training texts only
    X, unseen = vectorizer.fit_transform(texts[:TRAINING]), vectorizer.transform(texts[TRAINING:])
    if name.endswith("NB()"):  # loops are compiled before the clock runs
        make().fit(X, y[:TRAINING]).predict(unseen[:1])
    begin = time.process_time()
    found = make().fit(X, y[:TRAINING]).predict(unseen).tolist()
    seconds = time.process_time() - begin
    wrong = [{truth, said} for truth, said in zip(y[TRAINING:].tolist(), found, strict=True) if truth != said]
    between = wrong.count({"NumPy", "SciPy"})
    content = {"model": name, "error": len(wrong) / len(found), "errors": len(wrong)}
    return content | {"between": between, "cpu_seconds": seconds}


def _telling(model: Any, vocabulary: NDArray[Any]) -> dict[str, list[str]]:
    """The words of largest P(w | c)·log(P(w | c)/P(w)) for each library."""
    import numpy as np

    logs = model.feature_log_prob_
    lift = logs - np.log(np.exp(logs).mean(axis=0))
    # A rare word may have a large lift by chance, so multiply it by the word's share.
    weight = lift * np.exp(logs)
    best = np.argsort(-weight, axis=1)[:, :MOST_WORDS]
    return {
        str(library): vocabulary[places].tolist()
        for library, places in zip(model.classes_, best, strict=True)
    }
