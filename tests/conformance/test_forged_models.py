"""Files whose checksum is right and whose content is not: refused at load, or as good as any model.

Every value of the manifest and every array of a saved model is changed in turn, and the file is given a checksum that
fits. It must be refused when it is loaded, with a ``ModelFormatError``; or what was loaded must give finite posteriors
that sum to one, and no verb of it may fail with anything but an error of bayeskit.
"""

from __future__ import annotations

import contextlib
import copy
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import bayeskit
from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    AutoBayes,
    BayesNetClassifier,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    CountForest,
    GaussianBayes,
    GaussianMixture,
    GaussianNB,
    HiddenMarkov,
    LatentClass,
    LogLinearBayes,
    MultinomialNB,
    NaiveBayes,
    SelectiveKDB,
    TextBayes,
    WeightedNB,
)
from bayeskit._io.saved import SavedContent, read_saved, to_bytes
from bayeskit.errors import BayeskitError, ColumnError, ModelFormatError, UnseenState
from refusals import refuses

# So many changes of each model are a test of their own, all others one that is marked slow.
FEW = 40

_rng = np.random.default_rng(3)
_N = 40
_y = np.array(["no", "yes"])[_rng.integers(0, 2, _N)]
_codes = (_rng.integers(0, 3, (_N, 3)) + (_y == "yes")[:, None]) % 3
_numbers = _rng.normal(size=(_N, 2)) + 2.0 * (_y == "yes")[:, None]
_words = {
    "colour": np.array(["red", "green", "blue"])[_codes[:, 0]],
    "sound": np.array(["dull", "clear", "crisp"])[_codes[:, 1]],
    "density": _numbers[:, 0],
    "sugar": np.where(_rng.random(_N) < 0.1, np.nan, _numbers[:, 1]),
}
_sentences = {name: column for name, column in _words.items() if name in ("colour", "sound")}
_texts = {
    **_sentences,
    "text": [f"{a} and {b}" for a, b in zip(_words["colour"], _words["sound"], strict=True)],
}

MODELS: dict[str, tuple[Any, Any]] = {
    "NaiveBayes": (NaiveBayes(), _words),
    "NaiveBayes with states": (
        NaiveBayes(
            missing="state",
            unseen="smooth",
            states={"colour": ["red", "green", "blue", "grey"]},
            calibration="temperature",
        ),
        _words,
    ),
    "NaiveBayes with kernels": (NaiveBayes(numeric="kernel", calibration="isotonic"), _words),
    "NaiveBayes with families": (NaiveBayes(families="auto"), _words),
    "NaiveBayes of unlabelled rows": (NaiveBayes(semi_supervised=True), _words),
    "GaussianNB": (GaussianNB(), _numbers),
    "GaussianBayes": (GaussianBayes(), _numbers),
    "GaussianBayes shrunk": (GaussianBayes("shared", shrinkage="ledoit-wolf"), _numbers),
    "MultinomialNB": (MultinomialNB(), _codes),
    "ComplementNB": (ComplementNB(norm=True), _codes),
    "BernoulliNB": (BernoulliNB(), _codes),
    "CategoricalNB": (CategoricalNB(min_categories=20), _codes),
    "SPODE": (SPODE(), _words),
    "TAN": (TAN(numeric="gaussian"), _words),
    "AODE": (AODE(weights="mutual-information"), _words),
    "AnDE": (AnDE(n=2), _words),
    "KDB": (KDB(), _words),
    "SelectiveKDB": (SelectiveKDB(), _words),
    "WeightedNB": (WeightedNB(), _words),
    "AutoBayes": (AutoBayes(), _words),
    "CountForest": (CountForest(n_trees=3), _words),
    "LogLinearBayes": (LogLinearBayes(views=1, max_pairs=2, max_triples=1), _words),
    "TextBayes": (TextBayes(text="text", weighting="tf-idf", stop_words=["and"]), _texts),
    "BayesNetClassifier": (BayesNetClassifier("hill-climbing"), _words),
    "BayesNetClassifier after EM": (BayesNetClassifier("tan", semi_supervised=True), _sentences),
    "GaussianMixture": (GaussianMixture(2, random_state=0), _numbers),
    "GaussianMixture chosen": (GaussianMixture([1, 2], covariance_type="diag", random_state=0), _numbers),
    "LatentClass": (LatentClass(2, random_state=0), _words),
    "HiddenMarkov": (HiddenMarkov(2, n_init=2), _codes[:, :1]),
    "HiddenMarkov of numbers": (HiddenMarkov(2, emission="gaussian", n_init=2), _numbers),
}


