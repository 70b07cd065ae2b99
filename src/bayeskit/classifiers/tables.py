"""A table of the model with its labels on: classes × states, probabilities and counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import ColumnError
from bayeskit.estimation.table import TableConditional
from bayeskit.learning.naive import Model
from bayeskit.schema import Label, Name
from bayeskit.statistics import Statistics

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LabelledTable:
    """P(x = v | c) with the counts it came from; rows are classes, columns states.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> table = NaiveBayes().fit([["a"], ["b"], ["a"]], [0, 0, 1]).table("x0")
    >>> table.states, table.counts.tolist()
    (('a', 'b'), [[1.0, 1.0], [1.0, 0.0]])
    >>> float(table[1, "a"])
    0.6666666666666666
    """

    name: Name
    classes: tuple[Label, ...]
    states: tuple[Label, ...]
    probabilities: Floats
    counts: Floats

    def __getitem__(self, key: tuple[Label, Label]) -> float:
        label, state = key
        try:
            return float(self.probabilities[self.classes.index(label), self.states.index(state)])
        except ValueError:
            raise ColumnError(
                f"{self.name!r} has classes {list(self.classes)!r} and states {list(self.states)!r}, not {key!r}."
            ) from None

    def to_frame(self) -> Any:
        """Return the probabilities as a pandas frame: classes × states."""
        import pandas as pd

        return pd.DataFrame(self.probabilities, index=list(self.classes), columns=list(self.states))


def labelled_table(model: Model, statistics: Statistics, name: Name) -> LabelledTable:
    """Find the table of one attribute, or of the class itself."""
    schema = model.schema
    classes = schema.target.states
    if name == schema.target.name:
        prior = np.exp(model.log_prior)
        return LabelledTable(name, classes, ("P",), prior[:, None], statistics.class_counts[:, None])
    names = [v.name for v in schema.categorical]
    if name not in names:
        raise ColumnError(
            f"{name!r} has no table: it is {'numeric' if name in schema.position else 'no attribute'}. "
            f"Tables: {', '.join(map(repr, names[:12])) or 'none'}."
        )
    conditional = next(c for c in model.conditionals if isinstance(c, TableConditional))
    probabilities = conditional.probabilities(names.index(name)).T
    counts = statistics.table(name).T
    return LabelledTable(name, classes, schema[name].states, probabilities.copy(), counts.copy())
