"""Which family each attribute has, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayeskit.errors import ColumnError
from bayeskit.estimation.density import why_hinted
from bayeskit.learning.recipe import Recipe
from bayeskit.schema import Kind, Name, Schema

_KIND: dict[str, Kind] = {"table": "categorical", "bernoulli": "categorical"}


@dataclass(frozen=True)
class Choice:
    """The family of one attribute.

    Attributes
    ----------
    family : str
    why : str
    suggestion : str or None
        Another family that may suit better; it is never taken by itself.
    """

    family: str
    why: str
    suggestion: str | None = None


def kinds_of_families(families: Mapping[Name, str] | None) -> dict[Name, Kind]:
    """Return the kind that each named family asks of its column."""
    return {name: _KIND.get(family, "numeric") for name, family in (families or {}).items()}


def check_bernoulli(schema: Schema, families: Mapping[Name, str]) -> None:
    """Refuse more than two states where the family is Bernoulli."""
    for variable in schema.categorical:
        name, size = variable.name, variable.size
        if families.get(name) == "bernoulli" and size > 2:
            states = ", ".join(map(repr, variable.states[:5])) + (", …" if size > 5 else "")
            raise ColumnError(
                f"families[{name!r}] is 'bernoulli', of two states, and the column has {size}: {states}. Choose "
                "'table', or leave the family out."
            )


def explain_families(
    schema: Schema, recipe: Recipe, asked: Mapping[Name, str], hints: Mapping[Name, str], auto: bool = False
) -> dict[Name, Choice]:
    """Tell the family of every attribute and the reason for it."""
    choices: dict[Name, Choice] = {}
    for variable in schema.attributes:
        name = variable.name
        if name in asked:
            why = "least leave-one-out log-loss" if auto else "asked for in families="
            choices[name] = Choice(asked[name], why)
        elif variable.kind == "categorical":
            choices[name] = Choice("table", f"categorical, {variable.size} states")
        elif variable.kind == "block":
            choices[name] = Choice(recipe.block_family, f"a block of {variable.width} columns")
        else:
            hint = hints.get(name)
            hint = None if hint == recipe.family(name) else hint
            why = "numeric" + (f"; but {why_hinted(hint)}" if hint else "")
            choices[name] = Choice(recipe.family(name), why, hint)
    return choices
