"""The pictures of a network classifier: nomogram where every column speaks for itself, class profile, regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayeskit.classifiers.network_classifier.answers import BayesNetAnswers
from bayeskit.classifiers.pictures import Charts
from bayeskit.classifiers.region_data import View
from bayeskit.schema import Label, Name

if TYPE_CHECKING:
    from bayeskit.report.charts import ClassProfile, Nomogram, Regions


class BayesNetPictures(Charts, BayesNetAnswers):
    """The charts, from the network."""

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
