"""Answers of an influence diagram: policies as tables and as a tree, one choice, the value of information."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from bayeskit._display_table import MOST_ROWS, DisplayTable, as_html, as_text, notebook_html
from bayeskit._graphs.factor import Factor
from bayeskit._markup import framed
from bayeskit._messages import Joined, Message
from bayeskit._networks.strategy_tree import WORDS, StrategyTree, number, strategy_tree
from bayeskit._schema import Label, Name, state_code
from bayeskit.errors import SettingError
from bayeskit.typing import Floats, Ints

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork


@dataclass(frozen=True, eq=False)
class Policy:
    """The optimal policy of one decision: a choice for each configuration of the observations that matter.

    Attributes
    ----------
    decision : name
    states : tuple
        What can be chosen.
    given : tuple of names
        The requisite observations, one for each axis. Others make no difference, also if they are observed.
    given_states : tuple of tuples
    choices : array of codes of ``states``, with an axis for each of ``given``
    utilities : array with one more axis, for ``states``
        The expected sum of the utilities that the decision can still change, if later decisions are optimal.
    possible : bool array like ``choices``
        Whether the configuration can occur.
    """

    decision: Name
    states: tuple[Label, ...]
    given: tuple[Name, ...]
    given_states: tuple[tuple[Label, ...], ...]
    choices: Ints
    utilities: Floats
    possible: NDArray[np.bool_]

    def choice(self, observed: Mapping[Any, Any] | None = None) -> Label:
        """Return what to choose after these observations; those that do not matter may be left out or given.

        Examples
        --------
        >>> from bayeskit.networks import oil_wildcatter
        >>> oil_wildcatter().solve()["drill"].choice({"test": "seismic", "result": "open"})
        'yes'
        """
        observed = observed or {}
        place = tuple(
            state_code(name, states, observed[name]) if name in observed else slice(None)
            for name, states in zip(self.given, self.given_states, strict=True)
        )
        missing = [name for name in self.given if name not in observed]
        # Where all that can still be observed leads to the same choice, nothing is missing.
        left = np.unique(self.choices[place][self.possible[place]] if missing else self.choices[place])
        if len(left) != 1:
            raise SettingError(
                "The best choice of {decision!r} depends on {missing}, which is not given. Give its state.",
                decision=self.decision,
                missing=Joined(map(repr, missing)),
            )
        return self.states[int(left[0])]

    def to_factor(self) -> Factor:
        """Return the policy as a conditional table: probability one for the choice."""
        names = (*self.given, self.decision)
        return Factor(names, (*self.given_states, self.states), np.eye(len(self.states))[self.choices])

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each configuration that can occur: what is observed, chosen, and to expect.

        Examples
        --------
        >>> from bayeskit.networks import oil_wildcatter
        >>> oil_wildcatter().solve()["drill"].rows()[1]["choice"]
        'no'
        """
        return [
            {
                "observed": {
                    str(name): states[k]
                    for name, states, k in zip(self.given, self.given_states, place, strict=True)
                },
                "choice": self.states[int(self.choices[place])],
                "utilities": dict(zip(map(str, self.states), self.utilities[place].tolist(), strict=True)),
            }
            for place in map(tuple, np.argwhere(self.possible).tolist())
        ]

    def page(self, lang: str = "en", most: int = MOST_ROWS) -> DisplayTable:
        """Return the table to show: a row for each configuration that can occur."""
        words = WORDS.of(lang)
        rows = [
            (
                *(str(s[k]) for s, k in zip(self.given_states, place, strict=True)),
                str(self.states[int(self.choices[place])]),
                *(number(float(u)) for u in self.utilities[place]),
            )
            for place in map(tuple, islice(np.argwhere(self.possible).tolist(), most))
        ]
        left = int(self.possible.sum()) - len(rows)
        notes = [words["more"].format(n=left)] if left else []
        header = (
            *map(str, self.given),
            words["choice"],
            *(words["of_choice"].format(state=state) for state in self.states),
        )
        return DisplayTable(
            words["policy"].format(decision=self.decision),
            header,
            tuple(rows),
            notes=(*notes, words["of_choices"].format(decision=self.decision)),
            names=len(self.given),
            right=len(self.given) + 1,
        )

    def __str__(self) -> str:
        return as_text(self.page())

    def _repr_html_(self) -> str:
        return notebook_html(self.page())


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimal policies of an influence diagram. Prints as a tree and its tables, also in notebooks.

    Attributes
    ----------
    expected_utility : float
        The largest expected sum of utilities, given the evidence.
    probability : float
        Of the evidence; 1 without any. A decision that is made counts as certain.
    policies : {decision: Policy}
        Of the decisions that are still open, in their order.
    evidence : {node: state}
    """

    expected_utility: float
    probability: float
    policies: Mapping[Name, Policy]
    evidence: Mapping[Name, Label]
    network: BayesianNetwork = field(repr=False)
    """The network that follows the policies: each decision is a node with its policy as a table."""
    _leaves: tuple[Floats, Floats] | None = field(default=None, repr=False)

    @property
    def expected_loss(self) -> float:
        """The smallest expected sum of losses: the expected utility with the opposite sign."""
        return 0.0 - self.expected_utility

    def __getitem__(self, decision: Name) -> Policy:
        try:
            return self.policies[decision]
        except (KeyError, TypeError):
            raise SettingError(
                "There is no open decision {decision!r}. There are {names}.",
                decision=decision,
                names=Joined(map(repr, self.policies)) or Message("none"),
            ) from None

    @property
    def has_tree(self) -> bool:
        """Whether the strategy depends on few enough observations to be shown as a tree."""
        return self._leaves is not None

    def tree(self) -> StrategyTree:
        """Return the policies as one tree, in the order of time."""
        if self._leaves is None:
            raise SettingError(
                "The strategy depends on too many observations to be shown as a tree. Show the tables of its "
                "policies: solution[decision]."
            )
        return strategy_tree(list(self.policies.values()), *self._leaves)

    def __str__(self) -> str:
        tables = [str(policy) for policy in self.policies.values()]
        return "\n\n".join([str(self.tree()), *tables] if self._leaves is not None else tables)

    def _repr_html_(self) -> str:
        tree = [self.tree().items()] if self._leaves is not None else []
        return framed(*tree, *(as_html(policy.page()) for policy in self.policies.values()))


@dataclass(frozen=True, eq=False)
class Choice:
    """The best choice of one decision after concrete observations.

    Attributes
    ----------
    decision : name
    state : what to choose
    expected_utility : float
        With this choice, if later decisions are optimal, given the evidence.
    utilities : {state: expected utility}
        The same for every possible choice.
    evidence : {node: state}
    """

    decision: Name
    state: Label
    expected_utility: float
    utilities: Mapping[Label, float]
    evidence: Mapping[Name, Label]

    @property
    def losses(self) -> dict[Label, float]:
        """The expected loss of every choice: its expected utility with the opposite sign."""
        return {state: 0.0 - utility for state, utility in self.utilities.items()}

    def page(self, lang: str = "en") -> DisplayTable:
        """Return the table to show: the expected utility of every choice."""
        words = WORDS.of(lang)
        title = words["best"].format(decision=self.decision, state=self.state)
        rows = tuple((str(state), number(utility)) for state, utility in self.utilities.items())
        return DisplayTable(title, (str(self.decision), words["expected"]), rows, right=1)

    def __str__(self) -> str:
        return as_text(self.page())

    def _repr_html_(self) -> str:
        return notebook_html(self.page())


@dataclass(frozen=True)
class InformationValue:
    """What observing some nodes before a decision is worth.

    Attributes
    ----------
    nodes : tuple of names
    before : the decision
    value : float
        The increase of the expected utility, never negative: the most that the observation may cost.
    expected_utility : float
        With the observation, if it costs nothing.
    """

    nodes: tuple[Name, ...]
    before: Name
    value: float
    expected_utility: float


@dataclass(frozen=True, repr=False)
class InformationValues(Sequence[InformationValue]):
    """The value of observing each node, the largest first. Prints as a table, also in notebooks.

    Attributes
    ----------
    expected_utility : float
        Without any of the observations.
    rows : tuple of InformationValue
    """

    expected_utility: float
    rows: tuple[InformationValue, ...]

    @overload
    def __getitem__(self, place: int) -> InformationValue: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[InformationValue, ...]: ...

    def __getitem__(self, place: int | slice) -> InformationValue | tuple[InformationValue, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[InformationValue]:
        return iter(self.rows)

    def page(self, lang: str = "en") -> DisplayTable:
        """Return the table to show."""
        words = WORDS.of(lang)
        rows = tuple((", ".join(map(str, r.nodes)), str(r.before), number(r.value)) for r in self.rows)
        header = (words["node"], words["before"], words["value"])
        note = words["without"].format(utility=number(self.expected_utility))
        return DisplayTable(words["information"], header, rows, notes=(note,), right=2)

    def __repr__(self) -> str:
        return as_text(self.page())

    def _repr_html_(self) -> str:
        return notebook_html(self.page())
