"""Reads columns of pandas, Polars, PyArrow and any other library that narwhals supports, and makes frames of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayeskit._data.columns import (
    CodedColumn,
    array_kind,
    date_message,
    factorize_array,
    is_missing,
    numbers_of_array,
    objects,
    without_missing_labels,
)
from bayeskit._messages import Joined, Message
from bayeskit._schema import Kind, Name
from bayeskit.errors import ColumnError, DataError, DataTypeError, UsageError
from bayeskit.typing import PathLike

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import polars as pl
    import pyarrow as pa
    from duckdb import DuckDBPyRelation
    from narwhals.dtypes import DType

# A path, a pattern such as "part-*.parquet", or a list of these.
FilesLike: TypeAlias = PathLike | Sequence[PathLike]


class DaskFrame(Protocol):
    """What is used of a DataFrame of Dask."""

    columns: Any
    npartitions: int
    partitions: Any
    _meta: Any

    def __getitem__(self, names: list[Name], /) -> DaskFrame: ...

    def to_delayed(self) -> list[Any]: ...

    def map_partitions(self, task: Callable[..., Any], *arguments: Any, meta: Any) -> Any: ...


class SparkFrame(Protocol):
    """What is used of a DataFrame of Spark."""

    columns: list[str]
    schema: Any
    sparkSession: Any

    def toDF(self, *names: str) -> SparkFrame: ...

    def select(self, *columns: Any) -> SparkFrame: ...

    def groupBy(self, *columns: Any) -> Any: ...

    def mapInArrow(self, task: Callable[..., Any], schema: Any) -> SparkFrame: ...

    def toLocalIterator(self) -> Iterator[Any]: ...

    def collect(self) -> list[Any]: ...

    def createOrReplaceTempView(self, name: str) -> None: ...


def is_relation(data: object) -> TypeGuard[DuckDBPyRelation]:
    """Whether the data are a DuckDB relation, without importing DuckDB."""
    return type(data).__name__ == "DuckDBPyRelation"


# Rows of a frame that is not in memory that are read at a time.
_PIECE_ROWS = 122_880


def is_frame(data: object) -> bool:
    """Whether the data are a data frame and not an array, without importing a frame library."""
    return hasattr(data, "__narwhals_dataframe__") or (
        not hasattr(data, "collect")
        and (hasattr(data, "columns") or hasattr(data, "column_names"))
        and hasattr(data, "shape")
        and not isinstance(data, np.ndarray)
    )


def cluster_of(data: object) -> str | None:
    """Return the name of the engine whose workers hold a frame in partitions, without importing it; None for others."""
    kind, home = type(data).__name__, type(data).__module__.partition(".")[0]
    if kind == "DataFrame" and home in ("dask", "dask_expr") and hasattr(data, "partitions"):
        return "dask"
    return "spark" if kind == "DataFrame" and home == "pyspark" and hasattr(data, "mapInArrow") else None


def lazy_pieces(data: Any) -> Callable[[], Iterator[Any]] | None:
    """Return what reads a frame that is not in memory piece by piece, anew for every pass; None for anything else.

    These are Polars' LazyFrame, a table of Ibis, a dataset of PyArrow, a relation of DuckDB, and a DataFrame of Dask or
    Spark (one partition at a time). Pieces without rows are left out.
    """
    home = type(data).__module__.partition(".")[0]
    if home == "polars" and hasattr(data, "collect"):
        read = partial(_polars_pieces, data)
    elif home == "ibis" and hasattr(data, "to_pyarrow_batches"):
        read = partial(_arrow_pieces, partial(data.to_pyarrow_batches, chunk_size=_PIECE_ROWS))
    elif home in ("dask", "dask_expr") and hasattr(data, "partitions"):
        read = partial(_dask_pieces, data)
    elif cluster_of(data) == "spark":
        read = partial(_spark_pieces, data)
    elif is_relation(data):
        read = partial(_relation_pieces, data)
    elif home == "pyarrow" and hasattr(data, "to_batches") and hasattr(data, "scanner"):
        read = partial(_arrow_pieces, partial(data.to_batches, batch_size=_PIECE_ROWS))
    else:
        return None
    return lambda: (piece for piece in _explained(read, home) if n_rows_of(piece))


def _explained(read: Callable[[], Iterator[Any]], home: str) -> Iterator[Any]:
    """Give pieces; turn what Polars, PyArrow and Ibis say of what cannot be read into errors of ours.

    Tasks of Dask and Spark are their users' own, and so are their errors.
    """
    kinds: tuple[type[Exception], ...] = ()
    if home == "polars":
        kinds = (import_module("polars.exceptions").PolarsError, OSError)
    elif home == "pyarrow":
        kinds = (import_module("pyarrow").ArrowException, OSError)
    elif home == "ibis":
        kinds = (
            Exception,
        )  # of a dozen databases; a release of Ibis may not fit that of its database either
    try:
        yield from read()
    except kinds as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            "{library} could not read the frame: {first}. Check that it can be collected.",
            library={"polars": "Polars", "pyarrow": "PyArrow", "ibis": "Ibis"}[home],
            first=(str(error).splitlines() or [type(error).__name__])[0].rstrip("."),
        ) from error


def n_rows_of(piece: Any) -> int:
    """Return the number of rows of a frame, or of a mapping of columns."""
    return len(next(iter(piece.values()), ())) if isinstance(piece, dict) else len(piece)


def _polars_pieces(data: pl.LazyFrame) -> Iterator[Any]:
    if hasattr(data, "collect_batches"):
        yield from data.collect_batches(chunk_size=_PIECE_ROWS, maintain_order=True)
    else:  # an older release
        yield from data.collect().iter_slices(_PIECE_ROWS)


def _arrow_pieces(read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    import pyarrow

    for batch in read():
        yield pyarrow.Table.from_batches([batch])


def has_pyarrow() -> bool:
    """Whether PyArrow is installed, without importing it."""
    return find_spec("pyarrow") is not None


# Numbers whose Python values are no floats or integers of 64 bits.
_WIDE_NUMBERS = ("decimal", "hugeint", "uhugeint")


def _relation_pieces(data: DuckDBPyRelation) -> Iterator[Any]:
    """Read a relation of DuckDB as tables of PyArrow."""
    import duckdb

    try:
        import pyarrow
    except ImportError as error:
        raise UsageError(
            "{shown} is read with PyArrow, which is not installed ({error}). Install it: pip install pyarrow.",
            shown="DuckDBPyRelation",
            error=error,
        ) from error
    try:
        names, rows = list(data.columns), _plain_columns(data)
        # The second name is the older one; DuckDB 2.0 warns that it is deprecated.
        open_reader: Any = getattr(rows, "to_arrow_reader", None) or rows.fetch_arrow_reader
        with open_reader(_PIECE_ROWS) as reader:
            for batch in reader:
                yield pyarrow.Table.from_batches([batch]).rename_columns(names)
    except duckdb.Error as error:
        raise DataError(
            "DuckDB could not read the relation: {first}. Check that it can be queried.",
            first=str(error).splitlines()[0].rstrip("."),
        ) from error


def relation_rows(data: DuckDBPyRelation) -> list[Any]:
    """Return all rows of a small relation: tables of PyArrow, or a mapping of columns where it is not installed."""
    if has_pyarrow():
        return list(_relation_pieces(data))
    rows = _plain_columns(data).fetchall()
    names = list(data.columns)
    return [{name: objects(row[j] for row in rows) for j, name in enumerate(names)}] if rows else []


def _plain_columns(data: DuckDBPyRelation) -> DuckDBPyRelation:
    """Return a relation with its columns named by position: names may be equal but for case, or hold anything."""
    cells = [
        f"CAST(#{j} AS DOUBLE)" if str(kind.id).lower() in _WIDE_NUMBERS else f"#{j}"
        for j, kind in enumerate(data.types, 1)
    ]
    return data.project(", ".join(f"{cell} AS c{j}" for j, cell in enumerate(cells)))


def _dask_pieces(data: DaskFrame) -> Iterator[Any]:
    for k in range(data.npartitions):
        yield data.partitions[k].compute()


def _spark_pieces(data: SparkFrame) -> Iterator[Any]:
    import pyarrow

    names = list(data.columns)
    numbered = data.toDF(*(f"c{j}" for j in range(len(names))))  # names in Spark have rules of their own
    for row in numbered.mapInArrow(_in_bytes, "piece binary").toLocalIterator():
        yield pyarrow.ipc.open_stream(row.piece).read_all().rename_columns(names)


def _in_bytes(batches: Iterator[Any]) -> Iterator[Any]:
    """Write each batch of a partition as bytes, which Spark passes on as one cell."""
    import pyarrow

    for batch in batches:
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pyarrow.record_batch(
            [pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.binary())], ["piece"]
        )


def open_frame(data: Any, of_pieces: Message | None = None) -> Any:
    """Return the narwhals view of a frame; ``of_pieces`` is what the caller can do with one that is not in memory."""
    import narwhals.stable.v2 as nw

    if type(data).__name__ == "RecordBatch":  # of PyArrow, as readers of streams give them
        import pyarrow

        data = pyarrow.Table.from_batches([data])
    try:
        return nw.from_native(data, eager_only=True)
    except TypeError:
        way = Message("df() or arrow()") if is_relation(data) else Message("collect() or compute()")
        raise DataTypeError(
            "A {split} {kind} is not rows in memory. Call its {way} first. {way_out}",
            split=type(data).__module__.split(".")[0],
            kind=type(data).__name__,
            way=way,
            way_out=of_pieces or Message("Or pass batches of it."),
        ) from None


def take_rows(data: Any, places: NDArray[np.intp]) -> Any:
    """Return some rows of a frame in memory, as a frame of its library."""
    return open_frame(data)[places].to_native()


def join_rows(pieces: list[Any]) -> Any:
    """Return the rows of several frames of one library, or mappings of columns, one after the other."""
    if isinstance(pieces[0], dict):
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    import narwhals.stable.v2 as nw

    return nw.concat([open_frame(piece) for piece in pieces]).to_native()


def readable(series: nw.Series[Any], name: Name) -> Any:
    """Return a narwhals column that the functions below can read; nested and other unusual cells are an error.

    PyArrow columns in pandas are read as PyArrow's own, run-end encoded ones are decoded, and 128-bit
    integers become 64-bit ones, or floats if they do not fit.
    """
    implementation = series.implementation
    if implementation.is_pandas():
        native = series.to_native()
        if hasattr(native.dtype, "pyarrow_dtype"):
            import pyarrow as pa

            column = pa.array(native.array)
            whole = isinstance(column, pa.ChunkedArray)
            return readable(_series(column if whole else pa.chunked_array([column])), name)
        if isinstance(native.dtype, np.dtype) and not native.dtype.isnative:
            return _series(native.astype(native.dtype.newbyteorder("=")))
    elif implementation.is_polars():
        return _readable_polars(series, name)
    elif implementation.is_pyarrow():
        return _readable_arrow(series, name)
    return series


def _readable_polars(series: nw.Series[Any], name: Name) -> Any:
    import polars as pl

    native = series.to_native()
    if native.dtype.is_nested():
        raise _neither(name, native.dtype)
    if str(native.dtype) in ("Int128", "UInt128"):
        low, high = native.min() or 0, native.max() or 0
        return _series(native.cast(pl.Int64 if low >= -(2**63) and high < 2**63 else pl.Float64))
    return series


def _readable_arrow(series: nw.Series[Any], name: Name) -> Any:
    import pyarrow as pa
    from pyarrow import types

    kind = series.to_native().type
    if types.is_run_end_encoded(kind):
        import pyarrow.compute as pc

        return _readable_arrow(_series(pc.run_end_decode(series.to_native())), name)
    if types.is_nested(kind) or types.is_interval(kind) or isinstance(kind, pa.BaseExtensionType):
        raise _neither(name, kind)
    return series


def _series(native: Any) -> Any:
    import narwhals.stable.v2 as nw

    return nw.from_native(native, series_only=True)


def _neither(name: Name, dtype: object) -> ColumnError:
    return ColumnError(
        "Column {name!r} has dtype {dtype}, which is neither number nor category.", name=name, dtype=dtype
    )


def series_kind(series: nw.Series[Any], name: Name) -> Kind:
    """Return the kind of a narwhals column by its dtype."""
    import narwhals.stable.v2 as nw

    series = readable(series, name)
    dtype = series.dtype
    if dtype.is_numeric():
        return "numeric"
    if isinstance(dtype, (nw.String, nw.Boolean, nw.Categorical, nw.Enum)):
        return "categorical"
    if dtype.is_temporal():
        raise ColumnError(date_message(name))
    if isinstance(dtype, (nw.Object, nw.Unknown)):
        array = series.to_numpy()
        if array.dtype == object and all(v is None for v in array):  # a column of nulls only
            return "numeric"
        return array_kind(array, name)
    raise _neither(name, dtype)


def factorize_series(series: nw.Series[Any], name: Name) -> CodedColumn:
    """Encode a narwhals column with the dictionary encoding of its own library."""
    return without_missing_labels(_factorize(readable(series, name), name), name)


def _factorize(series: nw.Series[Any], name: Name) -> CodedColumn:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    implementation = series.implementation
    if implementation.is_polars():
        return _factorize_polars(series.to_native(), dtype)
    if implementation.is_pyarrow():
        if dtype.is_float():
            return factorize_array(series.to_numpy(), name)
        return factorize_arrow(series.to_native())
    native = series.to_native() if implementation.is_pandas() else series.to_pandas()
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return CodedColumn(native.cat.codes.to_numpy(), native.cat.categories.tolist(), declared=True)
    if isinstance(dtype, (nw.Object, nw.Unknown)):
        return factorize_array(series.to_numpy(), name)
    if len(native) == 1:  # a question about one row: `factorize` takes far longer than to look at it
        cells = [value for value in native.tolist() if not is_missing(value)]
        return CodedColumn(np.array([len(cells) - 1]), cells)
    codes, labels = native.factorize()
    return CodedColumn(codes, labels.tolist())


def _factorize_polars(series: pl.Series, dtype: DType) -> CodedColumn:
    import narwhals.stable.v2 as nw
    import polars as pl

    if isinstance(dtype, nw.Enum):
        labels = list(dtype.categories)
        return CodedColumn(_physical(series), labels, declared=True)
    if not isinstance(dtype, (nw.String, nw.Categorical)):
        return factorize_array(series.to_numpy(), series.name)
    if isinstance(dtype, nw.String):
        if not hasattr(pl, "Categories"):  # before Polars 1.32
            words = series.unique().drop_nulls().sort()
            return CodedColumn(_physical(series.cast(pl.Enum(words))), words.to_list())
        own = pl.Categories.random()
        coded = series.cast(pl.Categorical(own))
        return CodedColumn(_physical(coded), own.to_series().to_list())
    if not hasattr(pl, "Categories"):
        of_old: Any = series.cat
        return CodedColumn(_physical(series), of_old.get_categories().to_list(), complete=False)
    # Categories are shared by all columns of a name: some may not occur in this one.
    kind: Any = series.dtype
    return CodedColumn(_physical(series), kind.categories.to_series().to_list(), complete=False)


def _physical(series: pl.Series) -> NDArray[Any]:
    codes = series.to_physical()
    if codes.null_count():
        return np.asarray(codes.cast(int).fill_null(-1).to_numpy())
    return np.asarray(codes.to_numpy())


def factorize_arrow(column: pa.Array | pa.ChunkedArray) -> CodedColumn:
    """Encode an array of PyArrow; one that is a dictionary already is taken as it is."""
    import pyarrow as pa

    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())  # PyArrow 17 cannot encode shorter floats, and nothing is lost
    given = pa.types.is_dictionary(column.type)
    coded = column if given else column.dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks == 1 else coded.combine_chunks()
    if isinstance(coded, pa.ChunkedArray):  # no chunk at all, or dictionaries that had to be unified
        coded = (
            coded.unify_dictionaries().chunk(0)
            if coded.num_chunks
            else pa.array([], pa.string()).dictionary_encode()
        )
    indices = coded.indices.fill_null(-1) if coded.indices.null_count else coded.indices
    codes = indices.to_numpy(zero_copy_only=False)
    # A dictionary that was there before may list what occurs in no row.
    return CodedColumn(codes, coded.dictionary.to_pylist(), complete=not given)


def numbers_of_series(series: nw.Series[Any], name: Name) -> NDArray[Any]:
    """Return a narwhals column as numbers: float64 with NaN if anything is missing."""
    import narwhals.stable.v2 as nw

    series = readable(series, name)
    if series.dtype.is_numeric() and not isinstance(series.dtype, nw.Decimal):
        array = series.to_numpy()
        if array.dtype.kind in "iuf":
            return np.asarray(array)
    elif isinstance(series.dtype, nw.Boolean):
        return numbers_of_array(series.to_numpy(), name)
    elif isinstance(series.dtype, nw.Decimal):
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return numbers_of_array(objects(series.to_list()), name)


def as_frame(columns: Mapping[Name, NDArray[Any]]) -> Any:
    """Build a data frame from columns, with the first frame library that is installed."""
    import narwhals.stable.v2 as nw

    texts = {str(name): column for name, column in columns.items()}
    for library in ("pandas", "polars", "pyarrow"):
        try:
            return nw.from_dict(texts, backend=library).to_native()
        except ImportError:
            continue
    raise UsageError(
        "Your own estimators receive a data frame, and none of pandas, Polars and PyArrow is installed. "
        "Install one: pip install pandas; or pass the rows as an array."
    )


# How the names of tables end; a list of texts does not look so by chance.
_LIKE_A_PATH = re.compile(
    r"\.(csv|tsv|txt|tab|data|parquet|pq|json|jsonl|ndjson|arrow|arrows|feather|ipc|arff)(\.gz|\.zst)?$|^duckdb://",
    re.IGNORECASE,
)


def is_table_name(name: str) -> bool:
    """Tell whether a name ends as that of a table does, such as ``.csv`` or ``.csv.gz``.

    >>> is_table_name("melons.csv.gz"), is_table_name("README.md")
    (True, False)
    """
    return _LIKE_A_PATH.search(name) is not None


def names_files(data: object) -> TypeGuard[FilesLike]:
    """Tell whether rows are given by the path of a file, a pattern, or a list of these.

    >>> names_files("melons.csv"), names_files(["a.parquet", "b.parquet"]), names_files(["sweet", "ripe"])
    (True, True, False)
    """
    if isinstance(data, (str, os.PathLike)):
        return True
    if not isinstance(data, (list, tuple)) or not all(isinstance(one, (str, os.PathLike)) for one in data):
        return False
    # A path among words says that all are paths.
    paths = any(isinstance(one, os.PathLike) for one in data)
    return paths or (len(data) > 0 and all(_LIKE_A_PATH.search(os.fspath(one)) for one in data))


def as_array(held: NDArray[Any], dtype: DTypeLike | None, copy: bool | None) -> NDArray[Any]:
    """Implement ``__array__``: convert, and copy only if requested or necessary.

    NumPy 2 passes ``copy`` and expects an error if False is impossible; NumPy 1 never passes it.

    >>> as_array(np.array([0.5]), np.float32, None).dtype
    dtype('float32')
    """
    array = np.asarray(held, dtype=dtype)
    if copy is False and array is not held:
        raise DataError(
            "an array of dtype {dtype} cannot be made without a copy. Leave out copy=False.", dtype=dtype
        )
    return array.copy() if copy and array is held else array


LIBRARIES = ("pandas", "polars", "pyarrow")


def to_native(columns: Mapping[str, NDArray[Any]], index: str | None = None) -> Any:
    """Build a data frame: pandas if it is installed, else polars, else a pyarrow table.

    Parameters
    ----------
    index : str, optional
        The column that labels the rows: the index of a pandas frame; others have no index, and drop it.

    Examples
    --------
    >>> import numpy as np
    >>> to_native({"x": np.array([1, 2])}).shape
    (2, 1)
    """
    import narwhals as nw

    for library in LIBRARIES:
        try:
            module = import_module(library)
        except ImportError:
            continue
        frame = nw.from_dict(dict(columns), backend=module)
        if index is None:
            return frame.to_native()
        return (nw.maybe_set_index(frame, index) if library == "pandas" else frame.drop(index)).to_native()
    way_out = Message("Install one (pip install pandas), or use the columns, which are NumPy arrays.")
    raise UsageError(
        "No data frame library is installed (tried: {names}). {way_out}",
        names=Joined(LIBRARIES),
        way_out=way_out,
    )
