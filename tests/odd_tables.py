"""Tables with planted oddities, and what every command must say about each."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

MARKS = ("NA", "?", "-", "unknown", "n/a", ".")
Columns = dict[str, list[str]]


@dataclass(frozen=True)
class OddTable:
    """A table.

    Attributes
    ----------
    make : returns its columns; the class is "y"
    left_out : {column: reason}
    noted : texts that a note must name, for every command that learns
    warned : texts that the warnings of ``compare`` must name
    encoding, separator, comma : how it is written
    code : the exit code of every command
    slow : whether it is too large to be always run
    """

    make: Callable[[], Columns]
    left_out: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    encoding: str = "utf-8"
    separator: str = ","
    header: tuple[str, ...] | None = None
    code: int = 0
    slow: bool = False

    def write(self, path: Path) -> Path:
        columns = self.make()
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.separator)
        writer.writerow(self.header or tuple(columns))
        writer.writerows(zip(*columns.values(), strict=True))
        path.write_bytes(text.getvalue().encode(self.encoding))
        return path


def base(n: int = 400, rare: float = 0.5, seed: int = 0) -> Columns:
    """A number and a word that tell something about the class."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < rare, "yes", "no")
    x = rng.normal(np.where(y == "yes", 3.0, 4.0), 1.0).round(3)
    colour = np.where(rng.random(n) < 0.3, "red", np.where(rng.random(n) < 0.5, "green", "blue"))
    return {"x": [str(v) for v in x], "colour": colour.tolist(), "y": y.tolist()}


def with_column(name: str, cells: Callable[[list[str]], list[str]], n: int = 400) -> Callable[[], Columns]:
    def make() -> Columns:
        columns = base(n)
        return {name: cells(columns["y"]), **columns}

    return make


def marked(columns: Columns, marks: tuple[str, ...]) -> Columns:
    ages = [
        marks[i // 10 % len(marks)] if i % 10 == 0 else str(20 + i * 7 % 60) for i in range(len(columns["y"]))
    ]
    return {"age": ages, **columns}


def wide(width: int) -> Callable[[], Columns]:
    def make() -> Columns:
        rng = np.random.default_rng(1)
        more = {f"w{j}": rng.choice(["a", "b", "c"], 200).tolist() for j in range(width - 2)}
        columns = base(200)
        return {**more, "x": columns["x"], "y": columns["y"]}

    return make


def _flipped(y: list[str], every: int) -> list[str]:
    other = {"yes": "no", "no": "yes"}
    return [("Y" if (other[c] if i % every == every - 1 else c) == "yes" else "N") for i, c in enumerate(y)]


def _planted() -> Columns:
    columns = marked(base(), MARKS)
    rng = np.random.default_rng(2)
    return {
        "client id": [f"C{i:05d}" for i in range(400)],
        "leak": [str(round((1 if c == "yes" else 3) + rng.random(), 3)) for c in columns["y"]],
        **columns,
    }


TABLES = {
    "plain": OddTable(base),
    "byte order mark": OddTable(base, encoding="utf-8-sig"),
    "semicolons": OddTable(base, separator=";"),
    "decimal commas": OddTable(
        lambda: {**base(), "x": [v.replace(".", ",") for v in base()["x"]]},
        noted=("'x'", "3,5"),
        separator=";",
    ),
    "six marks of missing cells": OddTable(lambda: marked(base(), MARKS), noted=("'age'", *map(repr, MARKS))),
    "R's NA": OddTable(lambda: marked(base(), ("NA",)), noted=("'age'", "'NA'")),
    "an identifier": OddTable(
        with_column("client id", lambda y: [f"C{i:05d}" for i in range(len(y))]), ("client id",)
    ),
    "a date": OddTable(
        with_column("day", lambda y: [str(date(2020, 1, 1) + timedelta(i)) for i in range(len(y))]), ("day",)
    ),
    "a constant": OddTable(with_column("unit", lambda y: ["kg"] * len(y)), ("unit",)),
    "a copy of the target": OddTable(with_column("verdict", lambda y: _flipped(y, 10**6)), ("verdict",)),
    "a copy of 99.5 %": OddTable(
        with_column("verdict", lambda y: _flipped(y, 200)), noted=("'verdict'", "99.5%")
    ),
    "a leak": OddTable(
        with_column("leak", lambda y: [str(1.5 + (c == "yes") * 2 + i % 7 / 10) for i, c in enumerate(y)]),
        noted=("'leak'",),
    ),
    "a class of 0.5 %": OddTable(lambda: base(2000, 0.005), warned=("yes is never predicted", "0.70%")),
    "many words": OddTable(
        with_column("street", lambda y: [f"street {i * 13 % 150}" for i in range(len(y))]),
        noted=("'street'", "150"),
    ),
    "words among numbers": OddTable(
        with_column("age", lambda y: ["old" if i % 25 == 0 else str(20 + i % 50) for i in range(len(y))]),
        noted=("'age'", "'old'"),
    ),
    "GB18030": OddTable(
        lambda: {"颜色": ["青绿" if c == "red" else "乌黑" for c in base()["colour"]], **base()},
        encoding="gb18030",
    ),
    "quotes and newlines": OddTable(
        with_column("note", lambda y: ['say "hi",\nthen go' if i % 3 else "x,y" for i in range(len(y))])
    ),
    "a header of spaces": OddTable(base, header=(" x ", "  ", " y "), noted=("column2",)),
    "duplicate names": OddTable(base, header=("x", "x", "y"), code=2),
    "identifier, leak and six marks": OddTable(
        _planted, ("client id",), ("'leak'", "'age'", *map(repr, MARKS))
    ),
    "216 columns": OddTable(wide(216)),
    "2,000 columns": OddTable(wide(2000), slow=True),
    "300,000 rows": OddTable(
        lambda: {"row": [str(i) for i in range(300_000)], **base(300_000)}, ("row",), slow=True
    ),
}
