"""How far one probability may change before the optimal policy of an influence diagram does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from bayeskit._display_table import DisplayTable, as_text, notebook_html
from bayeskit._graphs.distributions import Table
from bayeskit._graphs.network import Diagram, Node
from bayeskit._inference.optimal_policy import (
    PolicySolution,
    PolicyTable,
    evaluate,
    expectation,
    following,
    solve,
)
from bayeskit._networks.node_distributions import table_of
from bayeskit._networks.strategy_tree import WORDS, number
from bayeskit._schema import Label, Name
from bayeskit._visible import visible
from bayeskit.typing import Floats

# Policies whose expected utilities differ by less than this share of the largest utility are equally good.
TIED = 1e-12
# Each step finds another policy that is better somewhere; more than a few are rare.
MOST_STEPS = 200
# A table shows so many changed choices beyond each end.
MOST_CHANGES = 3


@dataclass(frozen=True)
class PolicyChange:
    """One choice that changes: after these observations, another state is chosen."""

    decision: Name
    observed: Mapping[Name, Label]
    before: Label
    after: Label

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {state}" for name, state in self.observed.items())
        return visible(f"{self.decision} = {self.after}" + (f" | {given}" if given else ""))


@dataclass(frozen=True)
class DecisionSensitivity:
    r"""How the optimal policy depends on one probability x of a table.

    The other probabilities of the same row change proportionally. The expected utility of a fixed policy is then a
    line in x (with evidence: a line divided by P(evidence)), and the largest one is the maximum of these lines. So the
    policy that is optimal now is optimal exactly in an interval.

    Attributes
    ----------
    node, given, state : the probability is P(node = state | given)
    value : float
        The current x.
    interval : (float, float)
        The values of x in [0, 1] for which the current policy is optimal. Beyond an end that is not 0 or 1 the policy
        flips.
    below, above : tuples of PolicyChange
        What is chosen differently just below and just above the interval; empty at 0 and 1.
    expected_utility : float
        With the current policy and x.
    derivative : float
        Its derivative with respect to x, for the current policy.
    """

    node: Name
    given: Mapping[Name, Label]
    state: Label
    value: float
    interval: tuple[float, float]
    below: tuple[PolicyChange, ...]
    above: tuple[PolicyChange, ...]
    expected_utility: float
    derivative: float

    @property
    def distance(self) -> float:
        """How far x is from the nearest value at which the policy flips; infinite if there is none."""
        low, high = self.interval
        ends = [self.value - low] if self.below else []
        return min([*ends, *([high - self.value] if self.above else [])], default=math.inf)

    @property
    def parameter(self) -> str:
        """The probability, written as P(node = state | given)."""
        given = ", ".join(f"{name} = {state}" for name, state in self.given.items())
        return visible(f"P({self.node} = {self.state}{' | ' if given else ''}{given})")

    def __str__(self) -> str:
        return as_text(flips_page([self]))

    def _repr_html_(self) -> str:
        return notebook_html(flips_page([self]))


@dataclass(frozen=True, repr=False)
class DecisionSensitivities(Sequence[DecisionSensitivity]):
    """The sensitivity to several probabilities, the nearest flip first. Prints as a table, also in notebooks."""

    rows: tuple[DecisionSensitivity, ...]

    @overload
    def __getitem__(self, place: int) -> DecisionSensitivity: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[DecisionSensitivity, ...]: ...

    def __getitem__(self, place: int | slice) -> DecisionSensitivity | tuple[DecisionSensitivity, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[DecisionSensitivity]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return as_text(flips_page(self.rows))

    def _repr_html_(self) -> str:
        return notebook_html(flips_page(self.rows))


def flips_page(rows: Sequence[DecisionSensitivity], lang: str = "en") -> DisplayTable:
    """Return the table to show."""
    words = WORDS.of(lang)

    def beyond(row: DecisionSensitivity) -> str:
        sides = [("<", row.interval[0], row.below), (">", row.interval[1], row.above)]
        ends = []
        for sign, x, changes in sides:
            shown = [*map(str, changes[:MOST_CHANGES]), *(["…"] if len(changes) > MOST_CHANGES else [])]
            ends += [words.join((f"{sign} {number(x)}", words.join(shown)), ": ")] if changes else []
        return words.join(ends, "; ") or words["everywhere"]

    cells = tuple(
        (
            row.parameter,
            number(row.value),
            f"{number(row.interval[0])} … {number(row.interval[1])}",
            beyond(row),
        )
        for row in rows
    )
    header = (words["parameter"], words["now"], words["range"], words["beyond"])
    return DisplayTable(words["flips"], header, cells, of_texts=True, right=len(header))


class Flips:
    """Finds the interval of each probability of a diagram in which its policy stays optimal."""

    def __init__(self, diagram: Diagram, evidence: Mapping[Name, int], max_memory: float) -> None:
        self._diagram, self._evidence, self._max_memory = diagram, evidence, max_memory
        self._scale = sum(float(np.abs(u.values).max(initial=0.0)) for u in diagram.utilities)

    def of_node(self, node: Node) -> Iterator[DecisionSensitivity]:
        """Yield the sensitivity to each probability of a node's table."""
        for place in np.ndindex(*table_of(self._diagram.network, node.name).shape):
            yield self.of_cell(node, place)

    def of_cell(self, node: Node, place: tuple[int, ...]) -> DecisionSensitivity:
        """Return the sensitivity to the probability at a place of a node's table."""
        table = table_of(self._diagram.network, node.name)
        line = _Line(self, node, place, table)
        low, below = line.edge(0.0)
        high, above = line.edge(1.0)
        network = self._diagram.network
        given = {
            p: network[p].variable.states[code] for p, code in zip(node.parents, place[:-1], strict=True)
        }
        utility, slope = line.utility_and_slope()
        return DecisionSensitivity(
            node.name,
            given,
            node.variable.states[place[-1]],
            line.value,
            (low, high),
            self._changes(line, below),
            self._changes(line, above),
            utility,
            slope,
        )

    def _changes(self, line: _Line, then: Sequence[PolicyTable] | None) -> tuple[PolicyChange, ...]:
        """Return the choices that differ, where the new policies can lead to."""
        if then is None:
            return ()
        network, found = self._diagram.network, []
        # Which configurations can occur is the same for all values between 0 and 1.
        reached = following(line.diagram_at(0.5).deciding({}), then)
        for one, other in zip(line.policies, then, strict=True):
            states = network[one.decision].variable.states
            p = expectation(reached, (), one.given, self._evidence, self._max_memory).probability
            for place in np.argwhere((p > 0.0) & (one.choice != other.choice)).tolist():
                observed = {
                    name: network[name].variable.states[code]
                    for name, code in zip(one.given, place, strict=True)
                }
                at = tuple(place)
                before, after = states[int(one.choice[at])], states[int(other.choice[at])]
                found.append(PolicyChange(one.decision, observed, before, after))
        return tuple(found)


