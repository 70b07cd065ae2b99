"""Every kernel gives the same bits in plain Python as compiled."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from estimators import VARIANTS
from scipy.sparse import csr_matrix
from sklearn.base import clone

import bayeskit
from bayeskit import (
    AODE,
    TAN,
    BayesianNetwork,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianMixture,
    HiddenMarkov,
    LatentClass,
    MultinomialNB,
    NaiveBayes,
    learn_network,
)
from bayeskit import _numba as module
from bayeskit._counting.count_grids import SLOT_BITS, fill_grid
from bayeskit._fitting.search.search_network import distinct_rows
from bayeskit._inference.clique_tree import make_tree, shape_tree
from bayeskit._inference.kernels.fill import rescale
from bayeskit._inference.potentials import Evidence
from bayeskit._inference.triangulation import make_problem, triangulate
from bayeskit._inference.two_pass import TwoPass, all_margins
from bayeskit.errors import BayeskitError
from bayeskit.networks import asia
from both_ways import both_ways
from engine_twin import window
from network_twin import random_network

RNG = np.random.default_rng(7)
N = 40
Y = RNG.integers(0, 3, N)
WORDS = np.array([*"abcd"])[
    (RNG.integers(0, 3, (N, 4)) + (Y[:, None] * (RNG.random((N, 4)) < 0.4)).astype(int)) % 4
]
COUNTS = RNG.poisson(2.0 + Y[:, None], (N, 5)).astype(float)
# Few different numbers, so that they can be states as well.
NUMBERS = np.round(RNG.normal(Y[:, None], 1.0, (N, 3)))


def mixed(holes: float) -> dict[str, Any]:
    """Return columns of words and of numbers, a share of the cells missing."""
    found: dict[str, Any] = {}
    for j in range(WORDS.shape[1]):
        found[f"w{j}"] = np.where(RNG.random(N) < holes, None, WORDS[:, j].astype(object))
    for j in range(NUMBERS.shape[1]):
        found[f"n{j}"] = np.where(RNG.random(N) < holes, np.nan, NUMBERS[:, j])
    return found


def kernels() -> dict[str, Any]:
    """Return every kernel of the package by its full name."""
    for found in pkgutil.walk_packages(bayeskit.__path__, "bayeskit."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    every = {one for one in module._deferred.values() if (one.__module__ or "").startswith("bayeskit.")}
    return {f"{one.__module__}.{one.__qualname__}": one for one in every if one._make is module._compiled}


def use(model: Any, X: Any, weights: Any = None) -> None:
    """Put a classifier to all its uses that it has for these rows."""
    model.fit(X, Y, **({} if weights is None else {"sample_weight": weights}))
    model.predict_proba(X)
    for verb in (
        lambda: model.leave_one_out(X, Y),
        lambda: model.partial_fit(X, Y, sample_weight=weights),
        lambda: model.predict_proba(X),
        lambda: model.fade(0.5),
        lambda: model.forget(X, Y, sample_weight=0.5 * (np.ones(N) if weights is None else weights)),
        lambda: model.predict_proba(X),
    ):
        with suppress(BayeskitError, AttributeError):
            verb()


def classifiers() -> None:
    """Every classifier on the rows that it takes, whole and with holes, of weight one and of others."""
    weights = RNG.uniform(0.5, 2.0, N)
    every = [getattr(one, "values", (one,))[0] for one in VARIANTS]
    for model in every:
        for X, w in ((mixed(0.0), None), (mixed(0.2), weights), (COUNTS, None)):
            with suppress(BayeskitError, TypeError):  # networks take no weights
                use(clone(model), X, w)


def streams() -> None:
    """Rows one by one, whole and with holes, of numbers near their pivot and far from it."""
    for holes in (0.0, 0.2):
        columns = mixed(holes)
        rows = [{name: cells[i] for name, cells in columns.items()} for i in range(N)]
        model = NaiveBayes().fit(columns, Y)
        for i, row in enumerate(rows):
            model.learn_one({**row, "n0": row["n0"] + 1e3 * (i > N // 2)}, int(Y[i]), 1.0 + 0.25 * (i % 3))
            model.predict_one(row)


def sparse_rows() -> None:
    for cls in (BernoulliNB, MultinomialNB, ComplementNB):
        for w in (None, RNG.uniform(0.5, 2.0, N)):
            use(cls(), csr_matrix(COUNTS), w)
            use(cls(semi_supervised=True), csr_matrix(COUNTS), w)


def unlabelled() -> None:
    y = np.where(RNG.random(N) < 0.5, None, Y.astype(object))
    for model in (
        NaiveBayes(semi_supervised=True),
        GaussianBayes(semi_supervised=True),
        TAN(semi_supervised=True),
    ):
        for X in (mixed(0.0), mixed(0.2), NUMBERS):
            with suppress(BayeskitError):
                model.fit(X, y)


def mixtures() -> None:
    holed = np.where(RNG.random(NUMBERS.shape) < 0.15, np.nan, NUMBERS)
    for kind in ("full", "tied", "diag", "spherical"):
        for X in (NUMBERS, holed):
            for hard in (False, True):
                model = GaussianMixture(2, covariance_type=kind, random_state=0, max_iter=3, hard=hard).fit(X)
                model.score_samples(X)
    for X in (mixed(0.0), mixed(0.2)):
        LatentClass(2, random_state=0, max_iter=3).fit(X).predict_proba(X)


def sequences() -> None:
    """Hidden Markov models, in probabilities and in logarithms."""
    words = [WORDS[:25, 0].tolist(), [*WORDS[25:, 0].tolist(), None]]
    numbers = [NUMBERS[:25], np.where(RNG.random((15, 3)) < 0.2, np.nan, NUMBERS[25:])]
    for kind, given in (("categorical", words), ("gaussian", numbers)):
        model = HiddenMarkov(3, emission=kind, n_init=2, max_iter=3).fit(given)
        model.predict(given)
        model.predict_proba(given)
    HiddenMarkov.of(np.full(5, 0.2), np.full((5, 5), 0.2), emissionprob=np.full((5, 2), 0.5)).predict(
        [0, 1, 1]
    )
    stuck = HiddenMarkov.of([0.5, 0.5], np.eye(2), emissionprob=[[0.99, 0.01, 0.0], [0.01, 0.98, 0.01]])
    stuck.predict_proba([0] * 160 + [2])


def network_questions() -> None:
    """Exact and sampled answers of a network, one question at a time and in rows."""
    for network in (asia(), random_network(np.random.default_rng(3), 9)):
        network = network if isinstance(network, BayesianNetwork) else BayesianNetwork._of(network)
        first, *_, middle, last = network.nodes
        rows = network.sample(N, random_state=0, as_codes=True)
        seen = {first: network.states(first)[rows[0, 0]]}
        soft = {middle: np.arange(1.0, 1.0 + len(network.states(middle)))}
        network.query(last, evidence=seen, soft=soft)
        network.query([last, first], max_memory=3e5)
        network.posteriors(seen, soft=soft)
        network.mpe(seen)
        network.sample(20, random_state=1, evidence=seen)
        for method in ("likelihood weighting", "gibbs", "rejection", "loopy"):
            with suppress(BayeskitError):
                network.approximate(last, evidence=seen, method=method, n_samples=60)
        frame = {
            node: np.array([*network.states(node)], object)[rows[:, j]]
            for j, node in enumerate(network.nodes)
        }
        network.predict_proba({k: v for k, v in frame.items() if k != last}, last)
        network.log_prob(frame)
        holed = {k: np.where(RNG.random(N) < 0.2, None, v) for k, v in frame.items()}
        network.predict_proba(holed, last)
        network.log_prob(holed)
        network.copy().fit(holed, method="em", max_iter=2)
        network.copy().fit(holed, method="em", hard=True, max_iter=2)


def searches() -> None:
    """Every way to learn a network, from rows of weight one and of others."""
    words = {f"w{j}": WORDS[:, j] for j in range(WORDS.shape[1])}
    for method in ("auto", "hill-climbing", "tabu", "ges", "order", "exact", "k2", "chow-liu", "pc", "mmhc"):
        weighted = {"sample_weight": RNG.uniform(0.5, 2.0, N)}
        for settings in ({}, weighted, {"criterion": "bdeu"}, {"test": "g2"}, {"test": "mi-sh"}):
            for data in (words, mixed(0.0)):
                with suppress(BayeskitError):
                    learn_network(data, method=method, **settings)
    for states, rows in ((2, 300), (16, 2_000)):  # by bits, by codes: tests need rows enough for their cells
        several = {name: RNG.integers(0, states, rows).astype(str) for name in "abc"}
        for test in ("g2", "x2-adf", "mi-sh"):
            learn_network(several, method="pc", test=test)
    distinct_rows(RNG.integers(0, 3, (2, N)).astype(np.uint8), None, N)
    learn_network({f"x{j}": RNG.normal(size=N) for j in range(4)})
    holed = {name: np.where(RNG.random(N) < 0.2, None, column) for name, column in words.items()}
    learn_network(holed, method="structural-em")


def corners() -> None:
    """What the usual rows do not reach."""
    for classes in (7, 9):
        many = np.arange(N) % classes
        for model in (NaiveBayes(), AODE(), TAN(), NaiveBayes(calibration="isotonic")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # few rows a class
                model.fit(WORDS, many).predict(WORDS)
    NaiveBayes(numeric="poisson").fit(COUNTS, Y).leave_one_out(COUNTS, Y)
    slots, ids, counts = np.empty(1 << SLOT_BITS, np.int32), np.empty(9, np.int64), np.zeros((9, 3))
    fill_grid(
        np.linspace(-9.0, 9.0, N)[:, None], 0, Y, np.ones(N), (1.0, 1.0), slots, ids, counts
    )  # more cells than there is room for
    rescale(np.array([1e-9, 0.0, 3.0]), 0, 3)
    field, nothing = window(12, 4), Evidence.nothing(12)
    problem = make_problem(field, nothing.codes, None)
    tree = make_tree(shape_tree(problem, triangulate(problem), one_way=True))
    all_margins(tree, TwoPass(tree.shape, 2**20), field, nothing)
    AODE(smoothing="witten-bell", categorical_features="all").fit(WORDS, Y).leave_one_out(WORDS, Y)
    # Two states and so many rows are counted as bits.
    pairs = np.tile(np.where(WORDS == "a", "a", "b"), (5, 1)).astype(object)
    pairs[0, 0] = None
    AODE().fit(pairs, np.tile(Y, 5))
    codes = RNG.integers(0, 4, (N, 5))
    CategoricalNB().fit(codes, Y).predict(codes[:, ::-1])
    NaiveBayes(categorical_features="all").fit(3 * codes - 2, Y).predict(3 * codes - 2)
    y = np.where(RNG.random(N) < 0.5, None, (Y > 0).astype(object))
    NaiveBayes(semi_supervised=True).fit(WORDS, y)
    MultinomialNB(semi_supervised=True).fit(csr_matrix(COUNTS), y)
    far = BayesianNetwork({"a": [], "b": ["a"], "c": ["a"]}, states=["no", "yes"])
    far.set_cpt("a", [0.5, 0.5])
    far.set_cpt("b", [[1e-300, 1.0], [1.0, 0.0]])
    far.set_cpt("c", [[1.0, 0.0], [1e-300, 1.0]])
    far.predict_proba({"b": ["no", "yes"], "c": ["no", "yes"]}, "a")
    holed = np.where(RNG.random(NUMBERS.shape) < 0.2, np.nan, RNG.normal(size=NUMBERS.shape))
    GaussianBayes().fit(holed, Y).predict(holed)
    GaussianBayes(shrinkage="ledoit-wolf").fit(NUMBERS, Y).leave_one_out(NUMBERS, Y)
    copied = np.hstack([NUMBERS, NUMBERS])
    GaussianBayes(predictive="student").fit(copied, Y).leave_one_out(copied, Y)


# Together they call every kernel.
WORK = (
    classifiers,
    sparse_rows,
    streams,
    unlabelled,
    mixtures,
    sequences,
    network_questions,
    searches,
    corners,
)


@pytest.mark.skipif(np.__version__.startswith("1."), reason="NumPy 1 makes a float of uint64 + int")
@pytest.mark.timeout(2400)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_kernel_gives_the_same_bits_both_ways(every):
    with both_ways(every=every) as ran:
        for work in WORK:
            work()
    assert sorted(name for name, one in kernels().items() if one.py_func.__code__ not in ran) == []
