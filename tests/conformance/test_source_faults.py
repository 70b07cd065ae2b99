"""What is wrong with a source is told by a typed error that names it, or does no harm: one list for all sources.

A table is given in parts, as each source has them: files, partitions, batches. Then files whose bytes are wrong, and
disks and databases that do not do what they should.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import numpy as np
import pytest

from bayeskit import Batches, NaiveBayes
from bayeskit.errors import BayeskitError, ColumnError, DataError, EncodingError, SourceNote
from refusals import refuses, warns_of

Part = Mapping[str, list[Any]]
PART: Part = {"a": ["x", "y", "x", "y"], "n": [1.5, 2.0, 2.5, 1.0], "class": ["p", "q", "p", "q"]}
# -- sources -------------------------------------------------------------------------------------


def write_csv(part: Part, path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(part)
        writer.writerows(zip(*part.values(), strict=True))


def write_gzip(part: Part, path: Path) -> None:
    plain = path.with_name("plain")
    write_csv(part, plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))


def write_json_lines(part: Part, path: Path) -> None:
    rows = [dict(zip(part, row, strict=True)) for row in zip(*part.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_arff(part: Part, path: Path) -> None:
    def declared(name: str) -> str:
        # A part without rows declares what the first part does.
        cells = part[name] or PART.get(name, [])
        kind = "string" if any(isinstance(cell, str) for cell in cells) else "numeric"
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'@attribute "{escaped}" {kind}\n'

    rows = (
        ",".join("?" if cell is None else str(cell) for cell in row)
        for row in zip(*part.values(), strict=True)
    )
    path.write_text("".join(map(declared, part)) + "@data\n" + "".join(f"{row}\n" for row in rows))


def as_arrow(part: Part) -> Any:
    pa = pytest.importorskip("pyarrow")
    types = {"a": pa.string(), "n": pa.float64(), "class": pa.string()}
    return pa.table({name: pa.array(cells, None if cells else types[name]) for name, cells in part.items()})


def write_parquet(part: Part, path: Path) -> None:
    pytest.importorskip("pyarrow.parquet").write_table(as_arrow(part), path)


def write_arrow(part: Part, path: Path) -> None:
    table = as_arrow(part)
    with pytest.importorskip("pyarrow").ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def in_files(ending: str, write: Callable[[Part, Path], None]) -> Callable[[list[Part], Path], Any]:
    def make(parts: list[Part], folder: Path) -> Any:
        for k, part in enumerate(parts):
            write(part, folder / f"part-{k}.{ending}")
        return str(folder / f"part-*.{ending}")

    return make


def as_list(parts: list[Part], folder: Path) -> Any:
    in_files("csv", write_csv)(parts, folder)
    return [folder / f"part-{k}.csv" for k in range(len(parts))]


def as_relation(parts: list[Part], folder: Path) -> Any:
    pattern = in_files("parquet", write_parquet)(parts, folder)
    return duckdb.connect().sql(f"FROM read_parquet('{pattern}')")


def as_query(parts: list[Part], folder: Path) -> Any:
    pattern = in_files("parquet", write_parquet)(parts, folder)
    with duckdb.connect(str(folder / "shop.db")):
        pass
    query = quote(f"FROM read_parquet('{pattern}')")
    return f"duckdb:///{folder / 'shop.db'}?query={query}"


def as_polars(parts: list[Part], folder: Path) -> Any:
    polars = pytest.importorskip("polars")
    return polars.scan_parquet(in_files("parquet", write_parquet)(parts, folder))


def as_dataset(parts: list[Part], folder: Path) -> Any:
    dataset = pytest.importorskip("pyarrow.dataset")
    in_files("parquet", write_parquet)(parts, folder)
    return dataset.dataset([str(folder / f"part-{k}.parquet") for k in range(len(parts))])


def frames(parts: list[Part]) -> list[Any]:
    pd = pytest.importorskip("pandas")
    return [
        as_arrow(part).to_pandas() if not next(iter(part.values())) else pd.DataFrame(part) for part in parts
    ]


def as_batches(parts: list[Part], folder: Path) -> Any:
    return Batches(lambda: iter(frames(parts)))


def as_dask(parts: list[Part], folder: Path) -> Any:
    dask = pytest.importorskip("dask")
    pieces = frames(parts)
    return pytest.importorskip("dask.dataframe").from_delayed(
        [dask.delayed(piece) for piece in pieces], meta=pieces[0].iloc[:0], verify_meta=False
    )


FILES = {
    "csv": in_files("csv", write_csv),
    "list": as_list,
    "gzip": in_files("csv.gz", write_gzip),
    "json": in_files("jsonl", write_json_lines),
    "arff": in_files("arff", write_arff),
    "parquet": in_files("parquet", write_parquet),
    "arrow": in_files("arrow", write_arrow),
}
SOURCES = {
    **FILES,
    "relation": as_relation,
    "query": as_query,
    "polars": as_polars,
    "dataset": as_dataset,
    "batches": as_batches,
    "dask": as_dask,
}


# -- cases: the same for all sources, and where their own rules differ ----------------------------


@dataclass(frozen=True)
class Refused:
    """An error of this class that names these values."""

    error: type[BayeskitError]
    values: tuple[object, ...]

    def check(self, source: Any, target: str, folder: Path, parts: list[Part]) -> None:
        model = NaiveBayes()
        with refuses(self.error, *self.values):
            model.fit(source, target=target)
        assert not hasattr(model, "statistics_")


@dataclass(frozen=True)
class Counted:
    """The counts of all rows, read as numbers or as text, and a note that names these values."""

    text: tuple[str, ...] = ()
    noted: tuple[object, ...] = ()
    rounded: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None

    def check(self, source: Any, target: str, folder: Path, parts: list[Part]) -> None:
        if self.noted:
            with warns_of(SourceNote, *self.noted):
                found = NaiveBayes().fit(source, target=target)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = NaiveBayes().fit(source, target=target)
        names = self.columns or tuple(parts[0])
        rows: dict[str, Any] = {
            name: [cell for part in parts for cell in part.get(name, [None] * len(part[target]))]
            for name in names
        }
        rows |= {name: list(map(str, rows[name])) for name in self.text}
        rows |= {name: list(map(round, rows[name])) for name in self.rounded}
        wanted = NaiveBayes().fit(rows, target=target)
        assert found.schema_ == wanted.schema_
        assert found.statistics_.total == wanted.statistics_.total
        np.testing.assert_array_equal(found.statistics_.tables.counts, wanted.statistics_.tables.counts)
        if "moments" in wanted.statistics_.parts:
            np.testing.assert_allclose(
                found.statistics_.moments.centred(), wanted.statistics_.moments.centred(), rtol=1e-12
            )


def refused(error: type[BayeskitError], *values: object) -> Refused:
    return Refused(error, values)


@dataclass(frozen=True)
class Case:
    parts: list[Part]
    outcome: Refused | Counted
    but: Mapping[str, Refused | Counted] = field(default_factory=dict)
    target: str = "class"


def changed(**columns: Any) -> Part:
    return {**PART, **columns}


WITHOUT_N = {name: cells for name, cells in PART.items() if name != "n"}
EMPTY: Part = {name: [] for name in PART}
ODD = ("select", 'a "b"', "it's", "group by; --", "密度", "%s{0}")
ODD_PART: Part = {**{name: ["x", "y", "y", "x"] for name in ODD}, "order": ["p", "q", "p", "q"]}
# A file of JSON without lines has no columns either.
WITHOUT_NAMES = {"json": refused(DataError, "empty")}
NUMBERS_THEN_WORDS = [PART, changed(n=["u", "v", "u", "v"])]
CASES = {
    "nothing is wrong": Case([PART, PART], Counted()),
    "a class of the last part alone": Case([PART, PART, changed(**{"class": list("zzqp")})], Counted()),
    "a part without rows": Case([PART, EMPTY, PART], Counted(), WITHOUT_NAMES),
    "the first part has no rows": Case([EMPTY, PART], Counted(), WITHOUT_NAMES),
    "no part has rows": Case(
        [EMPTY, EMPTY],
        refused(DataError, 0),
        {**dict.fromkeys([*FILES, "query"], refused(DataError, "rows")), "json": refused(DataError, "empty")},
    ),
    "columns stand in another order": Case([PART, {name: PART[name] for name in reversed(PART)}], Counted()),
    "the target is no column": Case([PART, PART], refused(ColumnError, "klass", "class"), target="klass"),
    "a part lacks a column": Case(
        [PART, WITHOUT_N],
        refused(ColumnError, "n"),
        {
            **{name: refused(ColumnError, "n", "exclude=") for name in FILES},
            "relation": refused(DataError, "n"),
            "query": refused(DataError, "n"),
            "polars": refused(DataError, "Polars", "n"),
            "dataset": Counted(),  # its cells are missing: the dataset says so
        },
    ),
    "a part has one column more": Case(
        [PART, changed(e=[1, 2, 3, 4])],
        refused(ColumnError, "e"),
        {
            "polars": refused(DataError, "Polars", "e"),
            # The first file, or the description of a frame, says which columns there are.
            **dict.fromkeys(["relation", "query", "dataset", "dask"], Counted()),
        },
    ),
    "numbers, then words": Case(
        NUMBERS_THEN_WORDS,
        Counted(text=("n",), noted=("n", "float64", "str")),
        {
            "relation": refused(DataError, "n", "u"),
            "query": refused(DataError, "n", "u"),
            "polars": refused(DataError, "Polars", "n"),
            "dataset": refused(DataError, "PyArrow"),
            "batches": refused(ColumnError, "n", "u"),
            "dask": refused(ColumnError, "n"),
        },
    ),
    "integers, then fractions": Case(
        [changed(n=[1, 2, 3, 4]), PART],
        Counted(),
        # A query over both files has the type of the first, and DuckDB has rounded what it gives.
        {
            "relation": Counted(rounded=("n",)),
            "query": Counted(rounded=("n",)),
            "polars": refused(DataError, "Polars", "n"),
            "dataset": refused(DataError, "PyArrow", "int64"),
        },
    ),
    "a column is missing in one part": Case([PART, changed(n=[None] * 4)], Counted()),
    "some classes are missing": Case(
        [PART, changed(**{"class": ["p", None, "q", None]})],
        refused(DataError, 5),
        {"relation": refused(DataError, "class", 2)},
    ),
    "all classes are missing": Case(
        [changed(**{"class": [None] * 4})] * 2,
        refused(DataError, "y", "semi_supervised=True"),
        {"relation": refused(DataError, "class", 8)},
    ),
    "names with quotes and keywords": Case([ODD_PART, ODD_PART], Counted(), target="order"),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", CASES)
def test_a_table_in_parts(name: str, source: str, tmp_path: Path) -> None:
    case = CASES[name]
    outcome = case.but.get(source, case.outcome)
    given = SOURCES[source](case.parts, tmp_path)
    outcome.check(given, case.target, tmp_path, case.parts)


# -- files whose bytes are wrong ------------------------------------------------------------------

CSV = "a,n,class\nx,1.5,p\ny,2.0,q\nx,2.5,p\ny,1.0,q\n"
ARFF = (
    "@attribute a {x,y}\n@attribute n real\n@attribute class {p,q}\n@data\nx,1.5,p\ny,2.0,q\nx,2.5,p\ny,1,q\n"
)
JSON = "".join(
    json.dumps(dict(zip(PART, row, strict=True))) + "\n" for row in zip(*PART.values(), strict=True)
)
LONG = "a,n,class\n" + "x,1.5,p\ny,2.0,q\n" * 60_000


def parquet_bytes(path: Path) -> bytes:
    write_parquet(PART, path)
    return path.read_bytes()


def arrow_bytes(path: Path) -> bytes:
    write_arrow(PART, path)
    return path.read_bytes()


def packed(text: str) -> bytes:
    return gzip.compress(text.encode())


# The name of the file, what it holds, and what is said.
BYTES: dict[str, tuple[str, Any, Refused]] = {
    "an empty file": ("f.csv", "", refused(DataError, "f.csv", "empty")),
    "empty JSON lines": ("f.jsonl", "", refused(DataError, "f.jsonl", "empty")),
    "empty ARFF": ("f.arff", "", refused(DataError, "f.arff", "empty")),
    "empty Arrow": ("f.arrow", "", refused(DataError, "f.arrow", "empty")),
    "empty Parquet": ("f.parquet", "", refused(DataError, "f.parquet", "empty")),
    "names only": ("f.csv", "a,n,class\n", refused(DataError, "f.csv", "rows")),
    "names only, packed": ("f.csv.gz", packed("a,n,class\n"), refused(DataError, "f.csv.gz", "rows")),
    "a short row": ("f.csv", CSV + "x,1.5\nx,1,p\n", refused(DataError, "f.csv", 6, 3, 2, "x,1.5")),
    "a long row": ("f.csv", CSV + "x,1,p,z\nx,1,p\n", refused(DataError, "f.csv", 6, 3, 4, "x,1,p,z")),
    "a long row, packed": ("f.csv.gz", packed(CSV + "x,1,p,z\n"), refused(DataError, "f.csv.gz", 6, 3, 4)),
    "a long row in GBK": ("f.csv", (CSV + "青绿,1,p,z\n").encode("gbk"), refused(DataError, 6, 3, 4)),
    "a long row far below": ("f.csv", LONG + "x,1,p,z\n" + "x,1,p\n" * 9, refused(DataError, 120_002, 4)),
    "a long row after a blank line": ("f.csv", CSV + "\nx,1,p,z\n", refused(DataError, 7, 4, "x,1,p,z")),
    "a long row after line breaks in a cell": (
        "f.csv",
        CSV + '"x\ny",1,p\nx,1,p,z\n',
        refused(DataError, 7, 4, "x,1,p,z"),
    ),
    "a quotation mark that stays open": ("f.csv", CSV + '"x,1,p\nx,1,p\n', refused(DataError, "f.csv", 6)),
    "a quotation mark inside": ("f.csv", CSV + '"x"y,1,p\n', refused(DataError, "f.csv", 6)),
    "a zero byte": ("f.csv", CSV + "x\0y,1,p\n", refused(EncodingError, "f.csv", 43)),
    "a line of JSON that is cut": ("f.jsonl", JSON + '{"a": "x"\n' + JSON, refused(DataError, "f.jsonl", 6)),
    "a line of JSON that is no object": (
        "f.jsonl",
        JSON + "[1, 2]\n" + JSON,
        refused(DataError, "f.jsonl", 5),
    ),
    "a key twice in a line of JSON": (
        "f.jsonl",
        JSON + '{"a": "x", "a": "y", "n": 1, "class": "p"}\n',
        refused(DataError, "f.jsonl", 5),
    ),
    "an object among the numbers of JSON": (
        "f.jsonl",
        JSON + '{"a": "x", "n": {"k": 1}, "class": "p"}\n',
        refused(ColumnError, "f.jsonl", "n"),
    ),
    "a short row of ARFF": ("f.arff", ARFF + "x,1\n", refused(DataError, "f.arff", 9, 2, 3)),
    "a word for a number of ARFF": (
        "f.arff",
        ARFF + "\nx,many,p\n",
        refused(ColumnError, "f.arff", 10, "n", "many"),
    ),
    "a name twice in ARFF": ("f.arff", ARFF.replace(" n ", " a "), refused(ColumnError, "f.arff", "a")),
    "a cut file of gzip": ("f.csv.gz", packed(LONG)[:-500], refused(DataError, "f.csv.gz", "gzip")),
    "a cut file of gzip, JSON": ("f.jsonl.gz", packed(JSON)[:-9], refused(DataError, "f.jsonl.gz", "gzip")),
    "a cut file of gzip, ARFF": ("f.arff.gz", packed(ARFF)[:-9], refused(DataError, "f.arff.gz", "gzip")),
    "a cut Parquet file": ("f.parquet", lambda p: parquet_bytes(p)[:-30], refused(DataError, "f.parquet")),
    "a damaged Parquet file": (
        "f.parquet",
        lambda p: (b := parquet_bytes(p))[:20] + b"\xff" * 40 + b[60:],
        refused(DataError, "f.parquet"),
    ),
    "a cut Arrow file": ("f.arrow", lambda p: arrow_bytes(p)[:-100], refused(DataError, "f.arrow")),
    "two columns of one name": ("f.csv", "a,a,class\nx,y,p\nx,z,q\n", refused(ColumnError, "f.csv", "a")),
}


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "after a good one"])
@pytest.mark.parametrize("name", BYTES)
@pytest.mark.filterwarnings("ignore::bayeskit.errors.SourceNote")
def test_a_file_that_is_wrong(name: str, beside: bool, tmp_path: Path) -> None:
    called, holds, outcome = BYTES[name]
    if beside and name.startswith("names only"):
        return  # a part without rows does no harm
    path = tmp_path / called
    data = holds(path) if callable(holds) else holds.encode() if isinstance(holds, str) else holds
    path.write_bytes(data)
    (tmp_path / "a.csv").write_text(CSV)
    outcome.check([tmp_path / "a.csv", path] if beside else path, "class", tmp_path, [])


def test_encodings_may_differ_between_files(tmp_path: Path) -> None:
    texts = {"gbk": CSV, "utf-8": CSV, "utf-16": CSV, "utf-8-sig": CSV}
    for encoding, text in texts.items():
        (tmp_path / f"{encoding}.csv").write_bytes(text.replace("x", "青绿").encode(encoding))
    (tmp_path / "gbk.arff").write_bytes(ARFF.replace("x", "青绿").encode("gbk"))
    paths = [*sorted(tmp_path.glob("*.csv")), tmp_path / "gbk.arff"]
    with warns_of(SourceNote, "gbk.csv"):
        model = NaiveBayes().fit(paths, target="class", keep=["a"])
    assert model.statistics_.total == 20
    assert model.schema_["a"].states == ("y", "青绿")


def test_arff_in_a_named_encoding_and_with_a_date(tmp_path: Path) -> None:
    text = ARFF.replace("attribute n real", "attribute n date 'yyyy'").replace("x", "é")
    (tmp_path / "f.arff").write_bytes(text.encode("cp1252"))
    with warns_of(SourceNote, "n"):  # dates are left out
        model = NaiveBayes().fit(tmp_path / "f.arff", target="class", encoding="cp1252")
    assert [(v.name, v.states) for v in model.schema_.attributes] == [("a", ("y", "é"))]


PLACES = {
    "no file": ("no.csv", "no.csv"),
    "no Parquet": ("no.parquet", "no.parquet"),
    "no JSON lines": ("no.jsonl", "no.jsonl"),
    "a folder with a link to nowhere": (".", "link.csv"),
    "a folder without tables": ("folder", "folder"),
    "a pattern that matches nothing": ("*.parquet", "*.parquet"),
    "a pattern that matches a folder": ("fold*", "fold*"),
    "a link to nowhere": ("link.csv", "link.csv"),
}


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "after a good one"])
@pytest.mark.parametrize("case", PLACES)
def test_a_path_that_leads_nowhere(case: str, beside: bool, tmp_path: Path) -> None:
    name, named = PLACES[case]
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere")
    (tmp_path / "good.csv").write_text(CSV)
    source = str(tmp_path / name)
    with refuses(DataError, named) as said:
        NaiveBayes().fit([tmp_path / "good.csv", source] if beside else source, target="class")
    assert f"'{name}'?" not in str(said.value)  # nobody is told to try the same again


# -- frames that can no longer be read -------------------------------------------------------------


def closed_relation(folder: Path) -> Any:
    connection = duckdb.connect()
    relation = connection.sql("SELECT 'x' AS a, 'p' AS class")
    connection.close()
    return relation


def relation_of_a_dropped_table(folder: Path) -> Any:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'x' AS a, 'p' AS class")
    relation = connection.sql("FROM t")
    connection.execute("DROP TABLE t")
    return relation


def polars_without_its_file(folder: Path) -> Any:
    return pytest.importorskip("polars").scan_parquet(folder / "no.parquet")


def polars_of_ragged_rows(folder: Path) -> Any:
    (folder / "f.csv").write_text(CSV + "x,1,p,z\n")
    return pytest.importorskip("polars").scan_csv(folder / "f.csv")


def dataset_without_its_file(folder: Path) -> Any:
    source = as_dataset([PART], folder)
    (folder / "part-0.parquet").unlink()
    return source


GONE = {
    closed_relation: ("DuckDB",),
    relation_of_a_dropped_table: ("DuckDB", "t"),
    polars_without_its_file: ("Polars", "no.parquet"),
    polars_of_ragged_rows: ("Polars",),
    dataset_without_its_file: ("PyArrow", "part-0.parquet"),
}


@pytest.mark.parametrize("make", GONE)
def test_a_frame_that_cannot_be_read(make: Any, tmp_path: Path) -> None:
    model = NaiveBayes().fit({"a": ["x", "y"], "class": ["p", "q"]}, target="class")
    with refuses(DataError, *GONE[make]):
        NaiveBayes().fit(make(tmp_path), target="class")
    with refuses(DataError, *GONE[make]):
        model.predict(make(tmp_path), sink=tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_errors_of_the_callable_of_batches_are_its_own() -> None:
    def broken() -> Any:
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        NaiveBayes().fit(Batches(broken), target="class")


# -- a full disk ----------------------------------------------------------------------------------

LIMIT = 64 << 10
# A limit on the size of files stands for a full disk: the system refuses to write, to Python, PyArrow and DuckDB alike.
FULL = """
import resource, sys, tempfile
from bayeskit import NaiveBayes
from bayeskit.errors import DataError
{setup}
model = NaiveBayes().fit(sys.argv[1], target="class")
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    model.predict(sys.argv[2], sink=sys.argv[3])
except DataError as error:
    print(error)
