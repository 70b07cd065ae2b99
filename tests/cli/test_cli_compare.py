"""compare: what it understood of the columns, its figures against those made by hand, its files and refusals."""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

import bayeskit
from bayeskit import TAN, NaiveBayes
from bayeskit._comparison.candidates import BASELINES, ONLY_BY_NAME, OURS, TableShape, suitable
from bayeskit._comparison.trials import corrected_t_test, paired_test
from bayeskit._data.suspect_columns import hint, reason
from bayeskit._report.comparison_report.words_and_style import WORDS
from cli_run import done, refused, run, write_table
from odd_tables import TABLES

USED = ("colour", "size", "weight")


def columns(n: int = 120, seed: int = 0) -> dict[str, list[Any]]:
    """Three columns that tell something of the class, and one of each kind that should be left out."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    colour = np.where(rng.random(n) < 0.75, truth, rng.integers(0, 3, n))
    return {
        "row": list(range(1, n + 1)),
        "day": [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(n)],
        "unit": ["kg"] * n,
        "verdict": [("no", "yes")[t] for t in truth],
        "colour": [("red", "green", "blue")[c] for c in colour],
        "size": [("small", "large")[c] for c in (colour + rng.integers(0, 2, n)) % 2],
        "weight": [round(float(w), 3) for w in truth + rng.normal(0, 1.2, n)],
        "class": [("bad", "good")[t] for t in truth],
    }


def write(path: Path, table: dict[str, list[Any]]) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "melons.csv", columns())


def asked(data: Path, *more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done("compare", data, "--target", "class", "--json", *more))
    return found


def arrays(table: dict[str, list[Any]]) -> tuple[dict[str, Any], Any]:
    made = {n: np.array(table[n], dtype=float if n == "weight" else object) for n in USED}
    return made, np.array(table["class"], dtype=object)


def test_the_figures_are_those_of_cross_validation_by_hand(data: Path) -> None:
    found = asked(data, "--models", "nb,tan", "--no-baselines", "--folds", "4", "--random-state", "3")
    X, y = arrays(columns())
    folds = list(StratifiedKFold(4, shuffle=True, random_state=3).split(y, y))
    for standing, make in zip(
        sorted(found["models"], key=lambda m: m["key"]), (NaiveBayes, TAN), strict=True
    ):
        posterior, areas = np.zeros((len(y), 2)), []
        for train, test in folds:
            model = make().fit({n: c[train] for n, c in X.items()}, y[train])
            posterior[test] = model.predict_proba({n: c[test] for n, c in X.items()})
            areas.append(roc_auc_score(y[test] == "good", posterior[test, 1]))
        wrong = (posterior[:, 1] > 0.5) != (y == "good")
        per_fold = [wrong[test].mean() for _, test in folds]
        truth = np.stack([y == "bad", y == "good"], axis=1)
        assert standing["error"]["value"] == pytest.approx(wrong.mean())
        assert standing["error"]["deviation"] == pytest.approx(np.std(per_fold, ddof=1))
        assert standing["by_fold"] == pytest.approx(per_fold)
        assert standing["log_loss"]["value"] == pytest.approx(log_loss(y, posterior))
        assert standing["brier"]["value"] == pytest.approx(((posterior - truth) ** 2).sum(axis=1).mean())
        assert standing["auc"]["value"] == pytest.approx(np.mean(areas))
    first, second = found["models"]
    expected = corrected_t_test(np.subtract(second["by_fold"], first["by_fold"]), 1 / 3)
    assert first["p"] is None and second["p"] == pytest.approx(expected)
    assert second["tied"] is (expected >= 0.05)
    sharp = min(found["models"], key=lambda m: m["log_loss"]["value"])
    assert (
        found["ceiling"]["by"] == sharp["key"]
        and found["pick"] == (sharp if second["tied"] else first)["key"]
    )


def test_columns_that_tell_nothing_of_new_rows_are_named_and_left_out(data: Path, tmp_path: Path) -> None:
    quick = ("--models", "nb", "--no-baselines", "--folds", "2")
    left = {c["name"]: c["left_out"] for c in asked(data, *quick)["columns"]}
    expected = {"row": "identifier", "day": "date", "unit": "constant", "verdict": "copy"}
    assert left == {**expected, **dict.fromkeys(USED)}
    kept = asked(data, *quick, "--keep", "verdict", "--drop", "size")
    left = {c["name"]: c["left_out"] for c in kept["columns"]}
    assert left["verdict"] is None and left["size"] == "dropped" and left["row"] == "identifier"
    assert kept["models"][0]["error"]["value"] < 0.05  # a copy leaves next to nothing to predict
    page = done("compare", data, "--target", "class", *quick)
    assert "names the row" in page and "a copy of class" in page


def test_a_file_to_judge_by_takes_the_place_of_folds(data: Path, tmp_path: Path) -> None:
    table = columns(200, 1)
    table["class"][:2] = ["", ""]
    test = write(tmp_path / "new.csv", table)
    found = asked(data, "--models", "nb,tan", "--no-baselines", "--test", test)
    (X, y), (new, truth) = arrays(columns()), arrays(columns(200, 1))
    wrong = {}
    for key, make in (("nb", NaiveBayes), ("tan", TAN)):
        said = make().fit(X, y).predict({n: c[2:] for n, c in new.items()})
        wrong[key] = (said != truth[2:]).astype(float)
    assert found["test"]["rows"] == 198 and found["test"]["unlabelled"] == 2 and found["folds"] == 1
    for standing in found["models"]:
        each = wrong[standing["key"]]
        assert standing["error"]["value"] == pytest.approx(each.mean())
        assert standing["error"]["deviation"] == pytest.approx(each.std(ddof=1) / math.sqrt(198))
    assert found["models"][1]["p"] == pytest.approx(paired_test(wrong["nb"] - wrong["tan"]))


def test_a_loss_decides_by_what_decisions_cost(data: Path, tmp_path: Path) -> None:
    loss = write(tmp_path / "loss.csv", {"do": ["buy", "leave"], "bad": [5, 0], "good": [0, 1]})
    page = tmp_path / "page.html"
    found = asked(data, "--models", "nb,tan", "--no-baselines", "--loss", loss, "--report", page)
    X, y = arrays(columns())
    costs = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(y, y):
        model = NaiveBayes().fit({n: c[train] for n, c in X.items()}, y[train])
        p = model.predict_proba({n: c[test] for n, c in X.items()})
        buy = 5 * p[:, 0] < p[:, 1]
        costs += np.where(buy, 5.0 * (y[test] == "bad"), 1.0 * (y[test] == "good")).tolist()
    nb = next(m for m in found["models"] if m["key"] == "nb")
    assert nb["cost"]["value"] == pytest.approx(np.mean(costs))
    assert [m["cost"]["value"] for m in found["models"]] == sorted(
        m["cost"]["value"] for m in found["models"]
    )
    assert f"--loss {loss}" in found["next"][2] and "buy" in page.read_text(encoding="utf-8")


def test_the_model_saved_the_report_and_the_next_commands(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page, model = tmp_path / "page.html", tmp_path / "m.bayes"
    quick = ("--models", "kernel", "--no-baselines", "--folds", "2")
    first = asked(data, *quick, "--lang", "zh", "--report", page, "--save", model)
    X, y = arrays(columns())
    expected = NaiveBayes(numeric="kernel").fit(X, y).predict_proba(X)
    assert bayeskit.load(model).predict_proba(X) == pytest.approx(expected, abs=1e-12)
    text = page.read_text(encoding="utf-8")
    assert 'lang="zh-CN"' in text and "混淆矩阵" in text and first["data"]["sha256"] in text
    second = asked(data, *quick)
    table = columns()
    table["class"][0] = ""
    third = asked(write(tmp_path / "hole.csv", table), *quick)
    assert third["data"]["unlabelled"] == 1 and third["data"]["rows"] == 119
    lines = [*third["next"], *first["next"], *second["next"]]
    assert len(first["next"]) == len(second["next"]) == 3 and not (tmp_path / "best.bayes").exists()
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "bayeskit" and run(*words).exit_code == 0, line
    assert bayeskit.load(tmp_path / "best.bayes").get_params()["numeric"] == "kernel"
    with open(tmp_path / "predictions.csv", encoding="utf-8") as file:
        assert sum(1 for _ in file) == 121


def test_the_yardsticks_stand_in_the_same_table(tmp_path: Path) -> None:
    melon = write_table(tmp_path / "melon.csv", "melon3")
    result = run("compare", melon, "--target", "好瓜", "--models", "nb", "--folds", "2", "--lang", "zh")
    assert result.exit_code == 0, result.output
    for name in ("NaiveBayes()", "多数类", "对数几率回归", "随机森林", "梯度提升"):
        assert name in result.stdout and f"正在试 {name}" in result.stderr
    assert "52.9" in result.stdout or "47.1" in result.stdout  # 8 of 17 melons are good


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("x", [f"a{i}" for i in range(60)], "identifier"),
        ("x", [f"a{i % 7}" for i in range(60)], None),
        ("customerId", [(i * 37) % 997 for i in range(60)], "identifier"),
        ("price", [(i * 37) % 997 for i in range(60)], None),
        ("price", [0.5 * i for i in range(60)], None),
        ("学号", [(i * 37) % 997 for i in range(60)], "identifier"),
        # 18 pairs would have been equal by chance.
        ("model", [(i * 37) % 97 for i in range(60)], "identifier"),
        ("when", [f"{1 + i % 28}.{1 + i % 12}.1999" for i in range(60)], "date"),
        ("when", [f"2020年{1 + i % 12}月{1 + i % 28}日" for i in range(60)], "date"),
        ("when", [20200100 + 1 + i % 28 for i in range(60)], "date"),
        ("version", [f"1.{i % 12}.0" for i in range(60)], None),
        ("x", ["a", None] * 30, "constant"),
        ("x", ["p", "q"] * 29 + ["q", "p"], None),
        ("x", [None, None, *(["p", "q"] * 29)], "copy"),
    ],
)
def test_what_a_column_is(name: str, values: list[Any], expected: str | None) -> None:
    column = np.array(values, dtype=object if isinstance(values[0], str) or values[0] is None else None)
    assert reason(name, column, np.array(["a", "b"] * 30)) == expected


@pytest.mark.parametrize(
    ("pattern", "more", "expected"),
    [
        ("{}元", None, ("unit", "0元")),
        ("-{}.5 kg", None, ("unit", "-0.5 kg")),
        ("{} kg", "12 lb", None),
        ("K{}", None, None),
        ("{}-{}a", None, None),
        ("{}", "?", ("word", "?")),
        ("1{}e-3", "NA", ("word", "NA")),
        ("{}.{}.0", "NA", None),
    ],
)
def test_columns_that_look_measured_are_noticed(pattern: str, more: Any, expected: Any) -> None:
    cells = [pattern.format(i, i) for i in range(30)]
    assert hint(np.array([*cells, more], dtype=object)) == expected
    assert hint(np.array([*cells[:5], more], dtype=object)) is None


def test_paired_tests_know_luck_from_skill() -> None:
    rng = np.random.default_rng(0)
    # Folds that share their training rows err together; the plain t-test would be right in none of this.
    chance = [corrected_t_test(rng.normal(0, 1, 5), 0.25) for _ in range(400)]
    assert np.mean(np.array(chance) < 0.05) < 0.05
    assert corrected_t_test([0.0] * 5, 0.25) == 1.0 and corrected_t_test([0.1] * 5, 0.25) == 0.0
    plain = 0.02 / math.sqrt(np.var([0.01, 0.02, 0.03], ddof=1) / 3)
    assert corrected_t_test([0.01, 0.02, 0.03], 0.0) == pytest.approx(2 * (1 - _student_2(plain)))
    assert paired_test(np.r_[np.ones(60), np.zeros(940)] - np.r_[np.zeros(970), np.ones(30)]) < 0.01


def _student_2(t: float) -> float:
    """The distribution function of Student's t with two degrees of freedom, which has a closed form."""
    return 0.5 + t / (2 * math.sqrt(2 + t * t))


