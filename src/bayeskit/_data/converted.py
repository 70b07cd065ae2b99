"""Sources that DuckDB or PyArrow convert to Parquet once, before they are read: JSON, Arrow, ARFF, databases."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayeskit._data.database_url import DatabaseTable, parse_url
from bayeskit._data.encodings import damaged, decoded, lacks_room, no_room, resolve
from bayeskit._data.formats import refuse_twins
from bayeskit._data.survey import quoted
from bayeskit.errors import ColumnError, DataError, SettingError, UsageError


def is_address(path: str) -> bool:
    """Tell whether a text is the address of a table or query in a DuckDB file, and not a path."""
    return path.startswith("duckdb://")


def path_in(address: str) -> Path:
    """Return the path of a file, or of the file in the address of a database."""
    return Path(parse_url(address).place if is_address(address) else address)


class Spool:
    """A folder of converted files, which goes when nobody holds it any more."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bayeskit-"))
        self._end = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


def converted(path: str, shown: str, encoding: str | None = None) -> tuple[Path, Spool] | None:
    """Convert a source to a file that is read natively; None where it is one already, or holds nothing.

    Memory does not depend on the rows; the disk must have room for the copy. ``encoding``: that of ARFF.
    """
    if is_address(path):
        spool = Spool()
        target = spool.folder / "rows.parquet"
        DatabaseTable(path).copy_to(target)
        return target, spool
    packing = Path(path).suffix.lower() if Path(path).suffix.lower() in _PACKINGS else ""
    ending = Path(path[: len(path) - len(packing)]).suffix.lower()
    convert = _CONVERTERS.get(ending)
    if not os.path.isfile(path) or (convert is None and packing != ".zst") or not os.path.getsize(path):
        return None
    spool = Spool()
    with _explained(path, shown):
        plain = Path(path) if not packing else _unpacked(Path(path), packing, spool.folder, ending)
        if convert is _from_arff:
            return _from_arff(plain, shown, spool.folder, encoding), spool
        return (plain if convert is None else convert(plain, shown, spool.folder)), spool


@contextmanager
def _explained(path: str, shown: str) -> Iterator[None]:
    import duckdb

    try:
        yield
    except (DataError, UsageError, SettingError):
        raise
    except ImportError as error:
        raise UsageError(
            "{shown} is read with PyArrow, which is not installed ({error}). Install it: pip install pyarrow.",
            shown=shown,
            error=error,
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(path, error) from error
    except (duckdb.Error, OSError, ValueError) as error:
        if lacks_room(error):
            raise no_room(shown, error) from error
        what = " | ".join(line for line in str(error).splitlines()[:2] if line.strip())[:300].rstrip(".")
        raise DataError(
            "{shown} cannot be read: {what}. Correct the file there.", shown=shown, what=what
        ) from error


def _unpacked(path: Path, packing: str, folder: Path, ending: str) -> Path:
    plain = folder / f"unpacked{ending or '.csv'}"
    with _opened(path, packing) as source, open(plain, "wb") as copy:
        shutil.copyfileobj(source, copy)
    return plain


def _opened(path: Path, packing: str) -> Any:
    if packing == ".gz":
        return gzip.open(path, "rb")
    import pyarrow

    return pyarrow.CompressedInputStream(str(path), "zstd")


def _copy(select: str, folder: Path) -> Path:
    import duckdb

    target = folder / "rows.parquet"
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"COPY ({select}) TO {quoted(str(target))} (FORMAT parquet)")
    return target


def _from_json(path: Path, shown: str, folder: Path) -> Path:
    """Objects, one in each line or in one list: a key is a column.

    What is no number and no truth value in all of them is text; dates stay the text they are.
    """
    import duckdb

    is_list = _first_sign(path) == b"["
    if is_list and not _ends_with(path, b"]"):  # DuckDB would take the rows up to there for all
        raise DataError(
            "{shown} is cut short: its list has no end. Copy it again from the original.", shown=shown
        )
    form = "array" if is_list else "newline_delimited"
    read = f"read_json({quoted(str(path))}, format = '{form}', hive_partitioning = false, sample_size = -1"
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        types = connection.execute(f"DESCRIBE SELECT * FROM {read})").fetchall()
        mixed = [name for name, kind, *_ in types if kind == "JSON"]
        found = [f"bool_or(json_type({_name(name)}) IN ('OBJECT', 'ARRAY'))" for name in mixed]
        flags = connection.execute(f"SELECT {', '.join(found)} FROM {read})").fetchone() if found else ()
    if [name for name, *_ in types] == ["json"]:
        _refuse_no_object(path, shown, is_list)
    nested = [name for name, kind, *_ in types if kind.startswith(("STRUCT", "MAP")) or kind.endswith("]")]
    nested += [name for name, flag in zip(mixed, flags or (), strict=True) if flag]
    if nested:
        raise ColumnError(
            "Key {name!r} of {shown} holds lists or objects. A row has one value for each key: leave it out of the "
            "file.",
            name=nested[0],
            shown=shown,
        )
    plain = ("BIGINT", "DOUBLE", "BOOLEAN", "UBIGINT", "HUGEINT")
    kinds = ", ".join(f"{quoted(n)}: {quoted(k if k in plain else 'VARCHAR')}" for n, k, *_ in types)
    return _copy(f"SELECT * FROM {read}, columns = {{{kinds}}})", folder)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _first_sign(path: Path) -> bytes:
    """Return the first byte that is no blank."""
    with open(path, "rb") as file:
        while sign := file.read(1):
            if not sign.isspace() and sign not in _BYTE_ORDER_MARK:
                return sign
    return b""


