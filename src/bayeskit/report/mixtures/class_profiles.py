"""What the components of a model of hidden classes are like, attribute by attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.native import to_native
from bayeskit.errors import ColumnError
from bayeskit.estimation.gaussian import Gaussian
from bayeskit.estimation.poisson import Poisson
from bayeskit.estimation.presence import Presence
from bayeskit.estimation.table import TableConditional
from bayeskit.learning.model import Model
from bayeskit.report.width import padded
from bayeskit.schema import Label, Name

Floats = NDArray[np.float64]

MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Profile:
    """One attribute in every component.

    Attributes
    ----------
    name : hashable
    family : "table", "gaussian" or "poisson"
    rows : tuple
        What is told: the states; or "mean" and "sd"; or "rate". Where missing is a state, "(missing)" is one more.
    values : array of shape (components, rows)
    """

    name: Name
    family: str
    rows: tuple[Label, ...]
    values: Floats


@dataclass(frozen=True, eq=False)
class ClassProfiles:
    """Every attribute in every component; ``str`` and notebooks show a table.

    Attributes
    ----------
    weights : array of shape (K,)
        P(k).
    profiles : tuple of Profile
        In the order of the columns.

    Examples
    --------
    >>> rain = Profile("rain", "table", ("no", "yes"), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> print(ClassProfiles(np.array([0.75, 0.25]), (rain,)))
    2 components
    <BLANKLINE>
    attribute       component 0  component 1
    (weight)        0.75         0.25
    rain       no   0.9          0.2
               yes  0.1          0.8
    """

    weights: Floats
    profiles: tuple[Profile, ...]

    def __getitem__(self, name: Name) -> Profile:
        for profile in self.profiles:
            if profile.name == name:
                return profile
        known = ", ".join(repr(p.name) for p in self.profiles[:12])
        raise ColumnError(f"There is no attribute {name!r}. There are {known}.")

    def frame(self) -> Any:
        """Return all of it as a data frame of the library that is installed: a row for each row of each profile."""
        lines = [(p.name, row, p.values[:, i]) for p in self.profiles for i, row in enumerate(p.rows)]
        columns: dict[str, Any] = {
            "attribute": np.array([str(name) for name, _, _ in lines], dtype=object),
            "row": np.array([str(row) for _, row, _ in lines], dtype=object),
        }
        for k in range(len(self.weights)):
            columns[f"component {k}"] = np.array([values[k] for _, _, values in lines])
        return to_native(columns)

    def __str__(self) -> str:
        page = self._page()
        lines = [
            "  ".join(padded(cell, width) for cell, width in zip(cells, page.widths)).rstrip()
            for cells in (page.header, *page.rows)
        ]
        return "\n".join([page.title, "", *lines])

    def _repr_html_(self) -> str:
        from bayeskit.report.html import as_html

        return as_html(self._page())

    def _page(self) -> Any:
        from bayeskit.report.page import Page

        k = len(self.weights)
        rows = [("(weight)", "", *(f"{w:.4g}" for w in self.weights))]
        for profile in self.profiles:
            for i, row in enumerate(profile.rows):
                name = str(profile.name) if i == 0 else ""
                rows.append((name, str(row), *(f"{value:.4g}" for value in profile.values[:, i])))
        header = ("attribute", "", *(f"component {place}" for place in range(k)))
        return Page(f"{k} component{'' if k == 1 else 's'}", header, tuple(rows), (), ())


def class_profiles(model: Model) -> ClassProfiles:
    """Read the profiles of the components off a naive Bayes model whose class was hidden."""
    found: dict[Name, Profile] = {}
    missing: dict[Name, Floats] = {}
    for conditional in model.conditionals:
        match conditional:
            case TableConditional():
                for j, variable in enumerate(model.schema.categorical):
                    values = conditional.probabilities(j).T
                    found[variable.name] = Profile(variable.name, "table", variable.states, values)
                    spare = conditional.log_table[int(conditional.offsets[j + 1]) - 2]
                    if spare.any():
                        missing[variable.name] = np.exp(spare)
            case Gaussian():
                spread = np.where(conditional.used, conditional.deviation, 0.0)
                for i, column in enumerate(conditional.columns.tolist()):
                    name = model.schema.numeric[column].name
                    values = np.column_stack([conditional.mean[:, i], spread[:, i]])
                    found[name] = Profile(name, "gaussian", ("mean", "sd"), values)
            case Poisson():
                for i, name in enumerate(conditional.names):
                    found[name] = Profile(name, "poisson", ("rate",), conditional.rates[:, i : i + 1])
            case Presence():
                for i, column in enumerate(conditional.columns.tolist()):
                    missing[model.schema.numeric[column].name] = np.exp(conditional.log_missing[i])
    for name, share in missing.items():
        p = found[name]
        found[name] = Profile(name, p.family, (*p.rows, MISSING), np.column_stack([p.values, share]))
    return ClassProfiles(np.exp(model.log_prior), tuple(found[v.name] for v in model.schema.attributes))
