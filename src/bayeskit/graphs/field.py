"""A Markov network as a value: variables in order, and factors over some of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from bayeskit.errors import SettingError
from bayeskit.graphs.factor import Factor
from bayeskit.schema import Name, Variable, first_twice


@dataclass(frozen=True)
class Field:
    """Discrete variables and the factors whose product, normalised, is their distribution."""

    variables: tuple[Variable, ...]
    factors: tuple[Factor, ...]
    name: str = field(default="", compare=False)
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        twice = first_twice(variable.name for variable in self.variables)
        if twice is not None:
            raise SettingError(f"Two variables are named {twice!r}. Rename one of them.")
        for factor in self.factors:
            for name, states in zip(factor.names, factor.states):
                if name not in self.position:
                    raise SettingError(f"A factor is over {name!r}, which is no variable here.")
                if states != self.variables[self.position[name]].states:
                    raise SettingError(f"A factor gives {name!r} other states than the network does.")

    @cached_property
    def position(self) -> dict[Name, int]:
        return {variable.name: place for place, variable in enumerate(self.variables)}
