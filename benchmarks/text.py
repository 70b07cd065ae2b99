"""How well, and how fast, does TextBayes classify texts, against scikit-learn's vectorisers and naive Bayes?

Five collections: text messages (SMS Spam Collection), e-mails (Enron-Spam 1), headlines (THUCNews, Chinese, ten kinds),
reviews of meals (waimai_10k, Chinese) and posts (20 Newsgroups by date, 60% of each part, with headers). Of the first
four, two thirds of the rows, drawn with seed 0, are learned and the others judged; 20 Newsgroups has test posts.

Peers get the same units as ours (words; characters of Chinese), single or with pairs, since scikit-learn's own words
take a Chinese sentence for one. Log-loss is that of probabilities as they come. Without the collections (BAYESKIT_DATA)
the bundled posts of four groups stand in for them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import log_loss
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from bayeskit import TextBayes, datasets
from bayeskit._words import Splitting
from harness import Report, Run, options

QUESTION = "Texts: error, log-loss and time of TextBayes against scikit-learn's naive Bayes of tf-idf"
DATA = Path(os.environ.get("BAYESKIT_DATA") or "BAYESKIT_DATA is not set") / "text"
SPLIT = ("sms_spam", "enron1_spam", "thucnews_titles_zh", "waimai_10k_zh")

Texts = tuple[Any, Any, Any, Any]


def collections(scale: float) -> Iterator[tuple[str, Texts]]:
    """Give the name of each collection, and the texts and classes to learn and to judge."""
    rng = np.random.default_rng(0)
    if not DATA.is_dir():
        bundled = datasets.load_dataset("docstrings")
        texts, labels = bundled.columns["text"], bundled.y
        yield (
            "docstrings (bundled)",
            (texts[:800], labels[:800], texts[800:], labels[800:]),
        )
        return
    for name in SPLIT:
        texts, labels = read(name)
        order = rng.permutation(len(labels))[: max(int(scale * len(labels)), 200)]
        cut = len(order) * 2 // 3
        yield name, (texts[order[:cut]], labels[order[:cut]], texts[order[cut:]], labels[order[cut:]])
    learned = read("20news_train")
    some = rng.permutation(len(learned[1]))[: max(int(scale * len(learned[1])), 400)]
    yield "20news", (learned[0][some], learned[1][some], *read("20news_test"))


def read(name: str) -> tuple[Any, Any]:
    table = pd.read_parquet(DATA / f"{name}.parquet")
    return table["text"].to_numpy(object), table["class"].to_numpy(object)


def peer(model: Any, pairs: bool) -> Any:
    """Return a pipeline over the units that ours has."""
    words = TfidfVectorizer(
        tokenizer=Splitting().units, token_pattern=None, lowercase=False, ngram_range=(1, 2 if pairs else 1)
    )
    return make_pipeline(words, model)


MODELS: dict[str, Callable[[], Any]] = {
    "TextBayes": TextBayes,
    "TextBayes, tf-idf": partial(TextBayes, weighting="tf-idf"),
    "TextBayes, min_count=2": partial(TextBayes, min_count=2),
    "ComplementNB, single": lambda: peer(ComplementNB(), False),
    "ComplementNB, pairs": lambda: peer(ComplementNB(), True),
    "MultinomialNB, pairs, alpha=0.02": lambda: peer(MultinomialNB(alpha=0.02), True),
}


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in MODELS}
    for collection, (texts, labels, others, truth) in collections(given.scale):
        print(f"\n{collection}: {len(labels):,} texts to learn, {len(truth):,} to judge")
        for name, make in MODELS.items():
            model = make().fit(texts, labels)
            posterior = model.predict_proba(others)
            error = float((model.classes_[posterior.argmax(axis=1)] != truth).mean())
            loss = float(log_loss(truth, posterior, labels=model.classes_))
            scores[name].append((error, loss))
            report.note(f"{collection}, {name}: error {error:.4f}, log-loss {loss:.4f}")
    print()
    for name, found in scores.items():
        error, loss = np.mean(found, axis=0)
        report.claim(f"mean error of {name}", float(error))
        report.claim(f"mean log-loss of {name}", float(loss))
    race(report, texts, labels, others)
    report.finish()


def race(report: Report, texts: Any, labels: Any, others: Any) -> None:
    """Time the last collection: the same pairs, words in two texts or more; ours chooses its weights, too."""
    ours, theirs = "bayeskit TextBayes", "scikit-learn TfidfVectorizer + ComplementNB"

    def vectorised() -> Any:
        words = TfidfVectorizer(
            token_pattern=r"\w+", ngram_range=(1, 2), min_df=2, sublinear_tf=True, use_idf=False
        )
        return make_pipeline(words, ComplementNB())

    def fit_ours() -> Any:
        model = TextBayes(min_count=2).fit(texts, labels)
        model.predict(others[:1])
        return model

    runs: dict[str, Run] = {ours: fit_ours, theirs: lambda: vectorised().fit(texts, labels)}
    models = report.race("fit", runs, against=theirs)
    answers = {name: partial(model.predict_proba, others) for name, model in models.items()}
    report.race("predict_proba", answers, against=theirs)


if __name__ == "__main__":
    main()
