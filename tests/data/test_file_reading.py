"""What a look at a file finds does not depend on how many of its rows are read for it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from bayeskit._data import file_reading
from bayeskit._data.file_reading import FileReading, screen_file
from bayeskit._data.file_rows import FileRows
from bayeskit._data.file_set import open_files
from bayeskit._data.files import FileSource

N, LOOKED_AT = 6_000, 400


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at few rows, so that small files are large."""
    monkeypatch.setattr(file_reading, "ROWS_LOOKED_AT", LOOKED_AT)
    monkeypatch.setattr(file_reading, "ROWS_CONFIRMED", N)


def odd_columns(order: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(N) < 0.4, "yes", "no")
    if order == "by class":
        y = np.sort(y)
    if order == "rare class in the middle":
        y = np.where(np.abs(np.arange(N) - N // 2 + 200) < 100, "yes", "no")
    told = np.where(rng.random(N) < 0.99, y, np.where(y == "yes", "no", "yes"))
    words = np.char.add("w", rng.integers(0, 900, N).astype(str))
    middle = np.where(np.abs(np.arange(N) - N // 2 + 200) < 100, "b", "a")
    columns = {
        "number": rng.normal(size=N),
        "colour": rng.choice(["red", "green", "blue"], N),
        "row": np.arange(N),
        "name": np.char.add("n", rng.permutation(N).astype(str)),
        "constant": np.full(N, "one"),
        "nearly": middle,
        "copy": np.where(y == "yes", 1, 0),
        "when": np.datetime64("2024-01-01") + np.arange(N) % 300,
        "leak": told,
        "crowd": np.sort(words) if order == "by words" else words,
        "y": y,
    }
    return {
        name: cells.astype(str).astype(object) if cells.dtype.kind in "UM" else cells
        for name, cells in columns.items()
    }


def write(folder: Path, columns: dict[str, Any], files: int = 1) -> list[Path]:
    paths = [folder / f"{k}.parquet" for k in range(files)]
    for k, path in enumerate(paths):
        part = {name: cells[k * N // files : (k + 1) * N // files] for name, cells in columns.items()}
        with duckdb.connect() as connection:
            connection.register("part", part)
            connection.execute(f"COPY part TO '{path}' (ROW_GROUP_SIZE 2048)")
    return paths


def look(paths: list[Path]) -> tuple[FileReading, list[str]]:
    """What is found, and the notes without numbers that depend on the sample."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, reading = screen_file(FileRows(open_files(paths), "the table"), "y")
    return reading, [str(one.message).split(" of the rows")[0].split(" alone predicts")[0] for one in caught]


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("order", ["mixed", "by class", "by words", "rare class in the middle"])
def test_blocks_of_a_file_tell_what_rows_of_all_of_it_do(
    order: str, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write(tmp_path, odd_columns(order), files)
    found, notes = look(paths)
    monkeypatch.setattr(FileRows, "blocks", lambda *_: [])
    expected, told = look(paths)
    assert found.left_out == expected.left_out
    assert {"row", "name", "constant", "copy", "when"} <= set(found.left_out)
    assert ("nearly" in found.left_out) == (order == "rare class in the middle")  # there it is a copy
    assert found.telling.keys() == expected.telling.keys()
    assert [note.split(" different words")[0].rstrip("0123456789,") for note in notes] == [
        note.split(" different words")[0].rstrip("0123456789,") for note in told
    ]


def test_rows_between_the_blocks_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {
        name: cells for name, cells in odd_columns("mixed").items() if name in ("number", "colour", "y")
    }
    paths = write(tmp_path, columns)

    def refuse(*_: Any) -> None:
        raise AssertionError("all rows are read")

    monkeypatch.setattr(FileSource, "sample", refuse)
    monkeypatch.setattr(FileSource, "batches", refuse)
    assert set(look(paths)[0].kinds) == {"number", "colour", "y"}


@pytest.mark.parametrize("name", ["file_row_number", "number"])
def test_blocks_are_rows_of_the_file_in_its_order(name: str, tmp_path: Path) -> None:
    [path] = write(tmp_path, {name: np.arange(N)})
    blocks = FileRows(open_files([path, path]), "the table").blocks(3, 90)
    if name == "file_row_number":  # the name by which DuckDB finds rows: these are not skipped
        assert blocks == []
        return
    assert [block[name].tolist() for block in blocks] == [
        list(range(30)),
        list(range(N - 30, N)),
        list(range(N - 30, N)),
    ]
