"""Probabilities of families: the slow twin, leaving rows out, and sums over missing parents by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._conditionals.back_off import Trie
from bayeskit._conditionals.categorical import estimate_tables
from bayeskit._conditionals.family_tries import FamilyTries, estimate_families
from bayeskit._conditionals.kernels.trie_scores import Rule
from bayeskit._counting.count_families import count_families
from bayeskit._counting.count_tables import count_tables
from bayeskit.errors import DataError, NotCounted
from bayeskit.extending import Chunk
from bayeskit.priors import MLE, BackOff, BDeu, Dirichlet, Laplace, MEstimate, Smoothing, WittenBell
from bayeskit.statistics import Schema, Variable
from refusals import refuses

PRIORS = [
    MLE(),
    Laplace(),
    MEstimate(1),
    BDeu(2),
    Dirichlet({"x0": 0.5}),
    BackOff([1.0, 3.0, 0.5]),
    BackOff(2),
    WittenBell(),
]


def schema_of(sizes, n_classes):
    attributes = (Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    return Schema(tuple(attributes), Variable("y", "categorical", tuple(range(n_classes))))


def chunk_of(codes, target=None, weights=None, d=0):
    codes = np.asarray(codes, np.uint8).reshape(len(codes), -1 if len(codes) else d)
    weights = None if weights is None else np.asarray(weights, float)
    target = None if target is None else np.asarray(target, np.uint32)
    return Chunk(len(codes), codes, np.empty((len(codes), 0)), target=target, weights=weights)


def named(families):
    return tuple(tuple(f"x{j}" for j in family) for family in families)


class Twin:
    """The definition, one look at all rows for every number."""

    def __init__(self, sizes, n_classes, families, rows, prior, missing="ignore", unseen="ignore"):
        self.sizes, self.n_classes, self.families, self.prior = sizes, n_classes, families, prior
        self.rows = rows  # (codes, class, weight)
        used = {j for family in families for j in family}
        self.is_state = [
            missing == "state" and j in used and any(w and codes[j] == r for codes, _, w in rows)
            for j, r in enumerate(sizes)
        ]
        self.smooth = unseen == "smooth"
        self.schema = schema_of(sizes, n_classes)

    def without(self, i, own):
        """The same with weight taken from one row; what is a state stays one."""
        rows = list(self.rows)
        codes, c, w = rows[i]
        left = w - own
        rows[i] = codes, c, left if left > 4e-15 * w else 0.0
        twin = Twin(self.sizes, self.n_classes, self.families, rows, self.prior)
        twin.is_state, twin.smooth = self.is_state, self.smooth
        return twin

    def there(self, codes, j):
        return codes[j] != self.sizes[j] or self.is_state[j]

    def n_states(self, j):
        return self.sizes[j] + self.is_state[j]

    def count(self, shown, codes, c):
        """n(the codes of these attributes, c) over the rows that have them."""
        return math.fsum(
            w
            for row, y, w in self.rows
            if y == c and all(row[j] == codes[j] and self.there(row, j) for j in shown)
        )

    def level(self, family, level, codes, c):
        child, *parents = family
        parents = parents[:level]
        of_state = [
            self.count([child, *parents], {**dict(enumerate(codes)), child: x}, c)
            for x in range(self.n_states(child))
        ]
        x, r = codes[child], self.sizes[child]
        n = of_state[x] if x < len(of_state) else 0.0
        total = math.fsum(of_state)
        if isinstance(self.prior, (BackOff, WittenBell)):
            if level:
                below = self.level(family, level - 1, codes, c)
            else:
                below = 1.0 / max(self.n_states(child) + self.smooth, 1)
            if total <= 0:
                return below
            seen = sum(m > 0 for m in of_state)
            weight = self.prior.levels(level)[level] if isinstance(self.prior, BackOff) else seen
            return (n + weight * below) / (total + weight)
        variable = self.schema.categorical[child]
        q = self.n_classes * math.prod(self.n_states(j) for j in parents)
        cells = list(self.prior.cells(variable, q))
        more = sum(cells) / len(cells) if cells else 1.0
        imaginary = sum(cells) + more * self.is_state[child] + more * self.smooth
        if x > r and more <= 0:
            return 1.0
        if total + imaginary <= 0:
            return 1.0 / max(self.n_states(child), 1) if x < self.n_states(child) else 1.0
        return (n + (cells[x] if x < r else more)) / (total + imaginary)

    def levels(self, family, codes, c):
        """p of all levels; those with a missing parent as the one before it."""
        child, *parents = family
        if not self.there(codes, child):
            return [1.0] * len(family)
        known = next((m for m, j in enumerate(parents) if not self.there(codes, j)), len(parents))
        return [self.level(family, min(level, known), codes, c) for level in range(len(family))]

    def joint(self, codes, c, most=4096):
        """P(present attributes | c): the whole joint, summed over the missing ones that matter."""
        lost = [j for j in range(len(self.sizes)) if not self.there(codes, j)]
        parents_of = {child: parents for child, *parents in self.families}
        needed = set()
        waiting = [j for j in parents_of if j not in lost]
        while waiting:
            for j in parents_of.get(waiting.pop(), ()):
                if j in lost and j not in needed:
                    needed.add(j)
                    waiting.append(j)
        more = [
            self.smooth and (isinstance(self.prior, (BackOff, WittenBell)) or self._extra(j) > 0)
            for j in needed
        ]
        choices = [
            [*range(self.sizes[j]), *([self.sizes[j] + 1] if open_ else [])]
            for j, open_ in zip(needed, more, strict=True)
        ]
        n = math.prod(map(len, choices))
        if not 0 < n <= most or not needed <= parents_of.keys():
            return math.prod(self.levels(family, codes, c)[-1] for family in self.families)
        total = 0.0
        for values in itertools.product(*choices):
            filled = list(codes)
            for j, value in zip(needed, values, strict=True):
                filled[j] = value
            total += math.prod(
                self.level(family, len(family) - 1, filled, c)
                for family in self.families
                if family[0] not in lost or family[0] in needed
            )
        return total

    def _extra(self, j):
        cells = self.prior.cells(self.schema.categorical[j], self.n_classes)
        return cells.mean() if len(cells) else 1.0


@st.composite
def cases(draw, holes=True):
    """Sizes, classes, families without a circle, rows."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    n_classes = draw(st.integers(1, 3))
    order = draw(st.permutations(range(len(sizes))))
    families = []
    for at, child in enumerate(order):
        parents = draw(st.permutations(order[:at]))[: draw(st.integers(0, 3))]
        if at == 0 or draw(st.integers(0, 7)):
            families.append((child, *parents))
    n = draw(st.integers(0, 9))
    weights = draw(st.sampled_from([[1.0], [0.25, 3.0, 1 / 3, 1.0]]))
    rows = [
        (
            tuple(draw(st.integers(0, r if holes else r - 1)) for r in sizes),
            draw(st.integers(0, n_classes - 1)),
            draw(st.sampled_from(weights)),
        )
        for _ in range(n)
    ]
    return sizes, n_classes, draw(st.permutations(families)), rows


