"""Every way of reading a file gives the same statistics: with care, quickly, in codes by PyArrow, row by row."""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from bayeskit import AODE, KDB, Batches, CountForest, LogLinearBayes, NaiveBayes, TextBayes
from bayeskit._data.file_set import open_files
from bayeskit._data.source import memory_in_bytes
from bayeskit._data.survey import count_cells
from bayeskit.errors import BayeskitError, DataError, SettingError

LONG = 3_000  # more than the rows that a quick look sees


def rows(cells: list[str], late: list[str] = [], header: str = "x,a,class") -> str:  # noqa: B006
    """A table whose first column has these cells again and again, and some others only at the end."""
    first = [cells[i % len(cells)] for i in range(LONG)] + late
    return (
        "\n".join([header, *(f"{cell},{'uvw'[i % 3]},{'ynnyn'[i % 5]}" for i, cell in enumerate(first))])
        + "\n"
    )


TEXTS = {
    "numbers": rows(["1.5", "2", "-3e2"]),
    "integers": rows(["1", "22", "-3"]),
    "an integer is missing at the end": rows(["1", "2"], [""]),
    "an integer is a fraction at the end": rows(["1", "2"], ["2.5"]),
    "an integer in hexadecimal at the end": rows(["1", "2"], ["0x10"]),
    "an integer with an exponent at the end": rows(["1", "2"], ["1e3"]),
    "a number is a word at the end": rows(["1.5", "2"], ["many"]),
    "a number has an underscore at the end": rows(["1.5", "2"], ["1_000"]),
    "a number is blank at the end": rows(["1.5", "2"], [" "]),
    "a number is an empty text at the end": rows(["1.5", "2"], ['""']),
    "a number is missing now and then": rows(["1.5", "", "2"]),
    "words that are numbers at the end": rows(["a", "b"], ["1", "2"]),
    "a word for not a number": rows(["1.5", "2"], ["nan"]),
    "infinity at the end": rows(["1.5", "2"], ["inf"]),
    "true and false": rows(["true", "false"]),
    "true, false and a word at the end": rows(["true", "false"], ["maybe"]),
    "decimal commas": rows(['"1,5"', '"2,25"']),
    "numbers, then a decimal comma": rows(["1", "2"], ['"2,5"']),
    "per cent": rows(["3%", "4.5%"]),
    "numbers with spaces": rows([" 1.5", "2 "]),
    "nothing in the first rows": rows([""], ["1.5", "2"]),
    "nothing at all": rows([""]),
    "quotes and line ends in cells": rows(['"a ""b"""', '"c\nd"', '"e,f"']),
    "a word with an underscore": rows(["1.5", "2"]).replace("u", "u_1"),
    "another number of cells at the end": rows(["1.5"]) + "1,2,3,4\n",
    "a class is missing at the end": rows(["1.5"]) + "1,u,\n",
    "lines end in different ways": rows(["1.5"]) + "1,u,y\r\n2,u,n\r3,u,y\n",
    "a class only at the end": rows(["1.5"]) + "1,u,new\n",
}
CHINESE = rows(["1.5", "2"], header="密度,色泽,class").replace("u", "青绿")


