"""A column of every type that pandas, Polars, PyArrow and NumPy have, beside one of small whole numbers."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

N = 24
WHOLE = np.arange(N) % 3
DAYS = [dt.datetime(2020, 1, 1) + dt.timedelta(days=i) for i in range(N)]
WORDS = [("x", "y", "z")[i % 3] for i in range(N)]
HOLES = [None if i % 4 == 3 else word for i, word in enumerate(WORDS)]
LISTS = [[i % 3, 1] for i in range(N)]

TYPES: dict[str, Callable[[], Any]] = {}


def enter(name: str, make: Callable[[], Any]) -> None:
    """Enter a type: a function that makes the table of the columns "a" and "b", of which "b" has it."""
    assert name not in TYPES
    TYPES[name] = make


# -- pandas ------------------------------------------------------------------------------------------


def pandas_of(make: Callable[[Any], Any]) -> Callable[[], Any]:
    def table() -> Any:
        pd = pytest.importorskip("pandas")
        return pd.DataFrame({"a": WHOLE, "b": make(pd)})

    return table


def arrow_typed(values: Any, kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A column of pandas that PyArrow keeps."""

    def make(pd: Any) -> Any:
        pa = pytest.importorskip("pyarrow")
        return pd.Series(pd.array(pa.array(values, kind(pa)), dtype=pd.ArrowDtype(kind(pa))))

    return make


for _code in (
    "i1",
    "u1",
    "i2",
    "u2",
    "i4",
    "u4",
    "i8",
    "u8",
    "f2",
    "f4",
    "f8",
    "g",
    "?",
    ">i4",
    ">f8",
    ">u2",
):
    enter(f"pandas {_code}", pandas_of(lambda pd, code=_code: WHOLE.astype(code)))
for _name in ("Int8", "UInt64", "Int64", "Float32", "Float64"):
    enter(f"pandas {_name}", pandas_of(lambda pd, name=_name: pd.array(WHOLE.tolist(), dtype=name)))
    enter(
        f"pandas {_name} with holes",
        pandas_of(lambda pd, name=_name: pd.array([None, *WHOLE[1:].tolist()], dtype=name)),
    )
enter("pandas boolean", pandas_of(lambda pd: pd.array([True, False, None] * 8, dtype="boolean")))
enter("pandas complex", pandas_of(lambda pd: WHOLE.astype(complex)))
enter("pandas object", pandas_of(lambda pd: pd.Series(WORDS, dtype=object)))
enter("pandas string", pandas_of(lambda pd: pd.array(HOLES, dtype="string")))
enter("pandas category", pandas_of(lambda pd: pd.Categorical(HOLES, categories=["z", "y", "x", "w"])))
enter("pandas category of numbers", pandas_of(lambda pd: pd.Categorical(WHOLE)))
enter("pandas category of dates", pandas_of(lambda pd: pd.Categorical(DAYS)))
enter("pandas category of intervals", pandas_of(lambda pd: pd.cut(WHOLE, 3)))
enter("pandas dates", pandas_of(lambda pd: pd.Series(DAYS)))
enter("pandas dates with a zone", pandas_of(lambda pd: pd.Series(DAYS).dt.tz_localize("UTC")))
enter("pandas durations", pandas_of(lambda pd: pd.to_timedelta(WHOLE, unit="D")))
enter("pandas periods", pandas_of(lambda pd: pd.period_range("2020-01", periods=N, freq="M")))
enter("pandas intervals", pandas_of(lambda pd: pd.interval_range(0, N)))
enter("pandas sparse", pandas_of(lambda pd: pd.arrays.SparseArray(WHOLE.astype(float))))
enter("pandas lists", pandas_of(lambda pd: pd.Series(LISTS, dtype=object)))
enter("pandas dicts", pandas_of(lambda pd: pd.Series([{"k": 1}] * N, dtype=object)))
enter("pandas sets", pandas_of(lambda pd: pd.Series([{1}] * N, dtype=object)))
enter("pandas arrays", pandas_of(lambda pd: pd.Series([np.ones(2)] * N, dtype=object)))
enter("pandas tuples", pandas_of(lambda pd: pd.Series([(i % 3, "x") for i in range(N)], dtype=object)))
enter("pandas bytes", pandas_of(lambda pd: pd.Series([b"x", b"y"] * 12, dtype=object)))
enter("pandas Decimals", pandas_of(lambda pd: pd.Series([Decimal(i % 3) for i in range(N)], dtype=object)))
enter(
    "pandas Fractions", pandas_of(lambda pd: pd.Series([Fraction(i % 3, 2) for i in range(N)], dtype=object))
)
enter("pandas UUIDs", pandas_of(lambda pd: pd.Series([uuid.UUID(int=i % 3) for i in range(N)], dtype=object)))
enter("pandas times", pandas_of(lambda pd: pd.Series([day.time() for day in DAYS], dtype=object)))
enter("pandas NaT and None", pandas_of(lambda pd: pd.Series([pd.NaT, None, pd.NA] * 8, dtype=object)))

