"""Novelty: rows among those that a model would draw, and values that do not go together."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from bayeskit import AODE, KDB, SPODE, TAN, AnDE, BernoulliNB, NaiveBayes, WeightedNB
from bayeskit.errors import SettingError, UsageError
from refusals import refuses


def rows(n: int = 120, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """a and b mostly agree; the number depends on the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    a = np.where(rng.random(n) < 0.9, y, 1 - y)
    b = np.where(rng.random(n) < 0.9, a, 1 - a)
    letters = np.array(["x", "y", "z"], dtype=object)
    return {
        "a": letters[a],
        "b": letters[b],
        "c": letters[rng.integers(0, 3, n)],
        "size": rng.normal(3.0 * y),
    }, y


MODELS = [NaiveBayes(), NaiveBayes(numeric="kernel"), SPODE(), TAN(numeric="gaussian"), AODE(), KDB()]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m))
def test_the_model_finds_its_own_rows_ordinary(model: Any) -> None:
    columns, y = rows()
    model.fit(columns, y)
    drawn, _ = model.sample(300, random_state=5)
    if model.schema_["size"].cuts is not None:  # intervals are drawn as labels; any number within will do
        size = model.schema_["size"]
        inside = [*size.cuts, size.cuts[-1] + 1.0]
        drawn["size"] = [inside[size.code_of(label)] for label in drawn["size"]]
    found = model.novelty(drawn)
    assert found.log_evidence == pytest.approx(model.log_evidence(drawn), abs=1e-9)
    # Of rows from the model a share of at most p has at most p (ties only make it smaller).
    for p in (0.05, 0.2, 0.5):
        assert (found.share <= p).mean() <= p + 3 * math.sqrt(p * (1 - p) / 300) + 0.02
    if not model.schema_.categorical:
        assert kstest(found.share, "uniform").pvalue > 0.001
    strange = model.novelty({"a": ["x"], "b": ["y"], "c": ["z"], "size": [60.0]})
    assert strange.share[0] < np.median(found.share)


def test_far_numbers_are_strange_and_shares_are_uniform() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    model = NaiveBayes().fit({"u": rng.normal(4.0 * y), "v": rng.normal(size=300)}, y)
    drawn, _ = model.sample(400, random_state=9)
    assert kstest(model.novelty(drawn, n_samples=4000).share, "uniform").pvalue > 0.001
    far = model.novelty({"u": [0.0, 40.0], "v": [0.0, 0.0]})
    assert far.share[0] > 0.3
    assert far.share[1] == pytest.approx(1 / 2001)


@pytest.mark.parametrize("model", [NaiveBayes(), TAN()], ids=lambda m: type(m).__name__)
def test_conflict_is_jensens_measure(model: Any) -> None:
    columns, y = rows()
    columns = {name: columns[name] for name in "abc"}
    model.fit(columns, y)
    states = [model.schema_[name].states for name in "abc"]
    cells = list(itertools.product(*states))
    every = {name: [cell[j] for cell in cells] for j, name in enumerate("abc")}
    p = np.exp(model.log_evidence(every))
    assert p.sum() == pytest.approx(1.0)
    found = model.novelty(every)
    for i, cell in enumerate(cells):
        alone = [sum(q for q, c in zip(p, cells, strict=True) if c[j] == cell[j]) for j in range(3)]
        assert found.conflict[i] == pytest.approx(math.log(math.prod(alone) / p[i]), abs=1e-9)
    at = {cell: i for i, cell in enumerate(cells)}
    assert found.conflict[at["x", "y", "z"]] > 0.1
    assert found.conflict[at["x", "x", "x"]] < -0.1


def test_rows_with_holes_are_compared_with_rows_with_holes() -> None:
    columns, y = rows()
    model = NaiveBayes().fit(columns, y)
    whole = model.novelty({"a": ["x"], "b": ["x"], "c": ["x"], "size": [0.0]})
    holes = model.novelty({"a": ["x", None], "b": [None, None], "c": ["x", None], "size": [0.0, None]})
    drawn, _ = model.sample(2000, random_state=0)
    drawn["b"] = None
    row = model.log_evidence({"a": ["x"], "b": [None], "c": ["x"], "size": [0.0]})[0]
    assert holes.log_evidence[0] == pytest.approx(row)
    below = (model.log_evidence(drawn) <= row + 1e-9).sum()
    assert holes.share[0] == pytest.approx((1 + below) / 2001)
    assert holes.share[1] == 1.0  # a row that says nothing is as probable as any other
    assert holes.conflict[1] == pytest.approx(0.0, abs=1e-12)
    mixed = model.novelty({"a": ["x", "x"], "b": ["x", None], "c": ["x", "x"], "size": [0.0, 0.0]})
    assert mixed.share.tolist() == [whole.share[0], holes.share[0]]


def test_values_never_learned_are_counted() -> None:
    columns, y = rows()
    found = (
        NaiveBayes()
        .fit(columns, y)
        .novelty({"a": ["new", "x"], "b": ["new", "x"], "c": ["x"] * 2, "size": [0.0] * 2})
    )
    assert found.unseen.tolist() == [2, 0]
    smooth = (
        NaiveBayes(unseen="smooth")
        .fit(columns, y)
        .novelty({"a": ["new"], "b": ["x"], "c": ["x"], "size": [0.0]})
    )
    assert smooth.unseen.tolist() == [1]
    assert smooth.share[0] < 0.05


def test_missing_as_a_state_is_no_hole() -> None:
    columns, y = rows()
    columns["a"][:3] = None
    model = NaiveBayes(missing="state").fit(columns, y)
    found = model.novelty({"a": [None, "x"], "b": ["x", "x"], "c": ["x", "x"], "size": [0.0, 0.0]})
    assert found.conflict is None
    assert found.share[0] < 0.2 < found.share[1]
    assert json.loads(json.dumps(found.to_dict()))["conflict"] is None


def test_seeds_and_refusals() -> None:
    columns, y = rows()
    model = NaiveBayes().fit(columns, y)
    assert model.novelty(columns).share.tolist() == model.novelty(columns, random_state=0).share.tolist()
    assert model.novelty(columns, random_state=1).share.tolist() != model.novelty(columns).share.tolist()
    with refuses(SettingError, "n_samples", 0):
        model.novelty(columns, n_samples=0)
    for other in (WeightedNB(), AnDE(n=2)):
        with refuses(UsageError, "NaiveBayes", "AODE"):
            other.fit(columns, y).novelty(columns)
    with refuses(UsageError, "novelty", "BernoulliNB"):
        BernoulliNB().fit([[1, 0], [0, 1]], [0, 1]).novelty([[1, 1]])