def outcome(model: Any, path: Any, **settings: Any) -> Any:
    """What was counted and said, or the error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            statistics = model.fit(path, target="class", **settings).statistics_
        except BayeskitError as error:
            return type(error), str(error)
    return *counted(model, statistics), sorted({str(warning.message) for warning in said})


def counted(model: Any, statistics: Any) -> Any:
    arrays = {f"{kind}/{n}": a for kind, part in statistics.parts.items() for n, a in part.arrays().items()}
    return (statistics.schema, model.reading_), arrays


def same(one: Any, other: Any) -> None:
    assert len(one) == len(other), (one, other)
    assert one[0] == other[0]
    assert one[-1] == other[-1]
    if len(one) == 3:
        assert one[1].keys() == other[1].keys()
        for name, array in one[1].items():
            np.testing.assert_array_equal(array, other[1][name], err_msg=name)


def careful(monkeypatch: pytest.MonkeyPatch, model: Any, path: Any, **settings: Any) -> Any:
    """Read as before a quick look was possible: every cell twice, and every row as Python objects."""
    with monkeypatch.context() as way:
        way.setattr("bayeskit._data.files._LARGE", 1 << 62)
        way.setitem(sys.modules, "pyarrow", None)
        way.setitem(sys.modules, "pyarrow.parquet", None)
        return outcome(model, path, **settings)


@pytest.fixture
def surveys(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every file is large, and 2,048 rows are the first; the surveys of whole files."""
    made = []

    def recorded(connection: Any, table: str, *given: Any) -> Any:
        if table != "first_rows":
            made.append(table)
        return count_cells(connection, table, *given)

    monkeypatch.setattr("bayeskit._data.files._LARGE", 0)
    monkeypatch.setattr("bayeskit._data.files.FIRST_ROWS", 2_048)
    monkeypatch.setattr("bayeskit._data.file_reading.FIRST_ROWS", 2_048)
    monkeypatch.setattr("bayeskit._data.files.count_cells", recorded)
    return made


