"""Several files are read as if they were one: lists of paths, and patterns."""

from __future__ import annotations

import os
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit
from bayeskit import TAN, CountForest, Discretizer, NaiveBayes, comparison, learn_network
from bayeskit._data.files import FileSource
from bayeskit.errors import ColumnError, DataError, SourceNote
from cli_run import run
from refusals import refuses, warns_of


def table(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "word": rng.choice(["u", "v", "w"], n),
            "number": rng.normal(size=n).round(3),
            "whole": rng.integers(0, 5, n),
            "flag": rng.random(n) < 0.5,
            "class": rng.choice(["no", "yes"], n),
        }
    )


def write(frame: pd.DataFrame, path: Path) -> str:
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return str(path)


def parts(folder: Path, frame: pd.DataFrame, ends: list[int], suffix: str = ".csv") -> list[str]:
    bounds = [0, *ends, len(frame)]
    return [write(frame[a:b], folder / f"part-{i}{suffix}") for i, (a, b) in enumerate(pairwise(bounds))]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".csv.gz"])
@pytest.mark.parametrize("make", [NaiveBayes, TAN, lambda: CountForest(n_trees=3)])
def test_parts_are_the_whole(tmp_path: Path, suffix: str, make: Any) -> None:
    frame = table(120)
    paths = parts(tmp_path, frame, [40, 41], suffix)
    alone = write(frame, tmp_path / ("whole.parquet" if suffix == ".parquet" else "whole.csv"))
    whole = make().fit(alone, target="class")
    asked = frame.drop(columns="class")
    expected = whole.predict_proba(asked)
    for given_ in (paths, [Path(path) for path in paths], tuple(paths), str(tmp_path / f"part-*{suffix}")):
        found = make().fit(given_, target="class")
        assert found.schema_ == whole.schema_
        np.testing.assert_allclose(found.predict_proba(asked), expected, rtol=0, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(
    ends=st.lists(st.integers(1, 29), min_size=1, max_size=4, unique=True).map(sorted),
    seed=st.integers(0, 99),
)
def test_where_a_table_is_cut_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, ends: list[int], seed: int
) -> None:
    folder, frame = tmp_path_factory.mktemp("parts"), table(30, seed)
    found = NaiveBayes().fit(parts(folder, frame, ends), target="class")
    whole = NaiveBayes().fit(write(frame, folder / "whole.csv"), target="class")
    assert found.schema_ == whole.schema_
    asked = frame.drop(columns="class")
    np.testing.assert_allclose(found.predict_proba(asked), whole.predict_proba(asked), rtol=0, atol=1e-12)


def test_a_file_listed_twice_counts_twice(tmp_path: Path) -> None:
    path = write(table(30), tmp_path / "a.csv")
    twice = NaiveBayes().fit([path, path], target="class")
    assert twice.statistics_.total == 60


def test_formats_may_be_mixed_and_columns_stand_in_any_order(tmp_path: Path) -> None:
    frame = table(60)
    one = write(frame[:30], tmp_path / "a.csv")
    other = write(frame.iloc[30:, ::-1], tmp_path / "b.parquet")
    found = NaiveBayes().fit([one, other], target="class")
    whole = NaiveBayes().fit(write(frame, tmp_path / "whole.csv"), target="class")
    assert [v.name for v in found.schema_.attributes] == [v.name for v in whole.schema_.attributes]
    asked = frame.drop(columns="class")
    np.testing.assert_allclose(found.predict_proba(asked), whole.predict_proba(asked), rtol=0, atol=1e-12)


