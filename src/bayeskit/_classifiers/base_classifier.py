"""What a fitted classifier tells of itself: explanations, credible intervals, charts, the steps of EM."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit._classifiers.input_checks import labels_of
from bayeskit._classifiers.notebook import html_repr, mimebundle
from bayeskit._data.class_labels import true_classes, weighted_mean
from bayeskit._data.table import Table
from bayeskit._on_demand import Program
from bayeskit._schema import Label, Name, Schema
from bayeskit.errors import SettingError
from bayeskit.typing import Floats, LabelsLike, LossLike, RowLike, Seed, TableLike, WeightsLike

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._fitting.fitted_state import FittedState
    from bayeskit._fitting.lazy_state import LazyState
    from bayeskit._fitting.model import Model
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._report.charts.class_profile import ClassProfile
    from bayeskit._report.charts.decision_curves import CostCurve, RejectCurve
    from bayeskit._report.charts.nomogram import Nomogram
    from bayeskit._report.charts.regions import Regions
    from bayeskit._report.charts.reliability_chart import Reliability
    from bayeskit._report.contributions import Contributions
    from bayeskit._report.explanation import Explanation
    from bayeskit._report.row_figures import Novelty, PosteriorInterval
    from bayeskit._report.value_of_information import Questions
    from bayeskit._statistics.statistics import Statistics

if TYPE_CHECKING or not Program.only_asks:
    from sklearn.base import BaseEstimator, ClassifierMixin
else:

    class ClassifierMixin:
        """What scikit-learn's classifiers share, none of which an answer needs."""

    class BaseEstimator:
        """Parameters by name, as scikit-learn reads them from ``__init__``."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
            given = signature(cls.__init__).parameters.values()
            return sorted(p.name for p in given if p.name != "self" and p.kind in kinds)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in self._get_param_names()}


def _as_network(classifier: CountClassifier) -> BayesianNetwork:
    """The model as a :class:`~bayeskit.BayesianNetwork`, built again on each access.

    The first node is the class, which is a parent of all other nodes. Its states are ``classes_``. The attributes
    follow in column order. The parents of each attribute are the class and then its parents in the model.

    - The states of an attribute that was cut are its intervals. A Gaussian attribute is a continuous node.
    - With ``missing="state"``, a discrete attribute with missing values has an additional state "(missing)", and a
      numeric one has an additional node "… is missing".
    - With ``unseen="smooth"``, an attribute has an additional state "(unseen)".
    - Attributes without information (constant numbers, empty columns) and attributes that the model does not use
      are left out.

    The network does not include ``calibration``.
    """
    # Networks are imported for those who ask for one.
    from bayeskit._classifiers.as_network import network_of_model
    from bayeskit._networks.bayesian_network import BayesianNetwork

    names = classifier._reader("network_").names
    return BayesianNetwork(network_of_model(classifier._model, names), name=type(classifier).__name__)


# A classifier whose model is a single graph declares ``network_ = is_network``.
is_network = property(_as_network)


class BaseClassifier(ClassifierMixin, BaseEstimator):
    """What a fitted classifier tells of itself. What it tells of is at the end: :class:`CountClassifier` has it.

    Charts are values that hold their numbers. ``svg()`` returns SVG text, ``save(path)`` writes a file (.png
    and .pdf need Matplotlib, .svg needs nothing), ``plot(ax)`` draws with Matplotlib, and notebooks show
    them.
    """

    # Parameters that pass the held choices of another model to this one.
    _takes_over: frozenset[str] = frozenset()
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

    def score(self, X: TableLike, y: LabelsLike, sample_weight: WeightsLike | None = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted.

        A class that was never learned counts as a wrong prediction.

        Parameters
        ----------
        X, y : held-out rows and their classes
        sample_weight : array of shape (n,), optional

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> NaiveBayes().fit([["a"], ["b"]], [0, 1]).score([["a"], ["b"], ["b"]], [0, 1, 2])
        0.6666666666666666
        """
        predicted = np.asarray(self.predict(X))
        classes = self.classes_.tolist()
        right = true_classes(y, len(predicted), classes) == true_classes(predicted, len(predicted), classes)
        return weighted_mean(right, sample_weight)

    # -- explanations --------------------------------------------------------------------------

    def explain(
        self,
        row: RowLike,
        *,
        lang: str = "en",
        loss: LossLike = None,
        reject: float | None = None,
        actions: Sequence[Label] | None = None,
        all: bool = False,
    ) -> Explanation:
        """Explain the prediction of one row: the prior, and each attribute's factor with the counts behind
        it.

        If attributes have parents, a factor is P(x | c, parents). For AODE, the explanation shows the
        posterior and the share of each super-parent. Any other model is explained by leaving out one value at
        a time. The posterior shown is the one before ``calibration``; the calibrated posterior follows below
        it.

        Parameters
        ----------
        row : mapping from column to value, list, or a table of one row
        lang : "en" or "zh"
        loss, reject, actions
            As in :func:`bayeskit.decision.decide`. The risk of each action is then shown as well.
        all : bool, default=False
            Show attributes that have the same factor in every class, too.

        Returns
        -------
        Explanation
            Print it or show it in a notebook. It also has ``waterfall``, ``to_html``, ``to_latex``, ``to_json``
            and ``to_dict``.
        """
        from bayeskit._classifiers.explain_rows import explained

        page = replace(explained(self, self._open_row(row), lang), all=all)
        plain = loss is None and reject is None and actions is None
        return page if plain else page.with_loss(loss, reject, actions)

    def contributions(self, X: TableLike, against: Label | None = None) -> Contributions:
        r"""Return what each attribute adds to the log-odds of each class. The class prior comes first.

        The columns of a row sum to :math:`\log P(c \mid x) - \log P(c' \mid x)`, before ``calibration``.

        If attributes depend on each other, a column holds log P(x | c, parents). Attributes that share a
        factor share it evenly. Jointly Gaussian attributes are taken in column order, each given those before
        it. The average of AODE is decomposed by the shares of its super-parents, any other model by leaving
        out one value at a time. The last column, "(together)", then holds what belongs to no single
        attribute.

        A BayesNetClassifier takes the values in the order of its arcs, each given the class and the values
        before it:

        - "(prior)" is P(c).
        - A parent of the class has the change that it makes to P(c), one parent after the other.
        - A child of the class has P(x | c, parents).
        - A column that is only another parent of a child has 0. It only selects the row of the child's table.

        Missing cells are summed out and contribute nothing.

        Parameters
        ----------
        X : rows as in ``predict``
            Naive Bayes and networks are fast for many rows. Other models take some milliseconds per row.
        against : label, optional
            The class c' to compare with. By default, the most probable of the other classes.

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit([["a"], ["b"], ["a"]], ["yes", "no", "yes"])
        >>> model.contributions([["a"]]).of("yes")["x0"].round(4)  # ln((3/4) / (1/3))
        array([0.8109])
        """
        from bayeskit._classifiers.explain_rows import contribution_logs
        from bayeskit._report.contributions import contributions_of

        classes = tuple(self.classes_.tolist())
        columns, logs = contribution_logs(self, self._open(X))
        return contributions_of(columns, classes, logs, against)

    def ask_next(
        self,
        row: RowLike | None = None,
        costs: Mapping[Any, float] | None = None,
        loss: LossLike = None,
        *,
        lang: str = "en",
    ) -> Questions:
        """Rank the missing values of a row by the value of information.

        The value of a question is the expected information about the class in bits or, with a loss, the
        expected reduction in risk, minus the cost of asking. The expectation runs over all states of the
        attribute, given the values present; for a number, over 200 quantiles of its distribution in the
        model. Posteriors are those before ``calibration``.

        Parameters
        ----------
        row : mapping from column to value, list, table of one row, or None
            Columns that a mapping does not name are missing. None means that nothing is known.
        costs : {attribute: number}, optional
            In bits or, with a loss, in the unit of the loss. Attributes that are not named cost 0.
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
        from bayeskit._classifiers.explain_rows import questions

        return questions(self, {} if row is None else row, costs, loss, lang)

    def novelty(self, X: TableLike, n_samples: int = 2000, random_state: Seed = 0) -> Novelty:
        """Return how unusual rows are: their log P(x) compared with that of rows sampled from the model.

        The model keeps no training rows, so the comparison is with its own distribution. For a
        BayesNetClassifier this is the distribution over the columns of its ``network_``; with
        ``markov_blanket=True``, over the Markov blanket of the class.

        Parameters
        ----------
        X : rows as in ``predict``
        n_samples : int
            The number of rows to sample. The shares come in steps of 1/n_samples.
        random_state : int, numpy Generator or None

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> X = [["a", "a"]] * 50 + [["b", "b"]] * 50 + [["c", "c"]]
        >>> found = NaiveBayes().fit(X, [0] * 50 + [1] * 51).novelty([["a", "a"], ["a", "b"], ["c", "c"]])
        >>> (found.share < 0.1).tolist(), (found.conflict > 0).tolist()
        ([False, True, True], [False, True, False])
        """
        from bayeskit._classifiers.explain_rows import novelty_of

        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            raise SettingError(
                "n_samples is {n_samples!r}; give a whole number of at least 1.", n_samples=n_samples
            )
        model, reader = self._model, self._reader("novelty")
        return novelty_of(model, reader, self._open(X), int(n_samples), random_state, type(self).__name__)

    def predict_interval(
        self, X: TableLike, level: float = 0.9, *, n_samples: int = 1000, random_state: Seed = 0
    ) -> PosteriorInterval:
        r"""Return credible intervals of P(c | x) for each row: 0.9 from 3 rows is not 0.9 from 3,000.

        The tables of a model are only as certain as its counts. Their posterior is Dirichlet(n + a), where a
        are the imaginary counts of the smoothing. The posterior of a normal is normal-inverse-gamma, that of
        a rate is gamma. All of them are drawn many times, and each draw classifies the row. The interval is
        the central interval that contains a share ``level`` of these posteriors.

        The structure of the model, its cut points, its calibration and the expected counts of unlabelled rows
        are taken as fixed. The back-off constants of TAN and kDB were chosen from the same rows, so they
        cannot serve as a prior. One imaginary row per state is used instead, distributed as the table with
        one parent fewer.

        In a BayesNetClassifier the table of each node is Dirichlet, and the regression of a continuous node
        has the posterior under the reference prior. Its arcs are taken as fixed.

        With ``smoothing=0``, a value never seen with a class is impossible in every draw. The prior of a
        Gaussian attribute is one imaginary row with the within-class variance. The family "student" has its
        own prior.

        Parameters
        ----------
        X : array, frame or sparse matrix
            The rows, as in ``predict_proba``.
        level : float, default=0.9
            The probability that P(c | x) lies in its interval, between 0 and 1.
        n_samples : int, default=1000
            The number of draws.
        random_state : int, numpy Generator or None, default=0
            The same number gives the same interval for a row, regardless of the other rows in X.

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
        from bayeskit._classifiers.explain_rows import checked_interval, posterior_draws, quantiles
        from bayeskit._conditionals.posterior_draws import Draws
        from bayeskit._report.row_figures import PosteriorInterval

        level, n, seed = checked_interval(level, n_samples, random_state)
        posterior = self.predict_proba(X)  # also checks X
        tail = 0.5 * (1.0 - level)
        found = np.empty((3, *posterior.shape))
        for rows, shares in posterior_draws(self, self._open(X), Draws(seed, n)):
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
        """Draw a nomogram: points for every attribute value, and the class probability for their sum.

        Points add up to the log-odds exactly, for two classes or for ``label`` and ``against``. Against all
        other classes together, the points of a value are those of the mixture of these classes. This is exact
        for a single value. For several known values, the sum approximates the posterior. Calibration is not
        included.

        A BayesNetClassifier has a nomogram only if no two columns in the Markov blanket depend on each other
        given the class, for example with ``method="naive"``. Any other network is an error, because there the
        effect of a value depends on the other values. Use ``explain`` or ``contributions`` instead.

        Parameters
        ----------
        label : label, optional
            The class to predict. By default, the last one.
        against : label, optional
            The class to compare it with, instead of all others.
        row : mapping from column to value, list, or a table of one row, optional
            A row to mark on the scales.
        most : int
            The maximum number of attributes to draw, the most informative first.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit([["a", 1.0], ["b", 2.0], ["a", 1.5]], ["yes", "no", "yes"])
        >>> chart = model.nomogram("yes", row=["a", 1.2])
        >>> round(chart.probability(chart.total), 9) == round(float(model.predict_proba([["a", 1.2]])[0, 1]), 9)
        True
        """
        from bayeskit._classifiers.picture_data import nomogram_of

        return nomogram_of(self, label, against, row, most, lang)

    def class_profile(
        self, attributes: Sequence[Name] | None = None, *, most: int = 8, lang: str = "en"
    ) -> ClassProfile:
        """Show how each attribute is distributed in each class, as naive Bayes estimates it.

        Parameters
        ----------
        attributes : sequence of names, optional
            The attributes to show, in this order. By default, those most informative about the class.
        most : int
            How many to draw if none are named.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes(smoothing=0).fit([["a"], ["b"], ["a"]], [0, 0, 1])
        >>> model.class_profile()["x0"].shares.round(3).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        from bayeskit._classifiers.picture_data import class_profile_of

        return class_profile_of(self, attributes, most, lang)

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
        """Show the posterior over two attributes: the most probable class, and its probability.

        Parameters
        ----------
        x, y : column names
            The horizontal and the vertical axis.
        given : mapping from column to value, optional
            Values of other attributes. Attributes that are not named are unknown.
        rows, labels : table and array of shape (n,), optional
            Rows to draw as dots, with their classes.
        grid : int
            The number of grid points of a numeric attribute.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit([["a", 1.0], ["b", 2.0], ["a", 1.5], ["b", 3.0]], [0, 1, 0, 1])
        >>> model.regions("x1", "x0", grid=3).chosen.tolist()
        [[0, 1, 1], [0, 1, 1]]
        """
        from bayeskit._classifiers.picture_data import RegionSettings, regions_of

        return regions_of(self, RegionSettings(x, y, given, rows, labels, grid, lang))

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
        """Draw a reliability diagram: of the rows with a posterior of 70%, how many belong to the class?

        Use held-out rows. For training rows, pass the result of ``leave_one_out``, if the classifier has it,
        to :func:`bayeskit.charts.reliability`.

        Parameters
        ----------
        X, y : rows and their classes
        label : label, optional
            The class whose posterior is checked. By default, the second of two classes, or the predicted
            class of more.
        n_bins : int
        strategy : "uniform" or "quantile"
            Bins of equal width, or with about equal numbers of rows.
        lang : "en" or "zh"
        """
        from bayeskit._report.charts.reliability_chart import reliability

        posterior = self.predict_proba(X)
        return reliability(
            y, posterior, self.classes_, label=label, n_bins=n_bins, strategy=strategy, lang=lang
        )

    def reject_curve(self, X: TableLike, y: ArrayLike, *, lang: str = "en") -> RejectCurve:
        """Show the error rate of the remaining rows when the least certain rows are rejected.

        Parameters
        ----------
        X, y : held-out rows and their classes
        lang : "en" or "zh"
        """
        from bayeskit._report.charts.decision_curves import reject_curve

        return reject_curve(y, self.predict_proba(X), self.classes_, lang=lang)

    def cost_curve(
        self, X: TableLike, y: ArrayLike, *, label: Label | None = None, lang: str = "en"
    ) -> CostCurve:
        """Show the expected cost for every ratio of the costs of false alarms and misses.

        Parameters
        ----------
        X, y : held-out rows and their classes
        label : label, optional
            The positive class. By default, the second of two classes.
        lang : "en" or "zh"
        """
        from bayeskit._report.charts.decision_curves import cost_curve

        return cost_curve(y, self.predict_proba(X), self.classes_, label=label, lang=lang)

    # -- semi-supervised learning --------------------------------------------------------------

    @property
    def history_(self) -> list[float]:
        """The objective of EM at the start and after every step.

        It is Σ log P(c, x) of the labelled rows plus λ Σ log P(x) of the unlabelled rows.

        If the prior is imaginary rows and no attribute has a parent, the objective includes the prior. The
        value at the start may be −inf: under maximum likelihood an unlabelled row may be impossible given the
        labelled rows alone.

        Models without P(x) are self-trained, such as ComplementNB, WeightedNB, LogLinearBayes, CountForest and
        AutoBayes, or AODE and AnDE with ``views``. This is not EM and has no guarantee. The objective is then
        Σ log P(c | x) of the labelled rows, and a step that decreases it is the last.

        The model of the step with the largest value is kept. The start does not compete: where smoothing
        follows the counts (back-off), the value may decrease at once, and the unlabelled rows would never be
        used.
        """
        return list(self._completion("history"))

    @property
    def converged_(self) -> bool:
        """Whether EM converged; in self-training, whether the posteriors settled or the objective decreased."""
        return bool(self._completion("converged"))

    @property
    def n_iter_(self) -> int:
        """The number of steps."""
        return max(len(self._completion("history")) - 1, 0)

    @property
    def em_fell_(self) -> bool:
        """Whether some step decreased the objective by more than rounding.

        This can happen if the estimate is not maximum likelihood or maximum a posteriori (back-off, averages
        of models, kernel and Student densities, class weights, unbiased variances). It can also happen at the
        first step with ``missing="state"`` if only unlabelled rows have missing values. In self-training (see
        ``history_``) it is common. The best of all steps is kept, not counting the start.
        """
        return bool(self._completion("fell"))

    @property
    def unlabelled_weight_(self) -> float:
        """λ: the weight of an unlabelled row relative to a labelled one."""
        return float(self._completion("weight"))

    @property
    def unlabelled_losses_(self) -> dict[float, float]:
        """The leave-one-out log-loss of the labelled rows for each λ that was tried. Empty if λ was given."""
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

    # Opens rows in memory. It goes to the workers of a cluster, so it is a function that knows nothing learned.
    _open: Callable[[TableLike], Table]

    def _open_row(self, row: RowLike) -> Table:
        """Open one row."""
        from bayeskit._report.row import one_row

        return one_row(row)

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _arithmetic(self, table: Table, lang: str) -> Explanation:
        """Return the page of one row, before calibration."""
        from bayeskit._classifiers.explain_rows import arithmetic

        return arithmetic(self, table, lang)

    def _card(self) -> str:
        """Return HTML that describes the fitted model."""
        from bayeskit._classifiers.notebook import card

        return card(self)

    # -- what is told of -----------------------------------------------------------------------

    # What a lazy classifier follows; None if it was fitted.
    _lazy: LazyState | None = None
    # Held for display, not for predictions: models that differ only in these can be merged.
    _not_choices = frozenset({"losses", "scores", "completion", "chosen_from"})

    @property
    @abstractmethod
    def schema_(self) -> Schema:
        """The attributes and the class, with their states."""

    @property
    @abstractmethod
    def held_(self) -> dict[str, Any]:
        """The choices made from rows, which later batches keep."""

    @property
    @abstractmethod
    def statistics_(self) -> Statistics:
        """The raw counts and sums, without smoothing."""

    @property
    @abstractmethod
    def _model(self) -> Model:
        """The probabilities that were estimated."""

    @abstractmethod
    def _reader(self, verb: str) -> FittedState:
        """Return what knows how rows are read, counted here or lazily."""

    @abstractmethod
    def _calibrated(self, log_share: Floats, schema: Schema) -> Floats:
        """Return calibrated log-posteriors for plain ones."""

    @abstractmethod
    def predict(self, X: TableLike) -> Any:
        """Return the class of each row: shape (n,)."""

    @abstractmethod
    def predict_proba(self, X: TableLike) -> Floats:
        """Return P(c | x) of each row: shape (n, K)."""
