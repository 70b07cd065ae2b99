"""What a network classifier answers: classes, reasons, the next question, itself as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.bayes_net_columns import by_node
from bayeskit.classifiers.notebook import told
from bayeskit.classifiers.state import State
from bayeskit.data.encode import match_columns
from bayeskit.data.table import open_table
from bayeskit.networks.bayesian_network import BayesianNetwork
from bayeskit.report import Explanation, one_row
from bayeskit.schema import Name, shorter

if TYPE_CHECKING:
    from bayeskit.report.information_value import Questions

Floats = NDArray[np.float64]


class BayesNetAnswers(State):
    """The part of a network classifier that is asked, once it is fitted."""

    network_: BayesianNetwork
    target_: Name
    markov_blanket_: tuple[Name, ...]
    unseen: str
    _named: bool

    def _card(self) -> str:
        blanket = shorter(", ".join(map(str, self.markov_blanket_)) or "nothing", 400)
        n = len(self.schema_.attributes)
        line = f"Predicts {self.target_} from {blanket}, of {n:,} column{'' if n == 1 else 's'}."
        return told(repr(self), [line]) + self.network_._repr_html_()

    def predict_proba(self, X: Any) -> Floats:
        """Return P(c | x) of each row: shape (n, K). Columns that are no node of ``network_`` are not looked at."""
        schema = self.schema_
        self._refuse_sparse(X)
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
        from bayeskit.classifiers.bayes_net_explanation import explained

        page = explained(self, one_row(row), lang)
        plain = loss is None and reject is None and actions is None
        return page if plain else page.with_loss(loss, reject, actions)

    def ask_next(
        self, row: Any = None, costs: Any = None, loss: Any = None, *, lang: str = "en"
    ) -> Questions:
        """Return which missing value of a row is most worth asking for, as a ranked table.

        A question is worth the bits that its answer is expected to tell about the class or, with a loss, the risk
        that it is expected to save; less what it costs. Only columns in ``network_`` can tell anything, and numbers,
        which have no states to go through, are left out.

        Parameters
        ----------
        row : mapping from column to value, list, or a table of one row; None: nothing is known
            Columns that a mapping does not name are missing.
        costs : {column: number}, optional
            In bits or, with a loss, in its unit; 0 for those not named.
        loss : as in :func:`bayeskit.decision.decide`, optional
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import BayesNetClassifier
        >>> X = [["sun", "dry"], ["sun", "wet"], ["rain", "wet"], ["rain", "wet"]] * 5
        >>> BayesNetClassifier("naive").fit(X, ["go", "go", "stay", "stay"] * 5).ask_next().best
        'x0'
        """
        from bayeskit.classifiers.bayes_net_explanation import asked

        return asked(self, {} if row is None else row, costs, loss, lang)

    def save(self, path: Any) -> None:
        """Write the model to one file: data, never code. Read it with :func:`bayeskit.load`."""
        from bayeskit.classifiers.bayes_net_saving import save_network_classifier

        save_network_classifier(self, path)
