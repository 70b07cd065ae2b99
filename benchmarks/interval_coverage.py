"""Do nine of ten intervals of ``predict_interval`` hold the true posterior?

Rows are drawn from distributions with known posteriors. A model is fitted to some of them and computes 90% intervals
for others. This is repeated with new rows. The share of true posteriors in their intervals should be 0.9 for any number
of training rows. In the tree, x2 depends on x1, more strongly in one class. In the chain, x1 depends on x0, and x2 on
both. Models are given this structure, unless the text says that they learn it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import nbinom

from bayeskit import KDB, SPODE, TAN, BayesNetClassifier, NaiveBayes
from harness import Report, options

QUESTION = "Do nine of ten intervals hold the true posterior?"
LEVEL, ROWS, FITS, DRAWS = 0.9, (150, 30), 400, 300
# The number of test rows after every fit.
ASKED = 25

Floats = NDArray[np.float64]
PRIOR = np.array([0.4, 0.6])
TABLES = (
    np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]),
    np.array([[0.7, 0.3], [0.4, 0.6]]),
    np.full((2, 2), 0.5),
)
MEANS, SPREADS = np.array([[0.0, 1.0], [1.0, 0.5]]), np.array([[1.0, 2.0], [1.5, 1.0]])
RATES = np.array([[1.0, 3.0], [2.0, 2.0]])
# The variance of a visit count is μ + φμ².
VISITS, SPREAD_OUT = np.array([[2.0, 5.0], [4.0, 3.0]]), np.array([[0.5, 1.0], [0.8, 0.4]])
FOLLOWS = np.array([0.3, 0.8])
LETTERS = np.array(list("abcd"), object)


class World(NamedTuple):
    """A distribution to draw (rows, classes) from, and P(c | row) in it."""

    draw: Callable[[np.random.Generator, int], tuple[Any, NDArray[np.intp]]]
    posterior: Callable[[Any], Floats]


def normalised(joint: Floats) -> Floats:
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def words(rng: np.random.Generator, n: int) -> tuple[Any, NDArray[np.intp]]:
    y = rng.choice(2, n, p=PRIOR)
    cells = [(rng.random(n)[:, None] > t.cumsum(axis=1)[y][:, :-1]).sum(axis=1) for t in TABLES]
    return LETTERS[np.column_stack(cells)], y


def tree(rng: np.random.Generator, n: int) -> tuple[Any, NDArray[np.intp]]:
    X, y = words(rng, n)
    follows = rng.random(n) < FOLLOWS[y]
    X[:, 2] = np.where(follows, X[:, 1], LETTERS[rng.integers(0, 2, n)])
    return X, y


def shares_of(rows: Any, n_tables: int) -> tuple[NDArray[np.intp], Floats]:
    codes = np.searchsorted(LETTERS.astype(str), rows.astype(str))
    return codes, np.prod([t[:, codes[:, j]].T for j, t in enumerate(TABLES[:n_tables])], axis=0)


def words_posterior(rows: Any) -> Floats:
    return normalised(PRIOR * shares_of(rows, 3)[1])


def tree_posterior(rows: Any) -> Floats:
    codes, two = shares_of(rows, 2)
    same = (codes[:, 1] == codes[:, 2])[:, None]
    return normalised(PRIOR * two * (FOLLOWS * same + (1 - FOLLOWS) * 0.5))


def numbers(rng: np.random.Generator, n: int) -> tuple[Any, NDArray[np.intp]]:
    y = rng.choice(2, n, p=PRIOR)
    return rng.normal(MEANS[y], SPREADS[y]), y


def numbers_posterior(rows: Any) -> Floats:
    z = (rows[:, None, :] - MEANS) / SPREADS
    return normalised(PRIOR * np.exp(-0.5 * (z * z).sum(axis=2)) / SPREADS.prod(axis=1))


def counts(rng: np.random.Generator, n: int) -> tuple[Any, NDArray[np.intp]]:
    y = rng.choice(2, n, p=PRIOR)
    return rng.poisson(RATES[y]).astype(float), y


def counts_posterior(rows: Any) -> Floats:
    return normalised(PRIOR * np.exp(rows @ np.log(RATES).T - RATES.sum(axis=1)))


def visits(rng: np.random.Generator, n: int) -> tuple[Any, NDArray[np.intp]]:
    y = rng.choice(2, n, p=PRIOR)
    return rng.poisson(rng.gamma(1.0 / SPREAD_OUT[y], SPREAD_OUT[y] * VISITS[y])).astype(float), y


def visits_posterior(rows: Any) -> Floats:
    share = nbinom.pmf(rows[:, None, :], 1.0 / SPREAD_OUT, 1.0 / (1.0 + SPREAD_OUT * VISITS))
    return normalised(PRIOR * share.prod(axis=2))


def chain_tables() -> tuple[Floats, ...]:
    rng = np.random.default_rng(5)
    return tuple(rng.dirichlet(np.ones(4), (2, *[4] * parents)) for parents in range(3))


CHAIN_TABLES = chain_tables()


def chain(rng: np.random.Generator, n: int) -> tuple[Any, NDArray[np.intp]]:
    y = rng.choice(2, n, p=PRIOR)
    found: list[NDArray[np.intp]] = []
    for table in CHAIN_TABLES:
        shares = table[(y, *found)]
        found.append((rng.random(n)[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1))
    return LETTERS[np.column_stack(found)], y


def chain_posterior(rows: Any) -> Floats:
    codes = np.searchsorted(LETTERS.astype(str), rows.astype(str)).T
    given = [table[(slice(None), *codes[: j + 1])].T for j, table in enumerate(CHAIN_TABLES)]
    return normalised(PRIOR * np.prod(given, axis=0))


WORDS, TREE, CHAIN = World(words, words_posterior), World(tree, tree_posterior), World(chain, chain_posterior)
NUMBERS, COUNTS = World(numbers, numbers_posterior), World(counts, counts_posterior)
CROWD = World(visits, visits_posterior)
ARCS, TWO = {"x2": ["x1"]}, {"x1": ["x0"], "x2": ["x0", "x1"]}


def network(arcs: dict[str, list[str]], **settings: Any) -> BayesNetClassifier:
    """Return a network classifier with given arcs: from the class to all columns, and these."""
    names = ("y", "x0", "x1", "x2")
    parents = {child: ["y", *arcs.get(child, [])] for child in names[1:]}
    all_arcs = [(parent, child) for child, given in parents.items() for parent in given]
    others = [(a, b) for a in names for b in names if a != b and (a, b) not in all_arcs]
    return BayesNetClassifier("hill-climbing", required=all_arcs, forbidden=others, **settings)


CASES: dict[str, tuple[World, Callable[[], Any]]] = {
    "NaiveBayes, tables": (WORDS, NaiveBayes),
    "NaiveBayes, gaussian": (NUMBERS, NaiveBayes),
    "NaiveBayes, student": (NUMBERS, lambda: NaiveBayes(numeric="student")),
    "NaiveBayes, poisson": (COUNTS, lambda: NaiveBayes(numeric="poisson")),
    "NaiveBayes, negative-binomial": (CROWD, lambda: NaiveBayes(numeric="negative-binomial")),
    "SPODE, smoothing=1": (TREE, lambda: SPODE(super_parent="x1", smoothing=1.0)),
    "TAN, smoothing=1": (TREE, lambda: TAN(structure=ARCS, smoothing=1.0)),
    "TAN, back-off (its default)": (TREE, lambda: TAN(structure=ARCS)),
    "TAN, back-off, the tree found": (TREE, TAN),
    "KDB of two parents, back-off": (CHAIN, lambda: KDB(structure=TWO)),
    "BayesNetClassifier, BDeu (its default)": (TREE, lambda: network(ARCS)),
    "BayesNetClassifier, Laplace": (TREE, lambda: network(ARCS, smoothing="laplace")),
    "BayesNetClassifier, Laplace, the tree found": (
        TREE,
        lambda: BayesNetClassifier("tan", smoothing="laplace"),
    ),
    "BayesNetClassifier, gaussian": (NUMBERS, lambda: BayesNetClassifier("naive")),
}


def coverage(world: World, model: Callable[[], Any], n: int, fits: int, draws: int) -> float:
    """Return the share of true posteriors that lie in their intervals."""
    rng, inside = np.random.default_rng(1), []
    for fit in range(fits):
        X, y = world.draw(rng, n)
        rows, _ = world.draw(rng, ASKED)
        found = model().fit(X, y).predict_interval(rows, LEVEL, n_samples=draws, random_state=fit)
        truth = world.posterior(rows)
        # With few rows, a class may be missing, and the posteriors are then not comparable.
        if found.posterior.shape == truth.shape:
            inside.append((found.lower <= truth) & (truth <= found.upper))
    return float(np.mean(inside))


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    fits = max(5, round(FITS * given.scale))
    report.note(f"{fits} fits, {ASKED} rows asked after each, {DRAWS} draws an interval, level {LEVEL}")
    for name, (world, model) in CASES.items():
        for n in ROWS:
            report.claim(f"{name}, {n} rows", coverage(world, model, n, fits, DRAWS), at_least=0.85)
    report.finish()


if __name__ == "__main__":
    main()