class _Line:
    """The expected utilities of policies, times P(evidence), as lines in one probability."""

    def __init__(self, flips: Flips, node: Node, place: tuple[int, ...], table: Floats) -> None:
        self._flips, self._node, self._place, self._table = flips, node, place, table
        self.value = float(table[place])
        self._ends = self.diagram_at(0.0), self.diagram_at(1.0)
        now = self._solved(self.value)
        if self.value in (0.0, 1.0):
            # What cannot occur now may occur elsewhere. There the choice is free, and it does not depend on x: the
            # probability and the utility of what is impossible at an end are both proportional to the distance.
            middle = self._solved(0.5)
            now = tuple(
                replace(a, choice=np.where(a.possible, a.choice, b.choice), possible=a.possible | b.possible)
                for a, b in zip(now, middle, strict=True)
            )
        self.policies = now
        # P(evidence) does not depend on the policy. It may be tiny, so it is divided by its larger end.
        logs = [self._evaluated(end, now).log_probability for end in self._ends]
        self._log_top = max(logs)
        self._chance = math.exp(logs[0] - self._log_top), math.exp(logs[1] - self._log_top)
        self._now = self._coefficients(now)

    def diagram_at(self, x: float) -> Diagram:
        """Return the diagram with another value of the probability, the rest of the row in proportion."""
        values = np.array(self._table)
        *row, k = self._place
        rest = np.delete(values[tuple(row)], k)
        left = rest.sum()
        shared = rest * ((1.0 - x) / left) if left > 0.0 else np.full(len(rest), (1.0 - x) / len(rest))
        values[tuple(row)] = np.insert(shared, k, x)
        node = replace(self._node, distribution=Table(values))
        diagram = self._flips._diagram
        return replace(diagram, network=diagram.network.with_node(node))

    def _solved(self, x: float) -> tuple[PolicyTable, ...]:
        diagram = self._flips._diagram if x == self.value else self.diagram_at(x)
        return solve(diagram, self._flips._evidence, self._flips._max_memory).policies

    def _evaluated(self, diagram: Diagram, policies: tuple[PolicyTable, ...]) -> PolicySolution:
        network = following(diagram.deciding({}), policies)
        return evaluate(diagram, policies, network, self._flips._evidence, self._flips._max_memory)

    def _coefficients(self, policies: tuple[PolicyTable, ...]) -> tuple[float, float]:
        """Return the expected utility of policies times P(evidence), at x = 0 and at x = 1."""
        low, high = (self._evaluated(end, policies).utility for end in self._ends)
        return low * self._chance[0], high * self._chance[1]

    def utility_and_slope(self) -> tuple[float, float]:
        """Return the expected utility given the evidence at the current value, and its derivative."""
        p, n = _at(self._chance, self.value), _at(self._now, self.value)
        return n / p, (self._now[1] - self._now[0] - n / p * (self._chance[1] - self._chance[0])) / p

    def edge(self, end: float) -> tuple[float, tuple[PolicyTable, ...] | None]:
        """Return the last x towards an end where the current policy is optimal, and the policy beyond it.

        The largest expected utility is convex in x. So we go to the end, and as long as some policy is better there,
        back to where its line meets the current one: Newton's method, which ends because policies are finite.
        """
        x, beyond = end, None
        if x == self.value:
            return x, None
        tolerance = TIED * self._flips._scale
        for _ in range(MOST_STEPS):
            policies = self._solved(x)
            other = self._coefficients(policies)
            gap = _at(other, x) - _at(self._now, x)
            if gap <= tolerance:
                break
            # At the current value no policy is better than the current one.
            behind = max(_at(self._now, self.value) - _at(other, self.value), 0.0)
            meeting = self.value + (x - self.value) * (behind / (behind + gap))
            beyond = policies
            if meeting == x:
                break
            x = meeting
        return x, beyond


def _at(line: tuple[float, float], x: float) -> float:
    """Return the height of a line at x; it is given by those at 0 and at 1."""
    return line[0] * (1.0 - x) + line[1] * x
