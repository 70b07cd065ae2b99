"""Moments in each class and state against exact rational arithmetic, and the laws of their algebra."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from bayeskit._counting import count_moments as counting
from bayeskit._counting.count_moments import count_cell_moments, count_moments
from bayeskit._data.encoded import CodeColumn
from bayeskit._io.saved import SavedContent, write_saved
from bayeskit._io.statistics import pack_statistics
from bayeskit._statistics import cell_moments
from bayeskit._statistics.cell_moments import CellMoments
from bayeskit.errors import DataError, InfiniteValue, ModelFormatError, NotCounted
from bayeskit.extending import Chunk
from bayeskit.statistics import (
    Embedding,
    Pattern,
    Plan,
    Schema,
    Statistics,
    Term,
    Variable,
    load_statistics,
    save_statistics,
)
from refusals import refuses

TOLERANCE = Fraction(1, 10**12)
NAN = float("nan")


def schema_of(sizes, width, n_classes=2):
    coded = (Variable(f"a{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    numeric = (Variable(f"x{j}", "numeric") for j in range(width))
    return Schema((*coded, *numeric), Variable("y", "categorical", tuple(range(n_classes))))


def chunk_of(codes, values, target, weights=None, dtype=np.uint8):
    codes, values = np.array(codes, dtype=dtype), np.array(values, dtype=float)
    return Chunk(
        len(target),
        codes if codes.ndim == 2 else codes[:, None],
        values if values.ndim == 2 else values[:, None],
        target=np.asarray(target, np.uint32),
        weights=None if weights is None else np.asarray(weights, float),
    )


def names(schema):
    return tuple(variable.name for variable in schema.numeric)


def count(codes, values, target, sizes, n_classes=2, weights=None, dtype=np.uint8):
    chunk = chunk_of(codes, values, target, weights, dtype)
    schema = schema_of(sizes, chunk.values.shape[1], n_classes)
    return count_cell_moments(chunk, schema, names(schema))


def exact(values, weights):
    """The slow twin: n, mean and Σw(x − mean)² of some values as fractions."""
    rows = [(Fraction(w), Fraction(x)) for x, w in zip(values, weights, strict=True) if x == x and w]
    n = sum((w for w, _ in rows), Fraction(0))
    mean = sum((w * x for w, x in rows), Fraction(0)) / n if n else Fraction(0)
    return n, mean, sum((w * (x - mean) ** 2 for w, x in rows), Fraction(0))


def held(part, g, c, m):
    """What a cell says, as fractions."""
    w, w_low, p, f, f_low, s, s_low = (Fraction(float(v)) for v in part.cells[:, g, c, m])
    n, first, second = w + w_low, f + f_low, s + s_low
    unit = Fraction(2) ** int(part.exponent[m])
    return (n, (p + first / n) * unit, (second - first**2 / n) * unit**2) if n else (n, p * unit, second)


def agree(got, wanted):
    """Equal to 1e-12: the mean as a part of the deviation, not of itself."""
    (n, mean, spread), (n_2, mean_2, spread_2) = got, wanted
    assert abs(n - n_2) <= TOLERANCE * n_2
    assert abs(spread - spread_2) <= TOLERANCE * spread_2
    near = (mean - mean_2) ** 2 * n_2 <= TOLERANCE**2 * spread_2
    assert near or abs(mean - mean_2) <= abs(mean_2) / 2**100


def same(a, b):
    assert a.cells.shape == b.cells.shape
    for place in np.ndindex(a.weight.shape):
        agree(held(a, *place), held(b, *place))


def check(part, codes, values, target, sizes, weights=None):
    """Every cell is that of the slow twin, spare cells included."""
    weights = [1.0] * len(target) if weights is None else weights
    starts = np.concatenate([[0], np.cumsum(np.array(sizes, dtype=int) + 1)]).astype(int)
    assert part.weight.shape[0] == starts[-1]
    for j, size in enumerate(sizes):
        for v in range(size + 1):
            for _, c, m in np.ndindex(1, *part.weight.shape[1:]):
                mine = [i for i in range(len(target)) if codes[i][j] == v and target[i] == c]
                wanted = exact([values[i][m] for i in mine], [weights[i] for i in mine])
                agree(held(part, starts[j] + v, c, m), wanted)


NUMBERS = st.one_of(
    st.integers(-50, 50).map(lambda k: 0.37 * k), st.sampled_from([1e7, -3e7 + 0.1, 1e7 + 0.5, NAN])
)
WHOLE = st.just(st.sampled_from([1.0, 0.0, 2.0, 3.0]))
FRACTIONS = st.just(st.sampled_from([0.1, 0.2, 1 / 3, 0.0, 2.5]))


@st.composite
def cases(draw):
    sizes = draw(st.lists(st.integers(0, 3), min_size=0, max_size=3))
    n, n_classes, width = draw(st.integers(1, 14)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    codes = [[draw(st.integers(0, r)) for r in sizes] for _ in range(n)]
    values = [[draw(NUMBERS) for _ in range(width)] for _ in range(n)]
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    chosen = draw(st.none() | WHOLE | FRACTIONS)
    weights = None if chosen is None else [draw(chosen) for _ in range(n)]
    return sizes, n_classes, codes, values, target, weights


@settings(max_examples=80)
@given(cases(), st.sampled_from([np.uint8, np.uint32]))
def test_counting_equals_the_slow_twin(case, dtype):
    sizes, n_classes, codes, values, target, weights = case
    part = count(codes, values, target, sizes, n_classes, weights, dtype)
    check(part, codes, values, target, sizes, weights)


@settings(max_examples=50)
@given(cases(), st.integers(0, 14), st.integers(0, 14), st.sampled_from([0.1, 3.0, 1 / 3]))
def test_the_algebra(case, one_cut, other_cut, factor):
    sizes, n_classes, codes, values, target, weights = case
    one, two = sorted((one_cut, other_cut))

    def some(rows):
        return count(
            np.array(codes, int).reshape(len(codes), -1)[rows],
            np.array(values, float).reshape(len(codes), -1)[rows],
            target[rows],
            sizes,
            n_classes,
            weights and weights[rows],
        )

    whole, a, b, c = map(some, (slice(None), slice(one), slice(one, two), slice(two, None)))
    zero = CellMoments.zero(schema_of(sizes, whole.cells.shape[3], n_classes), names_of(whole))
    same(a.merge(b).merge(c), whole)
    same(c.merge(b.merge(a)), whole)
    same(whole.subtract(a), b.merge(c))
    same(a.scale(factor).merge(b.scale(factor)), a.merge(b).scale(factor))
    for result in (whole.merge(zero), zero.merge(whole), whole.subtract(zero)):
        np.testing.assert_array_equal(result.cells, whole.cells)
    assert not whole.subtract(whole).cells.any()
    assert not whole.scale(0.0).cells.any()
    by_class = whole.scale(np.arange(1.0, n_classes + 1))
    for k in range(n_classes):
        same(part_of_class(by_class, k), part_of_class(whole, k).scale(k + 1.0))


def names_of(part):
    return tuple(range(part.cells.shape[3]))


def part_of_class(part, c):
    return CellMoments(np.ascontiguousarray(part.cells[:, :, c : c + 1]), part.exponent)


@settings(max_examples=40)
@given(cases(), st.randoms(use_true_random=False))
def test_embedding_is_counting_in_the_other_codes(case, random):
    sizes, n_classes, codes, values, target, weights = case
    part = count(codes, values, target, sizes, n_classes, weights)
    old = schema_of(sizes, part.cells.shape[3], n_classes)

    def shuffled(variable):
        states = [*variable.states, "new"]
        random.shuffle(states)
        return Variable(variable.name, "categorical", tuple(states))

    new = Schema((*map(shuffled, old.categorical), *old.numeric), shuffled(old.target))
    recoded = [
        [
            b.size if code == a.size else b.code_of(code)
            for a, b, code in zip(old.categorical, new.categorical, row, strict=True)
        ]
        for row in codes
    ]
    labels = [new.target.code_of(c) for c in target]
    moved = part.embed(Embedding(old, new))
    fresh = count_cell_moments(chunk_of(recoded, values, labels, weights), new, names(new))
    np.testing.assert_array_equal(moved.cells, fresh.cells)
    np.testing.assert_array_equal(moved.embed(Embedding(new, old)).cells, part.cells)


@dataclass(frozen=True)
class Design(laws.Design):
    """Random rows whose cell moments are counted too."""

    @property
    def plan(self):
        naive = Plan.naive(self.schema).patterns
        return Plan((*naive, Pattern("cell_moments", names(self.schema))))


@settings(max_examples=40)
@given(laws.batches(3), st.sampled_from([0.5, 3.0, 1 / 3]))
def test_the_laws_of_statistics_whose_states_come_and_go(case, factor):
    plain, *batches = case
    design = Design(plain.kinds, plain.declared, plain.classes)
    a, b, c = map(design.count, batches)
    with mock.patch.dict(laws._SAME, cell_moments=laws._same_moments):
        laws.check_merge(a, b, c)
        laws.check_zero(a, Statistics.zero(design.schema, design.plan))
        laws.check_subtract(a, b)
        laws.check_scale(a, b, factor)
        laws.check_embed(a, b.schema)


def random_rows(n, sizes, width, n_classes=3, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, r + 1, n) for r in sizes])
    values = rng.normal(size=(n, width))
    values[rng.random(values.shape) < missing] = NAN
    return codes, values, rng.integers(0, n_classes, n)


def test_the_states_of_an_attribute_add_up_to_the_classes():
    codes, values, target = random_rows(3000, (2, 7, 1), 3, missing=0.1)
    values += 1e8
    part = count(codes, values, target, (2, 7, 1), 3)
    schema = schema_of((2, 7, 1), 3, 3)
    wanted = count_moments(chunk_of(codes, values, target), schema, names(schema))
    for begin, end in ((0, 3), (3, 11), (11, 13)):
        total = part.over_states(begin, end)
        np.testing.assert_array_equal(total.weight, wanted.weight)
        np.testing.assert_array_equal(total.mean()[0], wanted.mean()[0])
        np.testing.assert_allclose(total.centred(), wanted.centred(), rtol=1e-12)
    assert not part.over_states(4, 4).cells.any()
    assert part.of_states(3, 5).weight.shape == (6, 3)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_all_loops_agree(offset):
    codes, values, target = random_rows(2000, (4, 30), 2)
    values += offset * (1 + codes[:, :1])
    plain = count(codes, values, target, (4, 30), 3)
    with mock.patch.object(counting, "LARGEST_PACKED", 20):
        mixed = count(codes, values, target, (4, 30), 3)
    weighted = count(codes, values, target, (4, 30), 3, np.ones(2000))
    for other in (mixed, weighted):
        same(part_of_class(other, 1), part_of_class(plain, 1))
    check(
        part_of_class(plain, 2),
        codes[target == 2],
        values[target == 2],
        np.zeros((target == 2).sum(), int),
        (4, 30),
    )


def test_a_mean_of_1e8_deviations_survives_forgetting():
    codes, values, target = random_rows(400, (3,), 1)
    values += 1e8
    values[0] = -1e8
    total = count(codes[:0], values[:0], target[:0], (3,), 3)
    for start in range(0, 400, 50):
        rows = slice(start, start + 50)
        total = total.merge(count(codes[rows], values[rows], target[rows], (3,), 3))
    for start in range(0, 350, 50):
        rows = slice(start, start + 50)
        total = total.subtract(count(codes[rows], values[rows], target[rows], (3,), 3))
    check(total, codes[350:], values[350:], target[350:], (3,))


def test_columns_in_their_own_codes():
    own = np.array([0, 1, -1, 1, 0], dtype=np.int8)
    column = CodeColumn(own, np.array([1, 0, 2], dtype=np.uint8))  # in the other order, then missing
    values, target = np.arange(5.0)[:, None], np.array([0, 1, 1, 0, 0], dtype=np.uint32)
    schema = schema_of((2,), 1)
    part = count_cell_moments(Chunk(5, (column,), values, target=target), schema, ("x0",))
    np.testing.assert_array_equal(part.cells, count([1, 0, 2, 0, 1], values, target, (2,)).cells)


def test_an_exponent_that_only_one_attribute_asks_for():
    # Alone in their cells these values have no squares to add; together in one cell they do.
    values, codes = [[1e200], [-1e200], [3.0]], [[0, 0], [1, 0], [2, 0]]
    part = count(codes, values, [0, 0, 0], (3, 1), 1)
    assert part.exponent[0] > 400
    for g, mine in ((0, [1e200]), (1, [-1e200]), (2, [3.0]), (4, [1e200, -1e200, 3.0])):
        n, mean, spread = held(part, g, 0, 0)
        wanted = exact(mine, [1.0] * len(mine))
        assert n == wanted[0]
        assert float(mean) == pytest.approx(float(wanted[1]), rel=1e-15)
        assert abs(spread - wanted[2]) <= TOLERANCE * wanted[2]


def test_what_cannot_be_counted():
    with refuses(InfiniteValue, "x1", "-inf", 1):
        count([0, 1], [[1.0, NAN], [3.0, -np.inf]], [0, 0], (2,))
    with refuses(DataError, "class"):
        count_cell_moments(
            Chunk(0, np.empty((0, 1), np.uint8), np.empty((0, 1))), schema_of((2,), 1), ("x0",)
        )
    statistics = Design(("categorical", "numeric"), ((), ()))
    rows = [(("a", 1.0), "no", 1.0), (("b", 2.0), "no", 1.0)]
    with refuses(NotCounted, -1):
        statistics.count(rows) - statistics.count([(("a", 1.0), "no", 1.0), (("a", 2.0), "no", 1.0)])
    assert count([0], [1.0], [0], (2,)).subtract(count([0, 0], [1.0, 1.0], [0, 0], (2,))).deficit() == 1.0


def test_too_large_a_table_is_refused_before_it_is_made():
    schema = schema_of((99_999,), 400, 10)
    assert CellMoments.memory(schema) == 56 * 100_000 * 10 * 400
    with refuses(DataError, 400, 100_000, 10, "20.9 GiB", "2 GiB"):
        CellMoments.zero(schema, names(schema))
    small = schema_of((2, 2), 3)
    room = CellMoments.memory(small)
    with mock.patch.object(cell_moments, "LARGEST", room):
        part = CellMoments.zero(small, names(small))
        assert part.cells.nbytes == room
        with refuses(DataError, 3, 7, "GiB"):
            part.embed(Embedding(small, schema_of((2, 3), 3)))


def test_no_attributes_and_no_rows():
    assert count(np.empty((3, 0)), np.empty((3, 2)), [0, 1, 1], ()).cells.shape == (7, 0, 2, 2)
    assert count([0, 1], np.empty((2, 0)), [0, 1], (2,)).cells.shape == (7, 3, 2, 0)
    assert not CellMoments.zero(schema_of((2,), 1, 0), ("x0",)).arrays()["weight"].size


def test_its_terms():
    schema = Schema(
        (Variable("a", "categorical"), Variable("b", "categorical")), Variable("y", "categorical")
    )
    assert list(Pattern("cell_moments", ("u", "v")).terms(schema)) == [
        Term(("y", "a"), ("u",), 2),
        Term(("y", "a"), ("v",), 2),
        Term(("y", "b"), ("u",), 2),
        Term(("y", "b"), ("v",), 2),
    ]


# -- saving ----------------------------------------------------------------------------------------

DESIGN = Design(("categorical", "numeric", "numeric"), ((), (), ()))
ROWS = [((v, float(i), i * 1e250), "yn"[i % 2], 1.0 + i / 3) for i, v in enumerate("abcabbca")]


def test_statistics_come_back_bit_for_bit(tmp_path):
    statistics = DESIGN.count(ROWS)
    save_statistics(statistics, tmp_path / "m")
    back = load_statistics(tmp_path / "m")
    first, second = statistics.parts["cell_moments"], back.parts["cell_moments"]
    assert second.cells.shape == (7, 4, 2, 2)
    np.testing.assert_array_equal(second.cells, first.cells)
    np.testing.assert_array_equal(second.exponent, first.exponent)
    assert second.exponent[1] > 400


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda plan, arrays: plan.__setitem__(2, ["cell_moments", ["x1"]]), ["cell_moments", "['x1']"]),
        (
            lambda plan, arrays: plan.__setitem__(2, ["cell_moments", ["x2", "x1"]]),
            ["cell_moments", "['x2', 'x1']"],
        ),
        (lambda plan, arrays: arrays.pop("cell_moments/first"), ["cell_moments/first"]),
        (
            lambda plan, arrays: arrays.update({"cell_moments/pivot": np.zeros((4, 2, 1))}),
            ["cell_moments/pivot", "shape"],
        ),
        (
            lambda plan, arrays: arrays["cell_moments/weight"].__setitem__((0, 0, 0), -1.0),
            ["cell_moments/weight", "negative"],
        ),
        (
            lambda plan, arrays: arrays["cell_moments/second"].__setitem__((0, 0, 0), NAN),
            ["cell_moments/second", "NaN"],
        ),
        (
            lambda plan, arrays: arrays["cell_moments/exponent"].__setitem__(0, 5000),
            ["cell_moments/exponent"],
        ),
    ],
)
def test_damaged_files_are_refused(tmp_path, edit, says):
    content, arrays = pack_statistics(DESIGN.count(ROWS))
    content, arrays = json.loads(json.dumps(content)), {name: a.copy() for name, a in arrays.items()}
    edit(content["plan"], arrays)
    write_saved(SavedContent("statistics", content, arrays), tmp_path / "forged")
    with refuses(ModelFormatError, *says):
        load_statistics(tmp_path / "forged")
