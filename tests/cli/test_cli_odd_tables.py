"""Every command on every odd table: what is noted, what is left out, what is kept, and the exit code."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayeskit
from bayeskit.errors import ColumnError, DataError, SourceNote
from cli_run import run
from odd_tables import MARKS, TABLES, OddTable, base, marked
from refusals import refuses, warns_of

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
# Eight commands on 2,000 columns take 45 CPU seconds, which is more than the usual limit on a busy machine.
SLOW = [pytest.mark.slow, pytest.mark.timeout(1200)]
MARKED = [pytest.param(name, marks=SLOW if t.slow else []) for name, t in TABLES.items()]


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


# What Python says of a file that a network is learned from, or whose numbers are cut.
ELSEWHERE = {
    "learn_network": lambda data, **how: bayeskit.learn_network(data, "chow-liu", discretize=3, **how),
    "Discretizer": lambda data, **how: bayeskit.Discretizer().fit(data, target="y", **how),
}


def columns_of(found: bayeskit.BayesianNetwork | bayeskit.Discretizer) -> set[str]:
    return {*getattr(found, "nodes", ()), *getattr(found, "feature_names_in_", ())}


@pytest.mark.parametrize("what", ELSEWHERE)
@pytest.mark.parametrize("name", MARKED)
def test_networks_and_cut_points_screen_files_too(name: str, what: str, tmp_path: Path) -> None:
    odd, learn = TABLES[name], ELSEWHERE[what]
    data = odd.write(tmp_path / "t.csv")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if odd.code:
            with pytest.raises(ColumnError):
                learn(data)
            return
        found = learn(data)
    # A network has no class, of which a column could be a copy; then it is told that one tells the other.
    no_class = what == "learn_network"
    told, expected = " ".join(str(each.message) for each in caught), [*map(repr, odd.left_out), *odd.noted]
    lacking = [text for text in expected if text not in told and not (no_class and text == "99.5%")]
    assert not lacking, (lacking, told)
    left_out = set() if no_class and name == "a copy of the target" else {*odd.left_out}
    assert set(found.reading_.left_out) == left_out and not columns_of(found) & left_out
    with warnings.catch_warnings(action="ignore"):
        assert columns_of(learn(data, keep=odd.left_out)) == columns_of(found) | {*odd.left_out}


def test_a_network_remembers_which_columns_tell_its_node(tmp_path: Path) -> None:
    data = TABLES["identifier, leak and six marks"].write(tmp_path / "t.csv")
    learned = run("network", "learn", data, "-o", tmp_path / "n.json", "--discretize", "3")
    assert learned.exit_code == 0 and learned.stderr.count("'leak' alone predicts 'y'") == 1, learned.output
    result = run("predict", tmp_path / "n.json", data, "--target", "y", "-o", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    for text in ("'client id'", "column 'leak' alone predicted", *map(repr, MARKS)):
        assert text in result.stderr, result.stderr
    result = run("predict", tmp_path / "n.json", data, "--target", "colour", "-o", tmp_path / "p.csv")
    assert result.exit_code == 0 and "alone predicted" not in result.stderr


def test_a_network_reads_the_next_file_like_the_first(tmp_path: Path) -> None:
    columns = {**base(), "x": [v if i % 9 else "gone" for i, v in enumerate(base()["x"])]}
    first = OddTable(lambda: {"id": [f"C{i}" for i in range(400)], **columns}).write(tmp_path / "t.csv")
    learned = run(
        "network", "learn", first, "-o", tmp_path / "n.json", "--method", "hill-climbing", "--missing", "gone",
    )  # fmt: skip
    assert learned.exit_code == 0, learned.output
    network = bayeskit.read_network(tmp_path / "n.json")
    assert network.reading_.missing == ("gone",) and set(network.reading_.left_out) == {"id"}
    again = tmp_path / "again.json"
    network.write(again)
    assert again.read_bytes() == (tmp_path / "n.json").read_bytes()
    later = tmp_path / "later.csv"
    later.write_text("id,x\nC1,3.5\nC2,gone\n")
    result = run("predict", tmp_path / "n.json", later, "--target", "y")
    assert result.exit_code == 0 and "'id'" in result.stderr, result.output


def test_cut_points_read_the_next_file_like_the_first(tmp_path: Path) -> None:
    first = TABLES["decimal commas"].write(tmp_path / "t.csv")
    with warns_of(SourceNote, "x"):
        cutter = bayeskit.Discretizer("width", n_bins=2).fit(first, target="y")
    later = tmp_path / "later.csv"
    later.write_text("x;colour;y\n2;red;yes\n5;red;no\nNA;red;no\n")
    [batch] = cutter.transform(later)
    assert batch["x"][:2].tolist() == [0, 1] and np.isnan(batch["x"][2])


def test_parquet_is_written_of_a_table_read_like_the_first(tmp_path: Path) -> None:
    columns = marked(base(), ("gone",))
    first = OddTable(lambda: columns).write(tmp_path / "t.csv")
    assert run("fit", first, "--target", "y", "--missing", "gone", "-o", tmp_path / "m.bayes").exit_code == 0
    result = run("predict", tmp_path / "m.bayes", first, "-o", tmp_path / "p.parquet")
    assert result.exit_code == 0, result.output
    assert run("predict", tmp_path / "m.bayes", first, "-o", tmp_path / "p.csv").exit_code == 0
    written = pd.read_parquet(tmp_path / "p.parquet")["prediction"].tolist()
    assert written == pd.read_csv(tmp_path / "p.csv")["y"].tolist()


@pytest.mark.parametrize("learn", [bayeskit.NaiveBayes, bayeskit.Discretizer])
def test_classes_beside_a_file_are_refused(learn: type, tmp_path: Path) -> None:
    data = TABLES["plain"].write(tmp_path / "t.csv")
    with refuses(DataError, str(data), "target="):
        learn().fit(data, base()["y"])


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