@pytest.mark.parametrize("make", [NaiveBayes, AODE])
@pytest.mark.parametrize("name", TEXTS)
def test_a_quick_look_changes_nothing(
    name: str, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TEXTS[name], newline="")
    monkeypatch.setattr("bayeskit._data.files._LARGE", 0)
    same(outcome(make(), path), careful(monkeypatch, make(), path))


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16"])
def test_in_any_encoding(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(CHINESE.encode(encoding))
    monkeypatch.setattr("bayeskit._data.files._LARGE", 0)
    same(outcome(NaiveBayes(), path), careful(monkeypatch, NaiveBayes(), path))


@pytest.mark.parametrize(
    ("first", "second"),
    [("1.5", "2"), ("1", "2"), ("1", "2.5"), ("1", ""), ("1.5", "many"), ("many", "few"), ("true", "1")],
)
def test_several_files(first: str, second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, cell in zip(paths, (first, second), strict=True):
        path.write_text(rows([cell]))
    monkeypatch.setattr("bayeskit._data.files._LARGE", 0)
    names = [*map(str, paths), str(paths[0])]
    same(outcome(NaiveBayes(), names), careful(monkeypatch, NaiveBayes(), names))


def table(path: Path, n: int = 3_000, **columns: Callable[[int], object]) -> Path:
    """Two columns that are nothing to wonder about, a class, and others by the number of a row."""
    plain = {"a": lambda i: "uvw"[i % 3], "z": lambda i: i % 7 / 4, "class": lambda i: "ynnyn"[i % 5]}
    every = {**plain, **columns}
    lines = [",".join(str(cell(i)) for cell in every.values()) for i in range(n)]
    path.write_text("\n".join([",".join(every), *lines, ""]))
    return path


CELLS: dict[str, Callable[[int], object]] = {
    "fractions": lambda i: i % 9 / 4,
    "integers": lambda i: i % 9 - 4,
    "words": lambda i: "pqrs"[i % 4],
    "words and some numbers": lambda i: ["p", "q", "r", "4"][i % 4],
}
STRANGE = ["NA", "nan", " ? ", "unknown", "-", "many", "2_000", "0x10", "2024-01-31", "true", '"1,5"', ""]


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("kind", CELLS)
def test_a_strange_cell_first_or_late(
    kind: str, strange: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, surveys: list[str]
) -> None:
    cell = CELLS[kind]
    for place in (5, 2_990):
        path = table(tmp_path / f"{place}.csv", x=lambda i, place=place: strange if i == place else cell(i))
        same(outcome(NaiveBayes(), path), careful(monkeypatch, NaiveBayes(), path))


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("make", [NaiveBayes, AODE, KDB, lambda: NaiveBayes(calibration="isotonic")])
def test_no_survey_where_nothing_is_strange(
    kind: str, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, surveys: list[str]
) -> None:
    path = table(tmp_path / "table.csv", x=CELLS[kind])
    quick = outcome(make(), path)
    assert not surveys
    same(quick, careful(monkeypatch, make(), path))
    assert len(surveys) == 1


REMARKABLE: dict[str, Callable[[int], object]] = {
    "one value": lambda i: "p",
    "one value in the first rows": lambda i: "p" if i < 2_900 else "q",
    "another value in the first rows only": lambda i: "q" if i == 3 else "p",
    "nothing in the first rows": lambda i: "" if i < 2_900 else "p",
    "few cells in the first rows, and a copy": lambda i: "" if i < 2_900 and i % 500 else "ynnyn"[i % 5],
    "few cells, and dates": lambda i: "" if i < 2_900 and i % 500 else f"{1 + i % 28} May 2024",
    "a copy of the class": lambda i: int("01101"[i % 5]),
    "a copy in the first rows": lambda i: 2 if i == 2_900 else int("01101"[i % 5]),
    "a copy but for the first rows": lambda i: 0 if i < 9 else int("01101"[i % 5]),
    "numbers of the rows": lambda i: i,
    "numbers of the rows in another order": lambda i: 3 * i % 3_000 if i % 3_000 else 0,
    "numbers of the rows, mixed": lambda i: 7 * i % 3_001,
    "numbers of the first rows": lambda i: i % 2_500,
    "different numbers": lambda i: 7.5 * i % 3_001,
    "words of the rows": lambda i: f"p{i}",
    "words of the later rows": lambda i: f"p{i % 10 if i < 2_100 else i}",
    "the same words in the first rows": lambda i: f"p{i}" if i % 20 or i > 2_100 else "p",
    "two dates in the first rows": lambda i: 20240101 + i // 1_500,
    "two dates by turns in the first rows": lambda i: 20240101 + (i % 2 if i < 2_900 else i % 20),
    "many dates": lambda i: 20240101 + i % 20,
    "dates": lambda i: f"{1 + i % 28} May 2024",
    "half of the cells are numbers": lambda i: i % 9 if i % 2 or i > 2_100 else "p",
    "free text": lambda i: f"the fox {i % 1_900} jumps over {i % 17} lazy dogs",
    "what tells the class": lambda i: "yn"[int("01101"[i % 5])] + "12"[i % 2],
    "many words": lambda i: f"p{i % 700}",
}


@pytest.mark.parametrize("make", [NaiveBayes, TextBayes])
@pytest.mark.parametrize("name", REMARKABLE)
def test_columns_that_are_left_out_or_noted(
    name: str, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, surveys: list[str]
) -> None:
    path = table(tmp_path / "table.csv", x=REMARKABLE[name])
    settings = {"columns": ["x"]} if make is TextBayes else {}
    same(outcome(make(), path, **settings), careful(monkeypatch, make(), path, **settings))


def test_words_that_name_most_rows_though_not_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, surveys: list[str]
) -> None:
    path = table(tmp_path / "table.csv", 30_000, x=lambda i: f"p{i % 10 if i < 2_100 else i}")
    quick = outcome(NaiveBayes(), path)
    assert surveys and "x" in quick[0][1].left_out
    same(quick, careful(monkeypatch, NaiveBayes(), path))


def test_rows_in_the_order_of_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, surveys: list[str]
) -> None:
    path = table(tmp_path / "table.csv", x=lambda i: i // 2_500, **{"class": lambda i: "yn"[i // 2_500]})
    same(outcome(NaiveBayes(), path), careful(monkeypatch, NaiveBayes(), path))


@pytest.mark.parametrize("strange", ["-9", " -9", "-9.0", "NA"])
@pytest.mark.parametrize("missing", ["-9", {"x": ["-9"]}, {"x": []}])
@pytest.mark.parametrize("kind", ["fractions", "integers", "words"])
def test_marks_that_the_user_names(
    kind: str,
    missing: Any,
    strange: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    surveys: list[str],
) -> None:
    path = table(tmp_path / "table.csv", x=lambda i: strange if i == 2_990 else CELLS[kind](i))
    same(
        outcome(NaiveBayes(), path, missing=missing),
        careful(monkeypatch, NaiveBayes(), path, missing=missing),
    )


@pytest.mark.parametrize("place", [5, 2_990, None])
@pytest.mark.parametrize("strange", ["NA", "unknown", "many"])
@pytest.mark.parametrize("kind", CELLS)
def test_a_strange_cell_in_the_second_of_several_files(
    kind: str,
    strange: str,
    place: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    surveys: list[str],
) -> None:
    cell = CELLS[kind]
    paths = [
        table(tmp_path / "one.csv", x=cell),
        table(tmp_path / "two.csv", x=lambda i: strange if i == place else cell(i)),
    ]
    quick = outcome(NaiveBayes(), [str(paths[0]), str(paths[1]), str(paths[0])])
    usual = place is None or ("words" in kind and strange == "many")
    assert bool(surveys) == (not usual)
    same(quick, careful(monkeypatch, NaiveBayes(), [str(paths[0]), str(paths[1]), str(paths[0])]))


@pytest.mark.parametrize("strange", ["unknown", ""])
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize(
    "make",
    [KDB, lambda: NaiveBayes(calibration="isotonic"), lambda: NaiveBayes(semi_supervised=True)],
)
def test_choices_from_rows_and_a_strange_cell(
    make: Any,
    kind: str,
    strange: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    surveys: list[str],
) -> None:
    columns = {"x": lambda i: strange if i == 2_990 else CELLS[kind](i)}
    path = table(tmp_path / "table.csv", **columns)
    if make().semi_supervised:
        path = table(
            tmp_path / "table.csv", **columns, **{"class": lambda i: "ynnyn"[i % 5] if i % 3 else ""}
        )
    same(outcome(make(), path), careful(monkeypatch, make(), path))


@pytest.mark.parametrize("strange", ["NA", "unknown", "many", "", None])
@pytest.mark.parametrize("kind", CELLS)
def test_the_next_file(
    kind: str,
    strange: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    surveys: list[str],
) -> None:
    cell = CELLS[kind]
    first = table(tmp_path / "first.csv", x=cell)
    late = table(tmp_path / "late.csv", x=lambda i: cell(i) if strange is None or i != 2_990 else strange)

    def learned() -> Any:
        model = NaiveBayes()
        for path in first, late:
            try:
                model.partial_fit(path, target="class")
            except BayeskitError as error:
                return type(error), str(error)
        return *counted(model, model.statistics_), None

    with warnings.catch_warnings(action="ignore"):
        quick = learned()
        assert strange is not None or not surveys
        with monkeypatch.context() as way:
            way.setattr("bayeskit._data.files._LARGE", 1 << 62)
            same(quick, learned())


def test_only_files_are_read_again() -> None:
    opened = []

    def batches() -> Iterator[Any]:
        opened.append(1)
        yield [[1.0], [2.0]], ["y"]

    with pytest.raises(DataError):
        NaiveBayes().fit(Batches(batches))
    assert len(opened) == 1


def test_names_of_columns_are_noted_once(tmp_path: Path, surveys: list[str]) -> None:
    path = table(tmp_path / "table.csv", **{"": lambda i: "many" if i == 2_990 else i % 9})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        NaiveBayes().fit(path, target="class")
    assert (
        surveys and sum("column4" in str(one.message) and "no name" in str(one.message) for one in said) == 1
    )


@pytest.mark.parametrize("name", ["r", "file_row_number"])
def test_a_sample_of_parquet_has_every_so_manieth_row(name: str, tmp_path: Path) -> None:
    """Whatever its columns are called, also as the numbers of rows in a query."""
    path = tmp_path / "table.parquet"
    duckdb.sql(f"COPY (SELECT i, 7 AS \"{name}\" FROM range(1, 1001) t(i)) TO '{path}'")
    found = open_files(path).sample(100)
    assert found["i"].tolist() == list(range(10, 1001, 10)) and set(found[name].tolist()) == {7}


COLUMNS = {
    "text": "CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'v' || i % 7 END",
    "many words": "'v' || i",
    "enum": "(['p', 'q'][1 + i % 2])::ENUM('p', 'q', 'r')",
    "small": "(i % 4)::TINYINT",
    "unsigned": "(i % 4)::UINTEGER",
    "large": "(i + 9007199254740993)::BIGINT",
    "large with holes": "CASE WHEN i % 3 > 0 THEN (i + 9007199254740993)::BIGINT END",
    "huge": "(i % 4)::UBIGINT",
    "float": "CASE WHEN i % 3 > 0 THEN (i / 7)::FLOAT END",
    "double": "CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::DOUBLE ELSE i / 7 END",
    "decimal": "(i / 7)::DECIMAL(9, 3)",
    "bool": "i % 2 = 0",
    "bool with holes": "CASE WHEN i % 3 > 0 THEN i % 2 = 0 END",
    "empty": "NULL::DOUBLE",
    "empty text": "NULL::VARCHAR",
    "date": "DATE '2020-01-01' + i::INT",
    "infinity": "CASE WHEN i = 4000 THEN 'inf'::DOUBLE ELSE i END",
}


@pytest.mark.parametrize("group", [2_048, 100_000])
@pytest.mark.parametrize("name", COLUMNS)
def test_parquet_in_codes_and_row_by_row(
    name: str, group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.parquet"
    cell, label = COLUMNS[name], "['u', 'v'][1 + i % 2]"
    select = f'SELECT {cell} AS "x.y", {cell} AS x, {label} AS class FROM range(5000) t(i)'
    for text in (select, select.replace('"x.y"', '"select ""q"""')):
        duckdb.sql(f"COPY ({text}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE {group})")
        for make in NaiveBayes, lambda: NaiveBayes(categorical_features="all"):
            same(outcome(make(), path), careful(monkeypatch, make(), path))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_threads_and_memory_change_nothing(ending: str, n_jobs: int, tmp_path: Path) -> None:
    path = tmp_path / f"table.{ending}"
    select = "SELECT 'v' || i % 7 AS a, sin(i) AS x, ['u', 'v'][1 + i % 2] AS class FROM range(150000) t(i)"
    duckdb.sql(f"COPY ({select}) TO '{path}'")
    same(outcome(NaiveBayes(), path), outcome(NaiveBayes(n_jobs=n_jobs), path))
    limited = NaiveBayes(n_jobs=n_jobs).fit(path, target="class", max_memory="100MB").statistics_
    plain = NaiveBayes().fit(path, target="class").statistics_
    np.testing.assert_array_equal(limited.tables.counts, plain.tables.counts)
    np.testing.assert_allclose(limited.moments.centred(), plain.moments.centred(), rtol=1e-12)


@pytest.mark.parametrize("memory", ["many", "", "-1MB", 0, "12 parsecs", True])
def test_memory_is_an_amount(memory: Any) -> None:
    with pytest.raises(SettingError, match="512MB"):
        memory_in_bytes(memory)


def test_text_that_is_no_text(tmp_path: Path) -> None:
    """PyArrow does not check what it reads; a broken label is an error all the same."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    _, offsets, cells = pa.array([b"ok", b"\xff\xfe"]).buffers()
    column = pa.StringArray.from_buffers(2, offsets, cells)
    pq.write_table(pa.table({"a": column, "class": ["y", "n"]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet"):
        NaiveBayes().fit(tmp_path / "t.parquet", target="class")


@pytest.mark.parametrize(
    ("model", "verb"),
    [
        (NaiveBayes(), "leave_one_out"),
        (LogLinearBayes(), "approximate_leave_one_out"),
        (CountForest(n_trees=3, random_state=0), "out_of_bag"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_training_rows_are_read_again_as_they_were_learned(model: Any, verb: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    lines = [
        f"n{i:05d},{'uvw'[(i + c) % 3]},{c + rng.normal():.3f},{['no', 'yes'][c]}" for i, c in enumerate(y)
    ]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["id,word,number,class", *lines]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(path, target="class")
        assert "id" not in model.feature_names_in_  # it was left out, since it names the rows
        assert getattr(model, verb)(path, target="class").shape == (120, 2)