def _ends_with(path: Path, sign: bytes) -> bool:
    """Tell whether a file ends with a sign, apart from blanks."""
    with open(path, "rb") as file:
        file.seek(-min(4096, os.path.getsize(path)), os.SEEK_END)
        return file.read().rstrip().endswith(sign)


def _refuse_no_object(path: Path, shown: str, is_list: bool) -> None:
    """Raise an error for the first line that is no object; where there is one, DuckDB makes all lines one column."""
    if is_list:
        raise DataError(
            "The list in {shown} holds something that is no JSON object: each is one row, such as {example}.",
            shown=shown,
            example='{"x": 1, "class": "yes"}',
        )
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.lstrip().startswith(b"{"):
                raise DataError(
                    "Line {number} of {shown} is no JSON object: each line is one row, such as {example}.",
                    number=number,
                    shown=shown,
                    example='{"x": 1, "class": "yes"}',
                )


def _from_arrow(path: Path, shown: str, folder: Path) -> Path:
    """Both forms of Arrow IPC: a stream, and a file (Feather)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = folder / "rows.parquet"
    with pa.memory_map(str(path)) as data:
        try:
            file = pa.ipc.open_file(data)
            schema, batches = file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
        except pa.ArrowInvalid:
            data.seek(0)
            stream = pa.ipc.open_stream(data)
            schema, batches = stream.schema, iter(stream)
        with pq.ParquetWriter(target, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
    return target


_ATTRIBUTE = re.compile(
    r"""@attribute\s+("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s{]+)\s*(.+)""", re.IGNORECASE
)
_NUMBERS = ("numeric", "real", "integer")


def _from_arff(path: Path, shown: str, folder: Path, encoding: str | None = None) -> Path:
    """Attributes by their declaration: numbers, dates (of which nothing but that is kept), or text; ``?`` is missing.

    Sparse rows are an error.
    """
    text, names, kinds = folder / "rows.csv", list[str](), list[str]()
    with open(text, "w", encoding="utf-8", newline="") as copy:
        writer = csv.writer(copy)
        data = False
        for number, line in enumerate(_lines(decoded(path, resolve(path, encoding))), 1):
            line = line.strip()
            if not line or line.startswith("%"):
                continue
            if not data:
                data = line.lower() == "@data"
                found = _ATTRIBUTE.fullmatch(line)
                if found is not None:
                    names.append(_bare(found[1]))
                    kinds.append(_arff_kind(found[2].strip().lower()))
                if data:
                    # DuckDB, which makes the copy, treats "a" and "A" as the same.
                    refuse_twins([name.lower() for name in names], shown)
                continue
            cells = [] if line.startswith("{") else _cells(line)
            if len(cells) != len(names):
                raise DataError(
                    "Line {number} of {shown} has {found} values for {wanted} attributes (sparse rows are not read).",
                    number=number,
                    shown=shown,
                    found=len(cells),
                    wanted=len(names),
                )
            for name, kind, cell in zip(names, kinds, cells, strict=True):
                if kind == "DOUBLE" and cell not in ("?", "") and not _is_number(cell):
                    raise ColumnError(
                        "Line {number} of {shown} has {cell!r} in {name!r}, which is declared as numeric. Correct it, "
                        "or write ? for a missing value.",
                        number=number,
                        shown=shown,
                        cell=cell,
                        name=name,
                    )
            writer.writerow("" if kind == "DATE" else cell for kind, cell in zip(kinds, cells, strict=True))
    if not names:
        raise DataError("{shown} has no @attribute, so it is not ARFF.", shown=shown)
    columns = ", ".join(f"c{j}: {quoted(kind)}" for j, kind in enumerate(kinds))
    return _copy(
        f"SELECT {', '.join(f'c{j} AS {_name(name)}' for j, name in enumerate(names))} FROM "
        f"read_csv({quoted(str(text))}, auto_detect = false, header = false, columns = {{{columns}}}, "
        "quote = '\"', escape = '\"', delim = ',', nullstr = ['?', ''])",
        folder,
    )


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Split blocks of text into lines."""
    rest = ""
    for text in texts:
        *whole, rest = (rest + text).split("\n")
        yield from whole
    yield rest


def _arff_kind(declared: str) -> str:
    if declared in _NUMBERS:
        return "DOUBLE"
    return "DATE" if re.match(r"date\b", declared) else "VARCHAR"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _cells(line: str) -> list[str]:
    """Split a row of ARFF: cells in quotes of either kind, or plain."""
    quote = "'" if "'" in line and '"' not in line else '"'
    reader = csv.reader(io.StringIO(line), quotechar=quote, escapechar="\\", skipinitialspace=True)
    return [cell.strip() for cell in next(reader, [])]


def _bare(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" and name[-1] == name[0] else name


_PACKINGS = (".gz", ".zst")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CONVERTERS = {
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), _from_json),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".arrows"), _from_arrow),
    ".arff": _from_arff,
}
