"""The next question: information and value by enumeration, in classifiers and in networks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import entropy, norm

from bayeskit import AODE, KDB, TAN, AutoBayes, MultinomialNB, NaiveBayes, datasets
from bayeskit._report.value_of_information import QUESTION_WORDS
from bayeskit.errors import ColumnError, SettingError, UsageError
from bayeskit.networks import wet_grass
from refusals import refuses

LOSS = {"买": {"是": 0, "否": 5}, "不买": {"是": 1, "否": 0}}


def melons() -> tuple[dict[str, Any], Any]:
    data = datasets.load_dataset("melon2")
    return {name: data.columns[name] for name in data.attributes}, data.columns[data.target]


def by_enumeration(model: Any, row: dict[str, Any], name: str) -> tuple[float, float]:
    """The information in bits and the risk saved, from log P(c, x) of rows with each state filled in."""
    states = model.schema_[name].states
    rows = {n: [v] * len(states) for n, v in row.items()} | {name: list(states)}
    joint = np.exp(model.predict_joint_log_proba(rows))
    joint /= joint.sum()
    p, now = joint.sum(axis=1), joint.sum(axis=0)
    told = entropy(now, base=2) - sum(q * entropy(j / q, base=2) for q, j in zip(p, joint, strict=True))
    bad, good = (list(model.classes_).index(c) for c in ("否", "是"))

    def risk(posterior: Any) -> float:
        return min(5 * posterior[bad], posterior[good])

    return told, risk(now) - sum(q * risk(j / q) for q, j in zip(p, joint, strict=True))


@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), KDB()], ids=lambda m: type(m).__name__)
def test_every_question_is_weighed_by_its_answers(model: Any) -> None:
    columns, y = melons()
    model.fit(columns, y)
    row = {**dict.fromkeys(columns), "色泽": "青绿", "触感": "硬滑"}
    bits, risks = model.ask_next(row), model.ask_next(row, loss=LOSS)
    assert {q.name for q in bits} == {"根蒂", "敲声", "纹理", "脐部"}
    for found, place in ((bits, 0), (risks, 1)):
        assert [q.net for q in found] == sorted((q.net for q in found), reverse=True)
        for q in found:
            assert q.value == pytest.approx(by_enumeration(model, row, str(q.name))[place], abs=1e-12)
    # The answers make up what is believed now: knowing more does not move the mean.
    posterior = model.predict_proba({name: [value] for name, value in row.items()})[0]
    for q in bits:
        assert sum(a.probability for a in q.answers) == pytest.approx(1.0)
        mean = np.sum([np.multiply(a.probability, a.posterior) for a in q.answers], axis=0)
        assert mean == pytest.approx(posterior, abs=1e-12)
    assert bits.posterior == pytest.approx(posterior)


def test_a_classifier_and_its_network_ask_the_same() -> None:
    columns, y = melons()
    model = TAN().fit(columns, y)
    network = model.network_
    mine = {q.name: q.value for q in model.ask_next({"色泽": "青绿"})}
    theirs = {q.name: q.value for q in network.ask_next(model.schema_.target.name, {"色泽": "青绿"})}
    assert mine == pytest.approx(theirs, abs=1e-12)


def test_costs_and_the_best() -> None:
    columns, y = melons()
    model = NaiveBayes().fit(columns, y)
    free = model.ask_next()
    dear = model.ask_next(costs={free.best: 1.0})
    assert free.best == "纹理"
    assert dear[-1].name == "纹理"
    assert dear[-1].net == pytest.approx(free[0].value - 1.0)
    nothing = model.ask_next(costs=dict.fromkeys(columns, 9))
    assert nothing.best is None
    assert "No question is worth its cost" in str(nothing)
    assert "没有值得花代价去问的问题" in str(model.ask_next(costs=dict.fromkeys(columns, 9), lang="zh"))
    assert json.loads(json.dumps(free.to_dict(), allow_nan=False))["best"] == "纹理"
    assert "纹理" in free._repr_html_()
    known = {name: column[0] for name, column in columns.items()}
    assert len(model.ask_next(known)) == 0
    # Where nothing was weighed, nothing was found too dear.
    for lang in ("en", "zh"):
        words = QUESTION_WORDS.of(lang)
        page = str(model.ask_next(known, lang=lang))
        assert words["known"] in page and words["nothing"] not in page


def test_an_average_never_tells_less_than_nothing() -> None:
    """AODE's answers do not add up to what it says without them; information is taken from the answers."""
    columns, y = melons()
    found = AODE().fit(columns, y).ask_next({"色泽": "青绿"})
    assert all(0.0 <= q.value <= 1.0 for q in found)
    for q in found:
        assert sum(a.probability for a in q.answers) == pytest.approx(1.0)


