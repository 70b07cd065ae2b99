"""Explanations, contributions, credible intervals, value of information and novelty for classifiers of counts.

The value of a missing value is computed from its joint distribution with the class, state by state. Novelty
is measured against rows sampled from the model.

The counts behind a model are finite, so its tables are not known exactly. They have a posterior distribution:
Dirichlet for tables, normal-inverse-gamma for normals. Each draw of all of them gives one posterior of the
class, and the quantiles over the draws show how certain P(c | x) is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._classifiers.answer_rows import draw_codes
from bayeskit._conditionals.class_prior import ClassPrior, class_factors, log_normalise
from bayeskit._conditionals.conditional import DrawRule, ParameterPosterior
from bayeskit._conditionals.posterior_draws import Draws, log_dirichlet
from bayeskit._data.encode import encode
from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._data.table import Table
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.model import Model, ModelSpec, class_prior_of, weighted_classes
from bayeskit._random_state import generator_of, seed_of
from bayeskit._report.explanation import Explanation
from bayeskit._report.factors.arithmetic import explain
from bayeskit._report.row_figures import Novelty, conflicts, shares_among
from bayeskit._schema import Label, Name, Schema
from bayeskit._statistics.statistics import Statistics
from bayeskit.errors import NotSupported, SettingError, UsageError
from bayeskit.priors import MAP, BackOff
from bayeskit.typing import Floats, LossLike, RowLike, Seed

if TYPE_CHECKING:
    from bayeskit._classifiers.base_classifier import BaseClassifier
    from bayeskit._report.value_of_information import Questions


def explained(classifier: BaseClassifier, table: Table, lang: str) -> Explanation:
    """Explain the prediction of one row, ending with the calibrated posterior."""
    page = classifier._arithmetic(table, lang)
    if "calibration" not in classifier._held:
        return page
    model = classifier._model
    shares = np.array([page.log_joint])
    log_normalise(shares, model.log_prior)
    calibrated = np.exp(classifier._calibrated(shares, model.schema))[0]
    return replace(page, calibrated=tuple(calibrated.tolist()))


def arithmetic(classifier: BaseClassifier, table: Table, lang: str, *, by_value: bool = False) -> Explanation:
    """Return the explanation of one row before calibration; with ``by_value``, by leaving out one value at a time."""
    fitted = classifier._reader("explain")
    model, statistics = classifier._model, classifier.statistics_
    table = fitted.matched(table, model.schema)
    assert fitted.spec is not None
    labels = classifier._labels(model.schema).tolist()
    return explain(
        model,
        statistics,
        fitted.spec,
        table,
        labels,
        threshold=fitted.threshold,
        lang=lang,
        by_value=by_value,
    )


def contribution_logs(classifier: BaseClassifier, table: Table) -> tuple[tuple[Name, ...], Floats]:
    """Return the columns, and the logarithms whose sum over them is log P(c, x): shape (n, columns, K)."""
    from bayeskit._report.contributions import PRIOR, explained_logs, is_separate, separate_logs

    model = classifier._model
    names = tuple(v.name for v in model.schema.attributes)
    if is_separate(model):
        fitted = classifier._reader("explain")
        assert fitted.spec is not None
        encoded = fitted.encode(table, model.schema, fitted.spec.unseen)
        logs = np.concatenate([separate_logs(model, chunk) for chunk in encoded.chunks()])
        return (PRIOR, *names), logs
    rows = [table.take(np.array([i])) for i in range(table.n_rows)]
    if not all(conditional.explains_attributes for conditional in model.conditionals):
        return explained_logs([arithmetic(classifier, row, "en", by_value=True) for row in rows], names)
    return explained_logs([classifier._arithmetic(row, "en") for row in rows], names)


def questions(
    classifier: BaseClassifier, row: RowLike, costs: Mapping[Any, float] | None, loss: LossLike, lang: str
) -> Questions:
    """Rank the missing values of a row by the value of information."""
    from bayeskit._report.row import one_row
    from bayeskit._report.value_of_information import ranked

    fitted = classifier._reader("explain")
    model = classifier._model
    if isinstance(row, Mapping):
        row = {**{v.name: None for v in model.schema.attributes}, **row}
    table = fitted.matched(one_row(row), model.schema)
    assert fitted.spec is not None
    chunk = encode(table, model.schema, fitted.spec.unseen, threshold=fitted.threshold).chunk(0, 1)
    tables, posterior, left_out = answer_tables(model, fitted, chunk)
    labels = classifier._labels(model.schema).tolist()
    target, names = model.schema.target.name, [v.name for v in model.schema.attributes]
    return ranked(target, labels, posterior, tables, costs, loss, left_out, lang, names)


Answers = tuple[Name, Floats, Sequence[Label] | None]

# The number of quantiles at which a numeric attribute is evaluated, and the number of draws they come from.
QUANTILES, DRAWS = 200, 20_000


def joint_of(model: Model, chunk: Chunk) -> Floats:
    """Return log P(c, x) of each row. For averages over super-parents, this is the mean, not the sum."""
    return model.joint_chunk(chunk) - model.log_excess(chunk)[:, None]


def log_evidence_of(model: Model, chunk: Chunk) -> Floats:
    """Return log P(x) of each row."""
    joint = joint_of(model, chunk)
    best = np.maximum(joint.max(axis=1), -1e308)
    with np.errstate(divide="ignore"):
        return np.asarray(best + np.log(np.exp(joint - best[:, None]).sum(axis=1)))


def refuse_scores(model: Model, who: str, what: str) -> None:
    """Raise an error for models without a distribution of rows, and for blocks of words."""
    if not model.is_distribution:
        raise UsageError(
            "{who} scores classes without a distribution of rows, and {what} needs one. Use NaiveBayes, TAN, KDB or "
            "AODE.",
            who=who,
            what=what,
        )
    if model.schema.block is not None:
        raise UsageError(
            "{what} considers attributes one by one, and {who} has learned a block of words.",
            what=what,
            who=who,
        )


def answer_tables(
    model: Model, fitted: FittedState, chunk: Chunk
) -> tuple[list[Answers], list[float], list[Name]]:
    """Return (name, P(x_j, c | row), states) of every missing attribute, P(c | row), and the constant attributes.

    The states of a numeric attribute are None: its table is over quantiles.

    Parameters
    ----------
    chunk : one row
    """
    refuse_scores(model, fitted.who, "ask_next")
    assert fitted.spec is not None
    if fitted.spec.missing == "state":
        raise UsageError(
            'With missing="state" a missing value is itself an answer, so there is nothing to ask for. Fit the model '
            'with missing="ignore".'
        )
    tables: list[Answers] = []
    left_out: list[Name] = []
    drawn: Floats | None = None
    categorical = {v.name: j for j, v in enumerate(model.schema.categorical)}
    for variable in model.schema.attributes:
        name = variable.name
        if name in categorical:
            j = categorical[name]
            if chunk.codes[0, j] == variable.size and variable.size:
                rows = _repeated(chunk, variable.size)
                rows.codes[:, j] = np.arange(variable.size)
                tables.append((name, _shares(joint_of(model, rows)), variable.states))
            continue
        m = model.schema.numeric_index[name]
        if np.isnan(chunk.values[0, m]):
            drawn = draw_codes(model, DRAWS, np.random.default_rng(0))[2] if drawn is None else drawn
            table = _on_quantiles(model, chunk, m, drawn[:, m])
            if table is None:
                left_out.append(name)
            else:
                tables.append((name, table, None))
    posterior = _shares(joint_of(model, chunk))[0]
    return tables, posterior.tolist(), left_out


def _on_quantiles(model: Model, chunk: Chunk, m: int, drawn: Floats) -> Floats | None:
    """Return P(x_m, c | row) at equally probable quantiles of x_m, or None if the attribute is constant.

    The quantiles are those of P(x_m), so each has the weight P(x_m, c, row) / P(x_m).
    """
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn) or np.ptp(drawn) == 0.0:
        return None
    points = np.quantile(drawn, (np.arange(QUANTILES) + 0.5) / QUANTILES)
    rows = _repeated(chunk, QUANTILES)
    rows.values[:, m] = points
    sizes = np.array([v.size for v in model.schema.categorical])
    alone = np.full_like(rows.values, np.nan)
    alone[:, m] = points
    codes = np.tile(sizes.astype(rows.codes.dtype), (QUANTILES, 1))
    log_p = log_evidence_of(model, Chunk(QUANTILES, codes, alone))
    return _shares(joint_of(model, rows) - log_p[:, None])


def _repeated(chunk: Chunk, n: int) -> Chunk:
    codes, values = np.repeat(chunk.codes, n, axis=0), np.repeat(chunk.values, n, axis=0)
    return Chunk(n, np.ascontiguousarray(codes), np.ascontiguousarray(values))


def _shares(log_joint: Floats) -> Floats:
    """Normalise over all cells. If every cell is impossible, return a uniform distribution."""
    best: Any = log_joint.max()
    weights = np.exp(log_joint - best) if best > -np.inf else np.ones_like(log_joint)
    return np.asarray(weights / weights.sum())


def novelty_of(
    model: Model, fitted: FittedState, table: Table, n_samples: int, random_state: Seed, who: str
) -> Novelty:
    """Return, for each row of a table, the share of sampled rows that are at most as probable."""
    refuse_scores(model, who, "novelty")
    assert fitted.spec is not None
    schema = model.schema
    _, codes, values = draw_codes(model, n_samples, generator_of(random_state))
    drawn = Chunk(n_samples, np.ascontiguousarray(codes.astype(schema.code_dtype)), values)
    table = fitted.matched(table, schema)
    encoded = encode(table, schema, fitted.spec.unseen)
    sizes = np.array([v.size for v in schema.categorical], dtype=np.intp)
    missing = None if fitted.spec.missing == "state" else sizes

    def score(chunk: Chunk) -> NDArray[np.float64]:
        return log_evidence_of(model, chunk)

    pieces = []
    for rows in encoded.chunks():
        log_p, share = shares_among(score, rows, drawn, missing)
        conflict = None if missing is None else conflicts(score, rows, log_p, missing)
        pieces.append((log_p, share, conflict))
    log_p, share = (np.concatenate([piece[i] for piece in pieces]) for i in (0, 1))
    conflict = None if missing is None else np.concatenate([piece[2] for piece in pieces])
    return Novelty(log_p, share, conflict, _unseen(table, model, fitted), n_samples)


def _unseen(table: Table, model: Model, fitted: FittedState) -> NDArray[np.intp]:
    """Count the unseen values of each row. Only the coding "smooth" distinguishes them from missing values."""
    sizes = np.array([v.size for v in model.schema.categorical])
    apart = encode(table, model.schema, "smooth")
    return np.concatenate([(chunk.codes == sizes + 1).sum(axis=1) for chunk in apart.chunks()])


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
            "predict_interval draws the tables behind P(c | x), but {error}. NaiveBayes (tables, and "
            "densities with a few parameters), GaussianNB, BernoulliNB, MultinomialNB, CategoricalNB, "
            "SPODE, TAN, KDB, SelectiveKDB and BayesNetClassifier have intervals.",
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