def test_models_that_would_not_fit_into_memory_are_not_tried() -> None:
    keys, left = suitable(TableShape((0,), (1, 2), (30, 3), 2))
    assert set(keys) == set(OURS) - set(ONLY_BY_NAME) and not left
    keys, left = suitable(TableShape((), (0,), (900,), 2))
    assert "aode" in keys and list(left) == ["a2de"] and "kernel" not in keys
    assert set(BASELINES).isdisjoint(OURS)


def test_refusals_and_interrupts_leave_files_alone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old.html"
    old.write_text("old")
    ask = ("compare", data, "--report", old)
    refused(*ask, "--target", "klass", names=["klass", "class"])
    measured = write(tmp_path / "w.csv", columns(400))
    refused("compare", measured, "--target", "weight", names=["weight", "w.csv", 386, 400, "--target"])
    refused(*ask, "--target", "unit", names=["unit", "kg", "--target"])
    refused(*ask, "--target", "class", "--models", "nb,tam", names=["--models", "tam", "tan"])
    refused(*ask, "--target", "class", "--drop", "size", "--keep", "size", names=["size", "--drop", "--keep"])
    refused(*ask, "--target", "class", "--drop", "class", names=["class", "--target", "--drop"])
    drops = [part for name in USED for part in ("--drop", name)]
    refused(*ask, "--target", "class", *drops, names=["--keep", *USED])
    nowhere = tmp_path / "no" / "m"
    refused("compare", data, "--target", "class", "--save", nowhere, names=[nowhere])
    table = columns()
    del table["size"]
    short = write(tmp_path / "short.csv", table)
    endless = tmp_path / "endless.csv"
    endless.write_text("x,y\n1,a\n2,b\n-1e999,a\n")
    refused("compare", endless, "--target", "y", names=["x", "endless.csv", 3, "--missing"])
    refused(*ask, "--target", "class", "--test", short, names=["short.csv", "size", "colour"])

    def interrupted(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("bayeskit._comparison.run.ComparisonRun.compare", interrupted)
    assert run(*ask, "--target", "class", "--save", tmp_path / "m").exit_code == 130
    assert old.read_text() == "old" and not list(tmp_path.glob(".*")) and not (tmp_path / "m").exists()


def _wide(path: Path, n_columns: int = 40, n_values: int = 60, n: int = 240) -> Path:
    """A table whose counts of pairs take 2·8·(40·60)² bytes: 92 MB."""
    rng = np.random.default_rng(0)
    table: dict[str, list[Any]] = {
        f"c{j}": [f"v{k}" for k in rng.integers(0, n_values, n)] for j in range(n_columns)
    }
    # c1 repeats c0: who says that nothing depends on anything has not looked.
    table["c1"] = list(table["c0"])
    table["class"] = [("bad", "good")[k] for k in rng.integers(0, 2, n)]
    return write(path, table)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_was_not_looked_at_is_said(lang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = WORDS.of(lang)["structure_none"].format(target="class")
    monkeypatch.setattr("bayeskit._comparison.resources.MOST_PAIRS", 50e6)
    data, page = _wide(tmp_path / "wide.csv"), tmp_path / "page.html"
    ask = ("compare", data, "--target", "class", "--no-baselines", "--folds", "2", "--lang", lang)
    result = run(*ask, "--models", "nb", "--report", page)
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert none not in text
    found = json.loads(done(*ask, "--models", "nb", "--json"))
    assert [(each["what"], each["columns"]) for each in found["not_looked_at"]] == [("dependence", 40)]
    size = found["not_looked_at"][0]["bytes"]
    assert 80e6 < size < 100e6
    for said in (" ".join(result.stdout.split()), text):
        assert "40" in said and f"{size / 1e6:.0f} MB" in said and "--models tan" in said
    assert found["not_looked_at"][0]["why"] in text

    looked = json.loads(done(*ask, "--models", "tan", "--json", "--report", page))
    assert looked["not_looked_at"] == [] and none not in page.read_text(encoding="utf-8")


def test_numbers_that_were_not_cut_are_named(tmp_path: Path) -> None:
    """Each of two numbers alone tells nothing about whether they have the same sign, so neither is cut: what one tells
    about the other, which is all once the class is known, cannot be seen in the counts."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 200), rng.normal(0, 1, 200)
    table = {
        "a": a.round(3).tolist(),
        "b": b.round(3).tolist(),
        "class": ["same" if s else "other" for s in a * b > 0],
    }
    data, page = write(tmp_path / "signs.csv", table), tmp_path / "page.html"
    done("compare", data, "--target", "class", "--models", "nb", "--no-baselines", "--report", page)
    text = page.read_text(encoding="utf-8")
    assert WORDS["structure_none"].format(target="class") not in text
    assert re.search("2 numeric columns were not examined.*: a, b", text) is not None


def test_rows_of_one_class_tell_nothing_apart(data: Path, tmp_path: Path) -> None:
    table = columns(40, seed=5)
    good = [i for i, label in enumerate(table["class"]) if label == "good"]
    judged = write(tmp_path / "good.csv", {name: [cells[i] for i in good] for name, cells in table.items()})
    ask = ("--models", "nb,tan", "--no-baselines", "--test", judged)
    found = asked(data, *ask)
    assert [model["auc"] for model in found["models"]] == [None, None]
    assert "holds for new rows" not in found["verdict"]
    page = tmp_path / "page.html"
    printed = done("compare", data, "--target", "class", *ask, "--report", page)
    assert "0.500" not in printed and "0.500" not in page.read_text(encoding="utf-8")


def test_one_row_decides_nothing() -> None:
    assert paired_test([1.0]) == 1.0
    assert paired_test([1.0, 1.0]) == 0.5 and paired_test([-0.5] * 10) == 2.0**-9


@pytest.mark.parametrize(
    ("name", "kind", "about"),
    [
        ("a leak", "leak", "leak"),
        ("a copy of 99.5 %", "leak", "verdict"),
        ("a class of 0.5 %", "never", "yes"),
    ],
)
def test_planted_tables_are_warned_of(name: str, kind: str, about: str, tmp_path: Path) -> None:
    data, page = TABLES[name].write(tmp_path / "t.csv"), tmp_path / "page.html"
    ask = ("compare", data, "--target", "y", "--models", "nb", "--no-baselines", "--folds", "2")
    found = json.loads(done(*ask, "--json", "--report", page))
    told = {(each["kind"], each["about"]): each["text"] for each in found["warnings"]}
    assert (kind, about) in told, told
    assert told[kind, about] in unescape(page.read_text(encoding="utf-8"))
    assert " ".join(told[kind, about].split()) in " ".join(done(*ask).split())
    for each in found["classes"]:
        assert {"recall", "precision", "f1", "recall_interval"} <= set(each)


def test_ctrl_c_leaves_the_report_of_what_is_finished(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bayeskit._comparison.comparison_run import ComparisonRun

    whole, page = ComparisonRun.try_one, tmp_path / "page.html"

    def pressed(self: Any, contender: Any, *more: Any) -> Any:
        if contender.key == "tan":
            raise KeyboardInterrupt
        return whole(self, contender, *more)

    monkeypatch.setattr(ComparisonRun, "try_one", pressed)
    ask = ("compare", data, "--target", "class", "--models", "nb,tan", "--folds", "2", "--json")
    result = run(*ask, "--report", page)
    found = json.loads(result.stdout)
    assert result.exit_code == 0 and found["stopped"] == "interrupt" and found["pick"] == "nb"
    assert {"TAN()", "forest"} <= {each["model"] for each in found["failed"]}
    assert "TAN()" in page.read_text(encoding="utf-8") and "interrupt" in {
        w["kind"] for w in found["warnings"]
    }
    assert "s of CPU time" in result.stderr
