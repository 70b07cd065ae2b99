"""InfluenceDiagram: a network with decisions and utilities, and its optimal policies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np

from bayeskit._graphs.dag import ancestors, unknown_node
from bayeskit._graphs.distributions import frozen
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.network import Diagram
from bayeskit._inference.exact import allowed
from bayeskit._inference.optimal_policy import MOST_AXES, PolicySolution, PolicyTable, expectation, solve
from bayeskit._markup import framed
from bayeskit._messages import Joined, listed
from bayeskit._networks.analysis.decision_sensitivity import DecisionSensitivities, DecisionSensitivity, Flips
from bayeskit._networks.analysis.parameters import read_cell
from bayeskit._networks.arguments import choice, known_nodes, switch
from bayeskit._networks.bayesian_network import BayesianNetwork
from bayeskit._networks.decisions import Choice, InformationValue, InformationValues, Policy, Solution
from bayeskit._networks.diagram_building import Utilities, diagram_of
from bayeskit._networks.discrete_adapter import minimal_conflict
from bayeskit._networks.evidence import Given, Reader
from bayeskit._networks.strategy_tree import DEEPEST, MOST_LEAVES, levels_of, number, observations_of
from bayeskit._report.drawing.network_scene import diagram_scene
from bayeskit._report.picture import Picture
from bayeskit._schema import Label, Name
from bayeskit._visible import visible
from bayeskit.errors import ImpossibleEvidence, SettingError
from bayeskit.typing import Floats, NamesLike, PathLike, StatesLike


class InfluenceDiagram:
    r"""An influence diagram: chance nodes, decisions, and utilities that add.

    .. math:: \max_{\delta} \sum_{x} \prod_i P(x_i \mid \pi_i) \prod_k \delta_k(d_k \mid \text{past}_k) \sum_j u_j(x, d)

    Decisions are made one after the other. Each knows what is observed before it, and remembers all earlier decisions
    and observations (perfect recall). A diagram does not change; ``observing`` returns another one.

    Parameters
    ----------
    network : BayesianNetwork
        The chance nodes. Where one of them depends on a decision, that decision is a node of the network, too. Arcs
        into a decision say what is observed before it, and a table that it has is not used.
    decisions : mapping decision → states, or list of names
        A decision that is a node of the network keeps its states; leave them out, or give None.
    utilities : mapping name → (parents, table), or name → Factor
        A number for each configuration of the parents: an array with an axis for each parent, or nested mappings as in
        ``BayesianNetwork.set_cpt``. Their sum is maximised.
    observed : mapping decision → nodes
        What is observed before each decision, in addition to arcs of the network.
    losses : as ``utilities``
        Costs, whose sum is minimised. A loss is a utility with the opposite sign, and is kept as one.

    Notes
    -----
    The order of the decisions follows from the arcs: each must be an ancestor of the next. If no path leads from one
    to the other, let the later observe the earlier.

    References
    ----------
    H. Raiffa, *Decision Analysis* (1968). F. V. Jensen and T. D. Nielsen, *Bayesian Networks and Decision Graphs*
    (2007), chapters 9 and 10.

    Examples
    --------
    Take an umbrella? The forecast is seen first.

    >>> network = BayesianNetwork({"forecast": ["rain"]}, states={"rain": ["no", "yes"], "forecast": ["dry", "wet"]})
    >>> network.set_cpt("rain", [0.7, 0.3])
    >>> network.set_cpt("forecast", [[0.8, 0.2], [0.1, 0.9]])
    >>> diagram = InfluenceDiagram(
    ...     network,
    ...     decisions={"umbrella": ["leave", "take"]},
    ...     observed={"umbrella": ["forecast"]},
    ...     utilities={"comfort": (["rain", "umbrella"], [[100, 80], [0, 70]])},
    ... )
    >>> solution = diagram.solve()
    >>> print(solution.tree())
    if forecast = dry (probability 0.59)
      umbrella = leave                    expected utility 94.9153
    if forecast = wet (probability 0.41)
      umbrella = take                     expected utility 73.4146
    >>> diagram.decide({"forecast": "wet"}).state
    'take'
    """

    _diagram: Diagram

    def __init__(
        self,
        network: BayesianNetwork,
        decisions: Mapping[Any, StatesLike] | Iterable[Name],
        utilities: Utilities | None = None,
        *,
        observed: Mapping[Any, NamesLike] | None = None,
        losses: Utilities | None = None,
    ) -> None:
        self._diagram = diagram_of(network, decisions, utilities, observed, losses)

    @classmethod
    def _of(cls, diagram: Diagram) -> Self:
        made = cls.__new__(cls)
        made._diagram = diagram
        return made

    # -- what it consists of -------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the diagram."""
        return self._diagram.network.name

    @property
    def nodes(self) -> tuple[Name, ...]:
        """The chance nodes and decisions."""
        return self._diagram.network.dag.nodes

    @property
    def decisions(self) -> tuple[Name, ...]:
        """The decisions in the order in which they are made."""
        return self._diagram.order

    @property
    def chances(self) -> tuple[Name, ...]:
        """The chance nodes."""
        return tuple(name for name in self.nodes if name not in self._diagram.decisions)

    @property
    def utilities(self) -> tuple[Name, ...]:
        """The names of the utilities; losses are among them."""
        return tuple(utility.name for utility in self._diagram.utilities)

    def states(self, name: Name) -> tuple[Label, ...]:
        """Return the states of a chance node, or the choices of a decision."""
        return self._diagram.network[name].variable.states

    def parents(self, name: Name) -> tuple[Name, ...]:
        """Return the parents of a node or utility; those of a decision are observed before it."""
        try:
            return self._diagram.dag.parents_of(name)
        except (KeyError, TypeError):
            raise unknown_node(name, self._diagram.dag.nodes) from None

    def cpt(self, name: Name) -> Factor:
        """Return P(node | parents) of a chance node."""
        return self._chance_network.cpt(self._chance(name))

    def utility(self, name: Name) -> Factor:
        """Return the numbers of a utility over its parents; those of a loss have the opposite sign."""
        for utility in self._diagram.utilities:
            if utility.name == name:
                states = (self.states(parent) for parent in utility.parents)
                return Factor(utility.parents, states, utility.values)
        raise SettingError(
            "There is no utility {name!r}. There are {names}.",
            name=name,
            names=listed(map(repr, self.utilities), 12),
        )

    def past(self, decision: Name) -> tuple[Name, ...]:
        """Return all that is known when a decision is made: earlier decisions and what was observed so far."""
        return self._diagram.past(self._decision(decision))

    def requisite(self, decision: Name) -> tuple[Name, ...]:
        """Return what of the past can matter for a decision: the observations that its policy is a table of."""
        wanted = self._decision(decision)
        policies = solve(self._diagram, {}, allowed(None)).policies
        return next(policy.given for policy in policies if policy.decision == wanted)

    def observing(self, nodes: NamesLike, before: Name) -> Self:
        """Return the diagram in which these nodes are also observed before a decision.

        Parameters
        ----------
        nodes : name, or list of names
            Nodes that do not depend on the decision.
        before : the decision

        Examples
        --------
        >>> from bayeskit.networks import oil_wildcatter
        >>> oil_wildcatter().observing("oil", before="test").solve().expected_utility
        55.0
        """
        decision = self._decision(before)
        names = known_nodes(self._diagram.network.dag, nodes, "nodes")
        blocked = self._diagram.blocked(decision)
        late = next((name for name in names if name in blocked), None)
        if late is not None:
            raise SettingError(
                "{node!r} cannot be observed before {decision!r}, because it depends on it. Choose a later decision, "
                "or a node that is not among its descendants.",
                node=late,
                decision=decision,
            )
        return self._of(self._diagram.observing(names, decision))

    # -- questions -----------------------------------------------------------------------------

    def solve(self, evidence: Given = None, *, max_memory: float | None = None) -> Solution:
        """Find the optimal policies, exactly.

        Parameters
        ----------
        evidence : {node: state}, optional
            What is known now, before any decision that is still open. A decision in it is made already. A node that
            depends on an open decision cannot be known yet.
        max_memory : number, optional
            The memory limit in bytes; by default that of ``set_max_memory``.

        Examples
        --------
        >>> from bayeskit.networks import oil_wildcatter
        >>> solution = oil_wildcatter().solve({"test": "none"})
        >>> round(solution.expected_utility, 4), solution["drill"].choice()
        (20.0, 'yes')
        """
        codes, states = self._read(evidence)
        limit = allowed(max_memory)
        solved = self._possible(codes, limit)
        policies = {p.decision: self._policy(p) for p in solved.policies}
        return Solution(
            solved.utility,
            math.exp(solved.log_probability),
            policies,
            states,
            BayesianNetwork._of(solved.network),
            self._leaves(solved, list(policies.values()), codes, limit),
        )

    def decide(
        self, evidence: Given = None, decision: Name | None = None, *, max_memory: float | None = None
    ) -> Choice:
        """Return the best choice of one decision after concrete observations.

        Parameters
        ----------
        evidence : {node: state}, optional
            What was observed and decided so far. Observations that make no difference may be left out.
        decision : the decision; by default, the first that is still open

        Examples
        --------
        >>> from bayeskit.networks import oil_wildcatter
        >>> choice = oil_wildcatter().decide({"test": "seismic", "result": "closed"})
        >>> choice.state, round(choice.expected_utility, 4)
        ('yes', 77.5)
        """
        codes, states = self._read(evidence)
        left = [name for name in self.decisions if name not in codes]
        if not left:
            raise SettingError("Every decision is in the evidence. Leave out the one to decide.")
        wanted = left[0] if decision is None else self._decision(decision)
        if wanted in codes:
            raise SettingError(
                "{decision!r} is in the evidence, so it is decided already. Leave it out.", decision=wanted
            )
        solved = self._possible(codes, allowed(max_memory))
        policy = next(p for p in solved.policies if p.decision == wanted)
        # An observation that can have one outcome only need not be given.
        cells = np.argwhere(policy.possible)
        if len(cells) != 1:
            raise SettingError(
                "The best choice of {decision!r} depends on {missing}, which is not in the evidence. Give its state, "
                "or see the whole policy: solve().",
                decision=wanted,
                missing=Joined(map(repr, policy.given)),
            )
        place = tuple(cells[0].tolist())
        code = int(policy.choice[place])
        # What the decision cannot change adds the same to every choice.
        rest = solved.utility - float(policy.utility[place][code])
        utilities = {
            state: float(u) + rest
            for state, u in zip(self.states(wanted), policy.utility[place], strict=True)
        }
        state = self.states(wanted)[code]
        return Choice(wanted, state, utilities[state], utilities, states)

    @overload
    def value_of_information(
        self,
        nodes: None = None,
        before: Name | None = None,
        evidence: Given = None,
        *,
        max_memory: float | None = None,
    ) -> InformationValues: ...

    @overload
    def value_of_information(
        self,
        nodes: str | Iterable[Name],
        before: Name | None = None,
        evidence: Given = None,
        *,
        max_memory: float | None = None,
    ) -> InformationValue: ...

    def value_of_information(
        self,
        nodes: str | Iterable[Name] | None = None,
        before: Name | None = None,
        evidence: Given = None,
        *,
        max_memory: float | None = None,
    ) -> InformationValue | InformationValues:
        """Return what it is worth to observe nodes before a decision: the most that the observation may cost.

        For a node that the utilities depend on this is the value of perfect information. For the result of a test it
        is the value of imperfect information.

        Parameters
        ----------
        nodes : name or list of names, optional
            Several are observed together. By default, every chance node alone that is not observed yet, the most
            valuable first.
        before : the decision; by default the first that is open and that no node of ``nodes`` depends on
        evidence : {node: state}, optional
            As for ``solve``.

        Examples
        --------
        >>> from bayeskit.networks import oil_wildcatter
        >>> oil_wildcatter().value_of_information("oil").value
        32.5
        """
        codes, _ = self._read(evidence)
        limit = allowed(max_memory)
        now = self._possible(codes, limit).utility
        wanted = None if before is None else self._open(before, codes)
        if nodes is not None:
            names = known_nodes(self._diagram.network.dag, nodes, "nodes")
            if not names:
                raise SettingError("nodes names no node. Give one name, or a list of names.")
            for name in names:
                self._chance(name)
            return self._value(names, wanted or self._first(names, codes), codes, now, limit)
        found = []
        for name in self.chances:
            first = wanted if wanted is not None else self._first((name,), codes, needed=False)
            if name in codes or first is None or name in self._diagram.blocked(first):
                continue
            if name not in self._diagram.past(first):
                found.append(self._value((name,), first, codes, now, limit))
        return InformationValues(now, tuple(sorted(found, key=lambda row: -row.value)))

    def sensitivity(
        self,
        parameter: tuple[Any, Any, Any],
        evidence: Given = None,
        *,
        max_memory: float | None = None,
    ) -> DecisionSensitivity:
        """Return how far one probability may change before the optimal policy does.

        Parameters
        ----------
        parameter : (node, parents' states, state)
            The probability P(node = state | parents' states), with these as {parent: state} or in the order of the
            parents. The others of the row change proportionally.
        evidence : {node: state}, optional
            As for ``solve``.

        Examples
        --------
        >>> from bayeskit.networks import oil_wildcatter
        >>> found = oil_wildcatter().sensitivity(("oil", {}, "dry"))
        >>> [round(end, 4) for end in found.interval], str(found.above[0])
        ([0.4576, 0.6769], 'drill = no | test = seismic, result = open')
        """
        codes, _ = self._read(evidence)
        self._possible(codes, allowed(max_memory))
        if isinstance(parameter, (list, tuple)) and parameter:
            self._chance(parameter[0])
        node, place = read_cell(self._diagram.network, parameter)
        return Flips(self._diagram, codes, allowed(max_memory)).of_cell(node, place)

    def sensitivities(
        self, node: Name, evidence: Given = None, *, max_memory: float | None = None
    ) -> DecisionSensitivities:
        """Return the sensitivity to every probability of a chance node's table, the nearest flip first."""
        codes, _ = self._read(evidence)
        self._possible(codes, allowed(max_memory))
        chance = self._diagram.network[self._chance(node)]
        if chance.variable.size < 2:
            raise SettingError("{name!r} has one state, whose probability cannot be changed.", name=node)
        rows = Flips(self._diagram, codes, allowed(max_memory)).of_node(chance)
        return DecisionSensitivities(tuple(sorted(rows, key=lambda row: row.distance)))

    def plot(
        self,
        evidence: Given = None,
        *,
        bars: bool = True,
        direction: Literal["down", "right"] = "down",
        path: PathLike | None = None,
    ) -> Picture:
        """Draw the diagram: decisions are rectangles, utilities hexagons. Notebooks show the picture.

        Parameters
        ----------
        evidence : {node: state}, optional
            As for ``solve``.
        bars : bool
            Draw the probability of each state under the optimal policies, and the expectation of each utility.
        direction : "down" or "right"
        path : str or path, optional
            Also save the picture: .svg, or .png and .pdf if matplotlib is installed.

        Examples
        --------
        >>> from bayeskit.networks import oil_wildcatter
        >>> oil_wildcatter().plot(bars=False)
        <Picture: oil wildcatter, 6 nodes, 7 arcs, 254 × 296 pixels>
        """
        choice(direction, "direction", ("down", "right"))
        codes, states = self._read(evidence)
        findings = {name: f"= {state}" for name, state in states.items()}
        beliefs: Mapping[Name, Any] = {}
        if switch(bars, "bars"):
            solved = self._possible(codes, allowed(None))
            beliefs = BayesianNetwork._of(solved.network).posteriors(states)
            for utility in self._diagram.utilities:
                mean = expectation(solved.network, [utility], (), codes, allowed(None)).utility
                findings[utility.name] = f"= {number(float(mean))}"
        picture = Picture(diagram_scene(self._diagram, beliefs, findings, direction))
        if path is not None:
            picture.save(path)
        return picture

    def _repr_html_(self) -> str:
        return framed(self.plot().figure())

    def write(self, path: PathLike, format: str | None = None) -> None:
        """Write the diagram to a file.

        Parameters
        ----------
        path : str or path
            Ending in ``.xdsl`` (GeNIe) or ``.bifxml``, ``.xml`` (pyAgrum); ``.gz`` compresses the file.
        format : ``"xdsl"`` or ``"bifxml"``, overriding the suffix
        """
        from bayeskit._io.networks.diagram_files import write_diagram

        write_diagram(path, self._diagram, format)

    def __eq__(self, other: object) -> bool:
        """Return whether two diagrams have the same nodes, arcs, states and numbers, in the same order."""
        if not isinstance(other, InfluenceDiagram):
            return NotImplemented
        return self._diagram == other._diagram

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        called = f" {self.name!r}" if self.name else ""
        return visible(
            f"InfluenceDiagram{called}: {len(self.chances)} chance nodes; decides "
            f"{', '.join(map(str, self.decisions))}; maximises {' + '.join(map(str, self.utilities))}"
        )

    # -- from names to codes and back ----------------------------------------------------------

    @property
    def _chance_network(self) -> BayesianNetwork:
        return BayesianNetwork._of(self._diagram.deciding({}))

    def _decision(self, name: Name) -> Name:
        if self._diagram.network[name].name not in self._diagram.decisions:
            raise SettingError(
                "{name!r} is a chance node, not a decision. The decisions are {names}.",
                name=name,
                names=Joined(map(repr, self.decisions)),
            )
        return self._diagram.network[name].name

    def _chance(self, name: Name) -> Name:
        if self._diagram.network[name].name in self._diagram.decisions:
            raise SettingError(
                "{name!r} is a decision: it is chosen and has no probabilities. Name a chance node.",
                name=name,
            )
        return self._diagram.network[name].name

    def _open(self, name: Name, codes: Mapping[Name, int]) -> Name:
        decision = self._decision(name)
        if decision in codes:
            raise SettingError(
                "{decision!r} is in the evidence, so it is decided already. Leave it out.", decision=decision
            )
        return decision

    def _first(self, names: tuple[Name, ...], codes: Mapping[Name, int], needed: bool = True) -> Name | None:
        """Return the first open decision before which all these nodes can be observed."""
        for decision in self.decisions:
            if decision not in codes and not self._diagram.blocked(decision) & set(names):
                return decision
        if not needed:
            return None
        raise SettingError(
            "{nodes} cannot be observed before any open decision, because it depends on all of them.",
            nodes=Joined(map(repr, names)),
        )

    def _value(
        self,
        names: tuple[Name, ...],
        before: Name | None,
        codes: Mapping[Name, int],
        now: float,
        limit: float,
    ) -> InformationValue:
        assert before is not None
        other = self.observing(list(names), before)
        after = solve(other._diagram, codes, limit).utility
        # Information is never worth less than nothing; what is below is rounding.
        return InformationValue(names, before, max(after - now, 0.0), max(after, now))

    def _read(self, evidence: Given) -> tuple[dict[Name, int], dict[Name, Label]]:
        """Return the evidence in codes and in states. None of it may depend on an open decision."""
        network = self._diagram.network
        found, _ = Reader([node.variable for node in network.nodes]).read(evidence, None)
        if found.likelihoods:
            name = network.nodes[next(iter(found.likelihoods))].name
            raise SettingError(
                "The evidence on {name!r} excludes states. A decision needs what was observed: give a state.",
                name=name,
            )
        codes = {
            node.name: int(code) for node, code in zip(network.nodes, found.codes, strict=True) if code >= 0
        }
        made = [network[name].name for name in codes if name in self._diagram.decisions]
        cut = replace(
            network,
            nodes=tuple(replace(node, parents=()) if node.name in made else node for node in network.nodes),
        )
        for name in codes:
            late = [d for d in self.decisions if d not in codes and d in ancestors(cut.dag, name)]
            if late:
                raise SettingError(
                    "{name!r} is in the evidence and depends on {decision!r}, which is not decided yet. Add the state "
                    "of {decision!r} to the evidence, or leave {name!r} out.",
                    name=name,
                    decision=late[-1],
                )
        return codes, {name: network[name].variable.states[code] for name, code in codes.items()}

    def _possible(self, codes: dict[Name, int], limit: float) -> PolicySolution:
        """Solve the diagram; raise an error that names a conflict if the evidence is impossible."""
        solved = solve(self._diagram, codes, limit)
        if solved.log_probability == -math.inf:
            network = self._diagram.deciding({})

            def impossible(some: list[tuple[Name, int]]) -> bool:
                return not expectation(network, (), (), dict(some), limit).probability > 0.0

            conflict = minimal_conflict(list(codes.items()), impossible)
            raise ImpossibleEvidence({name: self.states(name)[code] for name, code in conflict})
        return solved

    def _policy(self, found: PolicyTable) -> Policy:
        return Policy(
            found.decision,
            self.states(found.decision),
            found.given,
            tuple(self.states(name) for name in found.given),
            frozen(found.choice, np.int64),
            frozen(found.utility),
            frozen(found.possible, np.bool_),
        )

    def _leaves(
        self, solved: PolicySolution, policies: list[Policy], codes: Mapping[Name, int], limit: float
    ) -> tuple[Floats, Floats] | None:
        """Return P and the expected utility of each configuration of the observations; None if they are too many."""
        seen = observations_of(policies)
        sizes = [len(self.states(name)) for name in seen]
        if math.prod(sizes) > MOST_LEAVES or len(levels_of(policies)) > DEEPEST or len(sizes) > MOST_AXES:
            return None
        found = expectation(solved.network, self._diagram.utilities, seen, codes, limit)
        return found.probability / found.probability.sum(), found.utility


def read_influence_diagram(
    path: PathLike, format: str | None = None, normalize: bool = False, max_memory: float | None = None
) -> InfluenceDiagram:
    """Read an influence diagram from a file.

    Parameters
    ----------
    path : str or path
        GeNIe XDSL with decision, utility and mau nodes, or the BIFXML of pyAgrum, optionally compressed by gzip.
    format : ``"xdsl"`` or ``"bifxml"``; by default, determined by the content
    normalize, max_memory : as for ``read_network``

    Examples
    --------
    >>> import os, tempfile
    >>> from bayeskit.networks import oil_wildcatter
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "oil.xdsl")
    >>> oil_wildcatter().write(path)
    >>> read_influence_diagram(path).decisions
    ('test', 'drill')
    >>> folder.cleanup()
    """
    from bayeskit._io.networks.diagram_files import read_diagram

    most = None if max_memory is None else allowed(max_memory)
    return InfluenceDiagram._of(read_diagram(path, format, switch(normalize, "normalize"), most))
