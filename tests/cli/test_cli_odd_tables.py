"""Every command on every odd table: what is noted, what is left out, what is kept, and the exit code."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import bayeskit
from bayeskit.errors import ColumnError
from cli_run import run
from odd_tables import TABLES, OddTable

LEARN = {
    "fit": lambda data, folder: ("fit", data, "--target", "y", "-o", folder / "m.bayes"),
    "compare": lambda data, folder: (
        "compare", data, "--target", "y", "--models", "nb", "--no-baselines", "--folds", "2",
    ),
    "discretize": lambda data, folder: ("discretize", data, "--target", "y", "-o", folder / "cut.csv"),
    "network learn": lambda data, folder: (
        "network", "learn", data, "-o", folder / "n.json", "--method", "chow-liu", "--discretize", "3",
    ),
}  # fmt: skip
LATER = {
    "predict": lambda data, folder: ("predict", folder / "m.bayes", data, "-o", folder / "p.csv"),
    "explain": lambda data, folder: ("explain", folder / "m.bayes", data, "--row", "1"),
    "update": lambda data, folder: ("update", folder / "m.bayes", data, "-o", folder / "m2.bayes"),
    "forget": lambda data, folder: ("forget", folder / "m2.bayes", data, "-o", folder / "m3.bayes"),
}
MARKED = [pytest.param(name, marks=[pytest.mark.slow] if t.slow else []) for name, t in TABLES.items()]


def check(command: str, odd: OddTable, arguments: tuple[object, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == odd.code, (command, result.output)
    if odd.code:
        return
    told = result.output
    # A network has no class, of which a column could be a copy; then it is told that one tells the other.
    expected = [*map(repr, odd.left_out), *odd.noted] if command != "compare" else [*odd.left_out, *odd.noted]
    if command == "compare":
        expected += odd.warned
    if command == "network learn" and "99.5%" in expected:
        expected.remove("99.5%")
    lacking = [text for text in expected if text not in told]
    assert not lacking, (command, lacking, told)
    if not odd.left_out and command != "compare":
        assert "--keep" not in told


@pytest.mark.parametrize("name", MARKED)
def test_every_command_on_every_table(name: str, tmp_path: Path) -> None:
    odd = TABLES[name]
    data = odd.write(tmp_path / "t.csv")
    for command, arguments in LEARN.items():
        check(command, odd, arguments(data, tmp_path))
    if odd.code:
        return
    for command, arguments in LATER.items():
        result = run(*arguments(data, tmp_path))
        assert result.exit_code == 0, (command, result.output)
        told = [repr(column) for column in odd.left_out] + [m for m in odd.noted if m in ("'NA'", "'leak'")]
        assert not [text for text in told if text not in result.output], (command, result.output)
    page = run("inspect", tmp_path / "m.bayes").output
    assert all(column in page for column in odd.left_out), page
    # The share of rows that the reader has counted, not one of information.
    assert ("99.5% of the training rows" in page) == ("99.5%" in odd.noted), page
    model = bayeskit.load(tmp_path / "m.bayes")
    assert set(model.reading_.left_out) == set(odd.left_out)
    assert not {*model.feature_names_in_} & {*odd.left_out}


@pytest.mark.parametrize("name", MARKED)
def test_python_reads_as_the_commands_do(name: str, tmp_path: Path) -> None:
    odd = TABLES[name]
    data = odd.write(tmp_path / "t.csv")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if odd.code:
            with pytest.raises(ColumnError):
                bayeskit.NaiveBayes().fit(data, target="y")
            return
        model = bayeskit.NaiveBayes().fit(data, target="y")
        kept = bayeskit.NaiveBayes().fit(data, target="y", keep=odd.left_out)
    told = " ".join(str(each.message) for each in caught)
    assert set(model.reading_.left_out) == set(odd.left_out)
    assert set(kept.feature_names_in_) == {*model.feature_names_in_, *odd.left_out}
    assert not [text for text in (*map(repr, odd.left_out), *odd.noted) if text not in told], told
    lazy = bayeskit.NaiveBayes().lazy(data, "y")
    assert lazy.reading_ == model.reading_


def test_what_is_kept_is_used(tmp_path: Path) -> None:
    data = TABLES["identifier, leak and six marks"].write(tmp_path / "t.csv")
    result = run("fit", data, "--target", "y", "-o", tmp_path / "m.bayes", "--keep", "client id")
    assert result.exit_code == 0 and "--keep" not in result.stderr
    assert "client id" in bayeskit.load(tmp_path / "m.bayes").feature_names_in_
    result = run("fit", data, "--target", "y", "-o", tmp_path / "m.bayes", "--keep", "x", "--drop", "x")
    assert result.exit_code == 2 and "'x'" in result.stderr


def test_all_that_does_not_fit_a_model_is_told_at_once(tmp_path: Path) -> None:
    data = TABLES["identifier, leak and six marks"].write(tmp_path / "t.csv")
    assert run("fit", data, "--target", "y", "-o", tmp_path / "m.bayes").exit_code == 0
    (tmp_path / "bad.csv").write_text("age,x,note\nyoung,tall,1\n3,2,2\n")
    result = run("predict", tmp_path / "m.bayes", tmp_path / "bad.csv")
    assert result.exit_code == 2 and result.stderr.count("\n") == 1
    for name in ("'leak'", "'colour'", "'age'", "'young'", "'x'", "'tall'", "--missing"):
        assert name in result.stderr, name
    assert "--numeric" not in result.stderr  # it was not given
