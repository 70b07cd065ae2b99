"""What classifiers share that are one graph over their attributes: its arcs and its tables."""

from __future__ import annotations

from typing import Any

from bayeskit.classifiers.dependent_table import DependentTable
from bayeskit.classifiers.network import is_network
from bayeskit.classifiers.semi_naive import SemiNaive
from bayeskit.classifiers.structures import Edge, edges_of
from bayeskit.classifiers.tables import LabelledTable, table_with_parents
from bayeskit.graphs.dag import Dag
from bayeskit.learning.model import weighted_classes
from bayeskit.schema import Name


class Structured(SemiNaive):
    """Classifiers whose form has a ``graph``."""

    network_ = is_network

    @property
    def structure_(self) -> dict[Name, tuple[Name, ...]]:
        """The parents of each attribute that the model uses, beside the class."""
        return self._dag.as_mapping()

    @property
    def edges_(self) -> list[Edge]:
        """The arcs with what their ends share given the class, in nats."""
        return edges_of(self.structure_, self.statistics_)

    def table(self, name: Name) -> LabelledTable | DependentTable:
        """Return P(x | c, parents) and the counts behind it, labelled: classes × parents × states."""
        return table_with_parents(self._model, self.statistics_, name)

    @property
    def _dag(self) -> Dag:
        """Which attributes depend on which, beside the class."""
        fitted = self._reader("structure_")
        statistics = self.statistics_
        assert fitted.recipe is not None
        if not statistics.schema.categorical:
            return Dag.of({}, (v.name for v in statistics.schema.attributes))
        form: Any = fitted.recipe.form
        found: Dag = form.graph(weighted_classes(statistics, fitted.recipe))
        return found
