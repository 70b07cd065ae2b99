"""How a classifier of counts tells its reasons: explanations, contributions, the next question, novelty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.data.encode import encode, match_columns
from bayeskit.data.table import Table
from bayeskit.estimation.class_prior import log_normalise
from bayeskit.report import Explanation, explain
from bayeskit.schema import Name
from bayeskit.typing import Floats, LossLike, RowLike

if TYPE_CHECKING:
    from bayeskit.classifiers.base import CountClassifier
    from bayeskit.report.information_value import Questions


def explained(classifier: CountClassifier, table: Table, lang: str) -> Explanation:
    """Take the prediction of one row apart; what a calibration makes of it stands under it."""
    page = classifier._arithmetic(table, lang)
    if "calibration" not in classifier._held:
        return page
    model = classifier._model
    shares = np.array([page.log_joint])
    log_normalise(shares, model.log_prior)
    calibrated = np.exp(classifier._calibrated(shares, model.schema))[0]
    return replace(page, calibrated=tuple(calibrated.tolist()))


def arithmetic(classifier: CountClassifier, table: Table, lang: str) -> Explanation:
    """Return the page of one row, before calibration."""
    fitted = classifier._reader("explain")
    model, statistics = classifier._model, classifier.statistics_
    table = match_columns(table, model.schema, fitted.names if fitted.named else None, fitted.who)
    assert fitted.recipe is not None
    labels = classifier._labels(model.schema).tolist()
    return explain(model, statistics, fitted.recipe, table, labels, threshold=fitted.threshold, lang=lang)


def contribution_logs(classifier: CountClassifier, table: Table) -> tuple[tuple[Name, ...], Floats]:
    """Return the columns, and the logarithms whose sum over them is log P(c, x): shape (n, columns, K)."""
    from bayeskit.report.contribution_logs import explained_logs, is_separate, separate_logs
    from bayeskit.report.contributions import PRIOR

    model = classifier._model
    names = tuple(v.name for v in model.schema.attributes)
    if is_separate(model):
        fitted = classifier._reader("explain")
        assert fitted.recipe is not None
        encoded = fitted.encode(table, model.schema, fitted.recipe.unseen)
        logs = np.concatenate([separate_logs(model, chunk) for chunk in encoded.chunks()])
        return (PRIOR, *names), logs
    pages = [classifier._arithmetic(table.take(np.array([i])), "en") for i in range(table.n_rows)]
    return explained_logs(pages, names)


def questions(
    classifier: CountClassifier, row: RowLike, costs: Mapping[Any, float] | None, loss: LossLike, lang: str
) -> Questions:
    """Rank the values that a row lacks by what they are expected to tell."""
    from bayeskit.classifiers.questions import answer_tables
    from bayeskit.report import one_row
    from bayeskit.report.information_value import ranked

    fitted = classifier._reader("explain")
    model = classifier._model
    if isinstance(row, Mapping):
        row = {**{v.name: None for v in model.schema.attributes}, **row}
    table = match_columns(one_row(row), model.schema, fitted.names if fitted.named else None, fitted.who)
    assert fitted.recipe is not None
    chunk = encode(table, model.schema, fitted.recipe.unseen, threshold=fitted.threshold).chunk(0, 1)
    tables, posterior, left_out = answer_tables(model, fitted, chunk)
    labels = classifier._labels(model.schema).tolist()
    target, names = model.schema.target.name, [v.name for v in model.schema.attributes]
    return ranked(target, labels, posterior, tables, costs, loss, left_out, lang, names)
