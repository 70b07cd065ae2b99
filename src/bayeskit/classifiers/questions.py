"""The joint distribution of the class and each value that a row lacks, gone through state by state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit.classifiers.sampling import draw_codes
from bayeskit.data.encoded import Chunk
from bayeskit.errors import UsageError
from bayeskit.learning.fitted import Fitted
from bayeskit.learning.model import Model
from bayeskit.schema import Label, Name
from bayeskit.typing import Floats

Answers = tuple[Name, Floats, Sequence[Label] | None]

# A number is weighed at so many quantiles of what the model would draw, from so many draws.
QUANTILES, DRAWS = 200, 20_000


def joint_of(model: Model, chunk: Chunk) -> Floats:
    """Return log P(c, x) of each row; of an average over super-parents the mean, not the sum."""
    return model.joint_chunk(chunk) - model.log_excess(chunk)[:, None]


def log_evidence_of(model: Model, chunk: Chunk) -> Floats:
    """Return log P(x) of each row."""
    joint = joint_of(model, chunk)
    best = np.maximum(joint.max(axis=1), -1e308)
    with np.errstate(divide="ignore"):
        return np.asarray(best + np.log(np.exp(joint - best[:, None]).sum(axis=1)))


def refuse_scores(model: Model, who: str, what: str) -> None:
    """Refuse models without a distribution of rows, and blocks of words."""
    if not model.is_distribution:
        raise UsageError(
            f"{who} scores classes without a distribution of rows, and {what} needs one. Use NaiveBayes, TAN, KDB or "
            "AODE."
        )
    if model.schema.block is not None:
        raise UsageError(f"{what} looks at attributes one by one, and {who} has learned a block of words.")


def answer_tables(
    model: Model, fitted: Fitted, chunk: Chunk
) -> tuple[list[Answers], list[float], list[Name]]:
    """Return (name, P(x_j, c | row), states) of every missing attribute, P(c | row), and what has no states.

    Parameters
    ----------
    chunk : one row
    """
    refuse_scores(model, fitted.who, "ask_next")
    assert fitted.recipe is not None
    if fitted.recipe.missing == "state":
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
                asked = _repeated(chunk, variable.size)
                asked.codes[:, j] = np.arange(variable.size)
                tables.append((name, _shares(joint_of(model, asked)), variable.states))
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
    """P(x_m, c | row) on quantiles of x_m, each weighed by how much more probable the row makes it than it is alone.

    None where the attribute says nothing at all: it was the same in every row.
    """
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn) or np.ptp(drawn) == 0.0:
        return None
    points = np.quantile(drawn, (np.arange(QUANTILES) + 0.5) / QUANTILES)
    asked = _repeated(chunk, QUANTILES)
    asked.values[:, m] = points
    sizes = np.array([v.size for v in model.schema.categorical])
    alone = np.full_like(asked.values, np.nan)
    alone[:, m] = points
    codes = np.tile(sizes.astype(asked.codes.dtype), (QUANTILES, 1))
    log_p = log_evidence_of(model, Chunk(QUANTILES, codes, alone))
    return _shares(joint_of(model, asked) - log_p[:, None])


def _repeated(chunk: Chunk, n: int) -> Chunk:
    codes, values = np.repeat(chunk.codes, n, axis=0), np.repeat(chunk.values, n, axis=0)
    return Chunk(n, np.ascontiguousarray(codes), np.ascontiguousarray(values))


def _shares(log_joint: Floats) -> Floats:
    """Normalise; where all of it is impossible every cell is alike."""
    best: Any = log_joint.max()
    weights = np.exp(log_joint - best) if best > -np.inf else np.ones_like(log_joint)
    return np.asarray(weights / weights.sum())
