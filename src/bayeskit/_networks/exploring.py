"""What the explorer in the browser asks of a network.

The page names nodes and states by their positions, so that names of any kind, and any markup in them, stay here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit._graphs.network import FactorGraph
from bayeskit._inference.sampling.estimate import Marginal
from bayeskit._messages import Joined
from bayeskit._networks.approximation import estimated_nodes
from bayeskit._networks.editing import WRITTEN, document_of, editable, edited_network
from bayeskit._networks.evidence import Not
from bayeskit._networks.guided_stories import Step, story_of, told
from bayeskit._schema import Label, Name, Variable
from bayeskit._visible import visible
from bayeskit._web.served_model import json_kind
from bayeskit.errors import (
    BayeskitError,
    DataError,
    DataTypeError,
    ImpossibleEvidence,
    NotSupported,
    SettingError,
    TooLarge,
)

if TYPE_CHECKING:
    from bayeskit._networks.queries import Queries

# What a finding may say of its node: in this state, in none of these, this likely in each, this number.
KINDS = ("state", "not", "likelihood", "value")
# Cells of the tree in a published page: 8 MiB of numbers, which a telephone holds and passes through at once.
MOST_CELLS = 2**20
# No observation is worth more bits, and no loss is larger.
MOST_COST = 1e9
# Entries of tables and actions: what a page can show.
MOST_ENTRIES = 40
MOST_ACTIONS = 100
# Where exact inference is too large: samples of all nodes together, and of each; about half a second.
MOST_DRAWS = 10_000_000
LEAST_SAMPLES, MOST_SAMPLES = 5_000, 50_000
# Normal distributions that a drawn density consists of.
MOST_COMPONENTS = 48


class ExploredNetwork:
    """A network whose nodes and states are numbered, as the page of the explorer has them.

    Parameters
    ----------
    network : a network
    name : str
        The name to show if the network has none.

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> explored = ExploredNetwork(wet_grass())
    >>> found = explored.beliefs([{"node": 3, "state": 1}])
    >>> [round(p, 4) for p in found[1]]
    [0.6618, 0.3382]
    """

    def __init__(self, network: Queries, name: str = "") -> None:
        self._name = visible(network.name or name)  # type: ignore[attr-defined]
        self.network = network.copy()  # type: ignore[attr-defined]
        self._variables: tuple[Variable, ...] = self.network._adapter.variables
        self._places: dict[Name, int] = {v.name: place for place, v in enumerate(self._variables)}
        # What is wrong with a network is said here, before a browser opens.
        self._prior = self.posteriors([])
        self._story: tuple[Step, ...] = ()
        arcs = () if isinstance(self.network._network, FactorGraph) else self.network.arcs
        with suppress(BayeskitError):  # where a click of it is impossible, it is not told
            self._story = story_of(self._variables, arcs, self._probability)

    def _probability(self, of: tuple[Name, Label], evidence: dict[Name, Label]) -> float:
        name, state = of
        return float(self.network.query(name, evidence).values[self._code(name, state)])

    def description(self) -> dict[str, Any]:
        """Return the nodes, the arcs and the priors."""
        value = self.network._network
        directed = not isinstance(value, FactorGraph)
        pairs = self.network.arcs if directed else _neighbours(value)
        return {
            "name": self._name,
            "directed": directed,
            "nodes": [_described(variable) for variable in self._variables],
            "arcs": [[self._places[a], self._places[b]] for a, b in pairs],
            **self._prior,
            "story": [
                {
                    "node": self._places[step.node],
                    "state": self._code(step.node, step.state),
                    "watch": [self._places[step.watch[0]], self._code(*step.watch)],
                    "why": told(step),
                }
                for step in self._story
            ],
        }

    def published(self) -> dict[str, Any]:
        """Return the description with all tables, for a page that computes by itself.

        Nodes must have states, and the cells of the compiled tree are limited: a browser has to hold them.
        """
        numeric = next((v.name for v in self._variables if v.kind != "categorical"), None)
        if numeric is not None:
            raise SettingError(
                "{name!r} is continuous. A page without a server has nodes with states only; use explore.",
                name=numeric,
            )
        exact = self.network._adapter.exact
        order, cells = exact.elimination()
        if cells > MOST_CELLS:
            raise SettingError(
                "The tree of this network has {cells:,.0f} cells; a page without a server has at most {most:,}. "
                "Use explore.",
                cells=cells,
                most=MOST_CELLS,
            )
        potentials = exact.potentials
        ends = zip(potentials.scope_start[1:], potentials.value_start[1:], strict=True)
        factors = []
        scope_at = value_at = 0
        for scope_end, value_end in ends:
            values = potentials.values[value_at:value_end].tolist()
            factors.append({"scope": potentials.scope[scope_at:scope_end].tolist(), "values": values})
            scope_at, value_at = scope_end, value_end
        return {**self.description(), "beliefs": [], "factors": factors, "order": order}

    def beliefs(self, findings: object) -> list[Any]:
        """Return for each node its probabilities given the findings; of a continuous node mean, sd and density."""
        found: list[Any] = self.posteriors(findings)["beliefs"]
        return found

    def posteriors(self, findings: object) -> dict[str, Any]:
        """Return the beliefs; and their standard errors, where exact inference is too large and they are estimates."""
        evidence, soft = self.read(findings)
        try:
            exact = self.network.posteriors(evidence, soft=soft)
            return {"beliefs": self._beliefs(exact), "estimate": None}
        except (TooLarge, NotSupported):
            n = min(MOST_SAMPLES, max(LEAST_SAMPLES, MOST_DRAWS // len(self._variables)))
            found = estimated_nodes(self.network, evidence, soft=soft, n_samples=n)
        worth = min(each.effective_sample_size or 0.0 for each in found.values())
        return {
            "beliefs": self._beliefs({name: each.marginals[0] for name, each in found.items()}),
            "estimate": {
                "samples": max(each.n_samples or 0 for each in found.values()),
                "worth": round(worth),
                "errors": [np.asarray(each.standard_error).tolist() for each in found.values()],
            },
        }

    def _beliefs(self, found: Mapping[Name, Any]) -> list[Any]:
        return [
            found[v.name].tolist() if v.kind == "categorical" else _number(found[v.name])
            for v in self._variables
        ]

    def why(self, node: object, findings: object, lang: str) -> str:
        """Return the page of arithmetic of a node, as text."""
        evidence, soft = self.read(findings)
        page = self.network.explain(self._variable(node).name, evidence, soft=soft, lang=lang)
        return str(page)

    def next(self, target: Any, costs: Any, findings: Any) -> dict[str, Any]:
        """Return the value for the target of observing each node, in bits, and what its states would say."""
        evidence, soft = self.read(findings)
        if not isinstance(costs, list) or not all(
            isinstance(cost, list) and len(cost) == 2 for cost in costs
        ):
            raise DataTypeError("The costs are a list such as [[0, 0.5]]: a node, and a number of bits.")
        prices = {}
        for node, cost in costs:
            name = self._variable(node).name
            if type(cost) not in (int, float) or not abs(cost) <= MOST_COST:
                raise DataError(
                    "The cost of {name!r} is {cost!r}. Send a number of bits.", name=name, cost=cost
                )
            prices[name] = float(cost)
        found = self.network.ask_next(self._variable(target).name, evidence, costs=prices, soft=soft)
        return {
            "posterior": list(found.posterior),
            "rows": [
                {
                    "node": self._places[row.name],
                    "value": row.value,
                    "cost": row.cost,
                    "answers": [[answer.probability, list(answer.posterior)] for answer in row.answers],
                }
                for row in found
            ],
        }

    def explanation(self, findings: Any) -> dict[str, Any]:
        """Return the jointly most probable states of all nodes, and their probability given the findings.

        With continuous nodes that is a density, which is not returned.
        """
        evidence, soft = self.read(findings)
        found = self.network.mpe(evidence, soft=soft)
        whole = self.network.log_probability(evidence, soft=soft)
        states = [
            v.states.index(found[v.name]) if v.kind == "categorical" else float(found[v.name])
            for v in self._variables
        ]
        is_density = any(v.kind != "categorical" for v in self._variables)
        probability = None if is_density else math.exp(min(found.log_probability - whole, 0.0))
        return {"states": states, "probability": probability}

    def sensitivity(self, node: Any, state: Any, factor: Any, findings: Any) -> dict[str, Any]:
        """Return the entries of tables that move P(state) most, if their odds are divided and multiplied by a factor.

        The two entries of a row with two states move together, so only the first is returned. A factor of None
        lets the entries go from 0 to 1.
        """
        evidence, soft = self.read(findings)
        variable = self._variable(node)
        target = (variable.name, state_of(variable, state))
        ask = getattr(self.network, "parameter_sensitivity", None)
        if ask is None:
            raise SettingError("This network has no tables of conditional probabilities to vary.")
        rows = []
        # A factor does not move the odds of what is certain.
        for found in ask(target, evidence, soft=soft, certain=factor is None):
            states = self._variables[self._places[found.node]].states
            if len(states) == 2 and found.state == states[1]:
                continue
            (low, p_low), (high, p_high) = found.between(factor)
            reach = max(p_low, p_high, found.posterior) - min(p_low, p_high, found.posterior)
            rows.append((reach, found, [[low, p_low], [high, p_high]]))
        rows.sort(key=lambda row: -round(row[0], 12))
        return {
            "rows": [
                {
                    "node": self._places[found.node],
                    "state": self._code(found.node, found.state),
                    "given": [[self._places[name], self._code(name, s)] for name, s in found.given.items()],
                    "value": found.value,
                    "ends": ends,
                }
                for _, found, ends in rows[:MOST_ENTRIES]
            ]
        }

    def decide(self, node: Any, loss: Any, reject: Any, findings: Any) -> dict[str, Any]:
        """Return the risk of each action, the best action (−1 rejects), and its risk.

        The loss has a list for each action, with a cost for each state of the node.
        """
        from bayeskit._decision.choice import decide

        evidence, soft = self.read(findings)
        variable = self._variable(node)
        if variable.kind != "categorical":
            raise SettingError("{name!r} is continuous; decide about a node with states.", name=variable.name)
        width = len(variable.states)
        if (
            not isinstance(loss, list)
            or not 1 <= len(loss) <= MOST_ACTIONS
            or not all(isinstance(row, list) and len(row) == width for row in loss)
        ):
            raise DataTypeError(
                "The loss is a list of 1 to {most} actions, each a list of {width} costs: one for each state of "
                "{name!r}.",
                most=MOST_ACTIONS,
                width=width,
                name=variable.name,
            )
        for cost in [*(cost for row in loss for cost in row), *([] if reject is None else [reject])]:
            if type(cost) not in (int, float) or not abs(cost) <= MOST_COST:
                raise DataError(
                    "The cost {cost!r} is no number up to {most:,.0f}. Send numbers.",
                    cost=cost,
                    most=MOST_COST,
                )
        posterior = self.network.query(variable.name, evidence, soft=soft).values
        found = decide(posterior, loss, reject)
        return {"risks": found.risks.tolist(), "action": found.indices, "risk": found.risk}

    def contributions(self, state: Any, findings: Any) -> dict[str, Any]:
        """Return what each finding adds to the log-odds of a class: of classifiers only."""
        raise SettingError("This is a network without a class. A classifier has contributions.")

    def nomogram(self, state: Any, findings: Any) -> dict[str, Any]:
        """Return the points of all values: of classifiers only."""
        raise SettingError("This is a network without a class. A classifier has a nomogram.")

    def counts(self, node: Any, findings: Any) -> dict[str, Any]:
        """Return the training rows behind a table: of classifiers only."""
        raise SettingError("This network was not learned here: it has no training rows to count.")

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats in which an edited network can be written; none if it cannot be edited."""
        return WRITTEN if editable(self.network) else ()

    def document(self) -> dict[str, Any]:
        """Return the network as plain values that can be edited."""
        return document_of(self.network)

    def edited(self, document: Any) -> ExploredNetwork:
        """Return the network of a document, ready to be explored."""
        return ExploredNetwork(edited_network(document))

    def conflict(self, error: ImpossibleEvidence) -> list[int]:
        """Return the nodes whose findings cannot all be true."""
        return [self._places[name] for name in error.evidence]

    def read(self, findings: object) -> tuple[dict[Name, Any], dict[Name, Any]]:
        """Return evidence and soft evidence as the network takes them."""
        if not isinstance(findings, list):
            raise DataTypeError("The findings are {kind}. Send a list of them.", kind=json_kind(findings))
        evidence: dict[Name, Any] = {}
        soft: dict[Name, Any] = {}
        for finding in findings:
            if not isinstance(finding, dict) or len(finding) != 2 or "node" not in finding:
                raise DataTypeError(
                    'A finding is an object such as {{"node": 0, "state": 1}}, with one of {kinds}.',
                    kinds=Joined(KINDS),
                )
            variable = self._variable(finding["node"])
            if variable.name in evidence or variable.name in soft:
                raise DataError("There are two findings about {name!r}. Send one.", name=variable.name)
            match finding:
                case {"state": code}:
                    evidence[variable.name] = state_of(variable, code)
                case {"not": [_, *_] as codes}:
                    evidence[variable.name] = Not(*(state_of(variable, code) for code in codes))
                case {"likelihood": [*numbers]}:
                    soft[variable.name] = numbers
                case {"value": number} if variable.kind == "numeric" and type(number) in (int, float):
                    evidence[variable.name] = number
                case _:
                    raise DataTypeError(
                        "This is no finding about {name!r}. Send a state, a list of states that it has not, a list "
                        "of likelihoods, or the number of a continuous node.",
                        name=variable.name,
                    )
        return evidence, soft

    def findings(self, evidence: Mapping[Any, Any], soft: Mapping[Any, Any]) -> list[dict[str, Any]]:
        """Return evidence as the page has it: nodes and states as numbers.

        Examples
        --------
        >>> from bayeskit.networks import wet_grass
        >>> ExploredNetwork(wet_grass()).findings({"wet": "yes"}, {"rain": [1, 3]})
        [{'node': 3, 'state': 1}, {'node': 0, 'likelihood': [1, 3]}]
        """
        self.network._adapter.reader.read_mixed(evidence, soft)  # which names what is wrong
        found: list[dict[str, Any]] = []
        for name, value in evidence.items():
            node = self._places[name]
            if isinstance(value, Not):
                found.append({"node": node, "not": [self._code(name, state) for state in value.states]})
            elif self._variables[node].kind == "categorical":
                found.append({"node": node, "state": self._code(name, value)})
            else:
                found.append({"node": node, "value": float(value)})
        for name, numbers in soft.items():
            if isinstance(numbers, Mapping):
                states = self._variables[self._places[name]].states
                numbers = [numbers.get(state, 0.0) for state in states]
            found.append({"node": self._places[name], "likelihood": list(numbers)})
        return found

    def _code(self, name: Name, state: Label) -> int:
        return self._variables[self._places[name]].states.index(state)

    def _variable(self, place: object) -> Variable:
        if type(place) is not int or not 0 <= place < len(self._variables):
            raise DataError(
                "There is no node {place!r}. Nodes are numbered from 0 to {last}.",
                place=place,
                last=len(self._variables) - 1,
            )
        return self._variables[place]


def _described(variable: Variable) -> dict[str, Any]:
    states = [visible(state) for state in variable.states] if variable.kind == "categorical" else None
    return {"name": visible(variable.name), "states": states}


def _neighbours(field: FactorGraph) -> list[tuple[Name, Name]]:
    """Return the pairs of variables that share a factor."""
    return sorted({pair for factor in field.factors for pair in combinations(factor.names, 2)}, key=str)


def state_of(variable: Variable, code: object) -> Any:
    states = variable.states
    if variable.kind != "categorical" or type(code) is not int or not 0 <= code < len(states):
        raise DataError(
            "{name!r} has no state {code!r}. States are numbered from 0 to {last}.",
            name=variable.name,
            code=code,
            last=len(states) - 1,
        )
    return states[code]


def _number(found: Marginal) -> dict[str, Any]:
    """Return a continuous node: mean, standard deviation, and the density as a short mixture."""
    short = found.shortened(MOST_COMPONENTS)
    mixture = np.column_stack([short.weights, short.means, np.sqrt(short.variances)])
    return {"mean": float(found.mean), "sd": float(found.sd), "mixture": mixture.tolist()}
