"""Which texts of a file mean a missing cell, by the kind of its column."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from bayeskit import NaiveBayes, load
from bayeskit._data.file_options import IN_NUMBERS, MissingMarks
from bayeskit._data.file_set import open_files
from bayeskit.errors import ColumnError, SourceNote
from refusals import refuses

MARKS = ["NA", "?", "-", "unknown", "n/a", "."]


def table(path: Path, ages: list[str], jobs: list[str], classes: list[str]) -> Path:
    rows = zip(ages, jobs, classes, strict=True)
    path.write_text("age,job,class\n" + "".join(f"{a},{j},{c}\n" for a, j, c in rows))
    return path


def opened(path: Path, missing=None):
    return open_files(path, missing=MissingMarks.of(missing, "class"))


@pytest.mark.parametrize("mark", IN_NUMBERS)
def test_every_usual_mark_is_missing_among_numbers(tmp_path, mark):
    file = opened(table(tmp_path / "t.csv", ["1", f" {mark}", "2.5"], ["a", "b", "c"], ["x", "y", "x"]))
    (batch,) = file.batches()
    assert file.dtypes["age"] == "float64" and np.isnan(batch["age"]).tolist() == [False, True, False]


def test_several_marks_in_one_column_are_all_found(tmp_path):
    ages = [MARKS[i % 6] if i < 12 else str(i) for i in range(60)]
    file = opened(table(tmp_path / "t.csv", ages, ["a", "b"] * 30, ["x", "y"] * 30))
    assert file.seen == {"age": dict.fromkeys(MARKS, 2)} and sorted(file.taken["age"]) == sorted(MARKS)
    assert np.isnan(next(file.batches())["age"]).sum() == 12


def test_among_words_only_some_are_taken_and_none_in_the_target(tmp_path):
    words = [*MARKS, "a", "b"]
    file = opened(table(tmp_path / "t.csv", ["1"] * 8, words, words))
    (batch,) = file.batches()
    assert batch["job"].tolist() == [None, None, "-", "unknown", "n/a", ".", "a", "b"]
    assert batch["class"].tolist() == words
    assert set(file.taken["job"]) == {"NA", "?"} and set(file.seen["job"]) == set(MARKS)


def test_what_the_user_names_overrules(tmp_path):
    path = table(tmp_path / "t.csv", ["1", "NA", "-9"], ["NA", "a", "b"], ["x", "y", "-9"])
    file = opened(path, ["-9"])
    (batch,) = file.batches()
    assert batch["age"].tolist() == ["1", "NA", None] and batch["class"].tolist() == ["x", "y", None]
    file = opened(path, {"job": []})
    (batch,) = file.batches()
    assert batch["job"].tolist() == ["NA", "a", "b"] and np.isnan(batch["age"][1])


def test_words_among_numbers_are_told(tmp_path):
    ages = ["old" if i in (3, 7) else str(i) for i in range(40)]
    file = opened(table(tmp_path / "t.csv", ages, ["a", "b"] * 20, ["x", "y"] * 20))
    assert file.dtypes["age"] == "str" and file.mostly_numbers == {"age": (0.95, ("old",))}
    with pytest.warns(SourceNote) as caught:
        NaiveBayes().fit(tmp_path / "t.csv", target="class")
    assert any("old" in str(w.message) and "age" in str(w.message) for w in caught)


def test_a_model_reads_the_next_file_as_it_read_the_first(tmp_path):
    rng = np.random.default_rng(0)
    ages = [MARKS[i % 6] if i % 5 == 0 else str(v) for i, v in enumerate(rng.integers(20, 70, 100).tolist())]
    jobs = rng.choice(["1", "2", "-"], 100).tolist()
    path = table(tmp_path / "t.csv", ages, [*jobs[:-1], "clerk"], ["x", "y"] * 50)
    with warnings.catch_warnings(action="ignore"):
        model = NaiveBayes().fit(path, target="class")
        model.save(tmp_path / "m.bayes")
        model = load(tmp_path / "m.bayes")
        assert model.reading_ is not None and model.reading_.kinds["age"] == "float64"
        # All ages are marks, and all jobs look like numbers.
        model.partial_fit(
            table(tmp_path / "next.csv", ["unknown"] * 2, ["1", "-"], ["x", "y"]), target="class"
        )
    assert model.statistics_.class_counts.sum() == 102
    assert {"1", "2", "-", "clerk"} == set(model.schema_["job"].states)
    strange = table(tmp_path / "bad.csv", ["young", "3"], ["1", "2"], ["x", "y"])
    with refuses(ColumnError, "age", "young"):
        model.partial_fit(strange, target="class")