# -- PyArrow, by itself and in pandas ----------------------------------------------------------------

_ARROW: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    **{
        name: (WHOLE.tolist(), lambda pa, name=name: getattr(pa, name)())
        for name in (
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float32",
            "float64",
        )
    },
    "int64 with holes": ([None, *WHOLE[1:].tolist()], lambda pa: pa.int64()),
    "bool": ([True, False, None] * 8, lambda pa: pa.bool_()),
    "string": (HOLES, lambda pa: pa.string()),
    "large string": (HOLES, lambda pa: pa.large_string()),
    "string view": (HOLES, lambda pa: pa.string_view()),
    "binary": ([b"x", b"y", None] * 8, lambda pa: pa.binary()),
    "large binary": ([b"x", b"y", None] * 8, lambda pa: pa.large_binary()),
    "fixed binary": ([b"xx", b"yy", None] * 8, lambda pa: pa.binary(2)),
    "decimal128": ([Decimal(i % 3) for i in range(N)], lambda pa: pa.decimal128(5, 2)),
    "decimal256": ([Decimal(i % 3) for i in range(N)], lambda pa: pa.decimal256(50, 2)),
    "date32": ([day.date() for day in DAYS], lambda pa: pa.date32()),
    "date64": ([day.date() for day in DAYS], lambda pa: pa.date64()),
    "time32": ([day.time() for day in DAYS], lambda pa: pa.time32("s")),
    "time64": ([day.time() for day in DAYS], lambda pa: pa.time64("us")),
    "timestamp": (DAYS, lambda pa: pa.timestamp("us")),
    "timestamp with a zone": (DAYS, lambda pa: pa.timestamp("us", "UTC")),
    "duration": ([dt.timedelta(i % 3) for i in range(N)], lambda pa: pa.duration("us")),
    "interval": ([(1, 2, 3)] * N, lambda pa: pa.month_day_nano_interval()),
    "null": ([None] * N, lambda pa: pa.null()),
    "list": (LISTS, lambda pa: pa.list_(pa.int64())),
    "large list": (LISTS, lambda pa: pa.large_list(pa.int64())),
    "fixed list": (LISTS, lambda pa: pa.list_(pa.int64(), 2)),
    "struct": ([{"k": i % 3} for i in range(N)], lambda pa: pa.struct([("k", pa.int64())])),
    "map": ([[("k", i % 3)] for i in range(N)], lambda pa: pa.map_(pa.string(), pa.int64())),
    "dictionary": (HOLES, lambda pa: pa.dictionary(pa.int8(), pa.string())),
    "dictionary of numbers": (WHOLE.tolist(), lambda pa: pa.dictionary(pa.int32(), pa.int64())),
}


def arrow_of(make: Callable[[Any], Any]) -> Callable[[], Any]:
    def table() -> Any:
        pa = pytest.importorskip("pyarrow")
        return pa.table({"a": WHOLE, "b": make(pa)})

    return table


