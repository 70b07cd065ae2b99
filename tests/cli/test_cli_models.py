"""The commands over tables and models: each against the same thing done in Python."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit
from bayeskit import AODE, KDB, NaiveBayes, TallyStore, datasets
from bayeskit._comparison.candidates import MODELS
from cli_run import done, refused, run, write_table
from refusals import unnamed

MELON = datasets.load_dataset("melon3")


@pytest.fixture
def melon(tmp_path: Path) -> Path:
    return write_table(tmp_path / "melon.csv", "melon3")


@pytest.fixture
def model(tmp_path: Path, melon: Path) -> Path:
    done("fit", melon, "--target", "好瓜", "-o", tmp_path / "m.bayes")
    return tmp_path / "m.bayes"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_fitted_file_is_the_model_of_python(melon: Path, tmp_path: Path) -> None:
    path = tmp_path / "k.bayes"
    told = done(
        "fit",
        melon,
        "--target",
        "好瓜",
        "--model",
        "kdb",
        "--param",
        "k=1",
        "--smoothing",
        "0.5",
        "-o",
        path,
        "--json",
    )
    assert json.loads(told)["classes"] == [{"label": "否", "rows": 9.0}, {"label": "是", "rows": 8.0}]
    expected = KDB(k=1, smoothing=0.5).fit(MELON.frame, target="好瓜").predict_proba(MELON.X)
    assert bayeskit.load(path).predict_proba(MELON.X) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_fits_and_predicts(name: str, melon: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.bayes"
    given = {"net": "numeric=2", "text": "text=色泽"}
    more = ("--param", given[name]) if name in given else ()
    done("fit", melon, "--target", "好瓜", "--model", name, "-o", path, *more)
    found = rows_of(done("predict", path, melon, "--proba"))
    assert [int(row["row"]) for row in found] == list(range(1, 18))
    for row in found:
        p = {label: float(row[f"P({label})"]) for label in ("是", "否")}
        assert sum(p.values()) == pytest.approx(1.0) and p[row["好瓜"]] == max(p.values())
    expected = bayeskit.load(path).predict_proba(MELON.X)[:, 1]
    assert [float(row["P(是)"]) for row in found] == expected.tolist()


def test_predictions_from_standard_input_and_to_every_format(
    model: Path, melon: Path, tmp_path: Path
) -> None:
    plain = rows_of(done("predict", model, melon))
    expected = NaiveBayes().fit(MELON.X, MELON.y).predict(MELON.X)
    assert [row["好瓜"] for row in plain] == expected.tolist()
    piped = done("predict", model, "-", "--json", "--limit", "5", stdin=melon.read_bytes())
    assert json.loads(piped) == [{"row": int(r["row"]), "好瓜": r["好瓜"]} for r in plain[:5]]
    done("predict", model, melon, "-o", tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["好瓜"] for line in lines] == [row["好瓜"] for row in plain]
    told = json.loads(done("predict", model, melon, "-o", tmp_path / "out.csv", "--json"))
    assert told["rows"] == 17 and sum(told["counts"].values()) == 17


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_tables_may_come_through_a_pipe_and_models_may_not(model: Path, melon: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(melon.read_bytes()))
    writer.start()
    assert done("predict", model, pipe) == done("predict", model, melon)
    writer.join()
    refused("inspect", pipe, names=[pipe])


def test_nothing_is_printed_where_the_first_rows_cannot_be_predicted(
    model: Path, melon: Path, tmp_path: Path
) -> None:
    header, *lines = melon.read_text("utf-8").splitlines()
    broken = tmp_path / "broken.csv"
    cells = dict(zip(header.split(","), lines[0].split(","), strict=True)) | {"密度": "inf"}
    broken.write_text("\n".join([header, ",".join(cells.values())]) + "\n", "utf-8")
    refused("predict", model, broken, names=["密度", "inf", 1])


def test_a_loss_and_a_reject_decide(model: Path, melon: Path, tmp_path: Path) -> None:
    loss = tmp_path / "loss.csv"
    loss.write_text("action,否,是\nbuy,5,0\nleave,0,1\n", "utf-8")
    found = rows_of(done("predict", model, melon, "--proba", "--loss", loss, "--reject", "0.3"))
    for row in found:
        risks = {"buy": 5 * float(row["P(否)"]), "leave": float(row["P(是)"])}
        best = min(risks, key=lambda a: risks[a])
        assert (row["action"], float(row["risk"])) == (
            (best, pytest.approx(risks[best])) if risks[best] <= 0.3 else ("reject", 0.3)
        )
    assert {row["action"] for row in found} == {"buy", "leave", "reject"}
    loss.write_text(",否,是\nbuy,5,0\nleave,0,1\n", "utf-8")  # the corner of a table of costs needs no name
    assert "column1" not in run("predict", model, melon, "--loss", loss).stderr
    loss.write_text("action,否,shi\nbuy,5,0\n", "utf-8")
    assert "'是'" in refused("predict", model, melon, "--loss", loss)
    refused("predict", model, melon, "--loss", tmp_path / "none.csv", names=["none.csv", "action,否,是"])


def test_columns_are_read_as_they_were_learned(tmp_path: Path) -> None:
    """A few rows may look like numbers, or be empty, where the whole column was of words."""
    table = tmp_path / "codes.csv"
    table.write_text("code,size,y\n01,1,a\n02,2,b\nx,3,a\n01,4,b\n01,5,a\n", "utf-8")
    done("fit", table, "--target", "y", "-o", tmp_path / "m.bayes")
    few = tmp_path / "few.csv"
    few.write_text("size,code,else\n1,01,2020-01-01\n,02,2020-01-02\n", "utf-8")
    found = rows_of(done("predict", tmp_path / "m.bayes", few, "--proba"))
    expected = bayeskit.load(tmp_path / "m.bayes").predict_proba(
        {"code": ["01", "02"], "size": [1.0, np.nan]}
    )
    assert [float(row["P(a)"]) for row in found] == expected[:, 0].tolist()


def test_reading_flags(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes("色;zip;n;y\n青;1;?;a\n青;2;3;b\n黑;1;4;a\n黑;2;5;x\n".encode("gbk"))
    flags = ("--sep", ";", "--encoding", "gbk", "--missing", "?", "--categorical", "zip", "--limit", "3")
    done("fit", table, "--target", "y", "-o", tmp_path / "m.bayes", *flags)
    found = bayeskit.load(tmp_path / "m.bayes")
    assert found.classes_.tolist() == ["a", "b"]  # the fourth row, of class x, is beyond the limit
    assert found.schema_["zip"].states == ("1", "2")
    assert found.schema_["n"].kind == "numeric"
    table.write_bytes("色;zip;n;y\n青;1;few;a\n青;2;3;b\n黑;1;4;a\n黑;2;5;x\n".encode("gbk"))
    told = refused("fit", table, "--target", "y", "-o", tmp_path / "m.bayes", "--sep", ";", "--numeric", "n")
    assert "'few'" in told and "--missing" in told


@pytest.mark.parametrize("name", ["nb", "tan", "aode"])
def test_an_explanation_multiplies_to_the_prediction(name: str, melon: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.bayes"
    done("fit", melon, "--target", "好瓜", "--model", name, "-o", path)
    told = json.loads(done("explain", path, melon, "--row", "17", "--format", "json"))
    assert told["posterior"] == pytest.approx(bayeskit.load(path).predict_proba(MELON.X[16:17])[0], abs=1e-12)


def test_a_row_by_hand_and_its_pages(model: Path, tmp_path: Path) -> None:
    by_hand = ("--set", "色泽=青绿", "--set", "密度=0.6")
    told = json.loads(done("explain", model, *by_hand, "--json"))
    row = {name: [None] for name in MELON.attributes} | {"色泽": ["青绿"], "密度": [0.6], "含糖率": [np.nan]}
    assert told["posterior"] == pytest.approx(bayeskit.load(model).predict_proba(row)[0])
    assert [a["name"] for a in told["attributes"]] == ["色泽", "密度"]
    assert "对数几率" in done("explain", model, *by_hand, "--lang", "zh")
    latex = done("explain", model, *by_hand, "--format", "latex")
    assert latex == bayeskit.load(model).explain(row).to_latex() + "\n"
    done("explain", model, *by_hand, "--format", "html", "-o", tmp_path / "e.html")
    assert (tmp_path / "e.html").read_text("utf-8").startswith("<!doctype html>")
    assert unnamed(run("explain", model, "--set", "色泽=青绿绿").stderr, "青绿绿", "青绿") == []
    assert "'密度'" in refused("explain", model, "--set", "密读=0.6")
    refused("explain", model, "--set", "密度=heavy", names=["--set", "密度", "heavy"])
    refused("explain", model, tmp_path / "melon.csv", "--row", "18", names=["melon.csv", 17, 18])
    refused("explain", model)
    refused("explain", model, tmp_path / "melon.csv")


def test_update_forget_and_merge_are_exact(melon: Path, model: Path, tmp_path: Path) -> None:
    parts = [
        write_table(tmp_path / f"{i}.csv", "melon3", rows)
        for i, rows in enumerate((slice(0, None, 2), slice(1, None, 2)))
    ]
    for i, part in enumerate(parts):
        done("fit", part, "--target", "好瓜", "-o", tmp_path / f"{i}.bayes")
    whole = bayeskit.load(model).predict_proba(MELON.X)

    def same(path: Path) -> bool:
        return bool(np.abs(bayeskit.load(path).predict_proba(MELON.X) - whole).max() < 1e-12)

    done("merge", tmp_path / "0.bayes", tmp_path / "1.bayes", "-o", tmp_path / "both.bayes")
    assert same(tmp_path / "both.bayes")
    done("update", tmp_path / "0.bayes", parts[1], "-o", tmp_path / "up.bayes")
    assert same(tmp_path / "up.bayes") and not same(tmp_path / "0.bayes")
    told = json.loads(done("forget", tmp_path / "up.bayes", parts[0], "--json"))
    assert (told["forget"], told["rows"]) == (9.0, 8.0)
    done("update", tmp_path / "up.bayes", parts[0])
    assert same(tmp_path / "up.bayes")
    before = (tmp_path / "1.bayes").read_bytes()
    refused("forget", tmp_path / "1.bayes", parts[0])
    assert (tmp_path / "1.bayes").read_bytes() == before


def test_a_store_takes_the_place_of_a_model(melon: Path, model: Path, tmp_path: Path) -> None:
    store, learned = tmp_path / "store", bayeskit.load(model)
    rows = write_table(tmp_path / "first.csv", "melon3", slice(0, 5))
    with TallyStore(store, learned):
        pass
    told = json.loads(done("update", store, rows, "--batch", "first", "--json"))
    assert (told["update"], told["rows"]) == (5.0, 22.0)
    assert unnamed(done("update", store, rows, "--batch", "first"), "first", 22) == []
    assert json.loads(done("update", store, rows, "--batch", "first", "--json"))["update"] == 0
    done("forget", store, rows, "--batch", "gone")
    assert TallyStore(store).statistics().total == 17
    assert json.loads(done("inspect", store, "--json"))["rows"] == 17
    assert done("predict", store, melon) == done("predict", model, melon)
    refused("update", store, rows, names=[store, "--batch"])
    refused("update", store, rows, "--batch", "b", "-o", tmp_path / "x", names=[store, "-o"])
    refused("update", model, rows, "--batch", "b", names=[model, "--batch"])
    refused("forget", store, rows, "--batch", "first", names=["first", "append"])
    with TallyStore(store) as held:
        held.append("here", melon, target="好瓜")
        refused("update", store, rows, "--batch", "b", names=[store])
    refused("predict", tmp_path, melon, names=[tmp_path])
    TallyStore(tmp_path / "empty", NaiveBayes()).close()
    refused("update", tmp_path / "empty", rows, "--batch", "b", names=[tmp_path / "empty"])


def test_inspect_tells_what_was_learned(melon: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.bayes"
    done("fit", melon, "--target", "好瓜", "--model", "aode", "--param", "min_count=2", "-o", path)
    told = json.loads(done("inspect", path, "--json"))
    expected = AODE(min_count=2).fit(MELON.frame, target="好瓜")
    assert told["rows"] == 17 and told["parameters"] == {"min_count": 2} and told["held"] == ["cut_points"]
    assert [a["values"] for a in told["attributes"]] == [list(v.states) for v in expected.schema_.attributes]
    page = done("inspect", path, "--lang", "zh")
    assert "预测目标“好瓜”" in page and "区间" in page


def test_discretize_cuts_as_the_discretizer_does(tmp_path: Path) -> None:
    iris = datasets.load_dataset("iris")
    table = write_table(tmp_path / "iris.csv", "iris")
    told = json.loads(
        done("discretize", table, "--target", iris.target, "-o", tmp_path / "d.csv", "--codes", "--json")
    )
    cutter = bayeskit.Discretizer().fit(iris.X, iris.y)
    assert told["cut_points"] == {
        name: cuts.tolist() for name, cuts in zip(iris.attributes, cutter.cut_points_.values(), strict=True)
    }
    rows = rows_of((tmp_path / "d.csv").read_text("utf-8"))
    codes = [[int(row[name]) for name in iris.attributes] for row in rows]
    assert codes == np.asarray(cutter.transform(iris.X)).astype(int).tolist()
    assert "(-inf, " in done("discretize", table, "--method", "width", "--bins", "3", "--limit", "4")
    assert "--target" in refused("discretize", table)


def test_options_that_mean_nothing_are_refused(melon: Path, tmp_path: Path) -> None:
    fit: list[Any] = ["fit", melon, "--target", "好瓜", "-o", tmp_path / "m.bayes"]
    for more, said in [
        (["--model", "kbd"], "'kdb'"),
        (["--param", "kk=2"], "'kk'"),
        (["--param", "alpha"], "NAME=VALUE"),
        (["--drop", "密读"], "'密度'"),
        (["--model", "auto", "--smoothing", "1"], "AutoBayes"),
        (["--model", "net", "-o", tmp_path / "m.bif"], "network convert"),
        (["--limit", "0"], "--limit"),
    ]:
        assert said in refused(*fit, *more)
    assert not (tmp_path / "m.bayes").exists()


def test_a_table_of_many_columns_and_one_in_parquet(tmp_path: Path) -> None:
    """Columns are surveyed some at a time; each keeps its own kind, whichever group it falls into."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    words = {f"w{i}": ["a", "b", "a", str(i)] for i in range(70)}
    numbers = {f"n{i}": [i, 1.5, 2.0, 3.0] for i in range(70)}
    table = {
        name: column for pair in zip(words.items(), numbers.items(), strict=True) for name, column in pair
    }
    lines = [
        ",".join([*table, "y"]),
        *(",".join(map(str, row)) for row in zip(*table.values(), "pqpq", strict=True)),
    ]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n", "utf-8")
    done("fit", tmp_path / "wide.csv", "--target", "y", "-o", tmp_path / "m.bayes")
    kinds = {str(v.name): v.kind for v in bayeskit.load(tmp_path / "m.bayes").schema_.attributes}
    assert kinds == dict.fromkeys(words, "categorical") | dict.fromkeys(numbers, "numeric")
    few = {name: [7, 8] if name in words else ["1.5", None] for name in table}  # each of the other kind
    parquet.write_table(pa.table(few), tmp_path / "few.parquet")
    found = rows_of(done("predict", tmp_path / "m.bayes", tmp_path / "few.parquet", "--proba"))
    as_learned = {name: ["7", "8"] if name in words else [1.5, np.nan] for name in table}
    expected = bayeskit.load(tmp_path / "m.bayes").predict_proba(as_learned)
    assert [float(row["P(p)"]) for row in found] == expected[:, 0].tolist()


