"""The optimal strategy of an influence diagram as a tree of observations and choices, and the words for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayeskit._display_table import aligned
from bayeskit._markup import Html, framed, join, tag
from bayeskit._messages import WordList
from bayeskit._schema import Label, Name
from bayeskit._visible import visible
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit._networks.decisions import Policy

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

    def items(self) -> Html:
        """Return the tree as nested lists."""
        return self._html(self.roots, "en")

    def _repr_html_(self) -> str:
        return framed(self.items())


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


def strategy_tree(policies: Sequence[Policy], probability: Floats, utility: Floats) -> StrategyTree:
    """Build the tree from the probability and the expected utility of each configuration of observations."""
    levels, seen = levels_of(policies), observations_of(policies)
    states: dict[Name, tuple[Label, ...]] = {policy.decision: policy.states for policy in policies}
    for policy in policies:
        states |= dict(zip(policy.given, policy.given_states, strict=True))

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

    return StrategyTree(below(0, {}))


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
