"""Choosing attributes and parents by leave-one-out: the definition, row by row, and what must not matter."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef

from bayeskit._conditionals.family_tries import estimate_families
from bayeskit._counting.count_families import count_families
from bayeskit._fitting.selective import matthews, select
from bayeskit.errors import SettingError
from bayeskit.extending import Chunk
from bayeskit.priors import MLE, BackOff, Laplace, Lidstone, MEstimate, Smoothing, WittenBell
from bayeskit.statistics import Schema, Variable
from refusals import refuses

CRITERIA = ["rmse", "log-loss", "error", "mcc"]


def schema_of(sizes, n_classes):
    attributes = (Variable(f"x{j}", "categorical", tuple(range(r))) for j, r in enumerate(sizes))
    return Schema(tuple(attributes), Variable("y", "categorical", tuple(range(n_classes))))


def chunk_of(codes, target, weights=None):
    codes = np.ascontiguousarray(codes, np.uint8)
    weights = None if weights is None else np.asarray(weights, float)
    return Chunk(len(codes), codes, np.empty((len(codes), 0)), None, np.asarray(target, np.uint32), weights)


def named(families):
    return tuple(tuple(f"x{j}" for j in family) for family in families)


def without(i, codes, target, weights):
    """The rows with min(w, 1) of one row's weight left out."""
    left = np.array(weights, float)
    left[i] -= min(left[i], 1.0)
    return chunk_of(codes, target, left)


def first_of_the_best(p):
    """The first class among those that are tied but for rounding."""
    return int(np.flatnonzero(p >= p.max() * (1 - 1e-12))[0])


def posterior(joint, prior):
    joint = np.asarray(joint)
    return joint / joint.sum() if joint.sum() > 0 else np.asarray(prior)


def slow_losses(
    sizes, n_classes, families, codes, target, weights, prior, class_prior, max_k, criterion, **how
):
    """Count everything anew for every row, and score every model from the beginning."""
    schema, total = schema_of(sizes, n_classes), sum(weights)
    losses = np.zeros((max_k + 1, len(families) + 1))
    confusion = np.zeros((max_k + 1, len(families) + 1, n_classes, n_classes))
    for i, w in enumerate(weights):
        rows = without(i, codes, target, weights)
        of_class = np.bincount(target, rows.weights, n_classes) + class_prior
        of_class = of_class / of_class.sum() if of_class.sum() > 0 else np.full(n_classes, 1 / n_classes)
        for k in range(max_k + 1):
            some = named([family[: k + 1] for family in families])
            tries = estimate_families(count_families(rows, schema, some), schema, Smoothing(prior, {}), **how)
            joint = of_class.copy()
            for at in range(len(families) + 1):
                if at:
                    joint = joint * tries.level_probabilities(at - 1, chunk_of([codes[i]], [0]))[0, -1]
                p = posterior(joint, of_class)
                y = target[i]
                confusion[k, at, y, first_of_the_best(p)] += w
                if criterion == "rmse":
                    losses[k, at] += w * (1 - p[y]) ** 2 / total
                elif criterion == "log-loss":
                    losses[k, at] -= w * math.log(p[y]) / total if p[y] > 0 else -math.inf * w
                elif criterion == "error":
                    losses[k, at] += w * (first_of_the_best(p) != y) / total
    if criterion == "mcc":
        return 1 - np.array([[matthews(table) for table in row] for row in confusion])
    return np.sqrt(losses) if criterion == "rmse" else losses


@st.composite
def cases(draw):
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    n_classes = draw(st.integers(1, 3))
    n = draw(st.integers(1, 8))
    order = draw(st.permutations(range(len(sizes))))
    families = [(child, *draw(st.permutations(order[:at]))) for at, child in enumerate(order)]
    codes = [[draw(st.integers(0, r)) for r in sizes] for _ in range(n)]
    target = [draw(st.integers(0, n_classes - 1)) for _ in range(n)]
    kind = draw(st.sampled_from([[1.0], [0.5, 2.0, 1.0]]))
    return sizes, n_classes, families, codes, target, [draw(st.sampled_from(kind)) for _ in range(n)]


def chosen(case, prior, **how):
    sizes, n_classes, families, codes, target, weights = case
    chunk = chunk_of(codes, target, weights)
    return select([chunk], schema_of(sizes, n_classes), named(families), Smoothing(prior, {}), **how)


