"""Statistics × recipe × rows → credible intervals of the class posterior.

The counts behind a model are finite, so its tables are not known exactly: they have a posterior distribution, Dirichlet
for tables and normal-inverse-gamma for normals. Each draw of all of them gives a posterior of the class; the quantiles
over the draws say how far P(c | x) can be trusted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.chunk import Chunk
from bayeskit.data.encoded import Encoded
from bayeskit.errors import UsageError
from bayeskit.estimation.averaged import Averaged
from bayeskit.estimation.bernoulli_block import BernoulliBlock
from bayeskit.estimation.child_gaussians import ChildGaussians
from bayeskit.estimation.class_prior import ClassPrior, class_factors
from bayeskit.estimation.drawn_blocks import add_block_draws
from bayeskit.estimation.drawn_families import add_table_draws
from bayeskit.estimation.drawn_numbers import add_number_draws
from bayeskit.estimation.drawn_shares import PairShares, PlainShares, TrieShares
from bayeskit.estimation.families import FamilyTries
from bayeskit.estimation.gaussian import Gaussian
from bayeskit.estimation.kernel_density import KernelDensity
from bayeskit.estimation.multinomial import Multinomial
from bayeskit.estimation.one_parent import OneParent
from bayeskit.estimation.poisson import Poisson
from bayeskit.estimation.posterior_draws import Draws, log_dirichlet
from bayeskit.estimation.presence import Presence
from bayeskit.estimation.student import Student
from bayeskit.estimation.table import TableConditional
from bayeskit.learning.model import class_prior_of, weighted_classes
from bayeskit.learning.recipe import Recipe
from bayeskit.priors import MAP, BackOff
from bayeskit.schema import Schema
from bayeskit.statistics import Statistics

Floats = NDArray[np.float64]

_NUMBERS = (Gaussian, Student, Poisson, Presence, ChildGaussians)
_BLOCKS = (Multinomial, BernoulliBlock)
_DRAWN = (TableConditional, OneParent, FamilyTries, *_NUMBERS, *_BLOCKS)

# Doubles of one block of rows under all draws: what a second cache holds. Texts are multiplied in larger ones, since
# their words are drawn for each block.
_BLOCK, _BLOCK_OF_TEXTS = 2**18, 2**22


class Drawn(NamedTuple):
    """A model whose tables can be drawn: its conditionals and P(c), both of the raw counts.

    ``factors`` are the weights of the classes, which shift P(c) but stand for no more rows. ``above_mode`` and
    ``by_rows`` say of each categorical attribute whether its estimate is a mode, and whether rows chose its back-off.
    """

    schema: Schema
    conditionals: tuple[Any, ...]
    prior: ClassPrior
    factors: Floats
    above_mode: Floats
    by_rows: NDArray[np.bool_]

    def log_posteriors(self, chunk: Chunk, draws: Draws) -> Floats:
        """Return log P(c | x) of each row under each draw: shape (n, draws, K)."""
        prior = self._prior_draws(draws)
        out = np.repeat(prior[None], chunk.n_rows, axis=0)
        for conditional in self.conditionals:
            match conditional:
                case TableConditional():
                    shares = PlainShares(conditional, self.above_mode)
                    add_table_draws(shares, chunk.codes, draws, chunk.first_row, out)
                case OneParent():
                    pairs = PairShares(conditional, self.above_mode, self.by_rows)
                    add_table_draws(pairs, chunk.codes, draws, chunk.first_row, out)
                case FamilyTries():
                    tries = TrieShares(conditional, self.above_mode, self.by_rows)
                    add_table_draws(tries, chunk.codes, draws, chunk.first_row, out)
                case Multinomial() | BernoulliBlock():
                    add_block_draws(conditional, chunk, draws, out)
                case _:
                    add_number_draws(conditional, chunk, draws, out)
        best = out.max(axis=2, keepdims=True)
        impossible = np.isneginf(best[:, :, 0])
        if impossible.any():  # as a prediction answers such a row
            out[impossible] = np.broadcast_to(prior, out.shape)[impossible]
            best = out.max(axis=2, keepdims=True)
        out -= best
        out -= np.log(np.exp(out).sum(axis=2, keepdims=True))
        return out

    def _prior_draws(self, draws: Draws) -> Floats:
        """log P(c) of each draw, shape (draws, K); all alike where it was given."""
        if self.prior.mass is None:
            return np.repeat(self.prior.log[None], draws.n, axis=0)
        counts = (self.prior.counts + self.prior.mass)[:, None]
        logs = draws.get((0,), lambda rng: log_dirichlet(rng, counts, draws.n))[:, :, 0].T
        with np.errstate(divide="ignore"):
            logs = logs + np.log(self.factors)
        best = logs.max(axis=1, keepdims=True)
        return np.asarray(logs - best - np.log(np.exp(logs - best).sum(axis=1, keepdims=True)))


def drawn_of(statistics: Statistics, recipe: Recipe, who: str) -> Drawn:
    """Estimate a model whose tables can be drawn, or say that and why it cannot be."""
    schema = statistics.schema
    factors = class_factors(recipe.class_weight, statistics.class_counts, schema.target)
    # A structure is chosen under the weights; the rows behind a table are those that were counted.
    form = recipe.form.settled(weighted_classes(statistics, recipe), recipe)
    raw = replace(recipe, form=form, class_weight=None)
    prior = class_prior_of(statistics, raw)
    conditionals = form.conditionals(statistics, raw, prior)
    for conditional in conditionals:
        if not isinstance(conditional, _DRAWN):
            raise UsageError(
                f"predict_interval draws the tables behind P(c | x), and {_reason(conditional, who)}. NaiveBayes "
                "(tables, gaussian, student, poisson), GaussianNB, BernoulliNB, MultinomialNB, CategoricalNB, SPODE, "
                "TAN, KDB, SelectiveKDB and BayesNetClassifier have intervals."
            )
    priors = [recipe.smoothing.of(v) for v in schema.categorical]
    above_mode = np.array([isinstance(prior, MAP) for prior in priors], dtype=np.float64)
    by_rows = np.array([isinstance(p, BackOff) and p.constants is None for p in priors], dtype=np.bool_)
    weights = np.ones(schema.n_classes) if factors is None else factors
    return Drawn(schema, conditionals, prior, weights, above_mode, by_rows)


def _reason(conditional: Any, who: str) -> str:
    if isinstance(conditional, Averaged):
        return f"{who} averages over models that share their counts, so no one posterior of tables stands behind it"
    if isinstance(conditional, KernelDensity):
        return 'a kernel density is no distribution with a few parameters (choose families={...: "gaussian"})'
    return f"{who} is no product of tables and densities with a posterior of their own"


def blocks_of(encoded: Encoded, draws: int) -> list[tuple[int, int]]:
    """Return bounds of as many rows as are drawn for at a time."""
    cells = _BLOCK if encoded.schema.block is None else _BLOCK_OF_TEXTS
    step = max(1, cells // max(draws * encoded.schema.n_classes, 1))
    return [(start, min(start + step, encoded.n_rows)) for start in range(0, encoded.n_rows, step)]