for _name, (_values, _kind) in _ARROW.items():
    enter(f"arrow {_name}", arrow_of(lambda pa, v=_values, k=_kind: pa.array(v, k(pa))))
    enter(f"pandas arrow {_name}", pandas_of(arrow_typed(_values, _kind)))
enter("arrow dictionary of dates", arrow_of(lambda pa: pa.array(DAYS).dictionary_encode()))
enter("arrow half floats", arrow_of(lambda pa: pa.array(WHOLE.astype(np.float16))))
enter("arrow strings in chunks", arrow_of(lambda pa: pa.chunked_array([HOLES[:5], [], HOLES[5:]])))
enter(
    "arrow run-end encoded words",
    arrow_of(lambda pa: pa.RunEndEncodedArray.from_arrays([9, 15, N], pa.array(["x", None, "y"]))),
)
enter(
    "arrow run-end encoded numbers",
    arrow_of(lambda pa: pa.RunEndEncodedArray.from_arrays([9, 15, N], pa.array([0, 2, 1]))),
)
enter(
    "arrow run-end encoded in chunks",
    arrow_of(
        lambda pa: pa.chunked_array(
            [pa.RunEndEncodedArray.from_arrays([4, 12], pa.array([0.5, end])) for end in (1.0, 2.0)]
        )
    ),
)
enter(
    "arrow union",
    arrow_of(
        lambda pa: pa.UnionArray.from_sparse(
            pa.array([0, 1] * 12, pa.int8()), [pa.array(WHOLE), pa.array(WORDS)]
        )
    ),
)


def uuids(pa: Any) -> Any:
    if not hasattr(pa, "uuid"):
        pytest.skip("this PyArrow has no uuid")
    return pa.array([uuid.UUID(int=i % 3).bytes for i in range(N)], pa.uuid())


enter("arrow uuid", arrow_of(uuids))


# -- Polars ------------------------------------------------------------------------------------------


def polars_of(make: Callable[[Any], Any]) -> Callable[[], Any]:
    def table() -> Any:
        pl = pytest.importorskip("polars")
        return pl.DataFrame({"a": WHOLE}).with_columns(make(pl).alias("b"))

    return table


def polars_typed(name: str, values: Any = WHOLE) -> Callable[[Any], Any]:
    def make(pl: Any) -> Any:
        if not hasattr(pl, name):
            pytest.skip(f"this Polars has no {name}")
        return pl.Series(
            [value if value is None else int(value) for value in values], dtype=getattr(pl, name)
        )

    return make


for _name in ("Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128"):
    enter(f"polars {_name}", polars_of(polars_typed(_name)))
for _name in ("Float16", "Float32", "Float64"):
    enter(f"polars {_name}", polars_of(polars_typed(_name)))
enter("polars Int128 with holes", polars_of(polars_typed("Int128", [0, 1, None] * 8)))
enter("polars large Int128", polars_of(polars_typed("Int128", [0, 2**100, 1] * 8)))
enter("polars Boolean", polars_of(lambda pl: pl.Series([True, False, None] * 8)))
enter("polars String", polars_of(lambda pl: pl.Series(HOLES)))
enter("polars Categorical", polars_of(lambda pl: pl.Series(HOLES, dtype=pl.Categorical)))
enter("polars Enum", polars_of(lambda pl: pl.Series(HOLES, dtype=pl.Enum(["z", "y", "x"]))))
enter("polars Decimal", polars_of(lambda pl: pl.Series([Decimal(i % 3) for i in range(N)])))
enter("polars Binary", polars_of(lambda pl: pl.Series([b"x", b"y"] * 12)))
enter("polars Date", polars_of(lambda pl: pl.Series([day.date() for day in DAYS])))
enter("polars Datetime", polars_of(lambda pl: pl.Series(DAYS)))
enter("polars Time", polars_of(lambda pl: pl.Series([day.time() for day in DAYS])))
enter("polars Duration", polars_of(lambda pl: pl.Series([dt.timedelta(i) for i in range(N)])))
enter("polars Null", polars_of(lambda pl: pl.Series([None] * N)))
enter("polars List", polars_of(lambda pl: pl.Series(LISTS)))
enter("polars Array", polars_of(lambda pl: pl.Series(LISTS, dtype=pl.Array(pl.Int64, 2))))
enter("polars Struct", polars_of(lambda pl: pl.Series([{"k": i % 3} for i in range(N)])))
enter("polars Object", polars_of(lambda pl: pl.Series([(i % 3, "x") for i in range(N)], dtype=pl.Object)))

