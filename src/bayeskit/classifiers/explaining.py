"""What a classifier tells of its own answers: explanations, contributions, the next question, novelty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.state import State
from bayeskit.data.encode import encode, match_columns
from bayeskit.data.table import Table, open_table
from bayeskit.estimation.kernels.posterior import log_normalise
from bayeskit.learning.calibration import from_held
from bayeskit.learning.fitted import Fitted
from bayeskit.report import Explanation, explain, one_row
from bayeskit.schema import Schema

if TYPE_CHECKING:
    from bayeskit.report.contributions import Contributions
    from bayeskit.report.information_value import Questions
    from bayeskit.report.novelty import Novelty

Floats = NDArray[np.float64]


class Explaining(State):
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

    def contributions(self, X: Any, against: Any = None) -> Contributions:
        r"""Return what each attribute adds to the log-odds of each class, and the class prior first.

        Over the columns they add up to :math:`\log P(c \mid x) - \log P(c' \mid x)`, before ``calibration``.

        Where attributes depend on each other a column holds log P(x | c, parents), and attributes that share a factor
        share it evenly; jointly Gaussian ones are taken in the order of the columns, each given those before it. The
        average of AODE is taken apart by the shares of its super-parents, any other model by leaving one value out at
        a time; the last column, "(together)", then holds what is not any one attribute's.

        Parameters
        ----------
        X : rows as in ``predict``; all but naive Bayes take some milliseconds for each
        against : label, optional
            The class c' that all are held against; by default the most probable of the others.

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit([["a"], ["b"], ["a"]], ["yes", "no", "yes"])
        >>> model.contributions([["a"]]).of("yes")["x0"].round(4)  # ln((3/4) / (1/3))
        array([0.8109])
        """
        from bayeskit.report.contribution_logs import explained_logs, is_separate, separate_logs
        from bayeskit.report.contributions import PRIOR, contributions_of

        model = self._model
        classes = tuple(self._labels(model.schema).tolist())
        names = tuple(v.name for v in model.schema.attributes)
        table = open_table(X)
        if is_separate(model):
            fitted = self._reader()
            assert fitted.recipe is not None
            encoded = fitted.encode(table, model.schema, fitted.recipe.unseen)
            logs = np.concatenate([separate_logs(model, chunk) for chunk in encoded.chunks()])
            return contributions_of((PRIOR, *names), classes, logs, against)
        pages = [self._explained(table.take(np.array([i])), "en") for i in range(table.n_rows)]
        columns, logs = explained_logs(pages, names)
        return contributions_of(columns, classes, logs, against)

    def ask_next(
        self, row: Any = None, costs: Any = None, loss: Any = None, *, lang: str = "en"
    ) -> Questions:
        """Return which missing value of a row is most worth asking for, as a ranked table.

        A question is worth the bits that its answer is expected to tell about the class or, with a loss, the risk
        that it is expected to save; less what it costs. Every state of an attribute is gone through, with what the
        model expects of it given the values present; a number is weighed on 200 quantiles of the model's own.
        Posteriors are those before ``calibration``.

        Parameters
        ----------
        row : mapping from column to value, list, or a table of one row; None: nothing is known
            Columns that a mapping does not name are missing.
        costs : {attribute: number}, optional
            In bits or, with a loss, in its unit; 0 for those not named.
        loss : as in :func:`bayeskit.decision.decide`, optional
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import NaiveBayes, datasets
        >>> melon = datasets.load("melon2")
        >>> columns = {name: melon.columns[name] for name in melon.attributes}
        >>> model = NaiveBayes().fit(columns, melon.y)
        >>> model.ask_next({"色泽": "青绿"}, costs={"纹理": 1}).best
        '脐部'
        """
        from bayeskit.classifiers.questions import answer_tables
        from bayeskit.report.information_value import ranked

        fitted = self._reader()
        model = self._model
        row = {} if row is None else row
        if isinstance(row, Mapping):
            row = {**{v.name: None for v in model.schema.attributes}, **row}
        table = match_columns(one_row(row), model.schema, fitted.names if fitted.named else None, fitted.who)
        assert fitted.recipe is not None
        chunk = encode(table, model.schema, fitted.recipe.unseen, threshold=fitted.threshold).chunk(0, 1)
        tables, posterior, left_out = answer_tables(model, fitted, chunk)
        labels = self._labels(model.schema).tolist()
        target, names = model.schema.target.name, [v.name for v in model.schema.attributes]
        return ranked(target, labels, posterior, tables, costs, loss, left_out, lang, names)

    def novelty(self, X: Any, n_drawn: int = 2000, seed: Any = 0) -> Novelty:
        """Return how strange rows are to the model: log P(x) among that of rows it would draw itself.

        No row is kept by a model, so rows are compared with what its distribution gives, not with those it learned.

        Parameters
        ----------
        X : rows as in ``predict``
        n_drawn : int
            How many rows are drawn; the shares have steps of 1/n_drawn.
        seed : int or numpy Generator

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> X = [["a", "a"]] * 50 + [["b", "b"]] * 50 + [["c", "c"]]
        >>> found = NaiveBayes().fit(X, [0] * 50 + [1] * 51).novelty([["a", "a"], ["a", "b"], ["c", "c"]])
        >>> (found.share < 0.1).tolist(), (found.conflict > 0).tolist()
        ([False, True, True], [False, True, False])
        """
        from bayeskit.classifiers.novelty import novelty_of

        return novelty_of(self._model, self._reader(), open_table(X), n_drawn, seed, type(self).__name__)

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