def tries_of(sizes, n_classes, families, rows, prior, **how):
    schema = schema_of(sizes, n_classes)
    codes, target, weights = zip(*rows, strict=True) if rows else ((), (), ())
    counted = count_families(chunk_of(codes, target, weights, len(sizes)), schema, named(families))
    return estimate_families(counted, schema, Smoothing(prior, {}), **how)


def log_prob(tries, codes):
    out = np.zeros((len(codes), tries.n_classes))
    tries.add_log_prob(chunk_of(codes), out)
    assert not np.isnan(out).any()
    return out


def log(x):
    return math.log(x) if x > 0 else -math.inf


HOW = st.sampled_from([("ignore", "ignore"), ("state", "ignore"), ("ignore", "smooth"), ("state", "smooth")])


@settings(max_examples=250, deadline=None)
@given(cases(), st.sampled_from(PRIORS), HOW, st.data())
def test_rows_of_all_kinds_equal_the_slow_twin(case, prior, how, data):
    sizes, n_classes, families, rows = case
    missing, unseen = how
    twin = Twin(*case, prior, missing, unseen)
    tries = tries_of(*case, prior, missing=missing, unseen=unseen)
    codes = [row for row, _, _ in rows]
    codes += [tuple(data.draw(st.integers(0, r + (unseen == "smooth"))) for r in sizes) for _ in range(3)]
    wanted = [[log(twin.joint(row, c)) for c in range(n_classes)] for row in codes]
    np.testing.assert_allclose(log_prob(tries, codes), wanted, rtol=1e-11, atol=1e-11)
    for f, family in enumerate(families):
        found = tries.level_probabilities(f, chunk_of(codes))
        slow = [[twin.levels(family, row, c) for c in range(n_classes)] for row in codes]
        np.testing.assert_allclose(found, np.swapaxes(slow, 1, 2), rtol=1e-12)


