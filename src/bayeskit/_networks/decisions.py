"""Answers of an influence diagram: policies as tables and as a tree, one choice, the value of information."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from bayeskit._display_table import MOST_ROWS, DisplayTable, aligned, as_html, as_text
from bayeskit._graphs.factor import Factor
from bayeskit._markup import Html, join, tag
from bayeskit._messages import Joined, WordList
from bayeskit._schema import Label, Name, state_code
from bayeskit._visible import visible
from bayeskit.errors import SettingError
from bayeskit.typing import Floats, Ints

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork

WORDS = WordList(
    {
        "policy": "{decision}: the best choice",
        "choice": "choice",
        "if": "if {node} = {states} (probability {p})",
        "or": " or ",
        "utility": "expected utility {utility}",
        "of_choice": "utility of {state}",
        "of_choices": "The utilities are those that {decision} can still change.",
        "best": "Best: {decision} = {state}",
        "expected": "expected utility",
        "more": "… {n:,} more rows",
        "information": "What observing a node is worth",
        "node": "node",
        "before": "before",
        "value": "value",
        "without": "Expected utility without it: {utility}",
        "flips": "How far a probability may change before the best policy does",
        "parameter": "probability",
        "now": "now",
        "range": "same policy within",
        "beyond": "beyond it",
        "everywhere": "no change",
    }
)
# A strategy with more configurations of observations is shown by its tables, not as a tree.
MOST_LEAVES = 4096
DEEPEST = 200


def number(value: float) -> str:
    """Write a utility in six digits; what is rounding of zero is zero.

    >>> number(22.500000000000004), number(-10.0)
    ('22.5', '−10')
    """
    return f"{value + 0.0:.6g}".replace("-", "−")


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
    possible: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

    def choice(self, observed: Mapping[Any, Any] | None = None) -> Label:
        """Return what to choose after these observations; those that do not matter may be left out or given."""
        observed = observed or {}
        missing = [name for name in self.given if name not in observed]
        if missing:
            raise SettingError(
                "The best choice of {decision!r} depends on {missing}, which is not given. Give its state.",
                decision=self.decision,
                missing=Joined(map(repr, missing)),
            )
        place = tuple(
            state_code(name, states, observed[name])
            for name, states in zip(self.given, self.given_states, strict=True)
        )
        return self.states[int(self.choices[place])]

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
        return as_html(self.page())


@dataclass(frozen=True)
class Branch:
    """A step of a strategy: a decision, or what is observed before the next one.

    Attributes
    ----------
    node : name
    states : tuple
        The choice, or the observed states after which the same is done.
    probability : float
        Of being here, given the evidence.
    expected_utility : float
        From here on and up to here: the sum of all utilities.
    is_decision : bool
    branches : what follows
    """

    node: Name
    states: tuple[Label, ...]
    probability: float
    expected_utility: float
    is_decision: bool
    branches: tuple[Branch, ...] = ()

    @property
    def shape(self) -> tuple[Any, ...]:
        """What is done, without the numbers. Branches of the same shape are shown as one."""
        own = self.states if self.is_decision else ()
        return (self.node, own, tuple((b.states, b.shape) for b in self.branches))


@dataclass(frozen=True, eq=False)
class StrategyTree:
    """The optimal strategy as a tree of choices and observations. Prints as text, in notebooks as a nested list.

    Observations that lead to the same choices are one branch; those that make no difference are left out, and so is
    what cannot occur.
    """

    roots: tuple[Branch, ...]

    def lines(self, lang: str = "en") -> list[tuple[str, str]]:
        """Return the text of each line, indented, and its expected utility (empty for observations)."""
        found = []
        waiting = [(branch, 0) for branch in self.roots[::-1]]
        while waiting:
            branch, depth = waiting.pop()
            found.append(("  " * depth + self._text(branch, lang), self._utility(branch, lang)))
            waiting += [(below, depth + 1) for below in branch.branches[::-1]]
        return found

    def text(self, lang: str = "en") -> str:
        """Return the tree as aligned lines of text."""
        return "\n".join(aligned(self.lines(lang)))

    def _text(self, branch: Branch, lang: str) -> str:
        words = WORDS.of(lang)
        states = words["or"].join(visible(state) for state in branch.states)
        if branch.is_decision:
            return f"{visible(branch.node)} = {states}"
        p = f"{branch.probability:.4g}"
        return words["if"].format(node=visible(branch.node), states=states, p=p)

    def _utility(self, branch: Branch, lang: str) -> str:
        utility = number(branch.expected_utility)
        return WORDS.of(lang)["utility"].format(utility=utility) if branch.is_decision else ""

    def _html(self, branches: Sequence[Branch], lang: str) -> Html:
        items = []
        for branch in branches:
            text, utility = self._text(branch, lang), self._utility(branch, lang)
            below = self._html(branch.branches, lang) if branch.branches else ""
            line = join([tag("b", text), ": ", utility] if branch.is_decision else [text])
            items.append(tag("li", line, below))
        return tag("ul", *items)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self._html(self.roots, "en")


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
                names=Joined(map(repr, self.policies)) or "none",
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
        return StrategyTree(_grown(self, *self._leaves))

    def __str__(self) -> str:
        tables = [str(policy) for policy in self.policies.values()]
        return "\n\n".join([str(self.tree()), *tables] if self._leaves is not None else tables)

    def _repr_html_(self) -> str:
        tables = [Html(policy._repr_html_()) for policy in self.policies.values()]
        tree = [Html(self.tree()._repr_html_())] if self._leaves is not None else []
        return join([*tree, *tables])


def levels_of(policies: Sequence[Policy]) -> list[tuple[Name, Policy | None]]:
    """Return what happens in the order of time: observations that matter for the first time, and decisions."""
    found: dict[Name, Policy | None] = {}
    for policy in policies:
        for name in policy.given:
            found.setdefault(name, None)
        found[policy.decision] = policy
    return list(found.items())


def observations_of(policies: Sequence[Policy]) -> list[Name]:
    """Return the observations among the levels: all that matters and is no decision."""
    return [name for name, policy in levels_of(policies) if policy is None]


def _grown(solution: Solution, probability: Floats, utility: Floats) -> tuple[Branch, ...]:
    """Build the tree from the probability and the expected utility of each configuration of observations."""
    policies = list(solution.policies.values())
    levels, seen = levels_of(policies), observations_of(policies)
    states = {name: solution.network.states(name) for name, _ in levels}

    def below(depth: int, at: dict[Name, int]) -> tuple[Branch, ...]:
        if depth == len(levels):
            return ()
        name, policy = levels[depth]
        if policy is not None:
            code = int(policy.choices[tuple(at[g] for g in policy.given)])
            p, u = _here(probability, utility, [at.get(s) for s in seen])
            return (Branch(name, (states[name][code],), p, u, True, below(depth + 1, {**at, name: code})),)
        found: dict[tuple[Any, ...], list[tuple[int, tuple[Branch, ...], float]]] = {}
        for code in range(len(states[name])):
            here = {**at, name: code}
            p, _ = _here(probability, utility, [here.get(s) for s in seen])
            if p > 0.0:
                after = below(depth + 1, here)
                found.setdefault(tuple((b.states, b.shape) for b in after), []).append((code, after, p))
        groups = [(_merged([branches for _, branches, _ in group]), group) for group in found.values()]
        if len(groups) == 1:
            return groups[0][0]
        return tuple(
            _observed(name, tuple(states[name][code] for code, _, _ in group), branches, group)
            for branches, group in groups
        )

    return below(0, {})


def _observed(
    name: Name,
    states: tuple[Label, ...],
    branches: tuple[Branch, ...],
    group: Sequence[tuple[int, tuple[Branch, ...], float]],
) -> Branch:
    p = sum(share for _, _, share in group)
    utility = sum(b.probability * b.expected_utility for b in branches) / p
    return Branch(name, states, p, utility, False, branches)


def _here(probability: Floats, utility: Floats, at: Sequence[int | None]) -> tuple[float, float]:
    """Return the probability of a part of the table, and its expected utility."""
    place = tuple(slice(None) if code is None else code for code in at)
    p = probability[place]
    total = float(p.sum())
    return total, float((p * utility[place]).sum()) / total if total > 0.0 else 0.0


def _merged(alike: Sequence[tuple[Branch, ...]]) -> tuple[Branch, ...]:
    """Merge trees of the same shape: probabilities add, expected utilities are averaged."""
    if len(alike) == 1:
        return alike[0]
    merged = []
    for same in zip(*alike, strict=True):
        p = sum(b.probability for b in same)
        utility = sum(b.probability * b.expected_utility for b in same) / p
        first = same[0]
        branches = _merged([b.branches for b in same])
        merged.append(Branch(first.node, first.states, p, utility, first.is_decision, branches))
    return tuple(merged)


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
        return as_html(self.page())


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
        return as_html(self.page())
