"""The logarithms that contributions are made of: naive Bayes in one pass, any other model row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.encoded import Chunk
from bayeskit.learning.model import Model
from bayeskit.report.contributions import PRIOR, TOGETHER
from bayeskit.report.explanation import Explanation
from bayeskit.report.factors.average import said_by
from bayeskit.schema import Name

if TYPE_CHECKING:
    pass

Floats = NDArray[np.float64]


def is_separate(model: Model) -> bool:
    """Whether each factor of the model is one attribute's alone, or can be taken one attribute after the other."""
    return model.schema.block is None and all(c.supports("add_separate") for c in model.conditionals)


def separate_logs(model: Model, chunk: Chunk) -> Floats:
    """Return log P(c) and each attribute's log P(x_j | c): shape (n, 1 + attributes, K).

    Attributes that are jointly Gaussian are given one after the other, in the order of the columns:
    P(x_1 | c) P(x_2 | c, x_1) …
    """
    schema = model.schema
    out = np.zeros((chunk.n_rows, 1 + len(schema.attributes), len(model.log_prior)))
    out[:, 0] = model.log_prior if model.adds_prior else 0.0
    categorical, numeric = (
        np.array([1 + schema.position[v.name] for v in variables], dtype=np.intp)
        for variables in (schema.categorical, schema.numeric)
    )
    for conditional in model.conditionals:
        conditional.add_separate(chunk, categorical, numeric, out)
    return out


def explained_logs(pages: Sequence[Explanation], names: Sequence[Name]) -> tuple[tuple[Name, ...], Floats]:
    """Return the columns and the logarithms that explanations hold.

    Attributes that share one factor share it evenly. The sum of an average over super-parents is taken apart by
    their shares: column j has the mean, so weighed, of the logarithms of what they say of x_j (and P(x_i | c) goes to
    x_i); by what the mean of the logarithms falls short of the logarithm of the sum stands under "(together)".
    """
    place = {name: 1 + j for j, name in enumerate(names)}
    last = 1 + len(place)
    logs = np.zeros((len(pages), last + 1, len(pages[0].classes) if pages else 0))
    for out, page in zip(logs, pages):
        out[0] = [f.log for f in page.prior]
        for attribute in page.attributes:
            _share(out, place, attribute)
        if page.average is not None:
            _average(out, place, page)
        if page.rest is not None:
            out[last] += [f.log for f in page.rest]
    if not logs[:, last].any():
        return (PRIOR, *names), logs[:, :last]
    return (PRIOR, *names, TOGETHER), logs


def _share(out: Floats, place: Mapping[Name, int], attribute: Any) -> None:
    # A name may itself be a tuple; else a tuple is the names of several.
    alone = attribute.name in place
    names = (attribute.name,) if alone else attribute.name
    logs = np.array([f.log for f in attribute.factors])
    for name in names:
        out[place[name]] += logs / len(names)


def _average(out: Floats, place: Mapping[Name, int], page: Explanation) -> None:
    """Shares s_i of the sum: log Σ t_i = Σ s_i log t_i − Σ s_i log s_i, and the s_i of a class add up to one."""
    average = page.average
    assert average is not None
    prior = np.array(page.fallback if page.fallback is not None else [0.0] * len(page.classes))
    prior = np.where(np.isfinite(prior), prior, 0.0)
    out[0] += prior
    total = np.array([f.log for f in average.factors])
    shares = np.array([average.shares(k) for k in range(len(total))]).T
    before = out.sum(axis=0) - prior
    for weight, parent in zip(shares, average.super_parents):
        out[place[parent.name]] += _times(weight, np.array([f.log for f in parent.first]) - prior)
        said = said_by(parent.attributes)
        if said:
            out[[place[name] for name, _ in said]] += _times(weight, np.array([logs for _, logs in said]))
    told = out.sum(axis=0) - before
    out[-1] += np.where(np.isfinite(total), total - np.where(np.isfinite(told), told, 0.0), total)


def _times(weight: Floats, logs: Floats) -> Floats:
    """Weigh logarithms; what has no weight says nothing, even if it is impossible."""
    with np.errstate(invalid="ignore"):
        return np.where(weight > 0.0, weight * logs, 0.0)