# -- mappings, lists and arrays ----------------------------------------------------------------------


def cells(*values: Any) -> Callable[[], Any]:
    """A table of lists in which such cells take turns."""
    return lambda: {"a": WHOLE, "b": [values[i % len(values)] for i in range(N)]}


def whole_array(code: str) -> Callable[[], Any]:
    return lambda: np.column_stack([WHOLE, WHOLE[::-1]]).astype(code)


for _code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "O", "U3", "S3"):
    enter(f"array {_code}", whole_array(_code))
    enter(f"column {_code}", lambda code=_code: {"a": WHOLE, "b": WHOLE.astype(code)})
for _code in (">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8", ">U3"):
    enter(f"array {_code}", whole_array(_code))
    enter(f"column {_code}", lambda code=_code: {"a": WHOLE, "b": WHOLE.astype(code)})
enter("column of dates", lambda: {"a": WHOLE, "b": np.array(DAYS, dtype="M8[D]")})
enter("column of durations", lambda: {"a": WHOLE, "b": WHOLE.astype("m8[s]")})
enter("column of complex numbers", lambda: {"a": WHOLE, "b": WHOLE.astype(complex)})
enter("column of records", lambda: {"a": WHOLE, "b": np.zeros(N, dtype=[("x", "f8"), ("y", "i4")])})
enter("column of void", lambda: {"a": WHOLE, "b": np.zeros(N, dtype="V4")})
if hasattr(np.dtypes, "StringDType"):
    enter("column of StringDType", lambda: {"a": WHOLE, "b": np.array(WORDS, dtype=np.dtypes.StringDType())})
enter("cells beyond doubles", cells(10**400, 1, 2))
enter("cells far below zero", cells(-(10**400), 1, 2))
enter("cells of large whole numbers", cells(2**70, 1, 2))
enter("cells of signalling NaN", cells(Decimal("sNaN"), Decimal(1), Decimal(2)))
enter("cells of NaN", cells(Decimal("NaN"), Decimal(1), 2.0))
enter("cells of infinite Decimals", cells(Decimal("Infinity"), Decimal(1)))
enter("cells of huge Decimals", cells(Decimal("1e400"), Decimal(1)))
enter("cells of huge Fractions", cells(Fraction(10**400), Fraction(1)))
enter("cells of complex numbers", cells(1j, 2.0))
enter("cells of bytes", cells(b"x", b"y"))
enter("cells of dicts", cells({"k": 1}, {"k": 2}))
enter("cells of arrays", cells(np.ones(2), np.zeros(2)))
enter("cells of tuples", cells((1, "x"), (2, "y")))
enter("cells of dates", cells(dt.date(2020, 1, 1), dt.date(2021, 1, 1)))
enter("cells of NumPy's dates", cells(np.datetime64("2020-01-01"), np.datetime64("2021-01-01")))
enter("cells of NumPy's numbers", cells(np.int8(1), np.float32(2.0), np.uint64(0)))
enter("cells of functions", cells(len, max))
enter("cells of many kinds", cells(1, "x", None, 2.5, True, b"y"))
enter("rows beyond doubles", lambda: [[i % 3, 10**400 if i == 5 else i % 2] for i in range(N)])
