"""The leave-one-out losses of families equal refits without each row."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bayeskit._conditionals.kernel_density import BROAD_SHARE, estimate_kernel
from bayeskit._counting.backend import count_rows
from bayeskit._data.encode import encode
from bayeskit._data.table import open_table
from bayeskit._fitting.naive import Candidates, compare_families
from bayeskit.statistics import Plan, Schema, Variable
from reference import leave_one_out_loss, normal_density


def compared(columns, labels, weights=None, pieces=1, alpha=1.0):
    """The losses of every attribute, the rows read in so many chunks."""
    schema = Schema(tuple(Variable(name, "numeric") for name in columns), Variable("y", "categorical"))
    encoded = encode(
        open_table({name: np.asarray(x, float) for name, x in columns.items()}),
        schema,
        "grow",
        y=labels,
        weights=weights,
        with_target=True,
    )
    plan = Plan.naive(encoded.schema, grids=tuple(columns))
    statistics = count_rows(encoded, plan)
    edges = np.linspace(0, encoded.n_rows, pieces + 1).astype(int)

    def chunks():
        for start, stop in itertools.pairwise(edges):
            yield encoded.chunk(int(start), int(stop))

    return compare_families(chunks, encoded.schema, statistics, alpha), statistics


def rows(n, n_classes=2, gaps=0.0, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    labels = [str(c) for c in np.arange(n) % n_classes]
    x = [float(v) for v in rng.normal([3.0 * int(c) for c in labels], 1.0)]
    x = [float("nan") if rng.random() < gaps else v for v in x]
    weights = rng.choice([1.0, 2.0, 0.25, 1.5], n).tolist() if weighted else [1.0] * n
    return x, labels, weights


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize(
    "case",
    [
        rows(60),
        rows(60, weighted=True),
        rows(45, 3, gaps=0.2),
        rows(50, 3, gaps=0.2, weighted=True, seed=1),
        rows(12, seed=2),
        ([1e6 + v for v in rows(60)[0]], *rows(60)[1:]),
    ],
    ids=["plain", "weighted", "gaps", "both", "few", "far from zero"],
)
def test_the_gaussian_loss_equals_refits(case, pieces):
    x, labels, weights = case
    losses, _ = compared({"x": x}, labels, weights, pieces)
    wanted = leave_one_out_loss(x, labels, weights, normal_density)
    assert losses["x"].losses["gaussian"] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_poisson_loss_equals_refits_at_the_pooled_rate(weighted):
    rng = np.random.default_rng(3)
    labels = [str(c) for c in np.arange(40) % 2]
    x = [float(v) for v in rng.poisson([2.0 + 4.0 * int(c) for c in labels])]
    weights = rng.choice([1.0, 2.0, 0.5], 40).tolist() if weighted else [1.0] * 40
    pooled = math.fsum(w * v for v, w in zip(x, weights, strict=True)) / math.fsum(weights)

    def density(value, values, own):
        rate = (math.fsum(w * v for v, w in zip(values, own, strict=True)) + pooled) / (math.fsum(own) + 1.0)
        return math.exp(value * math.log(rate) - rate - math.lgamma(value + 1.0))

    losses, _ = compared({"x": x}, labels, weights)
    assert losses["x"].losses["poisson"] == pytest.approx(
        leave_one_out_loss(x, labels, weights, density), rel=1e-9
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_loss_is_near_refits_with_the_bandwidth_held(weighted):
    x, labels, weights = rows(50, weighted=weighted, seed=4)
    losses, statistics = compared({"x": x}, labels, weights)
    family = estimate_kernel(statistics.parts["grids"], np.array([0]))
    mean, sd = float(family.mean[0]), float(family.sd[0])
    by_class = {label: float(family.deviations[0, c]) * sd for c, label in enumerate(sorted(set(labels)))}
    owner = dict(zip(x, labels, strict=True))

    def density(value, values, own):
        deviation = by_class[owner[values[0]]]
        kernels = (
            w * math.exp(-0.5 * ((value - v) / deviation) ** 2) for v, w in zip(values, own, strict=True)
        )
        narrow = math.fsum(kernels) / (math.fsum(own) * deviation * math.sqrt(2 * math.pi))
        broad = 1.0 / (math.pi * sd * (1.0 + ((value - mean) / sd) ** 2))
        return (1.0 - BROAD_SHARE) * narrow + BROAD_SHARE * broad

    wanted = leave_one_out_loss(x, labels, weights, density)
    assert losses["x"].losses["kernel"] == pytest.approx(wanted, rel=5e-3)


def test_each_attribute_by_itself():
    x, labels, weights = rows(40)
    z = rows(40, seed=9)[0]
    both, _ = compared({"x": x, "z": z}, labels, weights)
    for name, column in {"x": x, "z": z}.items():
        alone, _ = compared({name: column}, labels, weights)
        assert both[name].losses == pytest.approx(alone[name].losses, rel=1e-12)


@pytest.mark.parametrize(
    ("column", "families"),
    [
        ([0, 1, 2, 5, 3, 4], {"gaussian", "kernel", "poisson"}),
        ([0, 1, 2, float("nan"), 3, 4], {"gaussian", "kernel", "poisson"}),
        ([0, 1, 2, 0.5, 3, 4], {"gaussian", "kernel"}),
        ([0, 1, 2, -1, 3, 4], {"gaussian", "kernel"}),
    ],
)
def test_only_counts_can_be_poisson(column, families):
    losses, _ = compared({"x": column}, ["u", "v"] * 3)
    assert set(losses["x"].losses) == families


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ([1.0, 2.0, 3.0, 9.0], ["u", "u", "u", "v"]),
        ([1.0, 2.0], ["u", "v"]),
        ([5.0] * 4, ["u", "v", "u", "v"]),
        ([float("nan")] * 4, ["u", "v", "u", "v"]),
        ([1.0, 1.0, 2.0, 2.0], ["u", "u", "v", "v"]),
        ([1.0, float("nan"), 2.0, 3.0], ["u", "v", "u", "u"]),
        ([1e300, -1e300, 3.0, 4.0], ["u", "v", "u", "v"]),
    ],
    ids=[
        "a row alone",
        "all alone",
        "constant",
        "nothing",
        "constant in each",
        "a class without values",
        "huge",
    ],
)
def test_losses_are_finite_where_little_is_known(column, labels):
    losses, _ = compared({"x": column}, labels)
    assert all(math.isfinite(loss) for loss in losses["x"].losses.values())
    assert min(losses["x"].losses.values()) >= 0.0
    assert losses["x"].best in ("gaussian", "kernel", "poisson")


def test_rows_of_no_weight_are_absent():
    x, labels, weights = rows(30)
    plain, _ = compared({"x": x}, labels, weights)
    more, _ = compared({"x": [*x, 1e3, -7.0]}, [*labels, "0", "1"], [*weights, 0.0, 0.0])
    assert more["x"].losses == pytest.approx(plain["x"].losses, rel=1e-9)


@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ({}, "gaussian"),
        ({"kernel": 1.0, "gaussian": 1.0}, "gaussian"),
        ({"kernel": 0.5, "gaussian": 1.0}, "kernel"),
        ({"kernel": 3.0, "gaussian": 2.0, "poisson": 1.0}, "poisson"),
    ],
)
def test_the_best_of_equals_is_the_gaussian(losses, best):
    assert Candidates(losses).best == best


def test_whole_numbers_beyond_all_counts_are_no_counts():
    rng = np.random.default_rng(0)
    labels = [str(c) for c in np.arange(40) % 2]
    x = [float(v) for v in rng.normal(1e17, 1e15, 40).round()]
    losses, _ = compared({"x": x}, labels)
    assert losses["x"].losses.keys() == {"gaussian", "kernel"}
    assert np.isfinite(list(losses["x"].losses.values())).all()
