"""The pictures of a network classifier: nomogram where every column speaks for itself, class profile, regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayeskit.classifiers.bayes_net_answers import BayesNetAnswers
from bayeskit.classifiers.prediction_pictures import PredictionPictures
from bayeskit.schema import Label, Name

if TYPE_CHECKING:
    from bayeskit.report.charts import ClassProfile, Nomogram, Regions


class BayesNetPictures(PredictionPictures, BayesNetAnswers):
    """Charts of what was learned; they are the values that :class:`~bayeskit.NaiveBayes` gives, too."""

    def nomogram(
        self,
        label: Label | None = None,
        *,
        against: Label | None = None,
        row: Any = None,
        most: int = 12,
        lang: str = "en",
    ) -> Nomogram:
        """Give every value of every column points, as :meth:`bayeskit.NaiveBayes.nomogram` does.

        A value has points of its own only where no two columns around the class depend on each other, given the class:
        with ``method="naive"``, or where a search happens to find so. Any other network is refused: there a value says
        this or that, by what else is known, and ``explain`` or ``contributions`` tell it of a row.

        Examples
        --------
        >>> from bayeskit import BayesNetClassifier
        >>> model = BayesNetClassifier("naive").fit([["a", 1.0], ["b", 2.0], ["a", 1.5]], ["yes", "no", "yes"])
        >>> chart = model.nomogram("yes", row=["a", 1.2])
        >>> round(chart.probability(chart.total), 9) == round(float(model.predict_proba([["a", 1.2]])[0, 1]), 9)
        True
        """
        from bayeskit.classifiers.bayes_net_charts import network_nomogram

        return network_nomogram(self, label, against, row, most, lang)

    def class_profile(
        self, attributes: Sequence[Name] | None = None, *, most: int = 8, lang: str = "en"
    ) -> ClassProfile:
        """Show how each column of ``network_`` is distributed in each class, all others being summed out.

        Parameters
        ----------
        attributes : sequence of names, optional
            Those to show, in this order; else those that tell most about the class.
        most : int
            How many to draw where none are named.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit import BayesNetClassifier
        >>> model = BayesNetClassifier("naive", prior="mle").fit([["a"], ["b"], ["a"]], [0, 0, 1])
        >>> model.class_profile()["x0"].shares.round(3).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        from bayeskit.classifiers.bayes_net_charts import network_profile

        return network_profile(self, attributes, most, lang)

    def regions(
        self,
        x: Name,
        y: Name,
        *,
        given: Mapping[Name, Any] | None = None,
        rows: Any = None,
        labels: Any = None,
        grid: int = 60,
        lang: str = "en",
    ) -> Regions:
        """Show the posterior over two columns, as :meth:`bayeskit.NaiveBayes.regions` does; others are summed out.

        Examples
        --------
        >>> from bayeskit import BayesNetClassifier
        >>> rows = [["a", 1.0], ["b", 2.0], ["a", 1.5], ["b", 3.0]]
        >>> BayesNetClassifier("naive").fit(rows, [0, 1, 0, 1]).regions("x1", "x0", grid=3).chosen.tolist()
        [[0, 1, 1], [0, 1, 1]]
        """
        from bayeskit.classifiers.bayes_net_charts import network_regions

        return network_regions(self, x, y, given, rows, labels, grid, lang)
