"""Every backend runs the same list: its schema and its counts are those of the kernels, to the bit.

The third one here counts in dictionaries. It is a test of the seam: a backend is written from the terms alone.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    AutoBayes,
    CategoricalNB,
    CountForest,
    GaussianBayes,
    LogLinearBayes,
    MultinomialNB,
    NaiveBayes,
    SelectiveKDB,
    WeightedNB,
    learn_network,
)
from bayeskit._counting import backend as backends
from bayeskit._counting import duckdb_backend
from bayeskit._counting.backend import Threads, backend_of
from bayeskit._counting.backend_protocol import Backend
from bayeskit._counting.duckdb_backend import DuckDB
from bayeskit._data.columns import is_missing
from bayeskit._data.source import Source
from bayeskit.errors import (
    CannotCount,
    ColumnError,
    DataError,
    DataTypeError,
    NeedsRows,
    NotCounted,
    SuspectColumn,
    UnseenClass,
    UnseenState,
    UsageError,
    WeightError,
)
from bayeskit.extending import Reading
from bayeskit.statistics import CellTable, Pattern, Plan, Schema, Statistics, Variable
from refusals import refuses, warns_of
from spark_session import WITHOUT_SPARK, spark_session

# -- rows, in the form that each backend takes -----------------------------------------------------

# One connection for all: DuckDB 1.4 closes one that nobody holds, and its relations with it.
DATABASE = duckdb.connect()
FRESH = itertools.count()
TYPES = {"text": "VARCHAR", "whole": "INTEGER", "bool": "BOOLEAN", "float": "DOUBLE"}


@dataclass(frozen=True)
class Rows:
    """Columns with a type each; the class and the weights are among them."""

    types: dict[str, str]
    rows: list[tuple[Any, ...]]
    weights: str | None = None

    @property
    def names(self) -> list[str]:
        return list(self.types)

    def part(self, start: int, stop: int) -> Rows:
        return Rows(self.types, self.rows[start:stop], self.weights)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def as_relation(rows: Rows) -> Any:
    name = f"t{next(FRESH)}"
    columns = ", ".join(f"c{j} {TYPES[kind]}" for j, kind in enumerate(rows.types.values()))
    DATABASE.execute(f"CREATE TABLE {name} ({columns})")
    if rows.rows:
        marks = ", ".join("?" * len(rows.types))
        DATABASE.executemany(f"INSERT INTO {name} VALUES ({marks})", [list(row) for row in rows.rows])
    # A table cannot have columns that differ in case alone; a relation can.
    return DATABASE.table(name).project(", ".join(f"c{j} AS {quoted(n)}" for j, n in enumerate(rows.types)))


def as_mapping(rows: Rows) -> dict[str, Any]:
    return {
        name: np.array([row[j] for row in rows.rows] + [None], dtype=object)[:-1].astype(
            float if kind == "float" else object
        )
        for j, (name, kind) in enumerate(rows.types.items())
    }


WITHOUT_DASK = importlib.util.find_spec("dask") is None or importlib.util.find_spec("pandas") is None
PANDAS = {"text": "object", "whole": "Int64", "bool": "boolean", "float": "float64"}


def as_dask(rows: Rows) -> Any:
    """Three partitions, the second of which has no rows."""
    import dask
    import dask.dataframe as dd
    import pandas as pd

    columns = {
        name: pd.Series([row[j] for row in rows.rows], dtype=PANDAS[kind])
        for j, (name, kind) in enumerate(rows.types.items())
    }
    whole, cut = pd.DataFrame(columns), (len(rows.rows) + 1) // 2
    parts = [whole[:cut], whole[:0], whole[cut:]]
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_delayed([dask.delayed(part) for part in parts], meta=whole[:0], verify_meta=False)


def as_spark(rows: Rows) -> Any:
    """Three partitions, of which one or more have no rows."""
    import pyarrow as pa

    kinds = {"text": pa.string(), "whole": pa.int64(), "bool": pa.bool_(), "float": pa.float64()}
    columns = {
        f"c{j}": pa.array([row[j] for row in rows.rows], kinds[kind])
        for j, kind in enumerate(rows.types.values())
    }
    whole = spark_session().createDataFrame(pa.table(columns))
    return whole.repartition(2).union(whole.limit(0).coalesce(1)).toDF(*rows.types)


# -- a backend of dictionaries ---------------------------------------------------------------------


@dataclass(frozen=True)
class Records:
    """Rows as dictionaries, and the face of a table that reading asks for."""

    names: tuple[str, ...]
    records: tuple[dict[str, Any], ...]
    types: dict[str, str] = field(default_factory=dict)
    block: None = None

    def kind(self, j: int) -> str:
        return "categorical" if self.types[self.names[j]] in ("text", "bool") else "numeric"


def as_records(rows: Rows) -> Records:
    return Records(
        tuple(rows.types), tuple(dict(zip(rows.types, row, strict=True)) for row in rows.rows), rows.types
    )


class Dictionaries(Backend):
    """Counts dictionaries, cell by cell."""

    def takes(self, source: Source) -> bool:
        return isinstance(source.data, Records)

    def schema(self, source: Source, reading: Reading, target: Variable) -> Schema:
        records, weighted = source.data, self._weighted(source, target)
        taken = [name for name in (source.target, source.weights) if name is not None]
        names = source.attributes_of(records.names, taken)
        schema = reading.schema_of(Records(names, (), records.types), target)
        grown = [
            v
            if v.kind == "numeric"
            else v.grown({r[v.name] for r, _ in weighted if not is_missing(r[v.name])})
            for v in schema.attributes
        ]
        classes = {r[source.target] for r, _ in weighted} if source.target is not None else target.states
        return schema.with_variables(grown, target.grown(classes))

    def count(self, source: Source, schema: Schema, plan: Plan) -> Statistics:
        tables = []
        for term in plan.terms(schema):
            if term.values:
                raise CannotCount(f"Dictionaries do not add {term.values[0]!r} up.")
            variables = [schema.target, *(schema[name] for name in term.cells[1:])]
            cells: Counter[tuple[int, ...]] = Counter()
            for record, weight in self._weighted(source, schema.target):
                label = schema.target.states[0] if source.target is None else record[source.target]
                values = [label, *(record[name] for name in term.cells[1:])]
                cells[
                    tuple(
                        v.size if is_missing(x) else v.code_of(x)
                        for v, x in zip(variables, values, strict=True)
                    )
                ] += weight
            codes = np.array(list(cells), np.int64).reshape(-1, len(variables))
            tables.append(CellTable(term, codes, np.array(list(cells.values()), float)))
        return Statistics.from_cell_tables(schema, plan, tables)

    def _weighted(self, source: Source, target: Variable) -> list[tuple[dict[str, Any], float]]:
        records = source.data.records
        if source.target is None and target.size != 1:
            raise DataError("No column is named as the class.")
        if not records:
            raise DataError("Found array with 0 sample(s).")
        if source.target is not None and any(is_missing(record[source.target]) for record in records):
            raise DataError("A row has no class.")
        weights = [1 if source.weights is None else record[source.weights] for record in records]
        if any(is_missing(w) or w < 0 for w in weights) or not any(weights):
            raise WeightError("Some weight is none.")
        return [(record, w) for record, w in zip(records, weights, strict=True) if w]


BACKENDS = {
    "threads": (Threads(), as_mapping),
    "duckdb": (DuckDB(), as_relation),
    "dictionaries": (Dictionaries(), as_records),
    "dask": (next(b for b in backends.BACKENDS if getattr(b, "cluster", "") == "dask"), as_dask),
    "spark": (next(b for b in backends.BACKENDS if getattr(b, "cluster", "") == "spark"), as_spark),
}
if_dask = pytest.mark.skipif(WITHOUT_DASK, reason="Dask is not installed: pip install 'bayeskit[dask]'")
if_spark = (pytest.mark.spark, pytest.mark.skipif(bool(WITHOUT_SPARK), reason=WITHOUT_SPARK))
MARKS = {"dask": [if_dask], "spark": if_spark}
every = pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS.get(n, ())) for n in BACKENDS])
# Where a question costs little, it is asked of many tables.
quick = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=MARKS.get(n, ())) for n in BACKENDS if n != "spark"]
)
CLASS = Variable("class", "categorical")
ALL = Reading("all")


def opened(name: str, rows: Rows, target: str | None = "class") -> tuple[Any, Source]:
    backend, form = BACKENDS[name]
    return backend, Source(form(rows), weights=rows.weights, target=target)


def plan_of(schema: Schema) -> Plan:
    names = tuple(v.name for v in schema.categorical)
    families: Any = tuple(names[: k + 1] for k in range(len(names)))
    return Plan((*Plan.pairs(schema).patterns, Pattern("families", families), Pattern("triples", names[:3])))


def counted(name: str, rows: Rows, reading: Reading = ALL, target: Variable = CLASS) -> Statistics:
    backend, source = opened(name, rows)
    schema = backend.schema(source, reading, target)
    return backend.count(source, schema, plan_of(schema))


def same(a: Statistics, b: Statistics) -> None:
    """The same labels and the same bits."""
    assert [(v.name, v.states, v.n_declared) for v in a.schema.attributes] == [
        (v.name, v.states, v.n_declared) for v in b.schema.attributes
    ]
    assert a.schema.target.states == b.schema.target.states and a.plan == b.plan
    for kind, part in a.parts.items():
        others = b.parts[kind].arrays()
        for name, array in part.arrays().items():
            np.testing.assert_array_equal(array, others[name], err_msg=f"{kind}/{name}")


# -- the list --------------------------------------------------------------------------------------

NAMES = ("a", "A", "select", 'quo"te', "col'umn; DROP TABLE t; --", "色泽", "tab\t\x01", "group", "#1", "a b")
TEXTS = (
    "x",
    "X",
    "",
    " ",
    "'; DROP TABLE t; --",
    '"',
    "青绿",
    "é",
    "e\u0301",
    "\x01\n",
    "NULL",
    "nan",
    "a\\b",
)
VALUES = {
    "text": st.sampled_from([*TEXTS, None]),
    "whole": st.sampled_from([-3, 0, 1, 2, 2**31 - 1, None]),
    "bool": st.sampled_from([True, False, None]),
    "float": st.sampled_from([0.5, 1.0, -2.0, 1e300, float("nan")]),
}


@st.composite
def tables(draw, min_rows=1):
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    types = {name: draw(st.sampled_from(list(TYPES))) for name in names}
    label = draw(st.sampled_from(["text", "whole", "bool"]))
    weighted = draw(st.booleans())
    cells = [VALUES[kind] for kind in types.values()]
    cells.append(VALUES[label].filter(lambda v: v is not None))
    types["class"] = label
    if weighted:
        cells.append(st.sampled_from([0, 1, 1, 2, 5]))
        types["weight"] = "whole"
    rows = draw(st.lists(st.tuples(*cells), min_size=min_rows, max_size=12))
    if weighted and rows and not any(row[-1] for row in rows):
        rows[0] = (*rows[0][:-1], 3)
    return Rows(types, rows, "weight" if weighted else None)


@quick
@settings(max_examples=60, deadline=None)
@given(rows=tables())
def test_the_schema_and_the_counts_are_those_of_the_kernels(name, rows):
    same(counted(name, rows), counted("threads", rows))


@quick
@settings(max_examples=25, deadline=None)
@given(rows=tables(min_rows=2), cut=st.integers(1, 11))
def test_schemas_and_counts_of_pieces_make_the_whole(name, rows, cut):
    cut = min(cut, len(rows.rows) - 1)
    parts = [rows.part(0, cut), rows.part(cut, len(rows.rows))]
    if rows.weights is not None and any(not any(row[-1] for row in part.rows) for part in parts):
        return
    pieces = [counted(name, part) for part in parts]
    whole = counted(name, rows)
    union = pieces[0].schema.union(pieces[1].schema)
    assert [v.states for v in union.attributes] == [v.states for v in whole.schema.attributes]
    same(pieces[0] + pieces[1], whole)


@pytest.mark.spark
@pytest.mark.skipif(bool(WITHOUT_SPARK), reason=WITHOUT_SPARK)
@settings(max_examples=3, deadline=None)
@given(rows=tables(min_rows=4))
def test_spark_counts_a_few_tables_as_the_kernels_do(rows):
    same(counted("spark", rows), counted("threads", rows))


COLOURS = Rows(
    {"colour": "text", "size": "whole", "class": "text"},
    [("red", 1, "yes"), ("blue", 3, "no"), (None, 3, "yes"), ("red", None, "yes")],
)


@every
def test_declared_states_stay_in_their_order(name):
    reading = Reading("all", {"colour": ["red", "never", "blue"], "size": [5, 3, 1]})
    found = counted(name, COLOURS, reading)
    assert found.schema["colour"].states == ("red", "never", "blue")
    assert found.table("colour").tolist() == [[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]
    same(found, counted("threads", COLOURS, reading))
    with refuses(UnseenState, "blue"):
        counted(name, COLOURS, Reading("all", {"colour": ["red"]}))


@every
def test_one_class(name):
    rows = Rows(COLOURS.types, [(*row[:-1], "yes") for row in COLOURS.rows])
    found = counted(name, rows)
    assert found.schema.target.states == ("yes",) and found.total == 4.0
    same(found, counted("threads", rows))


@every
def test_a_row_of_weight_zero_is_absent(name):
    rows = Rows(
        {**COLOURS.types, "n": "whole"},
        [(*row, n) for row, n in zip(COLOURS.rows, (2, 0, 1, 0), strict=True)],
        "n",
    )
    found = counted(name, rows)
    assert (found.schema["colour"].states, found.schema.target.states) == (("red",), ("yes",))
    assert found.total == 3.0


@every
@pytest.mark.parametrize(
    ("weights", "error"),
    [([0, 0], WeightError), ([1, -1], WeightError), ([1, None], WeightError)],
    ids=["all zero", "negative", "missing"],
)
def test_weights_that_mean_nothing_are_refused(name, weights, error):
    rows = Rows({"a": "text", "class": "text", "n": "whole"}, [("x", "yes", w) for w in weights], "n")
    with pytest.raises(error):
        counted(name, rows)


@every
def test_no_rows_and_no_class_are_refused(name):
    with refuses(DataError, 0):
        counted(name, Rows(COLOURS.types, []))
    with pytest.raises(DataError):
        counted(name, Rows(COLOURS.types, [*COLOURS.rows, ("red", 1, None)]))


@every
def test_only_the_columns_of_the_schema_are_counted(name):
    backend, source = opened(name, COLOURS)
    schema = backend.schema(source, ALL, CLASS)
    one = schema.restricted(["size"])
    plan = Plan.naive(one)
    found = backend.count(source, one, plan)
    assert (
        found.table("size").tolist()
        == backend.count(source, schema, Plan.naive(schema)).table("size").tolist()
    )


@pytest.mark.parametrize(
    ("name", "more"),
    [("duckdb", {"scatter": ("size",)}), ("duckdb", {"grids": ("size",)}), ("dictionaries", {})],
    ids=["duckdb scatter", "duckdb grids", "dictionaries"],
)
def test_sums_that_a_backend_cannot_take_are_refused_by_name(name, more):
    backend, source = opened(name, COLOURS)
    schema = backend.schema(source, Reading(), CLASS)
    assert schema["size"].kind == "numeric"
    with refuses(CannotCount, "size"):
        backend.count(source, schema, Plan.naive(schema, **more))


# -- numbers ---------------------------------------------------------------------------------------

PLAIN = [None, float("nan"), 0.0, -0.0, 1.0, 0.1, 1e8, 1e8 + 0.5, -1e8, 2.0**26, 2.0**-26]


@st.composite
def numbers(draw):
    # Doubles hold no column whose numbers differ by 300 orders of magnitude, so the smallest go with the plain ones.
    scale = draw(st.sampled_from([1.0, 1e-150, 1e150, 1e290]))
    tiny = [5e-324, 1e-300] if scale == 1.0 else []
    fraction = st.integers(-(2**53), 2**53).map(lambda k: 9.0 * k / 2**53)
    cell = st.one_of(st.sampled_from([*PLAIN, *tiny]), fraction).map(lambda v: v if v is None else v * scale)
    row = st.tuples(cell, VALUES["text"], st.sampled_from("np"), st.sampled_from([1, 2, 7]))
    rows = draw(st.lists(row, min_size=1, max_size=12))
    return Rows({"u": "float", "a": "text", "class": "text", "w": "whole"}, rows, "w")


def with_moments(name: str, rows: Rows) -> Statistics:
    backend, source = opened(name, rows)
    schema = backend.schema(source, Reading(["a"]), CLASS)
    return backend.count(
        source, schema, Plan((*Plan.naive(schema).patterns, Pattern("cell_moments", ("u",))))
    )


def same_moments(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(a.weight, b.weight)
    np.testing.assert_allclose(a.mean()[0], b.mean()[0], rtol=1e-15)
    np.testing.assert_allclose(a.centred(), b.centred(), rtol=1e-12)


@settings(max_examples=80, deadline=None)
@given(rows=numbers())
def test_moments_are_those_of_the_kernels(rows):
    there, here = with_moments("duckdb", rows), with_moments("threads", rows)
    assert there.schema == here.schema
    np.testing.assert_array_equal(there.tables.counts, here.tables.counts)
    same_moments(there.moments, here.moments)
    same_moments(there.parts["cell_moments"], here.parts["cell_moments"])


def with_regressions(name: str, rows: Rows, *families: Any) -> Statistics:
    backend, source = opened(name, rows)
    schema = backend.schema(source, Reading(["a"]), CLASS)
    return backend.count(
        source, schema, Plan((*Plan.naive(schema).patterns, Pattern("regressions", families)))
    )


def test_regressions_without_numeric_parents_are_counted_where_the_rows_are():
    rng = np.random.default_rng(3)
    rows = Rows(
        {"u": "float", "v": "float", "a": "text", "class": "text"},
        [(*map(float, rng.normal(size=2)), "xyz"[i % 3], "np"[i % 2]) for i in range(40)],
    )
    there, here = (
        with_regressions(name, rows, ("u",), ("v", "a")).parts["regressions"]
        for name in ("duckdb", "threads")
    )
    for (keys, mine), (others, theirs) in zip(there.cells, here.cells, strict=True):
        np.testing.assert_array_equal(keys, others)
        np.testing.assert_array_equal(mine.n, theirs.n)
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-13)
        np.testing.assert_allclose(mine.solved()[2], theirs.solved()[2], rtol=1e-12)
    with pytest.raises(CannotCount, match="'u', 'v'"):
        with_regressions("duckdb", rows, ("v", "u"))


@settings(max_examples=20, deadline=None)
@given(rows=numbers(), seed=st.integers(0, 9))
def test_moments_do_not_depend_on_the_order_of_the_rows(rows, seed):
    order = np.random.default_rng(seed).permutation(len(rows.rows))
    same(
        with_moments("duckdb", rows),
        with_moments("duckdb", Rows(rows.types, [rows.rows[i] for i in order], "w")),
    )


def test_a_forgotten_outlier_does_no_harm():
    rng = np.random.default_rng(7)
    kept = Rows({"u": "float", "class": "text"}, [(float(v), "np"[int(v > 0)]) for v in rng.normal(size=40)])
    outlier = Rows(kept.types, [(1e8, "n"), (-1e8, "p")])
    model = NaiveBayes().fit(as_relation(Rows(kept.types, [*outlier.rows, *kept.rows])), target="class")
    model.forget(as_relation(outlier), target="class")
    plain = NaiveBayes().fit(as_mapping(kept), target="class")
    same_moments(model.statistics_.moments, plain.statistics_.moments)


@pytest.mark.parametrize(
    "model", [NaiveBayes(), NaiveBayes(missing="state"), TAN(numeric="gaussian")], ids=str
)
def test_numbers_are_learned_where_they_are(model):
    rng = np.random.default_rng(8)
    rows = [
        (1e8 + v, "xy"[k], "np"[c])
        for v, k, c in zip(rng.normal(size=50), *rng.integers(0, 2, (2, 50)), strict=True)
    ]
    table = Rows(
        {"u": "float", "a": "text", "class": "text"}, [*rows, (None, "x", "n"), (float("nan"), None, "p")]
    )
    question = {"u": [1e8, 1e8 + 1.5, float("nan")], "a": ["x", "y", None]}
    here, there = (clone(model).fit(form(table), target="class") for form in (as_mapping, as_relation))
    np.testing.assert_allclose(there.predict_proba(question), here.predict_proba(question), rtol=1e-12)


@every
def test_without_a_target_all_rows_are_of_one_class(name):
    everything = Variable("everything", "categorical", ("everything",), n_declared=1, closed=True)
    backend, source = opened(name, COLOURS, None)
    schema = backend.schema(source, ALL, everything)
    assert [v.name for v in schema.attributes] == ["colour", "size", "class"]
    assert schema.target.states == ("everything",)
    found = backend.count(source, schema, plan_of(schema))
    assert (found.total, found.table("class").tolist()) == (4.0, [[1.0], [3.0]])
    with pytest.raises(DataError):
        backend.schema(source, ALL, CLASS)


# -- the door --------------------------------------------------------------------------------------

elsewhere = pytest.mark.parametrize(
    "name",
    ["duckdb", "dictionaries", pytest.param("dask", marks=if_dask), pytest.param("spark", marks=if_spark)],
)
MODELS = [NaiveBayes(), TAN(), AODE(), KDB(k=2), AnDE(n=2), SPODE(super_parent="a"), CategoricalNB()]
by_name = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@pytest.fixture
def with_dictionaries(monkeypatch):
    monkeypatch.setattr(backends, "BACKENDS", [*backends.BACKENDS, Dictionaries()])


def random_rows(seed: int, n: int, coded: bool) -> Rows:
    rng = np.random.default_rng(seed)
    labels = ([0, 1, 2], [0, 1]) if coded else (["x", "'y\"", None], [True, False])
    rows = [
        (
            *(labels[0][k] for k in rng.integers(0, 3, 2)),
            labels[1][rng.integers(2)],
            "np"[rng.integers(2)],
            int(w),
        )
        for w in rng.integers(0, 4, n)
    ]
    kinds = ("whole", "whole", "whole") if coded else ("text", "text", "bool")
    return Rows(
        dict(zip(("a", "A", "select", "class", "n"), (*kinds, "text", "whole"), strict=True)), rows, "n"
    )


def answers(model: Any, rows: Rows) -> Any:
    mapping = as_mapping(rows)
    return model.predict_proba({name: mapping[name] for name in ("a", "A", "select")})


@elsewhere
@by_name
def test_a_model_counted_elsewhere_is_the_model_of_the_rows(name, model, with_dictionaries):
    coded = isinstance(model, CategoricalNB)
    first, second = (random_rows(seed, 30, coded) for seed in (1, 2))
    form = BACKENDS[name][1]
    here = clone(model).fit(as_mapping(first), sample_weight="n", target="class")
    there = clone(model).fit(form(first), sample_weight="n", target="class")
    np.testing.assert_array_equal(answers(there, second), answers(here, second))
    assert there.schema_ == here.schema_ and there.held_ == here.held_
    assert there.classes_.tolist() == ["n", "p"] and there.feature_names_in_.tolist() == ["a", "A", "select"]
    before = answers(there, second)
    there.partial_fit(form(second), sample_weight="n", target="class")
    here.partial_fit(as_mapping(second), sample_weight="n", target="class")
    np.testing.assert_array_equal(answers(there, second), answers(here, second))
    there.forget(form(second), sample_weight="n", target="class")
    np.testing.assert_array_equal(answers(there, second), before)
    with pytest.raises(NotCounted):
        there.forget(form(second), sample_weight="n", target="class").forget(form(second), target="class")


@elsewhere
def test_a_lazy_model_asks_for_what_a_row_needs(name, with_dictionaries):
    rows = random_rows(3, 30, False)
    lazy = NaiveBayes().lazy(BACKENDS[name][1](rows), "class", sample_weight="n")
    here = NaiveBayes().fit(as_mapping(rows), sample_weight="n", target="class")
    question = {"a": ["x"], "A": [None], "select": [True]}
    np.testing.assert_allclose(lazy.predict_proba(question), here.predict_proba(question), rtol=1e-14)
    assert lazy._lazy.passes == 1
    np.testing.assert_array_equal(lazy.statistics_.tables.counts, here.statistics_.tables.counts)


# A backend that can draw a sample of rows refuses no choice.
with_rows = pytest.mark.parametrize(
    "name", ["duckdb", pytest.param("dask", marks=if_dask), pytest.param("spark", marks=if_spark)]
)
chosen_from_rows = pytest.mark.parametrize(
    ("model", "setting"),
    [
        (SPODE(), "select='loo'"),
        (SelectiveKDB(), "criterion="),
        (WeightedNB(), "weights=None"),
        (AutoBayes(), "members="),
        (CountForest(), "n_trees="),
        (LogLinearBayes(), "views="),
        (GaussianBayes(clip=5.0), "clip=5.0"),
        (GaussianBayes("shared", missing="mean"), "missing='mean'"),
        (NaiveBayes(families="auto"), 'families="auto"'),
        (TAN(calibration="isotonic"), "calibration='isotonic'"),
        (AODE(semi_supervised=True), "semi_supervised=True"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)


@chosen_from_rows
def test_what_must_be_chosen_from_rows_is_refused_by_its_setting(model, setting, with_dictionaries):
    source = as_records(random_rows(4, 12, False))
    for verb in ("fit", "partial_fit"):
        with pytest.raises(NeedsRows) as caught:
            getattr(clone(model), verb)(source, target="class")
        assert setting in caught.value.setting and setting in str(caught.value)
    with pytest.raises((NeedsRows, UsageError)):
        clone(model).lazy(source, "class")


def numbers_and_texts(n: int, seed: int = 11) -> Rows:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    rows = zip(
        (rng.normal(size=n) + y).tolist(),
        rng.normal(size=n).tolist(),
        (rng.integers(0, 3, n) + y) % 3,
        y,
        strict=True,
    )
    types = {"u": "float", "v": "float", "a": "text", "class": "text"}
    return Rows(types, [(u, v, "xyz"[k], "np"[c]) for u, v, k, c in rows])


CHOOSING = [
    SPODE(),
    SelectiveKDB(),
    WeightedNB(),
    CountForest(n_trees=3),
    LogLinearBayes(),
    NaiveBayes(families="auto"),
    NaiveBayes(numeric="kernel"),
    TAN(calibration="isotonic"),
    AODE(),
]


@with_rows
@pytest.mark.parametrize("model", CHOOSING, ids=lambda model: type(model).__name__)
def test_what_must_be_chosen_from_rows_is_chosen_where_rows_can_be_read(name, model):
    if name == "spark":
        pytest.skip(
            "Spark keeps no order of rows; test_spark_backend.py compares what does not depend on it."
        )
    rows = numbers_and_texts(160)
    here, there = (clone(model).fit(form(rows), target="class") for form in (as_mapping, BACKENDS[name][1]))
    assert there.held_ == here.held_
    question = {"u": [0.2, -1.0, float("nan")], "v": [0.0, 2.0, 1.0], "a": ["x", "z", None]}
    np.testing.assert_allclose(there.predict_proba(question), here.predict_proba(question), rtol=1e-9)


def test_sums_that_sql_does_not_take_are_taken_from_the_rows_of_a_relation():
    rows = numbers_and_texts(80)
    question = {"u": [0.2, -1.0], "v": [0.0, 2.0]}
    for model in (GaussianBayes("shared"), GaussianBayes("shared", missing="mean"), GaussianBayes(clip=5.0)):
        here, there = (
            clone(model).fit(form(rows), target="class", exclude=["a"]) for form in (as_mapping, as_relation)
        )
        np.testing.assert_allclose(there.predict_proba(question), here.predict_proba(question), rtol=1e-9)
    counts = Rows(
        {"p": "whole", "q": "whole", "class": "text"}, [(j % 4, j % 3, "np"[j % 2]) for j in range(30)]
    )
    here, there = (MultinomialNB().fit(form(counts), target="class") for form in (as_mapping, as_relation))
    np.testing.assert_array_equal(there.predict_proba([[1, 2]]), here.predict_proba([[1, 2]]))
    there.forget(as_relation(counts.part(0, 9)), target="class")
    here.forget(as_mapping(counts.part(0, 9)), target="class")
    np.testing.assert_array_equal(there.predict_proba([[1, 2]]), here.predict_proba([[1, 2]]))


def test_a_sample_of_a_relation_is_noted_and_drawn_alike(monkeypatch):
    monkeypatch.setattr(duckdb_backend, "MOST_CHOSEN_FROM", 50)
    rows = numbers_and_texts(300)
    first, second = (TAN().fit(as_relation(rows), target="class") for _ in range(2))
    assert first.held_ == second.held_ and first.held_["chosen_from"] == {"rows": 50, "of": 300, "seed": 0}
    assert first.statistics_.total == 300.0
    weighted = Rows(
        {**rows.types, "w": "whole"}, [(*row, int(j < 40)) for j, row in enumerate(rows.rows)], "w"
    )
    held = TAN().fit(as_relation(weighted), target="class", sample_weight="w").held_
    here = TAN().fit(as_mapping(weighted), target="class", sample_weight="w").held_
    assert held == here and "chosen_from" not in held


def test_rows_of_a_relation_are_read_without_pyarrow(monkeypatch):
    rows = Rows(
        {"u": "float", "k": "whole", "a": "text", "flag": "bool", "class": "text"},
        [(j / 7, j % 3, "xy"[j % 2], j % 5 == 0, "np"[j % 3 > 0]) for j in range(60)],
    )
    relation = as_relation(rows).project("*, CAST(u AS DECIMAL(9, 4)) AS d, CAST(k AS HUGEINT) AS h")
    wanted = TAN().fit(relation, target="class").held_
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert TAN().fit(relation, target="class").held_ == wanted


def test_a_relation_without_rows_or_that_fails_is_refused_by_its_error():
    rows = numbers_and_texts(5)
    with refuses(DataError, 0):
        TAN().fit(as_relation(rows.part(0, 0)), target="class")
    failing = relation_of(
        "SELECT CAST(x AS INTEGER) AS x, 1.5 AS u, 'n' AS class FROM (VALUES ('1'), ('q')) t(x)"
    )
    with refuses(DataError, "DuckDB"):
        TAN().fit(failing, target="class")


def test_numbers_can_be_cut_where_the_cuts_are_known():
    rows = Rows(
        {"u": "float", "a": "text", "class": "text"},
        [(0.1 * j, "xy"[j % 2], "np"[j % 3 > 0]) for j in range(9)],
    )
    question = {"u": [0.2, 0.31, float("nan")], "a": ["x", "y", "x"]}
    models = [
        TAN(cut_points={"u": [0.3, 0.6]}).fit(form(rows), target="class")
        for form in (as_mapping, as_relation)
    ]
    np.testing.assert_array_equal(*(model.predict_proba(question) for model in models))
    with refuses(CannotCount, "DuckDB", "u", "relation.df()"):
        in_duckdb(as_relation(rows), Reading(), target="class", plan=Plan.naive, scatter=("u",))
    assert NaiveBayes().fit(as_relation(rows), target="class", exclude=["u"]).n_features_in_ == 1


@elsewhere
def test_a_network_is_learned_where_the_rows_are(name, with_dictionaries):
    rng = np.random.default_rng(6)
    first = rng.integers(0, 2, 200)
    cells = np.column_stack(
        [first, np.where(rng.random(200) < 0.9, first, 1 - first), rng.integers(0, 2, 200)]
    )
    rows = Rows(dict.fromkeys(("a", "A", "select"), "text"), [tuple("xy"[c] for c in row) for row in cells])
    found, plain = learn_network(BACKENDS[name][1](rows)), learn_network(as_mapping(rows))
    assert found.cpdag() == plain.cpdag() and found.n_rows_ == 200.0


@with_rows
@pytest.mark.parametrize("how", [{}, {"discretize": 3}, {"sample_weight": "w"}], ids=str)
def test_a_network_of_numbers_and_gaps_is_learned_from_the_rows_that_are_elsewhere(name, how):
    rng = np.random.default_rng(9)
    k = rng.integers(0, 3, 150)
    rows = Rows(
        {"u": "float", "k": "whole", "a": "text", "gaps": "text", "w": "whole"},
        [
            (
                float(c + rng.normal()),
                int(c),
                "xyz"[c],
                [None, "p", "q"][rng.integers(0, 3)],
                int(rng.integers(0, 3)),
            )
            for c in k
        ],
    )
    found, plain = learn_network(BACKENDS[name][1](rows), **how), learn_network(as_mapping(rows), **how)
    assert found.cpdag() == plain.cpdag() and found.n_rows_ == plain.n_rows_


def test_a_failed_count_leaves_a_model_as_it_was():
    rows = random_rows(5, 20, False)
    model = NaiveBayes().fit(as_relation(rows), target="class", exclude=["n"])
    before = model.statistics_
    with refuses(ColumnError, "more"):
        model.partial_fit(as_relation(rows).project("*, 1 AS more"), target="class")
    with refuses(DataError, "target="):
        model.forget(as_relation(rows))
    with refuses(DataTypeError, "df()"):
        model.predict(as_relation(rows))
    assert model.statistics_ is before


def test_a_column_that_names_the_rows_is_warned_of():
    relation = relation_of("SELECT 'row ' || i AS id, i % 2 AS y, i % 3 AS x FROM range(20) r(i)")
    with warns_of(SuspectColumn, "id"):
        NaiveBayes(categorical_features="all").fit(relation, target="y")


# -- what only DuckDB has --------------------------------------------------------------------------


def relation_of(sql: str) -> Any:
    return DATABASE.sql(sql)


def in_duckdb(
    relation: Any, reading: Reading = ALL, plan: Any = Plan.pairs, scatter: Any = None, **source: Any
) -> Statistics:
    opened_source = Source(relation, **{"target": "y", **source})
    schema = DuckDB().schema(opened_source, reading, Variable("y", "categorical"))
    more = {} if scatter is None else {"scatter": scatter}
    return DuckDB().count(opened_source, schema, plan(schema, **more))


def test_an_enum_declares_its_states():
    relation = relation_of("SELECT 'b'::ENUM('c', 'b', 'a') AS x, 1 AS y")
    assert in_duckdb(relation).schema["x"].states == ("c", "b", "a")
    assert in_duckdb(relation).schema["x"].n_declared == 3


def test_a_collation_does_not_join_states():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE, y INTEGER)")
    connection.execute("INSERT INTO t VALUES ('a', 0), ('A', 0), ('b', 1)")
    assert in_duckdb(connection.table("t")).schema["x"].states == ("A", "a", "b")


def test_numbers_of_any_type_are_the_same_state():
    relation = relation_of(
        "SELECT * FROM (VALUES (1.0::DECIMAL(4, 1), -0.0::DOUBLE, 1), (1.5, 0.0, 1)) t(a, b, y)"
    )
    found = in_duckdb(relation).schema
    assert (found["a"].states, found["b"].states) == ((1, 1.5), (0,))


def test_more_columns_than_one_query_can_tell_apart():
    rng = np.random.default_rng(0)
    rows = Rows(
        {**{f"x{j}": "whole" for j in range(80)}, "class": "whole"},
        [tuple(map(int, row)) for row in rng.integers(0, 2, (5, 81))],
    )
    found = []
    for name in ("duckdb", "threads"):
        backend, source = opened(name, rows)
        schema = backend.schema(source, ALL, CLASS)
        found.append(backend.count(source, schema, Plan.naive(schema)))
    same(*found)


def test_cut_points_are_intervals_closed_above():
    cuts = {"u": (0.1, 0.30000000000000004, 1e300)}
    values = [0.1, np.nextafter(0.1, 1), 0.3, 0.30000000000000004, 0.4, float("nan"), -5.0]
    rows = Rows({"u": "float", "class": "whole"}, [(v, j % 2) for j, v in enumerate(values)])
    same(counted("duckdb", rows, Reading(cuts=cuts)), counted("threads", rows, Reading(cuts=cuts)))


@pytest.mark.parametrize(
    ("sql", "source", "error", "said"),
    [
        ("SELECT 'inf'::DOUBLE AS x, 1 AS y", {}, ColumnError, ["x", "infinity"]),
        ("SELECT '-inf'::FLOAT AS x, 1 AS y", {"reading": Reading()}, ColumnError, ["x", "infinity"]),
        ("SELECT DATE '2020-01-01' AS x, 1 AS y", {}, ColumnError, ["x", "exclude"]),
        ("SELECT [1] AS x, 1 AS y", {}, ColumnError, ["x", "INTEGER[]"]),
        ("SELECT 1 AS x, 0.5::DOUBLE AS y", {}, DataError, ["y", "0.5"]),
        ("SELECT 1 AS x, 'nan'::DOUBLE AS y", {}, DataError, ["y", 1]),
        ("SELECT 1 AS x, 1 AS y, 0.5 AS w", {"weights": "w"}, WeightError, ["w", "relation.df()"]),
        ("SELECT 1 AS x, 1 AS y, 'a' AS w", {"weights": "w"}, ColumnError, ["w", "VARCHAR"]),
        ("SELECT 1 AS x, 1 AS y, 1e17 AS w", {"weights": "w"}, WeightError, ["w", "2**53"]),
        ("SELECT 1 AS x, 1 AS y", {"weights": [1.0]}, DataTypeError, ["sample_weight"]),
        ("SELECT 1 AS x, 1 AS y", {"y": [1], "target": None}, DataTypeError, ["target="]),
        ("SELECT 1 AS x, 1 AS y", {"target": "z"}, ColumnError, ["z"]),
        ("SELECT 1 AS x, 1 AS y", {"target": None}, DataError, ["target="]),
        ("SELECT 1 AS x, 1 AS y", {"columns": ["q"]}, ColumnError, ["q"]),
        ("SELECT 1 AS y", {}, ColumnError, ["columns=", "exclude="]),
    ],
)
def test_what_duckdb_cannot_count_is_refused_by_name(sql, source, error, said):
    with refuses(error, *said):
        in_duckdb(relation_of(sql), **source)


def test_announced_classes_are_all_there_are():
    closed = Variable("y", "categorical", (0,), n_declared=1, closed=True)
    source = Source(relation_of("SELECT 1 AS x, 1 AS y"), target="y")
    with refuses(UnseenClass, 1):
        DuckDB().schema(source, ALL, closed)


def test_a_relation_that_changed_between_schema_and_count_is_refused():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'a' AS x, 1 AS y")
    source = Source(connection.table("t"), target="y")
    schema = DuckDB().schema(source, ALL, CLASS)
    connection.execute("INSERT INTO t VALUES ('b', 1)")
    with refuses(DataError, "x", "b"):
        DuckDB().count(source, schema, Plan.naive(schema))


def test_an_error_of_duckdb_leaves_as_ours():
    relation = relation_of("SELECT CAST(x AS INTEGER) AS x, 1 AS y FROM (VALUES ('1'), ('q')) t(x)")
    with refuses(DataError, "DuckDB"):
        in_duckdb(relation)


def test_a_source_finds_its_backend(monkeypatch):
    assert isinstance(backend_of(Source(relation_of("SELECT 1"), target="y")), DuckDB)
    assert backend_of(Source(as_mapping(COLOURS), target="class")) is None
    toy = Source(as_records(COLOURS), target="class")
    assert backend_of(toy) is None
    monkeypatch.setattr(backends, "BACKENDS", [*backends.BACKENDS, Dictionaries()])
    assert isinstance(backend_of(toy), Dictionaries)