class Forgery(NamedTuple):
    """One change of a file."""

    name: str
    change: Callable[[dict[str, Any], dict[str, Any]], None]


# -- what is changed ---------------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the way to everything in a manifest; of a long list only the first and the last two items."""
    if path:
        yield path
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys if len(keys) <= 6 or isinstance(value, dict) else (*keys[:2], *keys[-2:]):
        yield from places(value[key], (*path, key))


def others(value: Any) -> list[Any]:
    """Give values that may not stand where this one stands."""
    strange: list[Any] = [None, True, -1, 2.5, "strange", [], {}, [[]], {"tuple": []}, {"dict": []}]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        strange += [0, -value, value + 1, 1e308, -1e308, 2**60, {"float": "nan"}, {"float": "inf"}]
    if isinstance(value, str):
        strange += ["", value + "x", {"scalar": ["<f8", "AAAAAAAA8H8="]}]
    if isinstance(value, list) and value:
        strange += [value[:-1], [*value, value[-1]], value[::-1], [*value, None]]
    if isinstance(value, dict):
        strange += [{**value, "strange": 1}, dict.fromkeys(value)]
    return [other for other in strange if other != value or type(other) is not type(value)]


def put(content: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        content = content[key]
    content[path[-1]] = value


def take(content: Any, path: tuple[Any, ...]) -> None:
    for key in path[:-1]:
        content = content[key]
    del content[path[-1]]


def forged_values(content: dict[str, Any]) -> Iterator[Forgery]:
    for path in places(content):
        value: Any = content
        for key in path:
            value = value[key]
        where = "/".join(map(str, path))
        yield Forgery(f"{where} is missing", lambda c, a, path=path: take(c, path))
        for other in others(value):
            yield Forgery(f"{where} = {other!r}", lambda c, a, path=path, other=other: put(c, path, other))
    yield Forgery("something more", lambda c, a: c.update(strange=1))


def forged_arrays(arrays: dict[str, Any]) -> Iterator[Forgery]:
    for name, array in arrays.items():
        yield Forgery(f"{name} is missing", lambda c, a, name=name: a.pop(name))
        yield Forgery(f"{name} twice", lambda c, a, name=name: a.update({f"{name}2": a[name]}))
        changes: dict[str, Callable[[Any], Any]] = {
            "longer": lambda x: np.concatenate([x, x[-1:]]) if x.ndim and len(x) else np.zeros(1, x.dtype),
            "shorter": lambda x: x[:-1] if x.ndim else x.reshape(1),
            "flat": lambda x: x.reshape(-1) if x.ndim != 1 else x[None],
            "wider": lambda x: np.zeros((*x.shape, 2), x.dtype),
            "float32": lambda x: x.astype(np.float32),
            "whole numbers": lambda x: x.astype(np.int32),
            "booleans": lambda x: x.astype(bool),
            "all zero": np.zeros_like,
            "backwards": lambda x: x[::-1].copy() if x.ndim else -x,
        }
        for way, change in changes.items():
            yield Forgery(f"{name} {way}", lambda c, a, n=name, f=change: a.update({n: f(a[n])}))
        floating = array.dtype.kind == "f"
        cells = (
            (np.nan, np.inf, -np.inf, -1.0, 1e308, -1e308, 1e200, 1e20, 5e-324) if floating else (-1, 2**62)
        )
        for cell in cells if array.size else ():
            for place in {0, array.size // 2, array.size - 1}:
                yield Forgery(
                    f"{name}[{place}] = {cell}",
                    lambda c, a, n=name, p=place, v=cell: a[n].reshape(-1).__setitem__(p, v),
                )
            yield Forgery(f"{name} = {cell}", lambda c, a, n=name, v=cell: a[n].fill(v))


# -- what must come of it ----------------------------------------------------------------------------


def fitted(kind: str) -> tuple[Any, Any, Any]:
    model, X = MODELS[kind]
    y = _y if not getattr(model, "semi_supervised", False) else np.where(np.arange(_N) % 3 == 0, None, _y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The second argument of a model of sequences is their lengths.
        labels = () if isinstance(model, HiddenMarkov) else (y,)
        return copy.deepcopy(model).fit(X, *labels), X, y


def rows_of(X: Any, first: int, last: int) -> Any:
    return {k: v[first:last] for k, v in X.items()} if isinstance(X, dict) else X[first:last]


def check_answers(model: Any, X: Any) -> None:
    # A file may tell of other columns, states or classes than these rows have, and be sound.
    try:
        posterior = model.predict_proba(X)
        model.predict(X)
    except (ColumnError, UnseenState):
        return
    assert np.isfinite(posterior).all(), "a posterior is not finite"
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=0, atol=1e-9)


def check_verbs(model: Any, X: Any, y: Any) -> None:
    some, labels = rows_of(X, 0, 8), y[:8]
    one = rows_of(X, 0, 1)
    verbs: dict[str, Callable[[], Any]] = {
        "explain": lambda: str(model.explain(one)),
        "schema_": lambda: model.schema_,
        "held_": lambda: model.held_,
        "_repr_html_": lambda: model._repr_html_(),
        "partial_fit": lambda: (model.partial_fit(some, labels), check_answers(model, X)),
        "forget": lambda: (model.forget(some, labels), check_answers(model, X)),
    }
    for name, verb in verbs.items():
        if hasattr(type(model), name):  # mixtures have not all of them
            with contextlib.suppress(BayeskitError):
                verb()


def check(forgery: Forgery, saved: SavedContent, X: Any, y: Any, path: Path) -> None:
    content, arrays = copy.deepcopy(saved.content), {n: a.copy() for n, a in saved.arrays.items()}
    forgery.change(content, arrays)
    path.write_bytes(to_bytes(SavedContent(saved.kind, content, arrays)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = bayeskit.load(path)
        except ModelFormatError:
            return
        check_answers(model, X)
        check_verbs(model, X, y)


def forgeries(kind: str, path: Path) -> tuple[list[Forgery], SavedContent, Any, Any]:
    model, X, y = fitted(kind)
    model.save(path)
    saved = read_saved(path, "model")
    return [*forged_values(saved.content), *forged_arrays(dict(saved.arrays))], saved, X, y


def failures(kind: str, path: Path, *, few: bool) -> list[str]:
    """Try the few changes of the short list, or all others."""
    found, saved, X, y = forgeries(kind, path)
    short = set(random.Random(kind).sample(range(len(found)), min(FEW, len(found))))
    failed = []
    for number, forgery in enumerate(found):
        if (number in short) is not few:
            continue
        try:
            check(forgery, saved, X, y, path)
        except Exception as error:
            failed.append(f"{forgery.name}: {type(error).__name__}: {str(error).strip()[:200]}")
    return failed


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("NaiveBayes", "held = True"),
        ("NaiveBayes", "moments/weight_low[0] = 1e+308"),
        ("NaiveBayes", "tables/margin = 1e+308"),
        ("GaussianBayes", "scatter/second[0] = 1e+308"),
        ("AutoBayes", "a wrong attribute"),
        ("GaussianMixture", "means_[3] = 1e+200"),
        ("GaussianMixture", "facts/rows_seen_ = 0"),
        ("LatentClass", "tables/margin all zero"),
    ],
)
def test_known_forgeries_are_refused_by_name(kind: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    found, saved, _, _ = forgeries(kind, path)
    forgery = next((f for f in found if f.name == name), Forgery("a wrong attribute", _wrong_attribute))
    content, arrays = copy.deepcopy(saved.content), {n: a.copy() for n, a in saved.arrays.items()}
    forgery.change(content, arrays)
    path.write_bytes(to_bytes(SavedContent(saved.kind, content, arrays)))
    with refuses(ModelFormatError, path):
        bayeskit.load(path)


def _wrong_attribute(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    held = dict(content["held"]["dict"])
    interactions = dict(dict(dict(held["members"]["dict"])["loglinear"]["dict"])["interactions"]["dict"])
    interactions["attributes"]["tuple"][0] = "nobody"


@pytest.mark.parametrize("kind", list(MODELS))
def test_the_unforged_file_loads_and_answers(kind: str, tmp_path: Path) -> None:
    _, saved, X, y = forgeries(kind, tmp_path / "model")
    (tmp_path / "model").write_bytes(to_bytes(saved))
    model = bayeskit.load(tmp_path / "model")
    np.testing.assert_array_equal(model.predict_proba(X), fitted(kind)[0].predict_proba(X))
    check_verbs(model, X, y)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", list(MODELS))
def test_some_forged_files_are_refused_or_sound(kind: str, tmp_path: Path) -> None:
    assert not failures(kind, tmp_path / "model", few=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", list(MODELS))
def test_all_forged_files_are_refused_or_sound(kind: str, tmp_path: Path) -> None:
    assert not failures(kind, tmp_path / "model", few=False)
