"""How a classifier of counts tells its reasons: explanations, contributions, the next question, novelty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.reasons import Reasons
from bayeskit.data.encode import encode, match_columns
from bayeskit.data.table import Table
from bayeskit.estimation.kernels.posterior import log_normalise
from bayeskit.learning.calibration import from_held
from bayeskit.learning.fitted import Fitted
from bayeskit.report import Explanation, explain, one_row
from bayeskit.schema import Name, Schema

if TYPE_CHECKING:
    from bayeskit.report.information_value import Questions
    from bayeskit.report.novelty import Novelty

Floats = NDArray[np.float64]


class Explaining(Reasons):
    """The part of a classifier that shows its reasons."""

    def explain(
        self,
        row: Any,
        *,
        lang: str = "en",
        loss: Any = None,
        reject: float | None = None,
        actions: Any = None,
    ) -> Explanation:
        """Take the prediction of one row apart: the prior, each attribute's factor with the counts behind it.

        Where attributes have parents a factor is P(x | c, parents); AODE shows what each super-parent says and its
        share; any other model is explained by leaving one value out at a time. The posterior shown is that of the
        model; what ``calibration`` makes of it stands under it.

        Parameters
        ----------
        row : mapping from column to value, list, or a table of one row
        lang : "en" or "zh"
        loss, reject, actions
            As in :func:`bayeskit.decision.decide`: the risk of each action is shown, too.

        Returns
        -------
        Explanation
            ``str`` and notebooks show it; it has ``to_html``, ``to_latex``, ``to_json`` and ``to_dict``.
        """
        page = self._explained(one_row(row), lang)
        if "calibration" in self._held:
            model = self._model
            shares = np.array([page.log_joint])
            log_normalise(shares, model.log_prior)
            calibrated = np.exp(self._calibrated(shares, model.schema))[0]
            page = replace(page, calibrated=tuple(calibrated.tolist()))
        if loss is None and reject is None and actions is None:
            return page
        return page.with_loss(loss, reject, actions)

    def _contribution_logs(self, table: Table) -> tuple[tuple[Name, ...], Floats]:
        from bayeskit.report.contribution_logs import explained_logs, is_separate, separate_logs
        from bayeskit.report.contributions import PRIOR

        model = self._model
        names = tuple(v.name for v in model.schema.attributes)
        if is_separate(model):
            fitted = self._reader()
            assert fitted.recipe is not None
            encoded = fitted.encode(table, model.schema, fitted.recipe.unseen)
            logs = np.concatenate([separate_logs(model, chunk) for chunk in encoded.chunks()])
            return (PRIOR, *names), logs
        pages = [self._explained(table.take(np.array([i])), "en") for i in range(table.n_rows)]
        return explained_logs(pages, names)

    def _questions(self, row: Any, costs: Any, loss: Any, lang: str) -> Questions:
        from bayeskit.classifiers.questions import answer_tables
        from bayeskit.report.information_value import ranked

        fitted = self._reader()
        model = self._model
        if isinstance(row, Mapping):
            row = {**{v.name: None for v in model.schema.attributes}, **row}
        table = match_columns(one_row(row), model.schema, fitted.names if fitted.named else None, fitted.who)
        assert fitted.recipe is not None
        chunk = encode(table, model.schema, fitted.recipe.unseen, threshold=fitted.threshold).chunk(0, 1)
        tables, posterior, left_out = answer_tables(model, fitted, chunk)
        labels = self._labels(model.schema).tolist()
        target, names = model.schema.target.name, [v.name for v in model.schema.attributes]
        return ranked(target, labels, posterior, tables, costs, loss, left_out, lang, names)

    def _strangeness(self, table: Table, n_drawn: int, seed: Any) -> Novelty:
        from bayeskit.classifiers.novelty import novelty_of

        return novelty_of(self._model, self._reader(), table, n_drawn, seed, type(self).__name__)

    def _reader(self) -> Fitted:
        """Return what knows how rows are read."""
        lazy = self._lazy_state()
        return lazy.fitted if lazy is not None else self._require("explain")

    def _explained(self, table: Table, lang: str) -> Explanation:
        fitted = self._reader()
        model, statistics = self._model, self.statistics_
        table = match_columns(table, model.schema, fitted.names if fitted.named else None, fitted.who)
        assert fitted.recipe is not None
        return explain(
            model,
            statistics,
            fitted.recipe,
            table,
            self._labels(model.schema).tolist(),
            threshold=fitted.threshold,
            lang=lang,
        )

    def _calibrated(self, log_share: Floats, schema: Schema) -> Floats:
        calibration = from_held(self._held)
        return (
            log_share if calibration is None else calibration.log_posterior(log_share, schema.target.states)
        )
