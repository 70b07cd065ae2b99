"""Evidence that a node is *not* in some states."""

from __future__ import annotations

from bayeskit.errors import SettingError
from bayeskit.schema import Label


class Not:
    """None of these states: negative evidence.

    Parameters
    ----------
    *states : the states that are excluded, one or more

    Examples
    --------
    >>> Not("red"), Not("red", "green")
    (Not('red'), Not('red', 'green'))
    """

    __slots__ = ("states",)

    states: tuple[Label, ...]

    def __init__(self, *states: Label) -> None:
        if not states:
            raise SettingError('Not() excludes nothing. Name the states that are excluded: Not("red").')
        self.states = states

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Not) and self.states == other.states

    def __hash__(self) -> int:
        return hash((Not, self.states))

    def __repr__(self) -> str:
        return f"Not({', '.join(map(repr, self.states))})"