def test_a_class_of_the_last_file_alone_is_learned(tmp_path: Path) -> None:
    frame = table(40)
    frame.loc[39, "class"] = "perhaps"
    found = NaiveBayes().fit(parts(tmp_path, frame, [30]), target="class")
    assert found.classes_.tolist() == ["no", "perhaps", "yes"]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (["1", "2"], ["2.5", "3"], "numeric"),
        (["1", "2"], ["", "3"], "numeric"),
        (["", ""], ["1.5", "3"], "numeric"),
        (["", ""], ["a", "b"], "categorical"),
        (["true", "false"], ["", "true"], "categorical"),
        (["", ""], ["true", "false"], "categorical"),
    ],
)
def test_a_column_has_the_kind_that_all_files_have_together(
    tmp_path: Path, first: list[str], second: list[str], kind: str
) -> None:
    for name, cells in ("a", first), ("b", second), ("whole", first + second):
        lines = ["x,y", *(f"{cell},{'uv'[i % 2]}" for i, cell in enumerate(cells))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    found = NaiveBayes().fit([tmp_path / "a.csv", tmp_path / "b.csv"], target="y")
    whole = NaiveBayes().fit(tmp_path / "whole.csv", target="y")
    assert found.schema_ == whole.schema_
    assert found.schema_["x"].kind == kind


def test_a_column_that_changes_its_kind_is_text_and_noted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,u\n2,v\n")
    (tmp_path / "b.csv").write_text("x,y\nred,u\n2,v\n")
    with pytest.warns(SourceNote, match=r"'x'.*a\.csv") as notes:
        found = NaiveBayes().fit([tmp_path / "a.csv", tmp_path / "b.csv"], target="y")
    assert "b.csv" in str(notes[0].message)
    assert found.schema_["x"].states == ("1", "2", "red")


def test_words_that_come_late_in_one_file(tmp_path: Path) -> None:
    """Batches are of 122,880 rows: in the first, all cells of the column are missing."""
    lines = ["x,y", *[",u", ",v"] * 62_000, "red,u", "blue,v"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    assert NaiveBayes().fit(tmp_path / "a.csv", target="y").schema_["x"].states == ("blue", "red")
    done = run("fit", tmp_path / "a.csv", "--target", "y", "--output", tmp_path / "m.bayes")
    assert done.exit_code == 0, done.output
    assert bayeskit.load(tmp_path / "m.bayes").schema_["x"].states == ("blue", "red")


def test_a_missing_column_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,z,y\n1,2,u\n2,3,v\n")
    (tmp_path / "b.csv").write_text("x,y\n3,u\n2,v\n")
    for given_ in ([tmp_path / "a.csv", tmp_path / "b.csv"], [tmp_path / "b.csv", tmp_path / "a.csv"]):
        with refuses(
            ColumnError, repr(str(tmp_path / "b.csv")), "'z'", repr(str(tmp_path / "a.csv")), "exclude="
        ):
            NaiveBayes().fit(given_, target="y")


def test_a_missing_file_of_a_list_is_named(tmp_path: Path) -> None:
    path = write(table(10), tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"b\.csv"):
        NaiveBayes().fit([path, str(tmp_path / "b.csv")], target="class")


def test_a_pattern_that_matches_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"part-\*\.parquet"):
        NaiveBayes().fit(str(tmp_path / "part-*.parquet"), target="class")


def test_a_folder_is_the_tables_in_it(tmp_path: Path) -> None:
    frame = table(60)
    folder = tmp_path / "parts"
    (folder / "late").mkdir(parents=True)
    write(frame[:20], folder / "a.parquet")
    write(frame[20:50], folder / "b.csv.gz")
    write(frame[50:], folder / "late" / "c.csv")
    for name in "README.md", "_SUCCESS", "_old.csv", ".a.csv.crc", ".b.csv":
        (folder / name).write_text("no table")
    asked = frame.drop(columns="class")
    whole = NaiveBayes().fit(asked, frame["class"])
    for given_ in str(folder), folder, f"{folder}{os.sep}", [folder]:
        found = NaiveBayes().fit(given_, target="class")
        np.testing.assert_allclose(found.predict_proba(asked), whole.predict_proba(asked), rtol=0, atol=1e-12)
    assert whole.predict(folder, sink=tmp_path / "answers.csv").rows == 60
    with refuses(DataError, f"{tmp_path / 'none'}", f"{tmp_path / 'none' / '*'}"):
        (tmp_path / "none").mkdir()
        NaiveBayes().fit(tmp_path / "none", target="class")


def test_the_row_without_a_class_is_counted_over_all_files(tmp_path: Path) -> None:
    frame = table(60)
    write(frame, tmp_path / "a.csv")
    frame.loc[3, "class"] = None
    write(frame, tmp_path / "b.csv")
    for learner in NaiveBayes(), TAN(), Discretizer():
        with refuses(DataError, "63"):
            learner.fit(tmp_path, target="class")


def test_the_index_of_pandas_is_no_column(tmp_path: Path) -> None:
    """It numbers rows, and only the files of frames that were cut or shuffled have it."""
    frame = table(60)
    for name, some in ("a", frame), ("b", frame.sample(50, random_state=0)):
        write(some, tmp_path / f"{name}.parquet")
    found = NaiveBayes().fit(tmp_path, target="class")
    assert [*found.feature_names_in_] == ["word", "number", "whole", "flag"]
    assert found.predict(tmp_path / "b.parquet", sink=tmp_path / "answers.csv").rows == 50
    index = NaiveBayes().fit(tmp_path / "b.parquet", target="class", columns=["__index_level_0__"])
    assert [*index.feature_names_in_] == ["__index_level_0__"]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_folders_named_by_a_value_are_columns(tmp_path: Path, ending: str) -> None:
    frame = table(90).assign(day=[1] * 30 + [2] * 40 + [3] * 20, place=["a b"] * 70 + [None] * 20)
    for (day, place), rows in frame.groupby(["day", "place"], dropna=False):
        name = "__HIVE_DEFAULT_PARTITION__" if not isinstance(place, str) else "a%20b"
        folder = tmp_path / "parts" / f"day={day:02}" / f"place={name}"
        folder.mkdir(parents=True)
        part = rows.drop(columns=["day", "place"])
        if ending == ".jsonl":
            part.to_json(folder / "rows.jsonl", orient="records", lines=True, force_ascii=False)
        else:
            write(part, folder / f"rows{ending}")
    found = NaiveBayes().fit(tmp_path / "parts", target="class", keep=["place"])
    asked = frame.drop(columns="class")
    whole = NaiveBayes().fit(asked, frame["class"])
    assert found.schema_["day"].kind == "numeric" and found.schema_["place"].states == ("a b",)
    np.testing.assert_allclose(found.predict_proba(asked), whole.predict_proba(asked), rtol=0, atol=1e-12)
    # One file alone is read like all of them, as long as its folders say what the model needs.
    written = found.predict(
        tmp_path / "parts" / "day=02" / "place=a%20b" / f"rows{ending}", sink=tmp_path / "a.csv"
    )
    assert written.rows == 40
    assert [*pd.read_csv(tmp_path / "a.csv")["prediction"]] == [*whole.predict(asked[30:70])]
    days = NaiveBayes().fit(tmp_path / "parts", target="day", exclude=["class", "place"])
    assert [*days.classes_] == [1, 2, 3]


def test_a_folder_is_a_column_only_where_all_files_differ_in_it(tmp_path: Path) -> None:
    frame = table(60)
    for day in 1, 2:
        (tmp_path / f"day={day}").mkdir()
        write(frame[day * 20 :], tmp_path / f"day={day}" / "rows.parquet")
    write(frame, tmp_path / "rows.parquet")
    with pytest.warns(SourceNote, match=r"'day'.*'day=1'"):
        found = NaiveBayes().fit(tmp_path, target="class")
    assert found.statistics_.total == 120 and "day" not in found.feature_names_in_
    (tmp_path / "rows.parquet").unlink()
    # What a file says itself counts, and a folder that all files are in is a place.
    own = frame.assign(day=7 * frame["whole"])
    for day in 1, 2:
        write(own, tmp_path / f"day={day}" / "rows.parquet")
    both = pd.concat([own, own])
    found, asked = NaiveBayes().fit(tmp_path, target="class"), both.drop(columns="class")
    whole = NaiveBayes().fit(asked, both["class"])
    np.testing.assert_allclose(found.predict_proba(asked), whole.predict_proba(asked), rtol=0, atol=1e-12)
    write(frame, tmp_path / "day=2" / "more.parquet")
    found = NaiveBayes().fit([tmp_path / "day=2" / "more.parquet"] * 2, target="class")
    assert "day" not in found.feature_names_in_
    # A word in one of the folders makes words of all.
    (tmp_path / "day=x").mkdir()
    write(frame, tmp_path / "day=x" / "rows.parquet")
    write(frame, tmp_path / "day=1" / "rows.parquet")
    with warns_of(SourceNote, "day", "int64"):
        found = NaiveBayes().fit([*map(str, tmp_path.glob("day=[1x]/*.parquet"))], target="class")
    assert found.schema_["day"].states == ("1", "x")


@pytest.mark.parametrize(
    "address",
    ["s3://bucket/part.parquet", "https://host/rows.csv", "mysql://me@host/shop?table=t", "gs://b/*.csv"],
)
def test_an_address_is_refused_with_the_way_out(address: str) -> None:
    for verb in (NaiveBayes().fit, NaiveBayes().lazy):
        with refuses(DataError, repr(address), "duckdb.sql"):
            verb(address, target="class")


def test_lists_in_a_column_are_refused_by_its_name(tmp_path: Path) -> None:
    frame = table(60).assign(pair=[[1, 2]] * 60)
    write(frame, tmp_path / "a.parquet")
    with refuses(ColumnError, "'pair'", "exclude=['pair']"):
        NaiveBayes().fit(tmp_path / "a.parquet", target="class")
    found = NaiveBayes().fit(tmp_path / "a.parquet", target="class", exclude=["pair"])
    assert found.statistics_.total == 60


def test_a_file_with_a_pattern_for_a_name_is_itself(tmp_path: Path) -> None:
    frame = table(20)
    odd = write(frame, tmp_path / "[ab].csv")
    write(table(10, 1), tmp_path / "a.csv")
    assert NaiveBayes().fit(odd, target="class").statistics_.total == 20


def test_a_list_of_words_is_no_list_of_files() -> None:
    with pytest.raises(ValueError, match="1D"):
        NaiveBayes().fit(["sweet", "ripe"], ["yes", "no"])


def test_lazy_reads_files_that_come_later(tmp_path: Path) -> None:
    frame = table(60)
    parts(tmp_path, frame[:40], [20])
    model = NaiveBayes().lazy(str(tmp_path / "part-*.csv"), target="class", refresh=3600)
    asked = frame.drop(columns="class")
    first = NaiveBayes().fit(frame[:40].drop(columns="class"), frame["class"][:40])
    np.testing.assert_allclose(model.predict_proba(asked), first.predict_proba(asked), rtol=0, atol=1e-12)
    write(frame[40:], tmp_path / "part-9.csv")
    all_rows = NaiveBayes().fit(asked, frame["class"])
    np.testing.assert_allclose(model.predict_proba(asked), all_rows.predict_proba(asked), rtol=0, atol=1e-12)


def test_networks_and_comparisons_take_them(tmp_path: Path) -> None:
    frame = table(80)
    paths = parts(tmp_path, frame, [30])
    network = learn_network(paths)
    whole = learn_network(write(frame, tmp_path / "whole.csv"))
    assert sorted(network.arcs) == sorted(whole.arcs)
    told = comparison.compare(paths, target="class", models=["nb"], baselines=False)
    assert told.table.rows == 80


def test_the_command_takes_a_pattern(tmp_path: Path) -> None:
    parts(tmp_path, table(60), [30])
    done = run(
        "fit", str(tmp_path / "part-*.csv"), "--target", "class", "--output", str(tmp_path / "m.bayes")
    )
    assert done.exit_code == 0, done.output
    assert os.path.exists(tmp_path / "m.bayes")
    # The command that is proposed next can be typed: a shell would read the pattern.
    (proposed,) = [line for line in done.output.splitlines() if line.startswith("next: ")]
    asked = shlex.split(proposed.removeprefix("next: bayeskit "))
    assert asked[2] == str(tmp_path / "part-*.csv") and proposed.split()[4] != asked[2]
    assert run(*asked).exit_code == 0
    missed = run("fit", str(tmp_path / "x-*.csv"), "--target", "class", "--output", str(tmp_path / "n.bayes"))
    assert missed.exit_code != 0
    assert "x-*.csv" in missed.output


def test_one_database_reads_all_files_in_all_passes(tmp_path, monkeypatch):
    import duckdb

    opened, connect = [], duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *a, **k: opened.append(connect(*a, **k)) or opened[-1])
    for name in "ab":
        rows = "".join(f"{k % 7},w{k % 3},{'yx'[k % 2]}\n" for k in range(60))
        (tmp_path / f"{name}.csv").write_text(f"number,word,class\n{rows}")
    TAN().fit(str(tmp_path / "*.csv"), target="class")
    assert len(opened) == 1


def test_a_pass_after_an_error_opens_the_database_anew(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,class\n1,a\nb,c\n")
    source = FileSource(path)
    with refuses(DataError):
        list(source.reread(["x"], {"x": "float64"}).batches())
    assert [batch["x"].tolist() for batch in source.batches()] == [["1", "b"]]
