"""The pages of explain, and the model that is a network: each against the same thing done in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bayeskit
from bayeskit import LatentClass, NaiveBayes, datasets
from bayeskit.networks import wet_grass
from cli_run import done, refused, write_table

MELON = datasets.load_dataset("melon3")
LOSS = {"buy": {"否": 5.0, "是": 0.0}, "leave": {"否": 0.0, "是": 1.0}}
ROW = {name: MELON.columns[name][2] for name in MELON.attributes}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    melon = write_table(folder / "melon.csv", "melon3")
    done("fit", melon, "--target", "好瓜", "-o", folder / "m.bayes")
    done(
        "fit",
        melon,
        "--target",
        "好瓜",
        "--model",
        "net",
        "--param",
        "numeric=2",
        "-o",
        folder / "n.bayes",
    )
    (folder / "loss.csv").write_text("action,否,是\nbuy,5,0\nleave,0,1\n", "utf-8")
    wet_grass().write(folder / "grass.bif")
    return folder


@pytest.fixture
def model() -> Any:
    return NaiveBayes().fit(MELON.frame, target="好瓜")


def test_a_loss_and_a_reject_put_risks_under_the_page(place: Path, model: Any) -> None:
    asked = ["explain", place / "m.bayes", place / "melon.csv", "--row", 3, "--loss", place / "loss.csv"]
    page = model.explain(ROW, loss=LOSS, reject=0.01)
    assert json.loads(done(*asked, "--reject", "0.01", "--json")) == page.to_dict()
    assert page.risks.rejected and "R(buy | x)" in done(*asked)
    assert json.loads(done(*asked, "--json"))["risks"]["action"] == "buy"
    alone = json.loads(done(*asked[:5], "--reject", "0.3", "--json"))["risks"]
    assert alone["actions"] == ["否", "是"] and not alone["rejected"]


def test_every_format_is_the_page_of_python(place: Path, model: Any, tmp_path: Path) -> None:
    asked = ["explain", place / "m.bayes", place / "melon.csv", "--row", 3, "--lang", "zh"]
    page = model.explain(ROW, lang="zh")
    assert done(*asked, "--format", "latex") == page.to_latex() + "\n"
    assert page.to_html() in done(*asked, "--format", "html")
    done(*asked, "-o", tmp_path / "page.txt")
    assert (tmp_path / "page.txt").read_text("utf-8") == f"{page}\n"


def test_the_next_question(place: Path, model: Any) -> None:
    asked = ["explain", place / "m.bayes", "--ask", "--json"]
    assert json.loads(done(*asked)) == model.ask_next().to_dict()
    by_hand, prices = (
        ["--set", "色泽=青绿", "--set", "密度=0.6"],
        ["--cost", "含糖率=0.5", "--cost", "脐部=0.01"],
    )
    known = {"色泽": "青绿", "密度": 0.6}
    expected = model.ask_next(known, costs={"含糖率": 0.5, "脐部": 0.01}, loss=LOSS).to_dict()
    assert json.loads(done(*asked, *by_hand, *prices, "--loss", place / "loss.csv")) == expected
    best = model.ask_next(known, costs={"含糖率": 0.5}).best
    assert best != model.ask_next(known).best == "含糖率"
    assert f"“{best}”" in done(*asked[:3], *by_hand, *prices[:2], "--lang", "zh")
    assert "<caption>" in done(*asked[:3], *by_hand, "--format", "html")


def test_a_network_explains_its_answer(place: Path) -> None:
    grass, asked = wet_grass(), ["network", "explain", place / "grass.bif", "rain", "--given", "wet=yes"]
    page = grass.explain("rain", {"wet": "yes"})
    assert done(*asked) == f"{page}\n" and "9/34" in str(page)
    assert done(*asked, "--format", "latex") == page.to_latex() + "\n"
    assert json.loads(done(*asked, "--json")) == page.to_dict()
    questions = json.loads(done(*asked, "--ask", "--cost", "sprinkler=0.5", "--json"))
    assert questions == grass.ask_next("rain", {"wet": "yes"}, costs={"sprinkler": 0.5}).to_dict()
    # The network inside a saved model answers, too.
    told = json.loads(done("network", "explain", place / "n.bayes", "好瓜", "--given", "触感=硬滑", "--json"))
    net = bayeskit.load(place / "n.bayes").network_
    assert told["posterior"] == list(net.explain("好瓜", {"触感": "硬滑"}).posterior)


def test_a_learned_network_is_a_model_like_any_other(place: Path, tmp_path: Path) -> None:
    net, melon = place / "n.bayes", place / "melon.csv"
    page = json.loads(done("explain", net, melon, "--row", 3, "--json"))
    assert page["posterior"] == pytest.approx(bayeskit.load(net).predict_proba(MELON.X[2:3])[0], abs=1e-12)
    assert page["prior"][0]["working"].count("/") == 1  # the counts came back with the file
    asked = json.loads(done("explain", net, "--ask", "--json"))
    assert asked == bayeskit.load(net).ask_next().to_dict() and asked["questions"]
    told = json.loads(done("inspect", net, "--json"))
    assert told["rows"] == 17 and [c["rows"] for c in told["classes"]] == [9, 8]
    before, twice, once = net.read_bytes(), tmp_path / "twice.bayes", tmp_path / "once.bayes"
    assert json.loads(done("update", net, melon, "-o", twice, "--json"))["rows"] == 34
    done("forget", twice, melon, "-o", once)
    assert once.read_bytes() == net.read_bytes() == before
    done("merge", net, net, "-o", tmp_path / "both.bayes")
    assert (tmp_path / "both.bayes").read_bytes() == twice.read_bytes()
    assert [c["rows"] for c in json.loads(done("inspect", twice, "--json"))["classes"]] == [18, 16]
    done("network", "convert", net, tmp_path / "n.bif")
    names = ["n.bif", "n.bayes", "bayeskit network"]
    refused("fit", melon, "--target", "好瓜", "--model", "net", "-o", tmp_path / "n.bif", names=names)


def test_options_that_would_do_nothing_are_refused(place: Path) -> None:
    model, melon = place / "m.bayes", place / "melon.csv"
    LatentClass(2).fit(MELON.X).save(place / "groups.bayes")
    for line, said in [
        (["explain", model], "--set"),
        (["explain", model, melon], "--row"),
        (["explain", model, "--row", 1], "--set"),
        (["explain", model, melon, "--row", 1, "--set", "色泽=青绿"], "--set"),
        (["explain", model, melon, "--ask"], "--row"),
        (["explain", model, "--set", "色泽=青绿", "--cost", "纹理=1"], "--ask"),
        (["explain", model, "--ask", "--reject", "1"], "--reject"),
        (["explain", model, "--ask", "--format", "latex"], "--format"),
        (["explain", model, "--ask", "--cost", "文理=1"], "'纹理'"),
        (["explain", model, "--ask", "--cost", "纹理=dear"], "'dear'"),
        (["explain", place / "groups.bayes", "--ask"], "LatentClass"),
        (["network", "explain", place / "grass.bif", "rane"], "'rain'"),
        (["network", "explain", place / "grass.bif", "rain", "--loss", place / "loss.csv"], "--ask"),
    ]:
        assert said in refused(*line)
