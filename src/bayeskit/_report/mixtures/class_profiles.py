"""Profiles of the components of a latent class model, attribute by attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.native_frames import to_native
from bayeskit._display_table import text_lines
from bayeskit._fitting.mixtures.latent_model import components_of
from bayeskit._fitting.model import Model
from bayeskit._messages import Joined
from bayeskit._schema import Label, Name
from bayeskit.errors import ColumnError

Floats = NDArray[np.float64]

MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Profile:
    """One attribute in every component.

    Attributes
    ----------
    name : hashable
    family : "table", or the name of a family of numbers
    rows : tuple
        The names of the values: the states; or "mean" and "sd"; or "rate"; …. If missing is a state,
        "(missing)" is added.
    values : array of shape (components, rows)
    """

    name: Name
    family: str
    rows: tuple[Label, ...]
    values: Floats


@dataclass(frozen=True, eq=False)
class ClassProfiles:
    """Every attribute in every component. Prints as a table, also in notebooks.

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
        known = Joined(repr(p.name) for p in self.profiles[:12])
        raise ColumnError("There is no attribute {name!r}. There are {known}.", name=name, known=known)

    def frame(self) -> Any:
        """Return a data frame of an installed library, with a row for each row of each profile."""
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
        return "\n".join([page.title, "", *text_lines(page)])

    def _repr_html_(self) -> str:
        from bayeskit._display_table import as_html

        return as_html(self._page())

    def _page(self) -> Any:
        from bayeskit._display_table import DisplayTable

        k = len(self.weights)
        rows = [("(weight)", "", *(f"{w:.4g}" for w in self.weights))]
        for profile in self.profiles:
            for i, row in enumerate(profile.rows):
                name = str(profile.name) if i == 0 else ""
                rows.append((name, str(row), *(f"{value:.4g}" for value in profile.values[:, i])))
        header = ("attribute", "", *(f"component {place}" for place in range(k)))
        return DisplayTable(f"{k} component{'' if k == 1 else 's'}", header, tuple(rows), right=len(header))


class _Profiles:
    """The profiles so far, and the share of rows in which an attribute is missing, if missing is a state."""

    def __init__(self, model: Model) -> None:
        self.schema = model.schema
        self.found: dict[Name, Profile] = {}
        self.missing: dict[Name, Floats] = {}

    def add_table(self, column: int, values: Floats) -> None:
        variable = self.schema.categorical[column]
        self.found[variable.name] = Profile(variable.name, "table", variable.states, values)

    def add_numbers(self, column: int, family: str, rows: tuple[str, ...], values: Floats) -> None:
        name = self.schema.numeric[column].name
        self.found[name] = Profile(name, family, rows, values)

    def add_missing(self, kind: Literal["categorical", "numeric"], column: int, share: Floats) -> None:
        self.missing[getattr(self.schema, kind)[column].name] = share


def class_profiles(model: Model) -> ClassProfiles:
    """Return the profiles of the components of a naive Bayes model with a hidden class."""
    page = _Profiles(model)
    for component in components_of(model):
        component.describe(page)
    found = page.found
    for name, share in page.missing.items():
        p = found[name]
        found[name] = Profile(name, p.family, (*p.rows, MISSING), np.column_stack([p.values, share]))
    return ClassProfiles(np.exp(model.log_prior), tuple(found[v.name] for v in model.schema.attributes))