else:
    print("written")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits are POSIX")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("without_arrow", [False, True], ids=["PyArrow", "DuckDB"])
def test_a_full_disk_leaves_nothing_half_written(ending: str, without_arrow: bool, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text(CSV)
    # Answers that differ: what is alike takes no room in Parquet.
    rows = "".join(f"x,{k / 7e4},p\n" for k in range(120_000))
    (tmp_path / "long.csv").write_text("a,n,class\n" + rows)
    folder = tmp_path / "answers"
    folder.mkdir()
    sink = folder / f"out{ending}"
    sink.write_text("what was there before")
    setup = "sys.modules['pyarrow'] = None" if without_arrow else ""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            FULL.format(setup=setup, limit=LIMIT),
            *map(str, (tmp_path / "good.csv", tmp_path / "long.csv", sink)),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sink.name in done.stdout
    assert "long.csv" not in done.stdout  # the fault is not that of the file that is read
    assert [path.name for path in folder.iterdir()] == [sink.name]
    assert sink.read_text() == "what was there before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_device_that_is_full(ending: str, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text(CSV)
    sink = tmp_path / f"out{ending}"
    sink.symlink_to("/dev/full")
    model = NaiveBayes().fit(tmp_path / "good.csv", target="class")
    with refuses(DataError, sink.name):
        model.predict(tmp_path / "good.csv", sink=sink)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["good.csv", sink.name])
    assert sink.is_symlink()


