"""The pictures of a classifier: nomogram, class profile, decision regions, and those of its predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayeskit.classifiers.intervals import Intervals
from bayeskit.classifiers.prediction_pictures import PredictionPictures
from bayeskit.classifiers.region_data import View
from bayeskit.schema import Label, Name

if TYPE_CHECKING:
    from bayeskit.report.charts import ClassProfile, Nomogram, Regions


class Charts(PredictionPictures):
    """Charts of what was learned and of how it predicts; where their numbers come from is the classifier's own.

    Each is a value with the numbers in it. ``svg()`` is its text, ``save(path)`` writes it (.svg needs nothing, .png
    and .pdf need Matplotlib), ``plot(ax)`` draws it with Matplotlib, a notebook shows it.
    """

    def nomogram(
        self,
        label: Label | None = None,
        *,
        against: Label | None = None,
        row: Any = None,
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
        """Show how each attribute is distributed in each class: as naive Bayes estimates it, or by the network.

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
        >>> model = NaiveBayes(alpha=0).fit([["a"], ["b"], ["a"]], [0, 0, 1])
        >>> model.class_profile()["x0"].shares.round(3).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        return self._class_profile(attributes, most, lang)

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
        return self._regions(View(x, y, given, rows, labels, grid, lang))

    @abstractmethod
    def _nomogram(
        self, label: Label | None, against: Label | None, row: Any, most: int, lang: str
    ) -> Nomogram: ...

    @abstractmethod
    def _class_profile(self, attributes: Sequence[Name] | None, most: int, lang: str) -> ClassProfile: ...

    @abstractmethod
    def _regions(self, view: View) -> Regions: ...


class Pictures(Charts, Intervals):
    """The charts of a classifier that counts."""

    def _nomogram(
        self, label: Label | None, against: Label | None, row: Any, most: int, lang: str
    ) -> Nomogram:
        from bayeskit.classifiers.picture_data import nomogram_of

        return nomogram_of(self, label, against, row, most, lang)

    def _class_profile(self, attributes: Sequence[Name] | None, most: int, lang: str) -> ClassProfile:
        from bayeskit.classifiers.picture_data import class_profile_of

        return class_profile_of(self, attributes, most, lang)

    def _regions(self, view: View) -> Regions:
        from bayeskit.classifiers.picture_data import counted_regions

        return counted_regions(self, view)