@settings(max_examples=150, deadline=None)
@given(cases(), st.sampled_from(PRIORS), HOW, st.sampled_from([1.0, 0.5]))
def test_leaving_a_row_out_is_counting_without_it(case, prior, how, share):
    _, n_classes, families, rows = case
    missing, unseen = how
    twin = Twin(*case, prior, missing, unseen)
    tries = tries_of(*case, prior, missing=missing, unseen=unseen)
    if not rows:
        return
    codes, target, weights = zip(*rows, strict=True)
    own = share * np.array(weights)
    chunk = chunk_of(codes, target, weights)
    out = np.zeros((len(rows), n_classes))
    tries.add_left_out(chunk, own, out)
    left = [twin.without(i, w) for i, w in enumerate(own)]
    wanted = [[log(t.joint(row, c)) for c in range(n_classes)] for t, row in zip(left, codes, strict=True)]
    np.testing.assert_allclose(out, wanted, rtol=1e-11, atol=1e-11)
    for f, family in enumerate(families):
        slow = [
            [t.levels(family, row, c) for c in range(n_classes)] for t, row in zip(left, codes, strict=True)
        ]
        np.testing.assert_allclose(
            tries.level_probabilities(f, chunk, own), np.swapaxes(slow, 1, 2), rtol=1e-11
        )
    nothing = np.zeros((len(rows), n_classes))
    tries.add_left_out(chunk, np.zeros(len(rows)), nothing)
    np.testing.assert_array_equal(nothing, log_prob(tries, codes))


def random_case(n=400, sizes=(3, 4, 2, 5, 3, 2), n_classes=3, k=2, seed=0, holes=0.0):
    rng = np.random.default_rng(seed)
    target = rng.integers(0, n_classes, n)
    codes = np.column_stack([(target + rng.integers(0, r, n) * (rng.random(n) < 0.7)) % r for r in sizes])
    codes[rng.random(codes.shape) < holes] = 255
    codes = np.where(codes == 255, sizes, codes)
    families = [(j, *range(max(0, j - k), j)[::-1]) for j in range(len(sizes))]
    return (
        sizes,
        n_classes,
        families,
        [(tuple(map(int, row)), int(c), 1.0) for row, c in zip(codes, target, strict=True)],
    )


@pytest.mark.parametrize("prior", [Laplace(), BackOff(), WittenBell()])
def test_leaving_out_equals_counting_anew_on_many_rows(prior):
    case = random_case(holes=0.1)
    *shape, rows = case
    tries = tries_of(*case, prior)
    codes, target, _ = zip(*rows, strict=True)
    out = np.zeros((len(rows), shape[1]))
    tries.add_left_out(chunk_of(codes, target), np.ones(len(rows)), out)
    constants = tries.constants[-3:]
    for i in range(0, len(rows), 25):
        again = tries_of(*shape, rows[:i] + rows[i + 1 :], prior, constants=constants)
        np.testing.assert_allclose(out[i], log_prob(again, [codes[i]])[0], rtol=1e-12)


