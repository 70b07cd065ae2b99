"""The summary of a model: one page for every classifier, network and mixture, as text, HTML and JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimators import CLASSES, small_labels, small_rows

from bayeskit import (
    AODE,
    KDB,
    SPODE,
    AnDE,
    AutoBayes,
    CountForest,
    GaussianMixture,
    LatentClass,
    MarkovNetwork,
    NaiveBayes,
    SelectiveKDB,
    TallyStore,
    TextBayes,
    learn_network,
    load,
)
from bayeskit.datasets import load_dataset
from bayeskit.errors import SettingError, SuspectColumn
from bayeskit.networks import wet_grass
from cli_run import done, write_table
from refusals import refuses

MELON, MUSHROOM = load_dataset("melon3"), load_dataset("mushroom")


def check_page(page: Any) -> dict[str, Any]:
    """Text, HTML and JSON tell the same; nothing is left to fill in."""
    text, html = str(page), page._repr_html_()
    assert text.startswith(page.title) and page.to_html() == html
    for section in page.sections:
        assert section.title in text and section.title in html
    for warning in page.warnings:
        assert warning in text
    assert "{" not in text and "nan" not in text and "<script" not in html
    told = json.loads(page.to_json())
    assert told == json.loads(json.dumps(page.to_dict())) and told["warnings"] == list(page.warnings)
    return told


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore::bayeskit.errors.SuspectResult")
def test_every_classifier_has_one(kind: Any) -> None:
    X, y = np.abs(small_rows(24)).round(), small_labels(24)
    model = kind().fit(X, y)
    bare, told = check_page(model.summary()), check_page(model.summary(X, y))
    check_page(model.summary(X, y, lang="zh"))
    assert bare["leave_one_out"] is None and bare["classes"] == told["classes"]
    assert told["rows"] == 24 and [c["rows"] for c in told["classes"]] == [12, 12]
    assert sum(c["prior"] for c in told["classes"]) == pytest.approx(1.0)
    found = told["leave_one_out"]
    posterior = model.leave_one_out(X, y)
    assert found["error"] == pytest.approx((model.classes_[posterior.argmax(axis=1)] != y).mean())
    assert found["log_loss"] == pytest.approx(model.loo_score(X, y), rel=1e-9)
    assert found["brier"] == pytest.approx(((posterior - np.eye(2)[y]) ** 2).sum(axis=1).mean())
    assert sum(b["rows"] for b in found["bins"]) == 24 and 0.0 <= found["ece"] <= 1.0


def test_what_a_page_says_of_data_classes_attributes_and_what_is_wrong(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.array(["no"] * 95 + ["yes"] * 5)
    table = {
        "leak": np.where(y == "yes", "late", "paid"),
        "noise": rng.choice(["a", "b"], 100),
        "name": np.array([f"n{i}" for i in range(100)]),
        "holes": np.array([None] * 60 + ["u"] * 40, dtype=object),
        "same": np.array(["k"] * 100),
    }
    with pytest.warns(SuspectColumn):  # of the column of names
        model = NaiveBayes(smoothing=2.0).fit(table, y)
    page = model.summary()
    told = check_page(page)
    assert told["parameters"] == {"smoothing": 2.0}
    assert [a["name"] for a in told["attributes"]] == list(table)  # JSON keeps the order of the columns
    shown = [row[0] for row in page.sections[2].rows]
    assert shown[0] == "leak" and told["attributes"][3]["missing"] == pytest.approx(0.6)
    said = "\n".join(page.warnings)
    for word in ("yes", "5", "leak", "name", "100%", "holes", "60%", "same"):
        assert word in said
    assert "noise" not in said
    assert told["source"]["name"] == "dict" and not told["source"]["loaded"]
    model.save(tmp_path / "m.bayes")
    again = load(tmp_path / "m.bayes").summary().to_dict()
    assert again["source"]["name"] == "m.bayes" and again["source"]["loaded"]
    assert {k: v for k, v in again.items() if k != "source"} == {
        k: v for k, v in told.items() if k != "source"
    }
    with refuses(SettingError, "lang", "fr"):
        model.summary(lang="fr")


def test_models_of_every_way_and_of_any_size(tmp_path: Path) -> None:
    X, y = MELON.X, MELON.y
    whole = NaiveBayes().fit(X, y).summary(X, y).to_dict()
    lazy = check_page(NaiveBayes().lazy(X, y).summary())
    assert lazy["leave_one_out"]["log_loss"] == pytest.approx(whole["leave_one_out"]["log_loss"])
    parts = NaiveBayes().partial_fit(X[:9], y[:9]).partial_fit(X[9:], y[9:])
    assert check_page(parts.summary())["rows"] == 17
    nothing = NaiveBayes().fit(X, y).forget(X, y)
    assert check_page(nothing.summary())["rows"] == 0 and nothing.summary().warnings
    store = TallyStore(tmp_path / "store", NaiveBayes())
    store.append("one", X, y)
    assert check_page(store.summary())["rows"] == 17
    store.close()
    wide = NaiveBayes().fit({f"a{j}": ["u", "v", "u", "v"] for j in range(2_000)}, [0, 1, 1, 0]).summary()
    assert len(wide.sections[2].rows) == 30 and any("1,970" in note for note in wide.sections[2].notes)
    assert len(check_page(wide)["attributes"]) == 2_000
    texts, labels = ["good day", "bad day", "so good"] * 3, ["p", "n", "p"] * 3
    assert check_page(TextBayes().fit(texts, labels).summary())["attributes"][0]["words"] == 7
    # What was chosen from rows is held while they are left out, and the page says so.
    assert any("cut points" in note for note in AODE().fit(X, y).summary(X, y).sections[3].notes)
    for model in (
        AODE(),
        SPODE(),
        KDB(),
        SelectiveKDB(),
        AnDE(n=2, views=2),
        AutoBayes(),
        CountForest(n_trees=3),
    ):
        text = str(model.fit(X, y).summary(lang="zh"))
        held = next(line for line in text.splitlines() if "由样本选定并保持" in line).split(
            "由样本选定并保持"
        )[1]
        assert held.strip() and not re.search("[a-zA-Z]", held), held


def test_networks_and_mixtures_have_one() -> None:
    told = check_page(wet_grass().summary())
    assert told["rows"] is None and [node["cells"] for node in told["nodes"]] == [2, 2, 4, 8]
    fitted = learn_network(MUSHROOM.X.iloc[:, :6])
    told = check_page(fitted.summary())
    assert told["rows"] == 8124 and told["parameters"] == fitted.n_parameters and told["warnings"]
    assert all(node["fewest"] >= 0 for node in told["nodes"])
    check_page(fitted.summary(lang="zh"))
    markov = MarkovNetwork({"a": [0, 1], "b": [0, 1]}, [(["a", "b"], [[5, 1], [1, 5]])])
    assert json.loads(markov.summary().to_json())["factors"] == [{"variables": ["a", "b"], "cells": 4}]
    iris = load_dataset("iris").X
    for mixture in (
        GaussianMixture(2, random_state=0).fit(iris),
        LatentClass(2, random_state=0).fit(MELON.X),
    ):
        told = check_page(mixture.summary())
        assert sum(c["weight"] for c in told["components"]) == pytest.approx(1.0) and told["converged"]


def test_inspect_prints_it_and_with_the_table_tells_how_well_the_model_fits(tmp_path: Path) -> None:
    table = write_table(tmp_path / "melon.csv", "melon3")
    done("fit", table, "--target", "好瓜", "-o", tmp_path / "m.bayes")
    page = done("inspect", tmp_path / "m.bayes")
    assert "纹理" in page and "--data" in page and "summary(X, y)" not in page
    told = json.loads(done("inspect", tmp_path / "m.bayes", "--data", table, "--json"))
    expected = NaiveBayes().fit(MELON.X, MELON.y).summary(MELON.X, MELON.y).to_dict()
    assert told["leave_one_out"]["error"] == expected["leave_one_out"]["error"]
    assert told["reading"]["separator"] == ","
    done("inspect", tmp_path / "m.bayes", "--html", tmp_path / "m.html", "--lang", "zh")
    html = (tmp_path / "m.html").read_text("utf-8")
    assert html.startswith("<!doctype html>") and "纹理" in html and "<script" not in html