def test_a_number_is_weighed_on_a_grid() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = {"x": rng.normal(1.5 * y, 1.0), "noise": rng.normal(size=400), "same": np.ones(400)}
    model = NaiveBayes().fit(X, y)
    found = {q.name: q.value for q in model.ask_next()}
    means = [X["x"][y == k].mean() for k in (0, 1)]
    sds = [X["x"][y == k].std() for k in (0, 1)]

    def gained(x: float) -> float:
        p = np.array([0.5 * norm.pdf(x, means[k], sds[k]) for k in (0, 1)])
        return float((p * np.log2(p / p.sum() / 0.5)).sum())

    assert found["x"] == pytest.approx(quad(gained, -8, 10)[0], abs=0.01)
    assert found["noise"] < 0.01
    assert model.ask_next().left_out == ("same",)
    unweighed = model.ask_next({"x": 0.0, "noise": 0.0})
    assert unweighed.left_out == ("same",) and QUESTION_WORDS["unweighed"] in str(unweighed)
    assert model.ask_next() == model.ask_next()


def test_what_cannot_be_asked_is_refused() -> None:
    columns, y = melons()
    with refuses(UsageError, 'missing="state"'):
        NaiveBayes(missing="state").fit(columns, y).ask_next()
    with refuses(UsageError, "AutoBayes", "ask_next", "NaiveBayes"):
        AutoBayes().fit(columns, y).ask_next()
    with refuses(UsageError, "ask_next", "MultinomialNB"):
        MultinomialNB().fit([[1, 0], [0, 1]], [0, 1]).ask_next([0, 1])
    model = NaiveBayes().fit(columns, y)
    with refuses(ColumnError, "纹里", "纹理"):
        model.ask_next(costs={"纹里": 1})
    known = model.ask_next(
        {"纹理": "清晰"}, costs=dict.fromkeys(columns, 0.5)
    )  # a price list may name what is known
    assert {q.cost for q in known} == {0.5}
    with refuses(SettingError, "纹理", "nan"):
        model.ask_next(costs={"纹理": float("nan")})


def test_a_network_by_hand() -> None:
    """P(rain | wet) = 25/34; the sprinkler is on in 23/68 of the cases, without rain always."""
    grass = wet_grass()
    found = {q.name: q for q in grass.ask_next("rain", {"wet": "yes"})}
    on = 23 / 68
    after = on * entropy([18 / 23, 5 / 23], base=2)
    assert found["sprinkler"].value == pytest.approx(entropy([25 / 34, 9 / 34], base=2) - after)
    nats = grass.mutual_information("rain", "joe", evidence={"wet": "yes"})
    assert found["joe"].value == pytest.approx(nats / np.log(2))
    loss = {"umbrella": {"yes": 0, "no": 1}, "none": {"yes": 4, "no": 0}}
    saved = {q.name: q.value for q in grass.ask_next("rain", {"wet": "yes"}, loss=loss)}
    # Now an umbrella costs 9/34. With the sprinkler on it costs 18/23, none 4 · 5/23; off, it rains for sure.
    assert saved["sprinkler"] == pytest.approx(9 / 34 - on * min(18 / 23, 20 / 23))
    only = grass.ask_next("rain", {"wet": "yes"}, candidates="joe", costs={"joe": 0.1})
    assert [q.name for q in only] == ["joe"]
    with refuses(SettingError, "wet", "candidates"):
        grass.ask_next("rain", {"wet": "yes"}, candidates=["wet"])
    with refuses(SettingError, "rain", "evidence"):
        grass.ask_next("rain", {"rain": "yes"})


@pytest.mark.parametrize(
    "soft", [{"wet": [1, 4]}, {"wet": [1, 4], "rain": [3, 1]}, {"sprinkler": [0.2, 0.9]}]
)
def test_soft_evidence_is_weighed(soft: dict[str, Any]) -> None:
    network = wet_grass()
    found = {q.name: q.value for q in network.ask_next("rain", {"joe": "yes"}, soft=soft)}
    assert set(found) == {"sprinkler", "wet"}
    for name, value in found.items():
        joint = np.asarray(network.query(["rain", name], {"joe": "yes"}, soft=soft).values)
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        some = joint > 0
        assert value == pytest.approx(
            float((joint[some] * np.log2(joint[some] / apart[some])).sum()), abs=1e-12
        )