# Numbers that differ: what is alike takes no room in Parquet.
CONVERTED = {
    "f.jsonl": "".join(f'{{"n": {k * k}, "class": "{"pq"[k % 2]}"}}\n' for k in range(20_000)),
    "f.arff": ARFF + "x,1.5,p\n" * 30_000,
    "f.csv": LONG,
}


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits are POSIX")
@pytest.mark.parametrize("name", CONVERTED)
def test_no_room_for_a_converted_copy(name: str, tmp_path: Path) -> None:
    rows = tmp_path / name
    text = CONVERTED[name]
    rows.write_bytes(text.replace("x", "青绿").encode("gb18030") if name == "f.csv" else text.encode())
    room = tmp_path / "room"
    room.mkdir()
    code = (
        "import resource, sys, warnings\nfrom bayeskit import NaiveBayes\nfrom bayeskit.errors import DataError\n"
        "warnings.simplefilter('ignore')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "try:\n    NaiveBayes().fit(sys.argv[1], target='class')\nexcept DataError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(rows)],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(room)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert str(room) in done.stdout
    assert "TMPDIR" in done.stdout
    assert not list(room.iterdir())


# -- a database that another program holds ---------------------------------------------------------

HOLDERS = {
    "duckdb": "import duckdb, sys; c = duckdb.connect(sys.argv[1])",
    "sqlite": "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN EXCLUSIVE')",
}


