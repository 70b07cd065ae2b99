"""Sources that DuckDB or PyArrow convert to Parquet once, before they are read: JSON lines, Arrow, ARFF, databases."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayeskit._data.database_url import DatabaseTable, parse_url
from bayeskit._data.formats import quoted
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


def converted(path: str, shown: str) -> tuple[Path, Spool] | None:
    """Convert a source to a file that is read natively; None where it is one already.

    Memory does not depend on the rows; the disk must have room for the copy.
    """
    if is_address(path):
        spool = Spool()
        target = spool.folder / "rows.parquet"
        DatabaseTable(path).copy_to(target)
        return target, spool
    packing = Path(path).suffix.lower() if Path(path).suffix.lower() in _PACKINGS else ""
    ending = Path(path[: len(path) - len(packing)]).suffix.lower()
    convert = _CONVERTERS.get(ending)
    if not os.path.isfile(path) or (convert is None and packing != ".zst"):
        return None
    spool = Spool()
    with _explained(shown):
        plain = Path(path) if not packing else _unpacked(Path(path), packing, spool.folder, ending)
        return (plain if convert is None else convert(plain, shown, spool.folder)), spool


@contextmanager
def _explained(shown: str) -> Iterator[None]:
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
    except (duckdb.Error, OSError, ValueError) as error:
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


def _copy(select: str, folder: Path, setup: Callable[[Any], None] = lambda connection: None) -> Path:
    import duckdb

    target = folder / "rows.parquet"
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        connection.execute("SET enable_progress_bar = false")
        setup(connection)
        connection.execute(f"COPY ({select}) TO {quoted(str(target))} (FORMAT parquet)")
    return target


def _from_json_lines(path: Path, shown: str, folder: Path) -> Path:
    """A key is a column. What is no number and no truth value in all lines is text; dates stay the text they are."""
    import duckdb

    read = f"read_json({quoted(str(path))}, format = 'newline_delimited', sample_size = -1"
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        types = connection.execute(f"DESCRIBE SELECT * FROM {read})").fetchall()
    nested = [name for name, kind, *_ in types if kind.startswith(("STRUCT", "MAP")) or kind.endswith("]")]
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


def _from_arff(path: Path, shown: str, folder: Path) -> Path:
    """Attributes by their declaration: numbers, or text; ``?`` is missing. Sparse rows and dates are an error."""
    text, names, kinds = folder / "rows.csv", list[str](), list[str]()
    with open(path, encoding="utf-8-sig") as lines, open(text, "w", encoding="utf-8", newline="") as copy:
        writer = csv.writer(copy)
        data = False
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line.startswith("%"):
                continue
            if not data:
                data = line.lower() == "@data"
                found = _ATTRIBUTE.fullmatch(line)
                if found is not None:
                    names.append(_bare(found[1]))
                    kinds.append("DOUBLE" if found[2].strip().lower() in _NUMBERS else "VARCHAR")
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
            writer.writerow(cells)
    columns = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in zip(names, kinds, strict=True))
    if not names:
        raise DataError("{shown} has no @attribute, so it is not ARFF.", shown=shown)
    return _copy(
        f"SELECT * FROM read_csv({quoted(str(text))}, auto_detect = false, header = false, columns = {{{columns}}}, "
        "quote = '\"', escape = '\"', delim = ',', nullstr = ['?', ''])",
        folder,
    )


def _cells(line: str) -> list[str]:
    """Split a row of ARFF: cells in quotes of either kind, or plain."""
    quote = "'" if "'" in line and '"' not in line else '"'
    reader = csv.reader(io.StringIO(line), quotechar=quote, escapechar="\\", skipinitialspace=True)
    return [cell.strip() for cell in next(reader, [])]


def _bare(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" and name[-1] == name[0] else name


_PACKINGS = (".gz", ".zst")
_CONVERTERS = {
    **dict.fromkeys((".jsonl", ".ndjson"), _from_json_lines),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".arrows"), _from_arrow),
    ".arff": _from_arff,
}
