"""What every classifier can be asked beside its classes, whatever it is made of: reasons, intervals, charts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from bayeskit._classifiers.input_checks import labels_of
from bayeskit._classifiers.notebook import html_repr, mimebundle
from bayeskit._data.table import Table, open_table
from bayeskit._schema import Label, Name, Schema
from bayeskit.errors import SettingError
from bayeskit.typing import Floats, LabelsLike, LossLike, RowLike, Seed, TableLike

if TYPE_CHECKING:
    from bayeskit._classifiers.picture_data import RegionSettings
    from bayeskit._conditionals.posterior_draws import Draws
    from bayeskit._report.charts.class_profile import ClassProfile
    from bayeskit._report.charts.decision_curves import CostCurve, RejectCurve
    from bayeskit._report.charts.nomogram import Nomogram
    from bayeskit._report.charts.regions import Regions
    from bayeskit._report.charts.reliability_chart import Reliability
    from bayeskit._report.contributions import Contributions
    from bayeskit._report.novelty_report import Novelty
    from bayeskit._report.posterior_interval import PosteriorInterval
    from bayeskit._report.value_of_information import Questions


class BaseClassifier(ClassifierMixin, BaseEstimator):
    """The questions; where the answers come from, the hooks at the end, is the classifier's own.

    A chart is a value with its numbers in it. ``svg()`` is its text, ``save(path)`` writes it (.svg needs nothing,
    .png and .pdf need Matplotlib), ``plot(ax)`` draws it with Matplotlib, a notebook shows it.
    """

    _accepts_sparse = True
    _held: Mapping[str, Any] = {}
    _class_dtype: np.dtype[Any] | None = None
    semi_supervised: bool = False
    unlabelled_weight: float | str = 1.0
    missing_label: Any = None

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of ``predict_proba``."""
        return self._labels(self.schema_)

    def _labels(self, schema: Schema) -> NDArray[Any]:
        return labels_of(schema, self._class_dtype)

    # -- reasons -------------------------------------------------------------------------------

    def contributions(self, X: TableLike, against: Label | None = None) -> Contributions:
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
        from bayeskit._report.contributions import contributions_of

        classes = tuple(self.classes_.tolist())
        columns, logs = self._contribution_logs(open_table(X))
        return contributions_of(columns, classes, logs, against)

    def ask_next(
        self,
        row: RowLike | None = None,
        costs: Mapping[Any, float] | None = None,
        loss: LossLike = None,
        *,
        lang: str = "en",
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
        >>> melon = datasets.load_dataset("melon2")
        >>> columns = {name: melon.columns[name] for name in melon.attributes}
        >>> model = NaiveBayes().fit(columns, melon.y)
        >>> model.ask_next({"色泽": "青绿"}, costs={"纹理": 1}).best
        '脐部'
        """
        return self._questions({} if row is None else row, costs, loss, lang)

    def novelty(self, X: TableLike, n_samples: int = 2000, random_state: Seed = 0) -> Novelty:
        """Return how strange rows are to the model: log P(x) among that of rows it would draw itself.

        No row is kept by a model, so rows are compared with what its distribution gives, not with those it learned.
        That of a BayesNetClassifier is over the columns of its ``network_``: with ``markov_blanket=True`` those that
        tell of the class.

        Parameters
        ----------
        X : rows as in ``predict``
        n_samples : int
            How many rows are drawn; the shares have steps of 1/n_samples.
        random_state : int, numpy Generator or None

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> X = [["a", "a"]] * 50 + [["b", "b"]] * 50 + [["c", "c"]]
        >>> found = NaiveBayes().fit(X, [0] * 50 + [1] * 51).novelty([["a", "a"], ["a", "b"], ["c", "c"]])
        >>> (found.share < 0.1).tolist(), (found.conflict > 0).tolist()
        ([False, True, True], [False, True, False])
        """
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            raise SettingError(
                "n_samples is {n_samples!r}; give a whole number of at least 1.", n_samples=n_samples
            )
        return self._strangeness(open_table(X), int(n_samples), random_state)

    def predict_interval(
        self, X: TableLike, level: float = 0.9, *, n_samples: int = 1000, random_state: Seed = 0
    ) -> PosteriorInterval:
        r"""Return credible intervals of P(c | x) of each row: 0.9 from 3 rows is not 0.9 from 3,000.

        The tables of a model are known only as well as its counts tell. Their posterior is Dirichlet(n + a), a being
        the imaginary counts of the smoothing; that of a normal is normal-inverse-gamma, that of a rate gamma. All of
        them are drawn many times, each time the row is classified, and the interval is what a share ``level`` of the
        answers lies in, as much below as above. The structure of a model, its cut points and its calibration are taken
        as they are; so are the expected counts of unlabelled rows. Constants of back-off that TAN and kDB chose by the
        same rows are no prior: one imaginary row for each state stands in their place, distributed as the table with a
        parent less.

        In a BayesNetClassifier the table of each node is Dirichlet, the regression of a continuous one has the
        posterior of the reference prior; its arcs are taken as they are.

        Under ``smoothing=0`` a value never seen with a class stays impossible in every draw. A Gaussian attribute has
        one imaginary row with the variance within classes; family "student" has its own prior.

        Parameters
        ----------
        X : array, frame or sparse matrix
            The rows, as in ``predict_proba``.
        level : float, default=0.9
            The probability that P(c | x) lies in its interval, between 0 and 1.
        n_samples : int, default=1000
            How often all tables are drawn.
        random_state : int, numpy Generator or None, default=0
            The same number gives the same intervals, whatever other rows are asked with a row.

        Returns
        -------
        PosteriorInterval
            With ``posterior``, ``lower``, ``upper`` and ``median`` of shape (n, K).

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> for times in (1, 300):
        ...     model = NaiveBayes().fit([["a"]] * 10 * times, (["yes"] * 9 + ["no"]) * times)
        ...     found = model.predict_interval([["a"]])
        ...     print(found.posterior[0, 1].round(2), found.lower[0, 1].round(2), found.upper[0, 1].round(2))
        0.83 0.63 0.97
        0.9 0.89 0.91
        """
        from bayeskit._classifiers.intervals import checked_interval, quantiles
        from bayeskit._conditionals.posterior_draws import Draws
        from bayeskit._report.posterior_interval import PosteriorInterval

        level, n, seed = checked_interval(level, n_samples, random_state)
        posterior = self.predict_proba(X)  # refuses what cannot be predicted
        tail = 0.5 * (1.0 - level)
        found = np.empty((3, *posterior.shape))
        for rows, shares in self._posterior_draws(open_table(X), Draws(seed, n)):
            found[:, rows] = quantiles(shares, (tail, 0.5, 1.0 - tail))
        labels = tuple(self.classes_.tolist())
        return PosteriorInterval(labels, level, posterior, found[0], found[2], found[1], n)

    # -- charts --------------------------------------------------------------------------------

    def nomogram(
        self,
        label: Label | None = None,
        *,
        against: Label | None = None,
        row: RowLike | None = None,
        most: int = 12,
        lang: str = "en",
    ) -> Nomogram:
        """Give every value of every attribute points, whose sum tells the probability of a class.

        Points add up to the log-odds exactly: of two classes, or of ``label`` and ``against``. Against all other
        classes together the points of a value are those of their mixture, which is what the value says by itself;
        with several values known such a sum is an approximation of the posterior. A calibration is left out.

        A value of a BayesNetClassifier has points of its own only where no two columns around the class depend on each
        other, given the class: with ``method="naive"``, or where a search happens to find so. Any other network is
        refused: there a value says this or that, by what else is known; ``explain`` or ``contributions`` tell it of a
        row.

        Parameters
        ----------
        label : label, optional
            The class to tell; the last unless given.
        against : label, optional
            The class to tell it from, instead of all others.
        row : mapping from column to value, list, or a table of one row, optional
            A row to mark.
        most : int
            How many attributes to draw, those that tell most.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit([["a", 1.0], ["b", 2.0], ["a", 1.5]], ["yes", "no", "yes"])
        >>> chart = model.nomogram("yes", row=["a", 1.2])
        >>> round(chart.probability(chart.total), 9) == round(float(model.predict_proba([["a", 1.2]])[0, 1]), 9)
        True
        """
        return self._nomogram(label, against, row, most, lang)

    def class_profile(
        self, attributes: Sequence[Name] | None = None, *, most: int = 8, lang: str = "en"
    ) -> ClassProfile:
        """Show how each attribute is distributed in each class, as naive Bayes estimates it.

        Parameters
        ----------
        attributes : sequence of names, optional
            Those to show, in this order; else those that tell most about the class.
        most : int
            How many to draw where none are named.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes(smoothing=0).fit([["a"], ["b"], ["a"]], [0, 0, 1])
        >>> model.class_profile()["x0"].shares.round(3).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        return self._class_profile(attributes, most, lang)

    def regions(
        self,
        x: Name,
        y: Name,
        *,
        given: Mapping[Any, object] | None = None,
        rows: TableLike | None = None,
        labels: LabelsLike | None = None,
        grid: int = 60,
        lang: str = "en",
    ) -> Regions:
        """Show the posterior over two attributes: the most probable class, and how sure.

        Parameters
        ----------
        x, y : column names
            Across and upwards.
        given : mapping from column to value, optional
            Values of other attributes; those not named are unknown.
        rows, labels : table and array of shape (n,), optional
            Rows to draw as dots, with their classes.
        grid : int
            How many numbers a numeric attribute takes.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit([["a", 1.0], ["b", 2.0], ["a", 1.5], ["b", 3.0]], [0, 1, 0, 1])
        >>> model.regions("x1", "x0", grid=3).chosen.tolist()
        [[0, 1, 1], [0, 1, 1]]
        """
        from bayeskit._classifiers.picture_data import RegionSettings

        return self._regions(RegionSettings(x, y, given, rows, labels, grid, lang))

    def reliability(
        self,
        X: TableLike,
        y: ArrayLike,
        *,
        label: Label | None = None,
        n_bins: int = 10,
        strategy: str = "uniform",
        lang: str = "en",
    ) -> Reliability:
        """Compare posteriors of rows with what came true: of those given 70%, how many are of the class?

        Take rows that were not learned; for learned ones pass what ``leave_one_out`` answers, where a classifier has
        it, to :func:`bayeskit.charts.reliability`.

        Parameters
        ----------
        X, y : rows and their classes
        label : label, optional
            Whose posterior. Without it: of two classes the second, of more the one chosen.
        n_bins : int
        strategy : "uniform" or "quantile"
            Bins of one width, or of about as many rows each.
        lang : "en" or "zh"
        """
        from bayeskit._report.charts.reliability_chart import reliability

        posterior = self.predict_proba(X)
        return reliability(
            y, posterior, self.classes_, label=label, n_bins=n_bins, strategy=strategy, lang=lang
        )

    def reject_curve(self, X: TableLike, y: ArrayLike, *, lang: str = "en") -> RejectCurve:
        """Show the error of the rows that are answered when the least sure ones are rejected.

        Parameters
        ----------
        X, y : rows that were not learned, and their classes
        lang : "en" or "zh"
        """
        from bayeskit._report.charts.decision_curves import reject_curve

        return reject_curve(y, self.predict_proba(X), self.classes_, lang=lang)

    def cost_curve(
        self, X: TableLike, y: ArrayLike, *, label: Label | None = None, lang: str = "en"
    ) -> CostCurve:
        """Show what mistakes about a class cost, for every proportion of the costs of false alarms and misses.

        Parameters
        ----------
        X, y : rows that were not learned, and their classes
        label : label, optional
            The class that is said or not; of two classes the second.
        lang : "en" or "zh"
        """
        from bayeskit._report.charts.decision_curves import cost_curve

        return cost_curve(y, self.predict_proba(X), self.classes_, label=label, lang=lang)

    # -- how unlabelled rows took part ---------------------------------------------------------

    @property
    def history_(self) -> list[float]:
        """log P(c, x) of labelled rows + λ log P(x) of unlabelled ones, summed, at the start and after every step.

        Where a prior is imaginary rows, and no attribute has a parent, these are in it. The start may be −inf: under
        maximum likelihood an unlabelled row may be impossible by the labelled rows alone.

        ComplementNB, WeightedNB and AutoBayes have no P(x). They are self-trained, which is no EM and guarantees
        nothing: this is then log P(c | x) of the labelled rows, summed; a step after which it falls is the last.

        The model kept is that of the step with the largest value, the start apart: where smoothing follows the counts
        (back-off) the value may fall at once, and the unlabelled rows would never take part.
        """
        return list(self._completion("history"))

    @property
    def converged_(self) -> bool:
        """Whether the last step gained next to nothing; in self-training, whether shares were still or it lost."""
        return bool(self._completion("converged"))

    @property
    def n_iter_(self) -> int:
        """How many steps were made."""
        return max(len(self._completion("history")) - 1, 0)

    @property
    def em_fell_(self) -> bool:
        """Whether some step lost more than rounding.

        That can happen where the estimate is not the one of maximum likelihood or posterior (back-off, averages of
        models, kernel and Student densities, class weights, unbiased variances), and at the first step with
        ``missing="state"``, where only unlabelled rows miss a value; self-training (see ``history_``) often loses. The
        best of all steps is kept; the start is none.
        """
        return bool(self._completion("fell"))

    @property
    def unlabelled_weight_(self) -> float:
        """λ: what an unlabelled row weighs beside a labelled one."""
        return float(self._completion("weight"))

    @property
    def unlabelled_losses_(self) -> dict[float, float]:
        """The leave-one-out log-loss of the labelled rows under each λ that was tried; empty where it was given."""
        return dict(self._completion("losses"))

    def _completion(self, key: str) -> Any:
        found = self.held_.get("completion")
        if found is None:
            raise AttributeError(
                f"This {type(self).__name__} was not fitted with semi_supervised=True, so it has nothing to tell of "
                "unlabelled rows."
            )
        return found[key]

    # -- hooks ---------------------------------------------------------------------------------

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    @property
    @abstractmethod
    def schema_(self) -> Schema:
        """The attributes and the class, with their states."""

    @property
    @abstractmethod
    def held_(self) -> dict[str, Any]:
        """What needed rows to be chosen."""

    @abstractmethod
    def predict_proba(self, X: TableLike) -> Floats:
        """Return P(c | x) of each row: shape (n, K)."""

    @abstractmethod
    def _card(self) -> str:
        """Return HTML about what was learned."""

    @abstractmethod
    def _contribution_logs(self, table: Table) -> tuple[tuple[Name, ...], Floats]:
        """Return the columns, and the logarithms whose sum over them is log P(c, x): shape (n, columns, K)."""

    @abstractmethod
    def _questions(
        self, row: RowLike, costs: Mapping[Any, float] | None, loss: LossLike, lang: str
    ) -> Questions: ...

    @abstractmethod
    def _strangeness(self, table: Table, n_samples: int, random_state: Seed) -> Novelty: ...

    @abstractmethod
    def _posterior_draws(self, table: Table, draws: Draws) -> Iterator[tuple[Any, Floats]]:
        """Yield the places of some rows, and P(c | x) of each under every draw: shape (rows, draws, K)."""

    @abstractmethod
    def _nomogram(
        self, label: Label | None, against: Label | None, row: RowLike | None, most: int, lang: str
    ) -> Nomogram: ...

    @abstractmethod
    def _class_profile(self, attributes: Sequence[Name] | None, most: int, lang: str) -> ClassProfile: ...

    @abstractmethod
    def _regions(self, view: RegionSettings) -> Regions: ...
