"""The command line: what it prints, what it exits with, what it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss
from typer.testing import CliRunner

from bayeskit import __version__, datasets
from bayeskit._cli.demos.stories import STORIES, WORDS, known_names, story_of, table_name
from bayeskit._cli.demos.table_demo import Score, figures, winner
from bayeskit._cli.main import app
from bayeskit._comparison.trials import as_matrix, folds_of
from bayeskit._display_table import display_width
from bayeskit._messages import text_in
from bayeskit._report.words import WORDS as REPORT_WORDS
from bayeskit.decision import decide


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def melon() -> Any:
    result = run("demo", "melon", "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_version_and_help() -> None:
    assert run("--version").stdout == f"bayeskit {__version__}\n"
    assert "demo" in run("--help").stdout
    assert "--lang" in run("demo", "--help").stdout


@pytest.mark.parametrize("module", ["bayeskit", "bayeskit._cli.main"])
def test_runs_as_a_module(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: bayeskit")


def test_the_door_imports_nothing_heavy() -> None:
    code = (
        "import sys, bayeskit._cli.main\n"
        "bad = [m for m in ('numpy', 'scipy', 'sklearn', 'numba', 'pandas', 'duckdb', 'rich') if m in sys.modules]\n"
        "sys.exit(f'imported: {bad}' if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_unknown_table_is_one_line_that_lists_the_names() -> None:
    result = run("demo", "pear")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert all(name in result.stderr for name in ("'pear'", "melon", "adult", "iris"))
    assert run("demo", "--lang", "fr").exit_code == 2


def test_json_holds_the_whole_demonstration(melon: Any) -> None:
    assert melon["data"]["name"] == "melon8"
    assert [c["family"] for c in melon["columns"]] == ["table", "table", "gaussian"]
    assert melon["columns"][1]["states"] == 3  # 稍糊 is declared, never seen
    models = {m["model"]: m for m in melon["comparison"]["models"]}
    assert set(models) == {
        "NaiveBayes()",
        'NaiveBayes(numeric="kernel")',
        "TAN()",
        "AODE()",
        'AutoBayes(effort="fast")',
        "logistic regression",
        "random forest",
        "majority class",
    }
    assert melon["comparison"]["folds"] == 4  # there are four melons of a kind
    assert models["majority class"]["log_loss"] == pytest.approx(np.log(2.0))
    assert models["majority class"]["brier"] == pytest.approx(0.5)
    explanation = melon["explanation"]
    assert explanation["prior"][0]["working"] == "(4+1)/(8+2)"
    assert len(melon["next"]) == 3


def test_the_decision_is_that_of_the_posterior_shown(melon: Any) -> None:
    explanation, verdict = melon["explanation"], melon["decision"]
    posterior = dict(zip(explanation["classes"], explanation["posterior"], strict=True))
    assert verdict["taken"] == decide(posterior, story_of("melon8").loss).actions
    assert verdict["risks"] == pytest.approx(
        [
            sum(c * p for c, p in zip(costs, explanation["posterior"], strict=True))
            for costs in verdict["costs"]
        ]
    )
    assert explanation["prediction"] == "是"
    assert verdict["taken"] == "leave"  # the point of the story: the loss speaks against the likely class


@pytest.mark.parametrize(
    ("lang", "expected"),
    [
        ("en", ["1. How the columns", "the fewest errors", "(4+1)/(8+2) = 0.5", "4. What to do", "next:"]),
        ("zh", ["1. 各列的读取方式", "错误率最低", "(4+1)/(8+2) = 0.5", "4. 据此如何行动", "下一步："]),
    ],
)
def test_the_page_of_the_demonstration(lang: str, expected: list[str]) -> None:
    result = run("demo", "melon", "--lang", lang)
    assert result.exit_code == 0, result.output
    for text in expected:
        assert text in result.stdout
    lines = result.stdout.splitlines()
    assert max(display_width(line) for line in lines[:-3]) <= 100
    assert lines[-3].strip() == "from bayeskit import NaiveBayes, datasets"
    assert ("训练" if lang == "zh" else "training") in result.stderr
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("name", ["lihang", "melon2-missing"])
def test_other_tables_run(name: str) -> None:
    result = run("demo", name)
    assert result.exit_code == 0, result.output
    assert f'datasets.load_dataset("{name}")' in result.stdout
    assert "kernel" not in result.stdout  # no numeric attribute, so no density is compared


def test_every_story_fits_its_table() -> None:
    for name in known_names():
        story = story_of(str(table_name(name)))
        assert story.stake and bool(story.why_left_out) == bool(story.exclude)
    for name, story in STORIES.items():
        data = datasets.load_dataset(name)
        assert set(story.exclude) <= set(data.attributes)
        assert all(set(costs) == set(data.y.tolist()) for costs in (story.loss or {}).values())
        assert story.likely in data.y.tolist()
        assert all(text_in("zh", action) != action for action in story.loss or {})


@pytest.mark.parametrize("words", [WORDS, REPORT_WORDS])
def test_both_languages_say_the_same_things(words: Any) -> None:
    for key, text in words.items():
        for field in ("{model}", "{label}", "{target}", "{names}", "{a}"):
            if key not in ("winner_same", "winner_too"):
                assert (field in text) is (field in words.of("zh")[key]), key


def test_figures_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet(np.ones(3), 50)
    truth = rng.integers(0, 3, 50)
    error, loss, brier = figures(posterior, truth)
    assert error == np.mean(posterior.argmax(axis=1) != truth)
    assert loss == pytest.approx(log_loss(truth, posterior, labels=[0, 1, 2]))
    assert brier == pytest.approx(
        np.mean([((p - np.eye(3)[c]) ** 2).sum() for p, c in zip(posterior, truth, strict=True)])
    )


def test_folds_part_the_rows() -> None:
    y = np.array(["a"] * 7 + ["b"] * 3)
    folds = folds_of(y)
    assert len(folds) == 3
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(10))
    assert all(
        set(train) | set(test) == set(range(10)) and not set(train) & set(test) for train, test in folds
    )


def test_the_matrix_keeps_missing_numbers_and_codes_missing_labels() -> None:
    columns = {"n": np.array([1.0, np.nan]), "c": np.array([None, "b"], dtype=object)}
    matrix = as_matrix(columns, {"n"})
    assert np.isnan(matrix[1, 0])
    assert matrix[:, 1].tolist() == [0.0, 1.0]


def score(model: str, error: float, loss: float, seconds: float = 1.0) -> Score:
    return Score(model, error, loss, 0.1, seconds)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (
            [score("NaiveBayes()", 0.1, 0.3), score("majority class", 0.5, 0.7)],
            "NaiveBayes() makes the fewest errors (10.0%), and has the best probabilities (log-loss 0.300).",
        ),
        (
            [score("NaiveBayes()", 0.1, 0.8), score("forest", 0.1, 0.4), score("majority class", 0.5, 0.7)],
            "Forest, NaiveBayes() make the fewest errors (10.0% each), and forest has the best probabilities "
            "(log-loss 0.400). The probabilities of NaiveBayes() are worse than the class prior: it is "
            "overconfident here.",
        ),
        (
            [
                score("NaiveBayes()", 0.2, 0.3, 0.1),
                score("forest", 0.1, 0.4),
                score("majority class", 0.5, 0.7),
            ],
            "Forest makes the fewest errors (10.0%); NaiveBayes() has the best probabilities (log-loss 0.300). "
            "The error of NaiveBayes() is 20.0%, in 1/10 of the CPU time of forest.",
        ),
    ],
)
def test_the_winner_in_a_sentence(scores: list[Score], said: str) -> None:
    assert winner(scores, WORDS) == said
