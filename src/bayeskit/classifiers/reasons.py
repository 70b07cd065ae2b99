"""What every classifier tells of its answers, whatever it is made of: contributions, the next question, novelty."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.state import State
from bayeskit.data.table import Table, open_table
from bayeskit.errors import SettingError
from bayeskit.schema import Name

if TYPE_CHECKING:
    from bayeskit.report.contributions import Contributions
    from bayeskit.report.information_value import Questions
    from bayeskit.report.novelty import Novelty

Floats = NDArray[np.float64]


class Reasons(State):
    """The questions; how each is answered is the classifier's own."""

    def contributions(self, X: Any, against: Any = None) -> Contributions:
        r"""Return what each attribute adds to the log-odds of each class, and the class prior first.

        Over the columns they add up to :math:`\log P(c \mid x) - \log P(c' \mid x)`, before ``calibration``.

        Where attributes depend on each other a column holds log P(x | c, parents), and attributes that share a factor
        share it evenly; jointly Gaussian ones are taken in the order of the columns, each given those before it. The
        average of AODE is taken apart by the shares of its super-parents, any other model by leaving one value out at
        a time; the last column, "(together)", then holds what is not any one attribute's.

        A BayesNetClassifier takes the values in the order of its arcs, each given the class and the values before it:
        "(prior)" is P(c), parents of the class have what they change in it one after the other, a child has
        P(x | c, parents), and a column that is no more than another parent of a child has 0: by itself it tells
        nothing, it says which row of the child's table is read. Missing cells are passed over, and summed out.

        Parameters
        ----------
        X : rows as in ``predict``
            Naive Bayes and networks take all at once, other models some milliseconds for each.
        against : label, optional
            The class c' that all are held against; by default the most probable of the others.

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit([["a"], ["b"], ["a"]], ["yes", "no", "yes"])
        >>> model.contributions([["a"]]).of("yes")["x0"].round(4)  # ln((3/4) / (1/3))
        array([0.8109])
        """
        from bayeskit.report.contributions import contributions_of

        classes = tuple(self.classes_.tolist())
        columns, logs = self._contribution_logs(open_table(X))
        return contributions_of(columns, classes, logs, against)

    def ask_next(
        self, row: Any = None, costs: Any = None, loss: Any = None, *, lang: str = "en"
    ) -> Questions:
        """Return which missing value of a row is most worth asking for, as a ranked table.

        A question is worth the bits that its answer is expected to tell about the class or, with a loss, the risk
        that it is expected to save; less what it costs. Every state of an attribute is gone through, with what the
        model expects of it given the values present; a number is weighed on 200 quantiles of the model's own, but in a
        BayesNetClassifier, where only columns of ``network_`` can tell anything and numbers are left out. Posteriors
        are those before ``calibration``.

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
        return self._questions({} if row is None else row, costs, loss, lang)

    def novelty(self, X: Any, n_drawn: int = 2000, seed: Any = 0) -> Novelty:
        """Return how strange rows are to the model: log P(x) among that of rows it would draw itself.

        No row is kept by a model, so rows are compared with what its distribution gives, not with those it learned.
        That of a BayesNetClassifier is over the columns of its ``network_``: with ``markov_blanket=True`` those that
        tell of the class.

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
        if isinstance(n_drawn, bool) or not isinstance(n_drawn, (int, np.integer)) or n_drawn < 1:
            raise SettingError(f"n_drawn is {n_drawn!r}; give a whole number of at least 1.")
        return self._strangeness(open_table(X), int(n_drawn), seed)

    @abstractmethod
    def _contribution_logs(self, table: Table) -> tuple[tuple[Name, ...], Floats]:
        """Return the columns, and the logarithms whose sum over them is log P(c, x): shape (n, columns, K)."""

    @abstractmethod
    def _questions(self, row: Any, costs: Any, loss: Any, lang: str) -> Questions: ...

    @abstractmethod
    def _strangeness(self, table: Table, n_drawn: int, seed: Any) -> Novelty: ...