@pytest.mark.parametrize("prior", PRIORS[:5])
@pytest.mark.parametrize(
    ("missing", "unseen"), [("ignore", "ignore"), ("state", "smooth"), ("state", "ignore")]
)
def test_without_parents_it_is_naive_bayes(prior, missing, unseen):
    sizes, n_classes, _, rows = random_case(holes=0.1)
    codes, target, _ = zip(*rows, strict=True)
    schema, chunk = schema_of(sizes, n_classes), chunk_of(codes, target)
    families = [(j,) for j in range(len(sizes))]
    tries = tries_of(sizes, n_classes, families, rows, prior, missing=missing, unseen=unseen)
    counts = count_tables(chunk, schema, tuple(v.name for v in schema.categorical)).counts
    tables = estimate_tables(counts, schema, Smoothing(prior, {}), missing=missing, unseen=unseen)
    strange = np.array(codes)
    if unseen == "smooth":
        strange[::3, 1] = sizes[1] + 1
    wanted = np.zeros((len(rows), n_classes))
    tables.add_log_prob(chunk_of(strange), wanted)
    np.testing.assert_allclose(log_prob(tries, strange), wanted, rtol=1e-12)


def test_each_attribute_may_have_its_own_prior():
    case = random_case(n=60)
    schema = schema_of(*case[:2])
    codes, target, _ = zip(*case[3], strict=True)
    counted = count_families(chunk_of(codes, target), schema, named(case[2]))
    by_name = {"x1": BackOff(), "x2": WittenBell(), "x3": BackOff([5.0])}
    mixed = estimate_families(counted, schema, Smoothing(Laplace(), by_name), constants=np.array([2.0, 8.0]))
    for f in range(6):
        prior = by_name.get(f"x{f}", Laplace())
        prior = BackOff([2.0, 8.0]) if prior == BackOff() else prior
        alone = tries_of(*case, prior)
        np.testing.assert_array_equal(
            mixed.level_probabilities(f, chunk_of(codes)), alone.level_probabilities(f, chunk_of(codes))
        )


def test_rows_that_were_never_counted_are_refused():
    case = ([2, 2], 2, [(0,), (1, 0)], [((0, 0), 0, 1.0), ((1, 1), 1, 1.0), ((0, 0), 0, 1.0)])
    for prior in (Laplace(), BackOff(1), WittenBell()):
        tries = tries_of(*case, prior, unseen="smooth")
        for codes, own in (((0, 1), 1.0), ((0, 0), 2.5), ((1, 1), 1.5), ((1, 3), 1.0), ((3, 1), 1.0)):
            with refuses(NotCounted):
                tries.add_left_out(chunk_of([codes], [0]), np.array([own]), np.zeros((1, 2)))
            with refuses(NotCounted):
                tries.level_probabilities(1, chunk_of([codes], [0]), np.array([own]))
        tries.add_left_out(chunk_of([(0, 0), (0, 1)], [0, 0]), np.array([2.0, 0.0]), np.zeros((2, 2)))


def test_beyond_4096_states_families_back_off():
    sizes = (17, 16, 16, 3)  # 17 · 16 · 16 is too many, 16 · 16 is not
    families = [(0,), (1, 0), (2, 1), (3, 2, 1, 0)]
    rng = np.random.default_rng(3)
    rows = [(tuple(int(rng.integers(0, r)) for r in sizes), int(rng.integers(2)), 1.0) for _ in range(25)]
    twin, tries = Twin(sizes, 2, families, rows, Laplace()), tries_of(sizes, 2, families, rows, Laplace())
    codes = [(17, 16, 16, 1), (17, 16, 16, 3), (17, 2, 16, 1)]
    wanted = [[log(twin.joint(row, c)) for c in range(2)] for row in codes]
    np.testing.assert_allclose(log_prob(tries, codes), wanted, rtol=1e-11)
    np.testing.assert_allclose(wanted[0][0], log(twin.level((3, 2, 1, 0), 0, codes[0], 0)))
    exact = [sum(twin.joint((5, u, v, 1), 0) for u in range(16) for v in range(16))]
    np.testing.assert_allclose(np.exp(log_prob(tries, [(5, 16, 16, 1)])[0, 0]), exact, rtol=1e-11)