# All three classes are tied for some rows, and rounding is not to choose.
TIED = (
    [1, 2, 1],
    3,
    [(0,), (1, 0), (2, 0, 1)],
    [[0, 1, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 2, 0], [0, 0, 0], [0, 0, 0]],
    [0, 0, 2, 1, 0, 1, 0, 2],
    [1.0] * 8,
)


@settings(max_examples=35, deadline=None)
@example(TIED, BackOff([1.0, 3.0]), "error")
@given(
    cases(), st.sampled_from([Laplace(), MLE(), BackOff([1.0, 3.0]), WittenBell()]), st.sampled_from(CRITERIA)
)
def test_losses_equal_counting_anew_for_every_row(case, prior, criterion):
    alpha = 0.5 if prior == Laplace() else 0.0
    found = chosen(case, prior, max_k=2, criterion=criterion, class_smoothing=Lidstone(alpha))
    wanted = slow_losses(*case, prior, alpha, 2, criterion)
    np.testing.assert_allclose(found.losses, wanted, rtol=1e-11, atol=1e-11)


def data_of(n=300, sizes=(3, 4, 2, 3), n_classes=3, seed=0, holes=0.0):
    """The first attribute tells of the class, the next of the first and the class, the rest is noise."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, n_classes, n)
    codes = np.column_stack([rng.integers(0, r, n) for r in sizes])
    codes[:, 0] = np.where(rng.random(n) < 0.6, target % sizes[0], codes[:, 0])
    codes[:, 1] = np.where(rng.random(n) < 0.8, (codes[:, 0] + target) % sizes[1], codes[:, 1])
    codes = np.where(rng.random(codes.shape) < holes, sizes, codes)
    families = [(0,), (1, 0), (2, 0, 1), (3, 2, 1, 0)]
    return sizes, n_classes, families, codes, target, np.ones(n)


def test_it_finds_what_there_is():
    for criterion in CRITERIA:
        found = chosen(data_of(), BackOff(), max_k=3, criterion=criterion)
        assert found.losses.shape == (4, 5)
        assert (found.n_attributes, found.k) == (2, 1) or criterion in ("error", "mcc")
        assert found.losses[found.k, found.n_attributes] == pytest.approx(found.losses.min(), rel=1e-12)
        assert found.losses[1, 2] < found.losses[0, 2] < found.losses[0, 0]


def test_the_class_prior_alone_can_be_chosen():
    rng = np.random.default_rng(1)
    codes, target = rng.integers(0, 8, (60, 3)), rng.integers(0, 2, 60)
    case = ((8, 8, 8), 2, [(0,), (1, 0), (2, 1)], codes, target, np.ones(60))
    found = chosen(case, Laplace(), max_k=1, criterion="log-loss")
    assert (found.n_attributes, found.k) == (0, 0)
    # The loss of the class prior, by hand: each row foretold from the others and one of each class.
    n = np.bincount(target)
    own = -sum(n[y] * math.log(n[y] / 61) for y in range(2)) / 60
    np.testing.assert_allclose(found.losses[:, 0], own, rtol=1e-13)


def test_ties_go_to_fewer_attributes_then_to_fewer_parents():
    sizes, n_classes, _, codes, target, weights = data_of(sizes=(3, 1, 1))
    codes[:, 1:] = 0
    case = (sizes, n_classes, [(0,), (1, 0), (2, 1, 0)], codes, target, weights)
    found = chosen(case, BackOff(), max_k=2)
    assert (found.n_attributes, found.k) == (1, 0)
    np.testing.assert_allclose(found.losses[:, 1:], found.losses[0, 1], rtol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("prior", [MEstimate(1), BackOff()])
def test_weights_are_repetitions_and_chunks_do_not_matter(criterion, prior):
    sizes, n_classes, families, codes, target, _ = data_of(n=120, holes=0.1)
    times = np.random.default_rng(5).integers(0, 4, 120)
    schema, how = schema_of(sizes, n_classes), {"max_k": 2, "criterion": criterion}
    one = chunk_of(codes, target, times.astype(float))
    again = chunk_of(np.repeat(codes, times, axis=0), np.repeat(target, times))
    three = [
        chunk_of(codes[a:b], target[a:b], times[a:b].astype(float)) for a, b in ((0, 7), (7, 8), (8, 120))
    ]
    smoothing = Smoothing(prior, {})
    whole = select([one], schema, named(families), smoothing, **how)
    for chunks in ([again], three):
        found = select(chunks, schema, named(families), smoothing, **how)
        np.testing.assert_allclose(found.losses, whole.losses, rtol=1e-11)
        assert (found.k, found.n_attributes) == (whole.k, whole.n_attributes)


@pytest.mark.parametrize("missing", ["ignore", "state"])
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_constants_are_those_of_all_families_at_once(missing, unseen):
    case = data_of(holes=0.1)
    sizes, n_classes, families, codes, target, _ = case
    schema, chunk = schema_of(sizes, n_classes), chunk_of(codes, target)
    how = {"missing": missing, "unseen": unseen}
    counted = count_families(chunk, schema, named(families))
    tries = estimate_families(counted, schema, Smoothing(BackOff(), {}), **how)
    held = chosen(case, BackOff(), max_k=3, constants=tries.constants[-4:], **how)
    found = chosen(case, BackOff(), max_k=3, **how)
    np.testing.assert_array_equal(found.losses, held.losses)
    # The losses are of the model with these settings: the last of them, from its own leave-one-out.
    if missing == "state":
        left = np.zeros((len(target), n_classes))
        tries.add_left_out(chunk, np.ones(len(target)), left)
        counts = np.bincount(target, minlength=n_classes) + 1.0 - np.eye(n_classes)[target]
        joint = np.exp(left) * counts
        own = joint[np.arange(len(target)), target] / joint.sum(axis=1)
        np.testing.assert_allclose(found.losses[-1, -1], np.sqrt(np.mean((1 - own) ** 2)), rtol=1e-11)


def test_a_class_prior_may_be_given():
    case = data_of(n=50)
    target, prior = case[4], np.array([0.7, 0.2, 0.1])
    found = chosen(case, Laplace(), max_k=1, class_prior=prior)
    np.testing.assert_allclose(found.losses[:, 0], np.sqrt(np.mean((1 - prior[target]) ** 2)), rtol=1e-13)


def test_hundreds_of_attributes_do_not_underflow():
    """Evidence against a class that ends far below the least double, and then turns."""
    d = 240
    target = np.repeat([0, 1], 200)
    # Of the first row, which is of class 0, 120 attributes say that it is of class 1, and then 120 that it is not.
    codes = np.tile(target[:, None], (1, d))
    codes[0, :120] = 1
    families = [(j,) for j in range(d)]
    case = ((2,) * d, 2, families, codes, target, np.ones(400))
    found = chosen(case, BackOff(1e-3), max_k=0, criterion="log-loss")
    schema, chunk = schema_of((2,) * d, 2), chunk_of(codes, target)
    tries = estimate_families(
        count_families(chunk, schema, named(families)), schema, Smoothing(BackOff(1e-3), {})
    )
    left = np.zeros((400, 2))
    tries.add_left_out(chunk, np.ones(400), left)
    counts = np.array([201.0, 201.0]) - np.eye(2)[target]
    left += np.log(counts / counts.sum(axis=1, keepdims=True))
    mean = -np.mean(left[np.arange(400), target] - np.logaddexp(left[:, 0], left[:, 1]))
    np.testing.assert_allclose(found.losses[0, -1], mean, rtol=1e-10)
    assert found.losses[0, 120] > 700 / 400  # beyond what a double could hold of the first row's share


def test_matthews_is_that_of_others():
    rng = np.random.default_rng(0)
    y, answer = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    answer = np.where(rng.random(200) < 0.5, y, answer)
    table = np.zeros((4, 4))
    np.add.at(table, (y, answer), 1.0)
    assert matthews(table) == pytest.approx(matthews_corrcoef(y, answer), rel=1e-12)
    assert matthews(np.array([[3.0, 0.0], [2.0, 0.0]])) == 0.0


def test_one_class_no_attributes_and_strange_criteria():
    found = chosen(((2, 2), 1, [(0,), (1, 0)], [[0, 1], [1, 1]], [0, 0], [1.0, 1.0]), BackOff(), max_k=2)
    assert (found.n_attributes, found.k, found.losses.max()) == (0, 0, 0.0)
    found = chosen(((2,), 2, [], [[0], [1]], [0, 1], [1.0, 1.0]), BackOff(), max_k=2)
    assert (found.n_attributes, found.k, found.losses.shape) == (0, 0, (3, 1))
    with refuses(SettingError, "criterion", "brier", "rmse"):
        chosen(((2,), 2, [], [[0]], [0], [1.0]), Laplace(), max_k=1, criterion="brier")
