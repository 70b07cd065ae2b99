"""The pictures of a classifier that counts: nomogram, class profile, decision regions, and those of its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayeskit.classifiers.intervals import Intervals
from bayeskit.classifiers.prediction_pictures import PredictionPictures
from bayeskit.schema import Label, Name

if TYPE_CHECKING:
    from bayeskit.report.charts import ClassProfile, Nomogram, Regions


class Pictures(PredictionPictures, Intervals):
    """Charts of what was learned and of how it predicts.

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
        from bayeskit.classifiers.picture_data import nomogram_of

        return nomogram_of(self, label, against, row, most, lang)

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
        >>> model = NaiveBayes(alpha=0).fit([["a"], ["b"], ["a"]], [0, 0, 1])
        >>> model.class_profile()["x0"].shares.round(3).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        from bayeskit.classifiers.picture_data import class_profile_of

        return class_profile_of(self, attributes, most, lang)

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
        from bayeskit.classifiers.picture_data import counted_regions

        return counted_regions(self, x, y, given, rows, labels, grid, lang)
