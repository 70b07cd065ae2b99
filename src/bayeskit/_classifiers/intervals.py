"""Credible intervals of class posteriors.

The counts behind a model are finite, so its tables are not known exactly. They have a posterior distribution:
Dirichlet for tables, normal-inverse-gamma for normals. Each draw of all of them gives one posterior of the
class, and the quantiles over the draws show how certain P(c | x) is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayeskit._conditionals.class_prior import ClassPrior, class_factors
from bayeskit._conditionals.conditional import DrawRule, ParameterPosterior
from bayeskit._conditionals.posterior_draws import Draws, log_dirichlet
from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._data.table import Table
from bayeskit._fitting.model import ModelSpec, class_prior_of, weighted_classes
from bayeskit._random_state import seed_of
from bayeskit._schema import Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import NotSupported, SettingError
from bayeskit.priors import MAP, BackOff
from bayeskit.typing import Floats, Seed

if TYPE_CHECKING:
    from bayeskit._classifiers.base_classifier import BaseClassifier


def posterior_draws(model: BaseClassifier, table: Table, draws: Draws) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks: a slice of the rows, and their P(c | x) under every draw, shape (rows, draws, K)."""
    fitted = model._reader("predict_interval")
    assert fitted.spec is not None
    drawn = drawable_model(model.statistics_, fitted.spec, type(model).__name__)
    encoded = fitted.encode(table, drawn.schema, fitted.spec.unseen)
    for start, stop in blocks_of(encoded, draws.n):
        logs = drawn.log_posteriors(encoded.chunk(start, stop), draws)
        n, _, k = logs.shape
        shares = np.exp(model._calibrated(logs.reshape(-1, k), drawn.schema)).reshape(n, draws.n, k)
        yield slice(start, stop), shares


def quantiles(shares: Floats, at: tuple[float, float, float]) -> Floats:
    """Return quantiles over the draws: shape (3, n, K). With two classes, those of one mirror the other's."""
    if shares.shape[2] != 2:
        return np.asarray(np.quantile(shares, at, axis=1))
    first = np.quantile(np.ascontiguousarray(shares[:, :, 0]), at, axis=1)
    return np.stack([first, 1.0 - first[::-1]], axis=2)


def checked_interval(level: float, n_samples: int, random_state: Seed) -> tuple[float, int, int]:
    """Check level, number of samples and seed, and return them as numbers."""
    number = isinstance(level, (int, float, np.integer, np.floating)) and not isinstance(level, bool)
    if not number or not 0.0 < float(level) < 1.0:
        raise SettingError(
            "level is {level!r}; give a probability between 0 and 1, such as 0.9.", level=level
        )
    least = 10
    if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or n_samples < least:
        raise SettingError(
            "{name} is {value!r}; give a whole number of at least {least}.",
            name="n_samples",
            value=n_samples,
            least=least,
        )
    return float(level), int(n_samples), seed_of(random_state)


# The number of doubles in one block of rows under all draws, sized for the L2 cache. Blocks of texts are larger,
# because the words are drawn again for each block.
_BLOCK, _BLOCK_OF_TEXTS = 2**18, 2**22


class DrawableModel(NamedTuple):
    """A model whose tables can be drawn: the posterior of its conditionals and of P(c), given the raw counts.

    ``factors`` are the class weights, which shift P(c) but add no rows. ``above_mode`` is 1 if the imaginary
    rows of P(c) define a mode instead of a mean. ``adds_prior`` is False if a conditional contains P(c | parents).
    """

    schema: Schema
    posteriors: tuple[ParameterPosterior, ...]
    prior: ClassPrior
    factors: Floats
    above_mode: float
    adds_prior: bool = True

    def log_posteriors(self, chunk: Chunk, draws: Draws) -> Floats:
        """Return log P(c | x) of each row under each draw: shape (n, draws, K)."""
        prior = self._prior_draws(draws)
        with np.errstate(divide="ignore"):
            first = prior if self.adds_prior else np.broadcast_to(np.log(self.factors), prior.shape)
        out = np.repeat(first[None], chunk.n_rows, axis=0)
        for posterior in self.posteriors:
            posterior.add(chunk, draws, out)
        best = out.max(axis=2, keepdims=True)
        impossible = np.isneginf(best[:, :, 0])
        if impossible.any():  # predict_proba also returns the prior for such rows
            out[impossible] = np.broadcast_to(prior, out.shape)[impossible]
            best = out.max(axis=2, keepdims=True)
        out -= best
        out -= np.log(np.exp(out).sum(axis=2, keepdims=True))
        return out

    def _prior_draws(self, draws: Draws) -> Floats:
        """Return log P(c) of each draw, shape (draws, K). If the prior was given, all draws are equal."""
        if self.prior.mass is None:
            return np.repeat(self.prior.log[None], draws.n, axis=0)
        counts = (self.prior.counts + self.prior.mass + self.above_mode)[:, None]
        logs = draws.get((0,), lambda rng: log_dirichlet(rng, counts, draws.n))[:, :, 0].T
        with np.errstate(divide="ignore"):
            logs = logs + np.log(self.factors)
        best = logs.max(axis=1, keepdims=True)
        return np.asarray(logs - best - np.log(np.exp(logs - best).sum(axis=1, keepdims=True)))


def drawable_model(statistics: Statistics, spec: ModelSpec, who: str) -> DrawableModel:
    """Estimate a model whose tables can be drawn, or raise an error that says why this is impossible."""
    schema = statistics.schema
    factors = class_factors(spec.class_weight, statistics.class_counts, schema.target)
    # The class weights affect the choice of a structure, but not the number of rows behind a table.
    form = spec.form.settled(weighted_classes(statistics, spec), spec)
    raw = replace(spec, form=form, class_weight=None)
    prior = class_prior_of(statistics, raw)
    priors = [spec.smoothing.of(v) for v in schema.categorical]
    above_mode = np.array([isinstance(prior, MAP) for prior in priors], dtype=np.float64)
    by_rows = np.array([isinstance(p, BackOff) and p.constants is None for p in priors], dtype=np.bool_)
    rule = DrawRule(who, above_mode, by_rows, float(isinstance(spec.class_smoothing, MAP)))
    try:
        conditionals = form.conditionals(statistics, raw, prior)
        posteriors = tuple(conditional.posterior(rule) for conditional in conditionals)
    except NotSupported as error:
        raise NotSupported(
            "predict_interval draws the tables behind P(c | x), and {error}. NaiveBayes (tables, and densities of a "
            "few parameters), GaussianNB, BernoulliNB, MultinomialNB, CategoricalNB, SPODE, TAN, KDB, SelectiveKDB and "
            "BayesNetClassifier have intervals.",
            error=error,
        ) from None
    weights = np.ones(schema.n_classes) if factors is None else factors
    adds_prior = all(conditional.adds_prior for conditional in conditionals)
    return DrawableModel(schema, posteriors, prior, weights, rule.class_above_mode, adds_prior)


def blocks_of(encoded: EncodedTable, draws: int) -> list[tuple[int, int]]:
    """Return the bounds of the blocks of rows that are processed at a time."""
    cells = _BLOCK if encoded.schema.block is None else _BLOCK_OF_TEXTS
    step = max(1, cells // max(draws * encoded.schema.n_classes, 1))
    return [(start, min(start + step, encoded.n_rows)) for start in range(0, encoded.n_rows, step)]
