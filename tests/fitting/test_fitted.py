"""What is counted for a model of pairs: no states that stand in no row, and large tables in long chunks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bayeskit import AODE
from bayeskit._conditionals.class_prior import ClassPrior
from bayeskit._counting import backend as threads
from bayeskit._counting.backend import count, count_rows
from bayeskit._data.encode import encode
from bayeskit._data.encoded import CHUNK_ROWS
from bayeskit._data.table import open_table
from bayeskit._fitting import fitted_state
from bayeskit._fitting.fitted_state import without_idle_states
from bayeskit._statistics.statistics import memory_of
from bayeskit._statistics.tables import Pairs
from bayeskit._statistics.triples import Triples
from bayeskit.extending import Reading
from bayeskit.statistics import Pattern, Plan, Schema, Variable

Y = Variable("y", "categorical")


def encoded_of(matrix, y, before=None, weights=None):
    table = open_table(matrix)
    schema = before or Reading(categorical="all").schema_of(table, Y)
    return encode(table, schema, "grow", y=y, weights=weights, with_target=True), schema


def test_states_that_stand_in_no_row_go_before_pairs_are_counted():
    matrix = np.array([[0, 7], [100, 8], [0, 7]])
    encoded, before = encoded_of(matrix, [0, 1, 1])
    assert encoded.schema["x0"].size == 101
    kept = without_idle_states(encoded, before, Plan.pairs(encoded.schema), None)
    assert kept.schema["x0"].states == (0, 100)
    assert kept.schema["x1"].states == (7, 8)
    np.testing.assert_array_equal(kept.chunk(0, 3).codes, [[0, 0], [1, 1], [0, 0]])
    assert kept.schema.target.states == (0, 1)


def test_naive_bayes_is_spared_the_look():
    encoded, before = encoded_of(np.array([[0], [900]]), [0, 1])
    assert without_idle_states(encoded, before, Plan.naive(encoded.schema), None) is encoded


def test_states_that_are_known_to_occur_are_not_looked_for(monkeypatch):
    """Words that were just put into codes, categories that stay anyway, and whatever brings no state."""
    columns = {"word": ["a", "b", "a"], "category": pd.Categorical(["u", "u", "v"], ["u", "v", "w"])}
    encoded, before = encoded_of(pd.DataFrame(columns), [0, 1, 1])
    wide, beginning = encoded_of(np.array([[0, 7], [100, 8], [0, 7]]), [0, 1, 1])
    narrow = without_idle_states(wide, beginning, Plan.pairs(wide.schema), None).schema
    again, _ = encoded_of(np.array([[100, 8], [0, 7]]), [1, 0], before=narrow)
    unused = pd.DataFrame({"word": pa.array(["a", "b", "a"]).dictionary_encode().to_pandas()})
    monkeypatch.setattr(fitted_state, "count_rows", None)
    for rows, known in (encoded, before), (again, narrow), encoded_of(unused, ["n", "y", "y"]):
        assert without_idle_states(rows, known, Plan.pairs(rows.schema), None) is rows


def test_a_dictionary_may_list_what_occurs_in_no_row():
    words = pa.DictionaryArray.from_arrays(pa.array([0, 2, 0]), pa.array(["a", "b", "c"]))
    encoded, before = encoded_of(pa.table({"word": words}), [0, 1, 1])
    kept = without_idle_states(encoded, before, Plan.pairs(encoded.schema), None)
    assert kept.schema["word"].states == ("a", "c")


def test_rows_of_no_weight_leave_no_state_and_no_class():
    matrix = np.array([[0, 7], [3, 8], [0, 9]])
    encoded, before = encoded_of(matrix, ["a", "b", "c"], weights=[1.0, 0.0, 2.0])
    kept = without_idle_states(encoded, before, Plan.pairs(encoded.schema), None)
    assert kept.schema["x0"].states == (0,)
    assert kept.schema.target.states == ("a", "c")
    counts = count_rows(kept, Plan.pairs(kept.schema))
    assert counts.class_counts.tolist() == [1.0, 2.0]
    assert counts.total == 3.0


def test_states_known_before_stay():
    """A second batch need not hold them."""
    first, start = encoded_of(np.array([[0], [5]]), [0, 1])
    known = without_idle_states(first, start, Plan.pairs(first.schema), None).schema
    second, _ = encoded_of(np.array([[9], [5]]), [2, 1], before=known)
    kept = without_idle_states(second, known, Plan.pairs(second.schema), None)
    assert kept.schema["x0"].states == (0, 5, 9)
    assert kept.schema.target.states == (0, 1, 2)
    np.testing.assert_array_equal(kept.chunk(0, 2).codes[:, 0], [2, 1])


# -- memory ----------------------------------------------------------------------------------------


def schema_of(*sizes, k=2, numeric=0):
    attributes = [Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes)]
    attributes += [Variable(f"n{j}", "numeric") for j in range(numeric)]
    return Schema(tuple(attributes), Variable("y", "categorical", tuple(range(k))))


def bytes_of(part):
    return sum(array.nbytes for array in part.arrays().values() if array.dtype == np.float64)


def test_memory_is_told_before_it_is_taken():
    schema = schema_of(2, 3, 4, k=3)
    names = tuple(v.name for v in schema.categorical)
    assert memory_of(Plan.naive(schema), schema) == 0
    assert memory_of(Plan.pairs(schema), schema) == pytest.approx(
        bytes_of(Pairs.zero(schema, names)), rel=0.01
    )
    both = Plan((*Plan.pairs(schema).patterns, Pattern("triples", names)))
    triples, counts = (
        memory_of(both, schema) - memory_of(Plan.pairs(schema), schema),
        Triples.zero(schema, names),
    )
    assert bytes_of(counts) < triples < 4 * bytes_of(counts)  # with the look-up table


def test_large_tables_are_counted_in_long_chunks_and_to_the_same_bits(monkeypatch):
    """A table of many MB would be filled and added once for every 65,536 rows."""
    rng = np.random.default_rng(0)
    n = 3 * CHUNK_ROWS + 11
    encoded, _ = encoded_of(rng.integers(0, 3, (n, 4)), rng.integers(0, 2, n))
    plan, calls = Plan.pairs(encoded.schema), []

    def counting(chunk, schema, plan):
        calls.append(chunk.n_rows)
        return count(chunk, schema, plan)

    monkeypatch.setattr(threads, "count", counting)
    short = count_rows(encoded, plan, 2)
    assert calls == [CHUNK_ROWS] * 3 + [11] or sorted(calls) == [11] + [CHUNK_ROWS] * 3
    calls.clear()
    monkeypatch.setattr(threads, "_FREE_BYTES", memory_of(plan, encoded.schema) // 2)
    long = count_rows(encoded, plan)
    assert calls == [2 * CHUNK_ROWS, CHUNK_ROWS + 11]
    np.testing.assert_array_equal(short.parts["pairs"].counts, long.parts["pairs"].counts)


def test_threads_do_not_change_the_bounds(monkeypatch):
    rng = np.random.default_rng(1)
    n = 2 * CHUNK_ROWS + 5
    X, y, w = rng.integers(0, 3, (n, 3)), rng.integers(0, 2, n), rng.random(n)
    models = [AODE(categorical_features="all", n_jobs=n_jobs).fit(X, y, w) for n_jobs in (1, 2)]
    counts = [model.statistics_.parts["pairs"].counts for model in models]
    np.testing.assert_array_equal(*counts)


# -- the class prior -------------------------------------------------------------------------------


def test_the_class_prior_without_a_row():
    prior = ClassPrior(np.array([0.6, 0.4]), np.array([2.0, 1.0]), np.ones(2))
    found = np.exp(prior.log_left_out(np.array([0, 1, 0]), np.array([1.0, 1.0, 0.5])))
    # (2 − 1 + 1)/(2 + 2), (1 − 1 + 1)/(2 + 2), (1.5 + 1)/(2.5 + 2).
    np.testing.assert_allclose(found, [[1 / 2, 1 / 2], [3 / 4, 1 / 4], [2.5 / 4.5, 2 / 4.5]], rtol=1e-14)
    np.testing.assert_allclose(prior.log_left_out(np.array([0]), np.zeros(1)), [prior.log], rtol=1e-14)


def test_a_class_prior_that_was_given_does_not_move():
    prior = ClassPrior(np.array([1.0, 0.0]), np.array([2.0, 1.0]), None)
    np.testing.assert_array_equal(prior.log_left_out(np.array([0, 1]), np.ones(2)), [[0.0, -np.inf]] * 2)


def test_without_rows_and_prior_every_class_is_alike():
    prior = ClassPrior(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.zeros(2))
    np.testing.assert_allclose(np.exp(prior.log_left_out(np.array([0]), np.ones(1))), [[0.5, 0.5]])