def test_hundreds_of_attributes_on_one_missing_parent_do_not_underflow():
    d = 900
    rows = [((i % 2,) * d, i % 2, 1.0) for i in range(6)]
    tries = tries_of((2,) * d, 2, [(0,), *((j, 0) for j in range(1, d))], rows, Laplace())
    # P(x | 0, c = 0) = 4/5, P(x | 1, c = 0) = 1/2, and the first attribute is 0 with 4/5.
    wanted = np.logaddexp(np.log(0.8) + (d - 1) * np.log(0.8), np.log(0.2) + (d - 1) * np.log(0.5))
    whole, holed = (0,) * d, (2,) + (0,) * (d - 1)
    out = log_prob(tries, [whole, holed])
    np.testing.assert_allclose(out[0, 0], d * np.log(0.8), rtol=1e-12)
    np.testing.assert_allclose(out[1, 0], wanted, rtol=1e-12)
    np.testing.assert_allclose(out[0, 1], np.log(0.2) + (d - 1) * np.log(0.5), rtol=1e-12)


def test_tiny_constants_do_not_underflow():
    tries = tries_of((2,) * 8, 1, [(j,) for j in range(8)], [((0,) * 8, 0, 1.0)], BackOff(1e-100))
    np.testing.assert_allclose(log_prob(tries, [(1,) * 8]), [[8 * (np.log(1e-100) - np.log(2))]], rtol=1e-12)


def test_zero_probability_is_minus_infinity_and_comes_alone():
    rows = [((0, 0), 0, 1.0), ((1, 1), 1, 1.0)]
    tries = tries_of((2, 2), 2, [(0,), (1, 0)], rows, MLE())
    np.testing.assert_array_equal(log_prob(tries, [(0, 0), (0, 1), (2, 0), (2, 2)])[:, 0], [0, -np.inf, 0, 0])
    # In class 1 the context 0 was never seen: each state alike.
    np.testing.assert_allclose(log_prob(tries, [(0, 0)])[0, 1], -np.inf)
    np.testing.assert_allclose(tries.level_probabilities(1, chunk_of([(0, 0)]))[0, :, 1], [0.0, 0.5])


@pytest.mark.parametrize(
    ("families", "message"), [([(0, 1), (1, 0)], ["[0, 1, 0]"]), ([(0, 1), (0,)], ["x0"])]
)
def test_what_is_no_network_is_refused(families, message):
    with refuses(DataError, *message):
        log_prob(tries_of((2, 2), 2, families, [((0, 0), 0, 1.0)], Laplace()), [(0, 2)])


def test_an_empty_model_says_nothing():
    tries = tries_of((2, 3), 2, [(0,), (1, 0)], [], BackOff())
    np.testing.assert_allclose(np.exp(log_prob(tries, [(0, 0), (2, 1)])), [[1 / 6] * 2, [1 / 3] * 2])
    assert log_prob(tries_of((2,), 2, [], [], Laplace()), [(0,), (2,)]).tolist() == [[0, 0], [0, 0]]
    assert log_prob(tries, np.empty((0, 2), np.uint8)).shape == (0, 2)


def test_samples_follow_the_model():
    case = random_case(n=300, sizes=(2, 3, 2))
    tries = tries_of(*case, BackOff())
    rng = np.random.default_rng(0)
    drawn = tries.sample(np.full(40_000, 1), rng)
    cells = list(itertools.product(range(2), range(3), range(2)))
    seen = [np.mean((drawn == cell).all(axis=1)) for cell in cells]
    np.testing.assert_allclose(seen, np.exp(log_prob(tries, cells)[:, 1]), atol=0.01)


def test_the_parts_are_plain_arrays():
    tries = tries_of(*random_case(n=50), WittenBell())
    assert isinstance(tries, FamilyTries) and isinstance(tries.trie, Trie) and isinstance(tries.rule, Rule)
    assert all(isinstance(array, np.ndarray) for array in (*tries.trie, *tries.rule))
