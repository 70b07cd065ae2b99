"""Interfaces for your own classifiers, densities, statistics, backends and inference engines."""

from typing import TYPE_CHECKING

from bayeskit._on_demand import on_demand

# Name → module, imported on demand.
_HOMES = {
    "BACKENDS": "bayeskit._counting.backend",
    "COUNTERS": "bayeskit._counting.backend",
    "METHODS": "bayeskit._networks.approximation",
    "Backend": "bayeskit._counting.backend_protocol",
    "CellTable": "bayeskit._statistics.part",
    "Chunk": "bayeskit._data.encoded",
    "ColumnSums": "bayeskit._conditionals.density",
    "Conditional": "bayeskit._conditionals.conditional",
    "CountClassifier": "bayeskit._classifiers.count_classifier",
    "Density": "bayeskit._conditionals.density",
    "Embedding": "bayeskit._statistics.part",
    "Engine": "bayeskit._networks.approximation",
    "FamilyWords": "bayeskit._conditionals.density",
    "Formula": "bayeskit._conditionals.density",
    "Model": "bayeskit._fitting.model",
    "ModelForm": "bayeskit._fitting.model",
    "ModelSpec": "bayeskit._fitting.model",
    "Parameter": "bayeskit._conditionals.density",
    "Part": "bayeskit._statistics.part",
    "Pattern": "bayeskit._statistics.term",
    "Plan": "bayeskit._statistics.term",
    "Question": "bayeskit._networks.approximation",
    "Reading": "bayeskit._data.reading",
    "Term": "bayeskit._statistics.term",
    "register_family": "bayeskit._conditionals.density",
}

__all__ = [
    "BACKENDS",
    "COUNTERS",
    "METHODS",
    "Backend",
    "CellTable",
    "Chunk",
    "ColumnSums",
    "Conditional",
    "CountClassifier",
    "Density",
    "Embedding",
    "Engine",
    "FamilyWords",
    "Formula",
    "Model",
    "ModelForm",
    "ModelSpec",
    "Parameter",
    "Part",
    "Pattern",
    "Plan",
    "Question",
    "Reading",
    "Term",
    "register_family",
]

if TYPE_CHECKING:
    from bayeskit._classifiers.count_classifier import CountClassifier
    from bayeskit._conditionals.conditional import Conditional
    from bayeskit._conditionals.density import (
        ColumnSums,
        Density,
        FamilyWords,
        Formula,
        Parameter,
        register_family,
    )
    from bayeskit._counting.backend import BACKENDS, COUNTERS
    from bayeskit._counting.backend_protocol import Backend
    from bayeskit._data.encoded import Chunk
    from bayeskit._data.reading import Reading
    from bayeskit._fitting.model import Model, ModelForm, ModelSpec
    from bayeskit._networks.approximation import METHODS, Engine, Question
    from bayeskit._statistics.part import CellTable, Embedding, Part
    from bayeskit._statistics.term import Pattern, Plan, Term

__getattr__, __dir__ = on_demand(__name__, _HOMES)
