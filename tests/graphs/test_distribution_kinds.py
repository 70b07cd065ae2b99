"""What every kind of distribution of a node says of itself: the log-probability of rows, points, a constant.

At the end a kind is added from outside the library, by the recipe of CONTRIBUTING.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from bayeskit import BayesianNetwork, read_network
from bayeskit._graphs.distributions import Deterministic, LinearGaussian, NoisyMax, Softmax, Table, frozen
from bayeskit._io.networks.native_json import KINDS, InFile, Kind, listed
from bayeskit.errors import ModelFormatError, SettingError
from refusals import refuses

TABLE = Table([[0.8, 0.2], [0.25, 0.75]])
RULE = Deterministic([0, 1], 2)
NOISY = NoisyMax(([[1.0, 0.0], [0.25, 0.75]],), [0.5, 0.5])
ROWS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
NOTHING = np.empty((4, 0))


@pytest.mark.parametrize("given", [TABLE, RULE, NOISY], ids=lambda given: type(given).__name__)
def test_a_discrete_kind_says_what_its_table_says(given):
    with np.errstate(divide="ignore"):
        expected = np.log(given.table()[tuple(ROWS.T)])
    assert np.allclose(given.log_prob(ROWS, NOTHING), expected, rtol=1e-12)
    assert np.allclose(given.log_prob(ROWS), expected, rtol=1e-12)
    assert given.is_smooth and math.isnan(given.constant)


def test_a_regression_says_the_density_of_the_child():
    given = LinearGaussian([1.0, 2.0], [[0.5], [-1.0]], [4.0, 0.25])
    codes, numbers = np.array([[0], [1]]), np.array([[2.0, 5.0], [2.0, 0.5]])
    # Means 1 + 0.5·2 = 2 and 2 − 2 = 0; residuals 3 and 0.5.
    expected = [-0.5 * (math.log(2 * math.pi * 4) + 9 / 4), -0.5 * (math.log(2 * math.pi / 4) + 1)]
    assert np.allclose(given.log_prob(codes, numbers), expected, rtol=1e-12)
    mean, variance = given.moments(codes, numbers[:, :-1])
    assert mean.tolist() == [2.0, 0.0] and variance.tolist() == [4.0, 0.25]
    assert given.is_smooth and math.isnan(given.constant)


def test_without_variance_a_row_is_certain_or_impossible():
    point = LinearGaussian(3.0, np.zeros(0), 0.0)
    assert point.log_prob(np.empty((2, 0), int), np.array([[3.0], [4.0]])).tolist() == [0.0, -math.inf]
    assert not point.is_smooth and point.constant == 3.0
    copy = LinearGaussian(0.0, [1.0], 0.0)  # follows its parent, which may be anything
    assert copy.log_prob(np.empty((2, 0), int), np.array([[7.0, 7.0], [7.0, 8.0]])).tolist() == [
        0.0,
        -math.inf,
    ]
    assert not copy.is_smooth and math.isnan(copy.constant)
    assert math.isnan(LinearGaussian([1.0, 1.0], np.zeros((2, 0)), [0.0, 1.0]).constant)


def test_a_softmax_says_the_share_of_the_state():
    given = Softmax([[0.0, -3.0], [0.0, 1.0]], [[[0.0], [0.5]], [[0.0], [0.0]]])
    codes, numbers = np.array([[0, 1], [0, 0], [1, 1]]), np.array([[6.0], [10.0], [10.0]])
    shares = [0.5, 1 / (1 + math.exp(2.0)), 1 / (1 + math.exp(-1.0))]
    assert np.allclose(given.log_prob(codes, numbers), np.log(shares), rtol=1e-12)
    assert given.is_smooth and math.isnan(given.constant)


@dataclass(frozen=True, eq=False)
class Binomial:
    """A kind from outside the library: the child counts successes of n trials; the parents say how likely one is."""

    p: np.ndarray
    n: int
    is_smooth: ClassVar[bool] = True
    constant: ClassVar[float] = math.nan

    def __post_init__(self):
        object.__setattr__(self, "p", frozen(self.p))

    def table(self):
        k = np.arange(self.n + 1)
        ways = np.array([math.comb(self.n, int(each)) for each in k])
        p = self.p[..., None]
        return ways * p**k * (1.0 - p) ** (self.n - k)

    @property
    def n_numbers(self):
        return self.p.size

    @property
    def n_free(self):
        return self.p.size

    def log_at(self, codes):
        with np.errstate(divide="ignore"):
            return np.log(self.table()[tuple(slice(None) if code < 0 else code for code in codes)])

    def log_rows(self, parents, numbers=None):
        with np.errstate(divide="ignore"):
            return np.log(np.broadcast_to(self.table()[tuple(parents.T)], (len(parents), self.n + 1)))

    def log_prob(self, codes, numbers=None):
        return self.log_rows(codes[:, :-1])[np.arange(len(codes)), codes[:, -1]]

    def is_positive(self, codes):
        return bool((self.log_at(codes) > -np.inf).all())

    def __eq__(self, other):
        return isinstance(other, Binomial) and self.n == other.n and np.array_equal(self.p, other.p)

    __hash__ = None


def read_binomial(given: InFile) -> Binomial:
    p = np.array(listed(given.plain, "p", given.where), float)
    shape = tuple(parent.size for parent in given.parents)
    given.budget.take([*shape, given.variable.size], given.variable.name)
    if p.size != math.prod(shape) or not ((p >= 0) & (p <= 1)).all():
        raise ModelFormatError("{where} needs a probability for each row.", where=given.where)
    return Binomial(p.reshape(shape), given.variable.size - 1)


@pytest.fixture
def with_binomial(monkeypatch):
    """The line of the recipe, undone after the test."""
    kind = Kind(Binomial, lambda d: {"p": d.p.ravel().tolist()}, read_binomial)
    monkeypatch.setitem(KINDS, "binomial", kind)


def dice(distribution) -> BayesianNetwork:
    network = BayesianNetwork(
        {"successes": ["coin", "day"], "prize": ["successes"]},
        states={"coin": ["fair", "bent"], "day": [0, 1], "successes": [0, 1, 2, 3], "prize": ["no", "yes"]},
    )
    network.set_cpt("coin", [0.75, 0.25])
    network.set_cpt("day", [0.5, 0.5])
    network.set_cpt("successes", distribution)
    network.set_cpt("prize", [[1, 0], [0.5, 0.5], [0.25, 0.75], [0, 1]])
    return network


P = [[0.5, 0.25], [0.875, 1.0]]


def test_a_kind_of_ones_own_answers_as_its_table_does(with_binomial, tmp_path):
    network, tabled = dice(Binomial(P, 3)), dice(Binomial(P, 3).table())
    assert network.distribution("successes") == Binomial(P, 3)
    assert network.cpt("successes")[("fair", 0, 3)] == pytest.approx(0.125)
    evidence = {"prize": "yes", "day": 0}
    np.testing.assert_allclose(
        network.query("coin", evidence).values, tabled.query("coin", evidence).values, rtol=0, atol=1e-15
    )
    for method in ("gibbs", "likelihood weighting", "loopy"):
        one, other = (
            net.approximate("coin", evidence=evidence, method=method, random_state=0)
            for net in (network, tabled)
        )
        np.testing.assert_array_equal(one.values, other.values)
    rows = network.sample(50, random_state=1)
    assert rows.equals(tabled.sample(50, random_state=1))
    assert network.log_likelihood(rows) == pytest.approx(tabled.log_likelihood(rows), rel=1e-12)
    assert network == tabled and network == network.copy() == copy.deepcopy(network)
    assert (network.n_parameters, tabled.n_parameters) == (2 + 4 + 4, 2 + 12 + 4)
    network.write(tmp_path / "dice.json")
    again = read_network(tmp_path / "dice.json")
    assert again.distribution("successes") == Binomial(P, 3) and again == network
    for format in ("bif", "xdsl", "net", "xmlbif"):
        network.write(tmp_path / f"dice.{format}")
        read = read_network(tmp_path / f"dice.{format}")
        np.testing.assert_array_equal(read.cpt("successes").values, Binomial(P, 3).table())


def test_a_kind_that_does_not_fit_is_refused(with_binomial, tmp_path):
    with refuses(SettingError, "Binomial", "successes", "(2, 2, 3)", "(2, 2, 4)"):
        dice(Binomial(P, 2))
    with refuses(SettingError, "successes", "bent", -3.375):
        dice(Binomial([[0.5, 0.5], [0.5, -0.5]], 3))


def test_a_kind_without_its_line_is_not_written(tmp_path):
    with refuses(SettingError, "successes", "Binomial", "set_cpt"):
        dice(Binomial(P, 3)).write(tmp_path / "dice.json")
    assert not [*tmp_path.iterdir()]
