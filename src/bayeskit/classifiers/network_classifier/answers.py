"""What a network classifier answers: classes, reasons, the next question, itself as a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.asked import Asked
from bayeskit.classifiers.doors import not_fitted, refuse_sparse
from bayeskit.classifiers.network_classifier.columns import by_node
from bayeskit.classifiers.notebook import told
from bayeskit.data.encode import match_columns
from bayeskit.data.table import Table, open_table
from bayeskit.networks.bayesian_network import BayesianNetwork
from bayeskit.report import Explanation, one_row
from bayeskit.schema import Label, Name, shorter

if TYPE_CHECKING:
    from bayeskit.classifiers.region_data import View
    from bayeskit.estimation.posterior_draws import Draws
    from bayeskit.report.charts import ClassProfile, Nomogram, Regions
    from bayeskit.report.information_value import Questions
    from bayeskit.report.novelty import Novelty

Floats = NDArray[np.float64]


class BayesNetAnswers(Asked):
    """The part of a network classifier that is asked, once it is fitted."""

    network_: BayesianNetwork
    target_: Name
    markov_blanket_: tuple[Name, ...]
    unseen: str
    _named: bool

    def __sklearn_is_fitted__(self) -> bool:
        return "network_" in self.__dict__

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)

    def _card(self) -> str:
        blanket = shorter(", ".join(map(str, self.markov_blanket_)) or "nothing", 400)
        n = len(self.schema_.attributes)
        line = f"Predicts {self.target_} from {blanket}, of {n:,} column{'' if n == 1 else 's'}."
        return told(repr(self), [line]) + self.network_._repr_html_()

    def predict_proba(self, X: Any) -> Floats:
        """Return P(c | x) of each row: shape (n, K). Columns that are no node of ``network_`` are not looked at."""
        schema = self.schema_
        refuse_sparse(self, X)
        names = tuple(schema.position)
        table = match_columns(open_table(X), schema, names if self._named else None, type(self).__name__)
        unseen: Any = self.unseen
        return self.network_.predict_proba(by_node(table, names), self.target_, unseen=unseen)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(c | x) of each row: shape (n, K)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; of equals the first."""
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(c, x) of each row, x being the columns of ``network_``: shape (n, K)."""
        from bayeskit.classifiers.network_classifier.cells import read_cells
        from bayeskit.classifiers.network_classifier.joint import log_joint

        refuse_sparse(self, X)
        return log_joint(self.network_, read_cells(self, open_table(X)))

    def log_evidence(self, X: Any) -> Floats:
        """Return log P(x) of each row, x being the columns of ``network_``: how likely the row itself is."""
        return np.asarray(np.logaddexp.reduce(self.predict_joint_log_proba(X), axis=1))

    def explain(
        self,
        row: Any,
        *,
        lang: str = "en",
        loss: Any = None,
        reject: float | None = None,
        actions: Any = None,
    ) -> Explanation:
        """Take the prediction of one row apart: P(c | parents), and P(x | parents) of each child of the class.

        Families that hold a missing cell are one factor, a sum over its states. Columns that are neither parents nor
        children of the class, nor parents of its children, say the same in every class and are left out.

        Parameters
        ----------
        row : mapping from column to value, list, or a table of one row
        lang : "en" or "zh"
        loss, reject, actions
            As in :func:`bayeskit.decision.decide`: the risk of each action is shown, too.

        Examples
        --------
        >>> from bayeskit import BayesNetClassifier
        >>> X = [["sun", "dry"], ["sun", "dry"], ["rain", "wet"], ["rain", "wet"]] * 5
        >>> model = BayesNetClassifier("naive", prior="laplace").fit(X, ["go", "go", "stay", "stay"] * 5)
        >>> [f.working for f in model.explain(["sun", None]).attributes[0].factors]
        ['(10+1)/(10+2)', '(0+1)/(10+2)']
        """
        from bayeskit.classifiers.network_classifier.explanation import explained

        page = explained(self, one_row(row), lang)
        plain = loss is None and reject is None and actions is None
        return page if plain else page.with_loss(loss, reject, actions)

    def _contribution_logs(self, table: Table) -> tuple[tuple[Name, ...], Floats]:
        from bayeskit.classifiers.network_classifier.cells import read_cells
        from bayeskit.classifiers.network_classifier.contributions import contribution_logs
        from bayeskit.report.contributions import PRIOR

        cells = read_cells(self, table)
        found = contribution_logs(self.network_, cells)
        names = tuple(self.schema_.position)
        nothing = np.zeros((len(cells), cells.n_classes))
        logs = [found[self.target_], *(found.get(name, nothing) for name in names)]
        return (PRIOR, *names), np.stack(logs, axis=1)

    def _questions(self, row: Any, costs: Any, loss: Any, lang: str) -> Questions:
        from bayeskit.classifiers.network_classifier.explanation import asked

        return asked(self, row, costs, loss, lang)

    def _strangeness(self, table: Table, n_drawn: int, seed: Any) -> Novelty:
        from bayeskit.classifiers.network_classifier.novelty import network_novelty

        return network_novelty(self, table, n_drawn, seed)

    def _posterior_draws(self, table: Table, draws: Draws) -> Iterator[tuple[Any, Floats]]:
        from bayeskit.classifiers.network_classifier.cells import read_cells
        from bayeskit.classifiers.network_classifier.intervals import posterior_draws

        return posterior_draws(self.network_, read_cells(self, table), draws)

    def _nomogram(
        self, label: Label | None, against: Label | None, row: Any, most: int, lang: str
    ) -> Nomogram:
        from bayeskit.classifiers.network_classifier.charts import network_nomogram

        return network_nomogram(self, label, against, row, most, lang)

    def _class_profile(self, attributes: Sequence[Name] | None, most: int, lang: str) -> ClassProfile:
        from bayeskit.classifiers.network_classifier.charts import network_profile

        return network_profile(self, attributes, most, lang)

    def _regions(self, view: View) -> Regions:
        from bayeskit.classifiers.network_classifier.charts import network_regions

        return network_regions(self, view)

    def save(self, path: Any) -> None:
        """Write the model to one file: data, never code. Read it with :func:`bayeskit.load`."""
        from bayeskit.classifiers.network_classifier.saving import save_network_classifier

        save_network_classifier(self, path)