@pytest.mark.parametrize("engine", HOLDERS)
def test_a_database_that_another_program_holds(engine: str, tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "shop.db"
    connection: Any = (sqlite3 if engine == "sqlite" else duckdb).connect(str(path))
    table = '"order ""by"""'
    connection.execute(f"CREATE TABLE {table} (a TEXT, class TEXT)")
    connection.execute(f"INSERT INTO {table} VALUES ('x', 'p'), ('y', 'q')")
    connection.commit()
    connection.close()
    name = quote('order "by"')
    url = f"{engine}:///{path}?table={name}"
    fitted = NaiveBayes().lazy(url, target="class")
    before = fitted.predict_proba({"a": ["x"]})
    with subprocess.Popen(
        [sys.executable, "-c", HOLDERS[engine] + "; print(1, flush=True); sys.stdin.read()", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with refuses(DataError, "shop.db", "locked"):
            NaiveBayes().lazy(url, target="class").predict({"a": ["x"]})
        with refuses(DataError, "shop.db", "locked"):
            fitted.predict_proba({"a": ["x"]})
        if engine == "duckdb":
            with refuses(DataError, "shop.db", "locked"):
                NaiveBayes().fit(url, target="class")
        holder.communicate()
    np.testing.assert_array_equal(fitted.predict_proba({"a": ["x"]}), before)