# -- free text -------------------------------------------------------------------------------------


def messages(n: int = 60) -> dict[str, list[Any]]:
    """A message and two columns beside it; words and the hour tell of the class."""
    rng = np.random.default_rng(0)
    spam = rng.random(n) < 0.4
    bait, chat = ["win", "free", "prize", "call", "now"], ["see", "you", "at", "lunch", "home"]
    return {
        "hour": [int(hour) for hour in np.where(spam, 3, 12) + rng.integers(0, 6, n)],
        "message": [f"{' '.join(rng.choice(bait if s else chat, 6))} no {i}" for i, s in enumerate(spam)],
        "phone": rng.choice(["old", "new"], n).tolist(),
        "kind": ["spam" if s else "ham" for s in spam],
    }


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    return written(tmp_path / "inbox.csv", messages())


def written(path: Path, columns: dict[str, list[Any]]) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def test_the_words_of_a_column_of_text_are_learned_beside_the_others(inbox: Path, tmp_path: Path) -> None:
    path, table = tmp_path / "m.bayes", messages()
    result = run("fit", inbox, "--target", "kind", "-o", path)
    assert result.exit_code == 0 and not unnamed(result.stderr, "message", "TextBayes", "--drop")
    y = table.pop("kind")
    model = bayeskit.load(path)
    expected = bayeskit.TextBayes(text="message").fit(table, y).predict_proba(table)
    assert type(model).__name__ == "TextBayes" and model.predict_proba(table) == pytest.approx(
        expected, rel=1e-9
    )
    answers = [row["kind"] for row in rows_of(done("predict", path, inbox))]
    assert answers == model.predict(table).tolist()
    assert "lunch" in done("explain", path, "--set", "message=lunch at home", "--lang", "en")
    row = y.index("spam")
    assert table["message"][row].split()[0] in done("explain", path, inbox, "--row", 1 + row)
    assert "message" in done("inspect", path)
    more = tmp_path / "more.bayes"
    done("update", path, inbox, "-o", more)
    done("forget", more, inbox, "-o", more)
    assert bayeskit.load(more).predict_proba(table) == pytest.approx(expected, rel=1e-9)


