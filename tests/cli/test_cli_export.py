"""The command that writes a model in other languages: the same as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bayeskit
from cli_run import done, refused, write_table


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    melon = write_table(folder / "melon.csv", "melon2")
    for name in ("nb", "aode"):
        done("fit", melon, "--target", "好瓜", "--model", name, "-o", folder / f"{name}.bayes")
    return folder


def test_json_is_printed_or_written(models: Path, tmp_path: Path) -> None:
    expected = json.loads(bayeskit.load(models / "nb.bayes").to_json())
    assert json.loads(done("export", models / "nb.bayes", "--to", "json")) == expected
    told = done("export", models / "nb.bayes", "--to", "json", "-o", tmp_path / "m.json", "--json")
    assert json.loads(told) == {"model": "NaiveBayes", "to": "json", "written": str(tmp_path / "m.json")}
    assert json.loads((tmp_path / "m.json").read_text("utf-8")) == expected


@pytest.mark.parametrize("name", ["nb", "aode"])
def test_sql_is_printed_with_semicolons(models: Path, name: str) -> None:
    pytest.importorskip("sqlglot", reason='to_sql needs sqlglot: pip install "bayeskit[sql]"')
    expected = bayeskit.load(models / f"{name}.bayes").to_sql("sqlite", "melons", ["a", "b"])
    options = ("--dialect", "sqlite", "--table", "melons", "--key", "a", "--key", "b")
    told = done("export", models / f"{name}.bayes", "--to", "sql", *options)
    assert told == (f"{expected};\n" if isinstance(expected, str) else str(expected))


def test_onnx_is_written(models: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason='to_onnx needs onnx: pip install "bayeskit[onnx]"')
    told = done("export", models / "nb.bayes", "--to", "onnx", "-o", tmp_path / "m.onnx", "--lang", "zh")
    assert "NaiveBayes" in told and "m.onnx" in told
    assert onnx.load(tmp_path / "m.onnx") == bayeskit.load(models / "nb.bayes").to_onnx()


def test_what_means_nothing_is_refused(models: Path) -> None:
    refused("export", models / "nb.bayes", "--to", "onnx", names=["-o FILE"])
    refused("export", models / "nb.bayes", "--to", "json", "--table", "t", names=["--table", "--to sql"])
    refused("export", models / "melon.csv", "--to", "json", names=["melon.csv"])
    refused("export", models / "nb.bayes", "--to", "json", "-o", models / "nb.bayes", names=["nb.bayes"])
