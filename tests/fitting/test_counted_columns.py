"""Networks learned from counts that are taken elsewhere: those of the rows."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import pytest

from bayeskit import learn_network
from bayeskit._counting.backend import Threads
from bayeskit._counting.duckdb_backend import DuckDB
from bayeskit._data.source import Source
from bayeskit._fitting.search.counted_columns import counted_columns
from bayeskit.errors import (
    DataError,
    DataTypeError,
    Incompatible,
    NeedsRows,
    SettingError,
    UnseenState,
)
from bayeskit.networks import wet_grass
from bayeskit.statistics import Plan, Statistics
from refusals import refuses

ROWS = wet_grass().sample(1_500, random_state=3)
NAMES = list(ROWS.columns)
STATES = {name: ["no", "yes"] for name in NAMES}
METHODS = ["auto", "hill-climbing", "tabu", "ges", "order", "exact", "chow-liu", "pc", "mmhc"]


# One connection for all: DuckDB 1.4 closes one that nobody holds, and its relations with it.
DATABASE = duckdb.connect()
FRESH = itertools.count()


def relation(rows=ROWS):
    name = f"rows{next(FRESH)}"
    DATABASE.register(name, rows)
    return DATABASE.sql(f"SELECT * FROM {name}")


def pieces(*bounds):
    """Count each piece by itself, and add the counts."""

    def count(schema, plan):
        counted = [
            Threads().count(Source(ROWS.iloc[a:b], y=["everything"] * (b - a)), schema, plan)
            for a, b in itertools.pairwise(bounds)
        ]
        return sum(counted[1:], counted[0])

    return count


def check_same(network, other):
    assert network.cpdag() == other.cpdag()
    assert network.n_rows_ == other.n_rows_
    # Equivalent graphs score the same but for rounding, which may tip the scales; the joint is the same anyhow.
    for name in NAMES:
        mine, theirs = (n.query(name) for n in (network, other))
        assert mine.values == pytest.approx(theirs.values, abs=1e-3)
    if sorted(network.arcs) == sorted(other.arcs):
        for name in NAMES:
            np.testing.assert_array_equal(network.cpt(name).values, other.cpt(name).values)


@pytest.mark.parametrize("method", METHODS)
def test_the_network_is_that_of_the_rows(method):
    plain = learn_network(ROWS, method)
    check_same(learn_network(relation(), method), plain)
    check_same(learn_network(statistics=pieces(0, 400, 401, 1_500), states=STATES, method=method), plain)


def test_an_order_weights_and_limits_are_taken_too():
    order = ["rain", "sprinkler", "wet", *(n for n in NAMES if n not in ("rain", "sprinkler", "wet"))]
    check_same(
        learn_network(relation(), "k2", "k2", order=order), learn_network(ROWS, "k2", "k2", order=order)
    )
    forbidden = {
        "forbidden": [("rain", "wet")],
        "max_parents": 1,
        "criterion": "bdeu",
        "smoothing": "laplace",
    }
    check_same(learn_network(relation(), **forbidden), learn_network(ROWS, **forbidden))
    weighted = ROWS.assign(n=np.arange(len(ROWS)) % 3)
    check_same(
        learn_network(relation(weighted), sample_weight="n"), learn_network(weighted, sample_weight="n")
    )


def test_shuffled_columns_change_nothing():
    shuffled = relation().project(", ".join(NAMES[::-1]))
    assert sorted(learn_network(shuffled).arcs) == sorted(learn_network(relation()).arcs)


def test_numbers_can_be_declared_or_cut():
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 2, 400)
    rows = ROWS.head(400).assign(k=whole, u=whole + rng.normal(0, 0.1, 400))
    how = {"states": {"k": [0, 1]}, "discretize": {"u": [0.5]}}
    found, plain = learn_network(relation(rows), **how), learn_network(rows, **how)
    assert found.cpdag() == plain.cpdag() and found.n_rows_ == 400
    assert {frozenset(edge) for edge in found.arcs} >= {frozenset(("k", "u"))}
    # What is not counted in place is read, and read as the rows in memory are.
    for how in ({"discretize": {"u": [0.5]}}, {"discretize": {"u": 4}}, {}):
        assert learn_network(relation(rows), **how).cpdag() == learn_network(rows, **how).cpdag()


def test_a_network_that_was_counted_goes_on_learning():
    network = learn_network(relation())
    network.partial_fit(ROWS.head(10))
    assert network.n_rows_ == 1_510
    network.forget(ROWS.head(10))
    np.testing.assert_array_equal(network.cpt("wet").values, learn_network(relation()).cpt("wet").values)


def test_rows_of_a_relation_with_missing_cells_are_read():
    rows = ROWS.copy()
    rows.loc[7, "wet"] = None
    found, plain = learn_network(relation(rows)), learn_network(rows)
    assert found.cpdag() == plain.cpdag() and found.n_rows_ == plain.n_rows_
    with refuses(DataError, "wet", 1):
        counted_columns(DuckDB(), relation(rows), None, None, None).canonical_order()


def another_plan(schema, plan):
    one = schema.restricted(["wet"])
    return Statistics.zero(one, Plan.naive(one))


def other_states(schema, plan):
    wider = schema["wet"].__class__("wet", "categorical", ("no", "yes", "maybe"), 3, closed=True)
    attributes = [wider if v.name == "wet" else v for v in schema.attributes]
    return Statistics.zero(schema.with_variables(attributes), plan)


@pytest.mark.parametrize(
    ("how", "error", "said"),
    [
        ({"statistics": pieces(0, 1_500)}, SettingError, ["states="]),
        ({"statistics": 3, "states": STATES}, SettingError, ["statistics", "int"]),
        (
            {"statistics": pieces(0, 1_500), "states": STATES, "data": ROWS},
            SettingError,
            ["data", "statistics="],
        ),
        (
            {"statistics": pieces(0, 1_500), "states": STATES, "discretize": 3},
            SettingError,
            ["discretize", "statistics="],
        ),
        ({"statistics": lambda schema, plan: None, "states": STATES}, DataTypeError, ["NoneType"]),
        ({"statistics": another_plan, "states": STATES}, Incompatible, ["statistics=", "plan"]),
        ({"statistics": other_states, "states": STATES}, UnseenState, ["wet", "maybe"]),
        ({"statistics": pieces(0, 1_500), "states": {**STATES, "wet": ["no"]}}, UnseenState, ["wet", "yes"]),
        (
            {"statistics": other_states, "states": STATES, "method": "structural-em"},
            NeedsRows,
            ["structural-em"],
        ),
        ({"data": relation, "sample_weight": [1.0]}, DataTypeError, ["sample_weight"]),
    ],
)
def test_what_cannot_be_learned_is_refused_by_name(how, error, said):
    how = {**how, "data": relation()} if how.get("data") is relation else how
    with refuses(error, *said):
        learn_network(**how)
