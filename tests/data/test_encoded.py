"""Chunks: their bounds, their types, and no copy where none is needed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from bayeskit._data.encoded import CHUNK_ROWS, CodeColumn, EncodedTable
from bayeskit.extending import Chunk
from bayeskit.statistics import Schema, Variable

Y = Variable("y", "categorical", (0, 1))


def schema_of(size=3, numeric=1, width=0):
    attributes = [Variable("c", "categorical", tuple(range(size)))] if size else []
    attributes += [Variable(f"n{j}", "numeric") for j in range(numeric)]
    attributes += [Variable("block", "block", width=width)] if width else []
    return Schema(tuple(attributes), Y)


def encoded_of(n, codes=None, values=None, **more):
    codes = np.arange(n)[:, None] % 3 if codes is None else codes
    values = np.arange(n, dtype=float)[:, None] if values is None else values
    return EncodedTable(schema_of(), n, codes, values, **more)


@pytest.mark.parametrize("n", [1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 2 * CHUNK_ROWS + 7])
def test_bounds_cover_every_row_once(n):
    bounds = encoded_of(n).bounds()
    assert bounds[0][0] == 0
    assert bounds[-1][1] == n
    assert all(a[1] == b[0] for a, b in itertools.pairwise(bounds))
    assert all(0 < stop - start <= CHUNK_ROWS for start, stop in bounds)
    assert len(bounds) == -(-n // CHUNK_ROWS)


@pytest.mark.parametrize("columns", [False, True], ids=["matrix", "columns"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_chunks_hold_the_rows_between(columns, order):
    n = CHUNK_ROWS + 5
    codes, values = np.asarray(np.arange(n)[:, None] % 3, order=order), np.sqrt(np.arange(n))[:, None]
    target, weights = (np.arange(n) % 2).astype(np.uint32), np.arange(n) + 0.5
    parts = ([codes[:, 0]], [values[:, 0]]) if columns else (codes, values)
    chunks = list(encoded_of(n, *parts, target=target, weights=weights).chunks())
    assert [chunk.n_rows for chunk in chunks] == [CHUNK_ROWS, 5]
    for chunk in chunks:
        assert chunk.codes.dtype == np.uint8
        assert chunk.values.dtype == np.float64
        assert chunk.codes.flags.c_contiguous
        assert chunk.values.flags.c_contiguous
        assert chunk.target.dtype == np.uint32
    np.testing.assert_array_equal(np.concatenate([c.codes for c in chunks]), codes)
    np.testing.assert_array_equal(np.concatenate([c.values for c in chunks]), values)
    np.testing.assert_array_equal(np.concatenate([c.target for c in chunks]), target)
    np.testing.assert_array_equal(np.concatenate([c.row_weights for c in chunks]), weights)


def test_a_whole_chunk_is_no_copy():
    codes, values = np.zeros((9, 1), np.uint8), np.zeros((9, 1))
    chunk = encoded_of(9, codes, values).chunk(0, 9)
    assert np.shares_memory(chunk.codes, codes)
    assert np.shares_memory(chunk.values, values)
    assert chunk.target is None
    assert chunk.block is None


@pytest.mark.parametrize(("size", "dtype"), [(254, np.uint8), (255, np.uint32)])
def test_codes_take_the_type_of_the_schema(size, dtype):
    encoded = EncodedTable(schema_of(size), 2, [np.array([0, size + 1], np.uint32)], np.empty((2, 1)))
    assert encoded.chunk(0, 2).codes.dtype == dtype
    assert encoded.chunk(0, 2).codes.ravel().tolist() == [0, size + 1]


def test_no_columns_of_a_kind():
    chunk = EncodedTable(schema_of(0, 0), 4, [], []).chunk(1, 3)
    assert (chunk.codes.shape, chunk.values.shape) == ((2, 0), (2, 0))


@pytest.mark.parametrize("n", [1, CHUNK_ROWS, CHUNK_ROWS + 1])
def test_rows_weigh_one_where_nothing_is_said(n):
    weights = Chunk(n, np.empty((n, 0), np.uint8), np.empty((n, 0))).row_weights
    assert weights.shape == (n,)
    assert (weights == 1.0).all()
    if n <= CHUNK_ROWS:
        assert not weights.flags.writeable


def test_blocks_are_cut_by_rows():
    dense = np.arange(12).reshape(4, 3)
    for block in (dense, sparse.csr_array(dense)):
        encoded = EncodedTable(schema_of(0, 0, 3), 4, np.empty((4, 0)), np.empty((4, 0)), block)
        for start, stop in [(0, 4), (1, 3)]:
            got = encoded.chunk(start, stop).block
            np.testing.assert_array_equal(got.toarray() if sparse.issparse(got) else got, dense[start:stop])
    assert encoded_of(3, block=dense[:3]).chunk(0, 3).block.dtype == np.float64


def test_a_wide_sparse_block_has_longer_chunks():
    n, width = CHUNK_ROWS + 1, 1_000_000
    block = sparse.csr_array((n, width))
    encoded = EncodedTable(schema_of(0, 0, width), n, np.empty((n, 0)), np.empty((n, 0)), block)
    assert encoded.bounds() == [(0, n)]
    dense = EncodedTable(schema_of(0, 0, 2), n, np.empty((n, 0)), np.empty((n, 0)), np.empty((n, 2)))
    assert len(dense.bounds()) == 2


# -- moved to another schema -----------------------------------------------------------------------

BEFORE = Schema(
    (
        Variable("a", "categorical", ("p", "q", "r")),
        Variable("n", "numeric"),
        Variable("b", "categorical", (0, 1)),
    ),
    Variable("y", "categorical", ("no", "so", "yes")),
)
# Without q and 0, with a state more, in another order; a class less.
AFTER = Schema(
    (
        Variable("a", "categorical", ("r", "never", "p")),
        Variable("n", "numeric"),
        Variable("b", "categorical", (1,)),
    ),
    Variable("y", "categorical", ("yes", "no")),
)
CODES = np.array([[0, 1], [1, 0], [2, 2], [3, 1]], dtype=np.uint8)  # 3 and 2 are missing
MOVED = np.array([[2, 0], [3, 1], [0, 1], [3, 0]])


def moved_rows(codes):
    target, weights = np.array([0, 1, 2, 2], np.uint32), np.array([1.0, 0.0, 2.0, 1.0])
    return EncodedTable(BEFORE, 4, codes, np.arange(4.0)[:, None], target=target, weights=weights)


@pytest.mark.parametrize("columns", [False, True], ids=["matrix", "columns"])
def test_moved_codes_name_the_same_states(columns):
    """States that are gone are missing; rows of a class that is gone weigh nothing."""
    codes = (
        [
            CodeColumn(np.array([0, 1, 2, -1]), np.array([0, 1, 2, 3], np.uint8)),
            CodeColumn(np.array([5, 0, -1, 5]), np.array([0, 9, 9, 9, 9, 1, 2], np.uint8)),
        ]
        if columns
        else CODES
    )
    if columns:  # codes that no row has need not be codes of the schema
        codes[1] = CodeColumn(codes[1].own, np.where(codes[1].table == 9, 2, codes[1].table).astype(np.uint8))
    moved = moved_rows(codes).moved_to(AFTER)
    chunk = moved.chunk(0, 4)
    np.testing.assert_array_equal(chunk.codes, MOVED)
    assert moved.schema is AFTER
    np.testing.assert_array_equal(moved.target[[0, 2, 3]], [1, 0, 0])
    assert moved.target.max() < 2
    assert moved.target.dtype == np.uint32
    np.testing.assert_array_equal(chunk.values[:, 0], np.arange(4.0))
    np.testing.assert_array_equal(chunk.weights, [1.0, 0.0, 2.0, 1.0])


def test_moving_to_the_same_schema_is_no_work():
    rows = moved_rows(CODES)
    assert rows.moved_to(BEFORE) is rows


@pytest.mark.parametrize("size", [254, 255, 300])
def test_moved_codes_have_the_width_of_the_new_schema(size):
    large = Variable("a", "categorical", tuple(range(size)))
    small = Variable("a", "categorical", tuple(range(0, size, 100)))
    before, after = Schema((large,), Y), Schema((small,), Y)
    codes = np.array([[0], [100], [size - 1], [size]], dtype=before.code_dtype)
    there = EncodedTable(before, 4, codes, np.empty((4, 0)), target=np.zeros(4, np.uint32)).moved_to(after)
    assert there.chunk(0, 4).codes.dtype == np.uint8
    np.testing.assert_array_equal(there.chunk(0, 4).codes[:, 0], [0, 1, small.size, small.size])
    back = there.moved_to(before)
    assert back.chunk(0, 4).codes.dtype == before.code_dtype
    np.testing.assert_array_equal(back.chunk(0, 4).codes[:, 0], [0, 100, size, size])
