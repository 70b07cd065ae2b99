"""The commands over networks, and Bayes' rule by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bayeskit import BayesianNetwork, read_network
from bayeskit._cli.commands.bayes import by_hand, widths_of
from bayeskit.networks import oil_wildcatter, wet_grass
from cli_run import done, refused, write_table


@pytest.fixture
def grass(tmp_path: Path) -> Path:
    wet_grass().write(tmp_path / "grass.bif")
    return tmp_path / "grass.bif"


def probability(told: str, place: int = 0, state: str = "yes") -> float:
    cells = json.loads(told)["answers"][place]["cells"]
    return float(next(cell["probability"] for cell in cells if cell["states"] == [state]))


def test_query_answers_the_textbook_question(grass: Path) -> None:
    told = done("network", "query", grass, "rain", "sprinkler", "--given", "wet=yes", "--json")
    found = [Fraction(probability(told, i)).limit_denominator(999) for i in (0, 1)]
    assert found == [Fraction(25, 34), Fraction(23, 68)]
    told = done("network", "query", grass, "sprinkler", "--given", "wet=yes", "--given", "joe!=no", "--json")
    assert Fraction(probability(told)).limit_denominator(999) == Fraction(43, 268)
    joint = json.loads(done("network", "query", grass, "rain", "wet", "--joint", "--json"))["answers"]
    assert len(joint) == 1 and sum(cell["probability"] for cell in joint[0]["cells"]) == pytest.approx(1.0)
    everything = json.loads(done("network", "query", grass, "--given", "wet=yes", "--json"))["answers"]
    assert [answer["nodes"] for answer in everything] == [["rain"], ["sprinkler"], ["joe"]]
    assert "0.7353" in done("network", "query", grass, "rain", "--given", "wet=yes", "--lang", "zh")


def test_query_after_an_intervention(grass: Path) -> None:
    """Setting wet says nothing of its causes; a distribution is the mixture of its states."""
    network = wet_grass()
    told = json.loads(done("network", "query", grass, "--do", "wet=yes", "--json"))
    assert told["do"] == ["wet=yes"] and ["wet"] not in [answer["nodes"] for answer in told["answers"]]
    found = probability(done("network", "query", grass, "rain", "--do", "wet=yes", "--json"))
    assert found == pytest.approx(network.query("rain")["yes"])
    wet = {
        state: network.do({"sprinkler": state}).query("wet", evidence={"joe": "yes"})["yes"]
        for state in ("yes", "no")
    }
    mixed = done(
        "network", "query", grass, "wet", "--given", "joe=yes", "--do", "sprinkler=yes:0.3,no:0.7", "--json"
    )
    assert probability(mixed) == pytest.approx(0.3 * wet["yes"] + 0.7 * wet["no"])
    assert "do(wet=yes)" in done("network", "query", grass, "rain", "--do", "wet=yes")
    for wrong in ("wet!=yes", "wet=yes:a", "wet=yes:0.3,no:0.3", "wet=maybe", "nobody=yes"):
        assert refused("network", "query", grass, "rain", "--do", wrong)
    assert refused("network", "query", grass, "rain", "--do", "wet=yes", "--do", "wet=no")


def test_independence_comes_with_its_reason(grass: Path) -> None:
    told = json.loads(done("network", "independent", grass, "joe", "sprinkler", "--given", "wet", "--json"))
    assert told["independent"] is False
    assert [(t["node"], t["blocks"]) for t in told["paths"][0]["turns"]] == [("rain", False), ("wet", False)]
    assert "wet is head-to-head" in done("network", "independent", grass, "joe", "sprinkler")
    assert "相互独立" in done("network", "independent", grass, "joe", "sprinkler", "--lang", "zh")


STONES = {
    ("small", "open"): (81, 6),
    ("small", "closed"): (234, 36),
    ("large", "open"): (192, 71),
    ("large", "closed"): (55, 25),
}


@pytest.fixture
def stones(tmp_path: Path) -> Path:
    lines = ["stone,treatment,cured"]
    for (stone, treatment), counts in STONES.items():
        for cured, n in zip(("yes", "no"), counts, strict=True):
            lines += [f"{stone},{treatment},{cured}"] * n
    (tmp_path / "stones.csv").write_text("\n".join(lines) + "\n", "utf-8")
    network = BayesianNetwork({"stone": [], "treatment": ["stone"], "cured": ["stone", "treatment"]})
    columns = [column[1:] for column in zip(*(line.split(",") for line in lines), strict=True)]
    network.fit(dict(zip(("stone", "treatment", "cured"), columns, strict=True)), smoothing="mle")
    network.write(tmp_path / "stones.bif")
    return tmp_path / "stones.bif"


def test_effects_from_tables_and_from_rows(stones: Path, tmp_path: Path) -> None:
    """Charig and others (1986): the open treatment is better, though fewer of its patients are cured."""
    asked = ("network", "effect", stones, "--cause", "treatment", "--outcome", "cured")
    wanted = {
        "open": Fraction(357, 700) * Fraction(81, 87) + Fraction(343, 700) * Fraction(192, 263),
        "closed": Fraction(357, 700) * Fraction(234, 270) + Fraction(343, 700) * Fraction(55, 80),
    }
    rows = ("--data", tmp_path / "stones.csv")
    for more in ((), ("--adjust", "stone"), rows, (*rows, "--adjust", "stone")):
        told = json.loads(done(*asked, *more, "--json"))
        found = {
            cell["do"][0]: cell["probability"] for cell in told["probabilities"] if cell["outcome"] == "yes"
        }
        assert found == {state: pytest.approx(float(p), abs=1e-9) for state, p in wanted.items()}
        assert told["rows"] == (700 if rows[0] in more else 0)
        assert ("interval" in told["probabilities"][0]) is (rows[0] in more)
        assert told["adjustment"] == (["stone"] if more else None)
    assert "0.8325" in done(*asked)
    assert "区间" in done(*asked, *rows, "--lang", "zh")
    assert "treatment ← stone → cured" in done(*asked, "--sets")
    sets = json.loads(done(*asked, "--sets", "--json"))
    assert [found["nodes"] for found in sets["back_door"]] == [["stone"]] and sets["instruments"] == []
    turned = json.loads(done(*asked, "--do", "treatment=open", "--do", "treatment=closed", "--json"))
    assert turned["contrasts"][0]["reference"] == "open"
    shares = json.loads(done(*asked, "--do", "stone=small:0.25,large:0.75", "--json"))
    assert shares["held"]["stone"] == {"small": 0.25, "large": 0.75}
    assert refused(*asked, "--do", "stone=small:0.25,large:much")
    held = json.loads(done(*asked, "--do", "stone=small", "--json"))
    assert held["held"] == {"stone": "small"}
    refused(*asked, "--hidden", "stone", names=["'stone'", "'treatment'", "'cured'"])
    refused(*asked, "--adjust", "treatment", names=["treatment", "'stone'"])
    refused(*asked, "--data", tmp_path / "none.csv", names=["none.csv"])


def test_sample_learn_show_and_convert(grass: Path, tmp_path: Path) -> None:
    done("network", "sample", grass, "-n", "2000", "-o", tmp_path / "rows.csv")
    rows = (tmp_path / "rows.csv").read_text("utf-8").splitlines()
    assert len(rows) == 2001 and rows[0] == "rain,sprinkler,joe,wet"
    observed = json.loads(done("network", "sample", grass, "-n", "20", "--given", "wet=yes", "--json"))
    assert {row["wet"] for row in observed} == {"yes"}
    told = json.loads(done("network", "learn", tmp_path / "rows.csv", "-o", tmp_path / "l.json", "--json"))
    assert sorted(map(tuple, told["arcs"]))[-1] == ("sprinkler", "wet")
    more = ("--forbidden", "sprinkler,wet", "--forbidden", "wet,sprinkler")
    done("network", "learn", tmp_path / "rows.csv", "-o", tmp_path / "f.json", *more)
    assert ("sprinkler", "wet") not in read_network(tmp_path / "f.json").arcs
    for level in ("0.9", "1e-9"):
        more = ("--method", "pc", "--significance", level)
        done("network", "learn", tmp_path / "rows.csv", "-o", tmp_path / f"{level}.json", *more)
    assert len(read_network(tmp_path / "0.9.json").arcs) > len(read_network(tmp_path / "1e-9.json").arcs)
    (tmp_path / "numbers.csv").write_text(
        "many,few,real\n" + "".join(f"{i},{i % 3},{i / 7}\n" for i in range(60)), "utf-8"
    )
    # "many" numbers the rows, and would be left out as an identifier.
    kept = (tmp_path / "numbers.csv", "--keep", "many")
    done("network", "learn", *kept, "-o", tmp_path / "n.bif", "--discretize", "2")
    assert [len(read_network(tmp_path / "n.bif").states(name)) for name in ("many", "few", "real")] == [
        2,
        3,
        2,
    ]
    names = ["'many', 'real'", "--discretize 5", "--discretize 'many'=5", ".json"]
    refused("network", "learn", *kept, "-o", tmp_path / "n.bif", names=names)
    names = ["'many' hold", "--discretize 'many'=5", "--numeric 'many'"]
    refused("network", "learn", *kept, "-o", tmp_path / "n.json", names=names)
    done("network", "learn", *kept, "-o", tmp_path / "n.json", "--numeric", "many")
    shown = done("network", "show", tmp_path / "l.json", "--svg", tmp_path / "l.svg", "--given", "wet=yes")
    assert "rain, sprinkler" in shown
    assert ElementTree.parse(tmp_path / "l.svg").getroot().tag.endswith("svg")
    done("network", "convert", grass, tmp_path / "g.json")
    assert read_network(tmp_path / "g.json").query("rain", evidence={"wet": "yes"})["yes"] == pytest.approx(
        25 / 34
    )
    best = json.loads(done("network", "mpe", grass, "--given", "wet=yes", "--json"))
    assert best["states"] == dict(wet_grass().mpe({"wet": "yes"}))


@pytest.fixture
def oil(tmp_path: Path) -> Path:
    oil_wildcatter().write(tmp_path / "oil.xdsl")
    return tmp_path / "oil.xdsl"


def test_decide_gives_the_strategy(oil: Path, tmp_path: Path) -> None:
    told = json.loads(done("network", "decide", oil, "--ask", "--flip", "oil", "--json"))
    assert told["expected_utility"] == pytest.approx(22.5) and told["probability"] == 1.0
    assert told["choice"]["state"] == "seismic"
    assert [policy["decision"] for policy in told["policies"]] == ["test", "drill"]
    assert told["policies"][1]["rows"][1]["choice"] == "no"
    assert told["information"] == [{"node": "oil", "before": "test", "value": pytest.approx(32.5)}]
    dry = next(row for row in told["flips"] if row["state"] == "dry")
    assert dry["interval"] == pytest.approx([27 / 59, 44 / 65]) and dry["below"] == ["test = none"]
    seen = ("--evidence", "test=seismic", "--given", "result=closed")
    told = json.loads(done("network", "decide", oil, *seen, "--json"))
    assert told["choice"]["utilities"] == pytest.approx({"no": -10, "yes": 77.5})
    assert told["given"] == {"test": "seismic", "result": "closed"} and told["probability"] == pytest.approx(
        0.24
    )
    for lang, word in (("en", "expected utility"), ("zh", "期望效用")):
        shown = done("network", "decide", oil, "--ask", "--flip", "result", "--lang", lang)
        assert word in shown and "0.528571" in shown and "32.5" in shown
    bifxml = tmp_path / "oil.bifxml"
    oil_wildcatter().write(bifxml)
    assert "22.5" in done("network", "decide", bifxml)
    assert done("network", "decide", "oil_wildcatter") == done("network", "decide", oil)
    assert "medical_test" in refused("network", "decide", "medical_tests")


def test_decide_refuses_by_name(oil: Path, grass: Path) -> None:
    refused("network", "decide", oil, "--given", "result=open", names=["result", "test"])
    refused(
        "network", "decide", oil, "--given", "test=none", "--given", "result=open", names=["test", "open"]
    )
    refused("network", "decide", oil, "--given", "gas=yes", names=["gas"])
    refused("network", "decide", oil, "--flip", "drill", names=["drill"])
    refused("network", "decide", oil, "--flip", "gas", names=["gas"])
    refused("network", "decide", grass, names=["grass.bif"])
    refused("network", "show", oil, names=["test", "network decide"])


def test_a_network_predicts_and_a_classifier_is_a_network(grass: Path, tmp_path: Path) -> None:
    done("network", "sample", grass, "-n", "30", "-o", tmp_path / "rows.csv")
    found = json.loads(done("predict", grass, tmp_path / "rows.csv", "--target", "rain", "--json"))
    rows = [line.split(",") for line in (tmp_path / "rows.csv").read_text("utf-8").splitlines()[1:]]
    data = {name: [row[j] for row in rows] for j, name in enumerate(("rain", "sprinkler", "joe", "wet"))}
    assert [row["rain"] for row in found] == wet_grass().predict(data, "rain").tolist()
    assert "--target" in refused("predict", grass, tmp_path / "rows.csv")
    melon = write_table(tmp_path / "melon.csv", "melon2")
    done("fit", melon, "--target", "好瓜", "--model", "tan", "-o", tmp_path / "tan.bayes")
    told = done("network", "query", tmp_path / "tan.bayes", "好瓜", "--given", "纹理=清晰", "--json")
    assert probability(told, 0, "是") > 0.5
    refused("inspect", grass, names=["grass.bif", "network query"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["query", "{net}", "rian"], "'rain'"),
        (["query", "{net}", "rain", "--given", "wett=yes"], "'wet'"),
        (["query", "{net}", "rain", "--given", "wet=maybe"], "'yes'"),
        (["query", "{net}", "rain", "--given", "wet"], "NAME=VALUE"),
        (["query", "{net}", "rain", "--given", "wet=yes", "--given", "wet=no"], "twice"),
        (["query", "{net}", "--joint"], "--joint"),
        (["independent", "{net}", "joe", "snow"], "'snow'"),
        (["effect", "{net}", "--cause", "snow", "--outcome", "joe"], "'snow'"),
        (["effect", "{net}", "--cause", "rain", "--outcome", "rain"], "'rain'"),
        (["effect", "{net}", "--cause", "rain", "--outcome", "joe", "--do", "wet!=no"], "--do"),
        (["effect", "{net}", "--cause", "rain", "--outcome", "joe", "--adjust", "wet"], "wet"),
        (["show", "{net}", "--given", "wet=yes"], "--svg"),
        (["convert", "{net}", "{folder}/x.txt"], "'x.txt'"),
        (["sample", "{net}", "-n", "0"], "-n"),
    ],
)
def test_wrong_questions_are_refused(grass: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    assert said in refused("network", *(a.format(net=grass, folder=tmp_path) for a in arguments))
    assert [path.name for path in tmp_path.iterdir()] == ["grass.bif"]


def test_bayes_by_hand(tmp_path: Path) -> None:
    question = ("bayes", "--prior", "spam=0.7,ham=0.3", "--likelihood", "ham=0.01,spam=0.9")
    told = json.loads(done(*question, "--json"))
    assert told["total"] == {"value": 0.633, "fraction": "633/1000"}
    assert [c["posterior"]["fraction"] for c in told["classes"]] == ["210/211", "1/211"]
    page = done(*question, "--svg", tmp_path / "s.svg")
    assert "0.7·0.9 + 0.3·0.01 = 633/1000 = 0.633" in page and page.count("█") == 42 * 14
    assert "全概率" in done(*question, "--lang", "zh")
    groups = ElementTree.parse(tmp_path / "s.svg").getroot().iter("{http://www.w3.org/2000/svg}g")
    boxes = [box for group in groups if (box := group.find("{*}rect")) is not None]
    areas = [float(box.get("width", 0)) * float(box.get("height", 0)) for box in boxes]
    assert len(areas) == 2
    assert areas[0] / sum(areas) == pytest.approx(210 / 211, abs=1e-4)
    assert sum(widths_of(by_hand("a=0.01,b=0.98,c=0.01", "a=1,b=1,c=1"), 7)) == 7
    for prior, likelihood, said in [
        ("a=0.5,b=0.4", "a=1,b=1", "0.9"),
        ("a=1", "b=1", "'a'"),
        ("a=1", "a=0", "P(x)"),
        ("a=x", "a=1", "'x'"),
        ("a", "a=1", "CLASS=NUMBER"),
        ("a=2,b=-1", "a=1,b=1", "'b' has -1"),
    ]:
        assert said in refused("bayes", "--prior", prior, "--likelihood", likelihood)


def test_questions_to_networks_import_no_scikit_learn(grass: Path) -> None:
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from bayeskit._cli.main import app\n"
        "lines = 'network query {0} rain', 'network explain {0} rain', 'network sample {0}'\n"
        "for line in (*lines, 'bayes --prior a=1 --likelihood a=1'):\n"
        "    assert CliRunner().invoke(app, line.format(sys.argv[1]).split()).exit_code == 0, line\n"
        "sys.exit('imported' if 'sklearn' in sys.modules else 0)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(grass)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def time_files(folder: Path) -> tuple[Path, Path]:
    """Write the umbrella world of Russell and Norvig as two slices, and what the guard sees."""
    network = BayesianNetwork(
        {"rain[t-1]": [], "rain": ["rain[t-1]"], "umbrella": ["rain"]}, states=["no", "yes"]
    )
    network.set_cpt("rain[t-1]", [0.5, 0.5])
    network.set_cpt("rain", [[0.7, 0.3], [0.3, 0.7]])
    network.set_cpt("umbrella", [[0.8, 0.2], [0.1, 0.9]])
    network.write(folder / "world.bif")
    (folder / "seen.csv").write_text("umbrella,who\nyes,a\nyes,b\n", "utf-8")
    return folder / "world.bif", folder / "seen.csv"


def test_filter_follows_a_network_over_time(tmp_path: Path) -> None:
    world, seen = time_files(tmp_path)
    shown = done("network", "filter", world, seen)
    assert "0.8182" in shown and "0.8834" in shown and "rain=yes" in shown
    found = json.loads(done("network", "filter", world, seen, "--json"))
    assert [round(step["rain=yes"], 3) for step in found["steps"]] == [0.818, 0.883]
    found = json.loads(done("network", "filter", world, seen, "--json", "--smooth"))
    assert [round(step["rain=yes"], 3) for step in found["steps"]] == [0.883, 0.883]
    found = json.loads(done("network", "filter", world, seen, "umbrella", "rain", "--json", "--path"))
    assert found["steps"] == [{"umbrella": "yes", "rain": "yes"}] * 2
    done("network", "filter", world, seen, "-o", tmp_path / "out.csv", "--path")
    assert (tmp_path / "out.csv").read_text("utf-8") == "step,rain\n1,yes\n2,yes\n"
    assert "时刻" in done("network", "filter", world, seen, "--lang", "zh")


def test_filter_refuses_what_has_no_time(tmp_path: Path) -> None:
    world, seen = time_files(tmp_path)
    refused("network", "filter", world, seen, "rian", names=["rian", "rain"])
    refused("network", "filter", world, seen, "--smooth", "--path", names=["--smooth", "--path"])
    (tmp_path / "other.csv").write_text("sky\nblue\n", "utf-8")
    refused("network", "filter", world, tmp_path / "other.csv", names=["umbrella"])
    (tmp_path / "bad.csv").write_text("umbrella\nmaybe\n", "utf-8")
    refused("network", "filter", world, tmp_path / "bad.csv", names=["umbrella", "maybe"])
    back = BayesianNetwork({"x": [], "x[t-1]": ["x"]}, states=["a", "b"])
    back.set_cpt("x", [0.5, 0.5])
    back.set_cpt("x[t-1]", [[0.5, 0.5], [0.5, 0.5]])
    back.write(tmp_path / "back.bif")
    refused("network", "filter", tmp_path / "back.bif", seen, names=["x", "x[t-1]"])
    still = BayesianNetwork({"rain": [], "umbrella": ["rain"]}, states=["no", "yes"])
    still.set_cpt("rain", [0.5, 0.5])
    still.set_cpt("umbrella", [[0.8, 0.2], [0.1, 0.9]])
    still.write(tmp_path / "still.bif")
    told = ["still.bif", "[t-1]", "network query"]
    refused("network", "filter", tmp_path / "still.bif", seen, names=told)
    refused("network", "filter", tmp_path / "still.bif", tmp_path / "other.csv", names=told)
    refused("network", "filter", tmp_path / "still.bif", seen, "--lang", "zh", names=told)