def test_a_column_of_text_is_left_out_where_words_are_not_read(inbox: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.bayes"
    for more in (("--model", "tan"), ("--param", "numeric=kernel")):
        result = run("fit", inbox, "--target", "kind", "-o", path, *more)
        assert result.exit_code == 0 and not unnamed(result.stderr, "message", "--model")
        assert "message" not in [v.name for v in bayeskit.load(path).schema_.attributes]
    done("fit", inbox, "--target", "kind", "-o", path, "--categorical", "message")
    assert type(bayeskit.load(path)) is NaiveBayes
    done("fit", inbox, "--target", "kind", "-o", path, "--drop", "message")
    assert type(bayeskit.load(path)) is NaiveBayes
    done("fit", inbox, "--target", "kind", "-o", path, "--model", "text", "--param", "ngram_range=[1,1]")
    assert all(" " not in word for word in bayeskit.load(path).vocabulary_)


def test_several_columns_of_text_are_one(tmp_path: Path) -> None:
    table = messages()
    table["subject"] = [f"about the {word} and more of it" for word in table["message"]]
    path, data = tmp_path / "m.bayes", written(tmp_path / "two.csv", table)
    done("fit", data, "--target", "kind", "-o", path)
    assert bayeskit.load(path).n_features_in_ == 4
    assert len(rows_of(done("predict", path, data))) == len(table["kind"])
    done("explain", path, data, "--row", 1)
    done("explain", path, "--set", "subject=free prize")
    done("update", path, data)


def test_words_are_refused_where_there_are_none(tmp_path: Path, melon: Path) -> None:
    refused(
        "fit", melon, "--target", "好瓜", "-o", tmp_path / "m", "--model", "text", names=["色泽", "--param"]
    )


def test_predictions_as_parquet_within_a_limit(model: Path, melon: Path, tmp_path: Path) -> None:
    import duckdb

    out = tmp_path / "out.parquet"
    found = json.loads(done("predict", model, melon, "-o", out, "--memory", "200MB", "--json"))
    rows = duckdb.sql(f"FROM '{out}'")
    assert rows.columns == ["prediction", "p_否", "p_是"]
    assert len(rows.fetchall()) == found["rows"] == 17
    refused("predict", model, melon, "-o", out, "--memory", "much", names=["--memory", "much"])
    refused("predict", model, melon, "-o", out, "--reject", "0.1", names=["Parquet"])


_PROGRAM = """
import sys
sys.argv = ["bayeskit", *sys.argv[1:]]
from bayeskit._cli.start import main
try:
    main()
finally:
    heavy = ("sklearn", "scipy", "numba", "pandas", "pyarrow")
    print(*(name for name in heavy if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize("name", ["nb", "tan", "aode"])
def test_a_saved_model_answers_a_few_rows_without_heavy_libraries(
    name: str, melon: Path, tmp_path: Path
) -> None:
    """The process belongs to the command, so its classifiers have light bases; a few rows need no compiled kernel."""
    path, few = tmp_path / "m.bayes", write_table(tmp_path / "few.csv", "melon3", slice(2))
    done("fit", melon, "--target", "好瓜", "--model", name, "-o", path)
    line = ["predict", str(path), str(few), "--proba"]
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *line], capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert (ran.returncode, ran.stderr.split()) == (0, [])
    assert ran.stdout == done(*line)
