"""Effects of interventions: from the tables of a network, from its observed part, or from rows.

The function `effect` is a method of :class:`bayeskit.BayesianNetwork`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayeskit._data.table import open_table
from bayeskit._graphs.adjustment import back_door_sets
from bayeskit._graphs.dag import descendants
from bayeskit._graphs.distributions import uniform
from bayeskit._graphs.factor import Factor
from bayeskit._graphs.identification import PLAIN, Formula, adjustment_formula, probabilities_in, written
from bayeskit._inference.exact import allowed
from bayeskit._messages import Joined, Message
from bayeskit._networks.analysis.causal_sets import CausalSet, cause_and_outcome
from bayeskit._networks.analysis.estimands import (
    FromCounts,
    FromTables,
    LabelledNumbers,
    Source,
    divided,
    evaluated,
    identified,
    refuse_shared,
    refuse_undefined,
    spread,
)
from bayeskit._networks.analysis.network_information import QueryableNetwork, read_mapping, refuse_continuous
from bayeskit._networks.arguments import Rows, columns_of, is_number, known_node, known_nodes, whole_number
from bayeskit._networks.evidence import Given
from bayeskit._networks.node_distributions import intervention, is_distribution
from bayeskit._random_state import generator_of
from bayeskit._report.causal_effect import CausalEffect, contrasts_of
from bayeskit._schema import Label, Name, state_code
from bayeskit.errors import (
    ColumnError,
    DataError,
    ImpossibleEvidence,
    InvalidAdjustment,
    NotSupported,
    SettingError,
    TooLarge,
)
from bayeskit.typing import Floats, NamesLike, Seed, TableLike

Names = tuple[Name, ...]

# Imaginary rows for each state of the outcome in each group of rows: Jeffreys' prior.
JEFFREYS = 0.5
# Cells of all tables of one batch of draws.
CELLS_AT_ONCE = 2**21


def effect(
    self: QueryableNetwork,
    x: NamesLike,
    y: Name,
    *,
    do: Mapping[Any, Any] | None = None,
    evidence: Given = None,
    hidden: NamesLike = (),
    data: TableLike | None = None,
    adjust: NamesLike | None = None,
    level: float = 0.95,
    n_samples: int = 2000,
    random_state: Seed = 0,
    max_memory: float | None = None,
) -> CausalEffect:
    r"""Return the effect of setting ``x`` on ``y``: P(y | do(x)), with differences and ratios.

    There are three ways. Without ``hidden``, ``adjust`` and ``data`` the tables of the whole network are used: the
    arcs into ``x`` are cut (the truncated product). With ``hidden`` or ``adjust``, only the joint distribution of the
    observed nodes is used; the effect is computed by adjustment or, if no adjustment set exists, by the formula of
    `identify`. With ``data``, the same formulas are applied to relative frequencies in the rows (standardisation), and
    the tables are not used.

    Parameters
    ----------
    x : a discrete node, or a list of nodes that are set together
    y : a discrete node
    do : {node: state}, optional
        Further nodes that are set and held, each to a state or at random with a distribution over its states (a list
        of probabilities, or {state: probability}). For a node of ``x``: a list of the states to compare, the
        reference first.
    evidence : {node: state}, optional
        P(y | do(x), evidence). In the tables, evidence is observed after the intervention. With ``hidden`` or
        ``adjust`` it is part of the formula.
    hidden : nodes that are not observed, such as hidden common causes
    data : a data frame or a mapping of columns, optional
        Nodes without a column are hidden. Rows that miss a cell of the formula are left out.
    adjust : nodes to adjust for, optional
        None chooses the smallest adjustment set. A set that leaves a path open is an error.
    level : the probability of the intervals
    n_samples : int
        The number of draws for intervals; 0 means no intervals. The distribution of the groups of rows is drawn from
        the Bayesian bootstrap, that of the outcome within each group from its Dirichlet posterior under Jeffreys'
        prior.
    random_state : int, generator or None
    max_memory : the memory limit in bytes, by default the setting of `set_max_memory`

    Returns
    -------
    CausalEffect

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> network = BayesianNetwork({"stone": [], "treatment": ["stone"], "cured": ["stone", "treatment"]})
    >>> network.set_cpt("stone", {"small": 0.51, "large": 0.49})
    >>> network.set_cpt("treatment", {"small": {"open": 0.24, "closed": 0.76}, "large": {"open": 0.77, "closed": 0.23}})
    >>> network.set_cpt("cured", {("small", "open"): {"no": 0.07, "yes": 0.93},
    ...                           ("small", "closed"): {"no": 0.13, "yes": 0.87},
    ...                           ("large", "open"): {"no": 0.27, "yes": 0.73},
    ...                           ("large", "closed"): {"no": 0.31, "yes": 0.69}})
    >>> found = network.effect("treatment", "cured")
    >>> print(f"{found.probabilities['open', 'yes']:.4f} {found.probabilities['closed', 'yes']:.4f}")
    0.8320 0.7818
    >>> round(found.contrast("yes").difference, 4)
    -0.0502

    References
    ----------
    J. Pearl, *Causality* (2009), sections 3.2 and 3.3; D. B. Rubin, "The Bayesian bootstrap" (1981).
    """
    question = _Question(self, x, y, do, evidence, hidden)
    limit = allowed(max_memory)
    if data is not None:
        known = question.with_columns(data)
        chosen = known.formula(adjust)
        share = _interval_level(level)
        return known.from_rows(
            data, chosen, share, whole_number(n_samples, "n_samples", 0), generator_of(random_state), limit
        )
    if adjust is None and not question.hidden:
        return question.from_network(limit)
    return question.from_observed(question.formula(adjust), limit)


def adjusted_effect(
    data: TableLike,
    x: Name,
    y: Name,
    adjust: NamesLike = (),
    *,
    do: Mapping[Any, Any] | None = None,
    evidence: Given = None,
    level: float = 0.95,
    n_samples: int = 2000,
    random_state: Seed = 0,
) -> CausalEffect:
    r"""Return the effect of ``x`` on ``y`` from rows, adjusted for some columns (standardisation).

    .. math:: P(y \mid do(x)) = \sum_z P(y \mid x, z) P(z)

    It is the causal effect if the columns block every back-door path. Without a graph this cannot be checked; if you
    have one, use `BayesianNetwork.effect`, which does.

    Parameters
    ----------
    data : a data frame or a mapping of columns
    x, y : columns with few values
    adjust : columns to adjust for
    do, evidence, level, n_samples, random_state : as in `BayesianNetwork.effect`

    Examples
    --------
    >>> rows = {"z": [0, 0, 0, 1, 1, 1], "x": [0, 0, 1, 0, 1, 1], "y": [0, 1, 1, 0, 0, 1]}
    >>> found = adjusted_effect(rows, "x", "y", "z", n_samples=0)
    >>> found.probabilities[1, 1], found.contrast().difference
    (0.75, 0.5)
    """
    from bayeskit._networks.bayesian_network import BayesianNetwork

    columns = (adjust,) if isinstance(adjust, (str, int)) else tuple(adjust)  # type: ignore[arg-type]
    others = [*columns, *(name for name in read_mapping(evidence) if name not in columns)]
    graph = {x: others, y: [*others, x], **{name: [] for name in others}}
    return BayesianNetwork(graph).effect(
        x, y, do=do, evidence=evidence, data=data, adjust=columns, level=level, n_samples=n_samples,
        random_state=random_state,
    )  # fmt: skip


def _interval_level(level: object) -> float:
    if not is_number(level) or not 0.0 < level < 1.0:
        raise SettingError("level is {level!r}; give a number between 0 and 1.", level=level)
    return float(level)


class _Chosen(NamedTuple):
    """The formula of an effect, and the adjustment set that it is based on."""

    expression: Formula
    adjustment: CausalSet | None
    is_null: bool = False


class _Question:
    """Which effect is asked for: causes and the states to compare, outcome, nodes held, evidence, hidden nodes."""

    def __init__(
        self,
        queries: QueryableNetwork,
        x: NamesLike,
        y: Name,
        do: Mapping[Any, Any] | None,
        evidence: Given,
        hidden: NamesLike,
    ) -> None:
        network = queries._network
        dag = network.dag
        self.queries, self.network = queries, network
        self.hidden = known_nodes(dag, hidden, "hidden")
        self.cause, outcomes = cause_and_outcome(dag, x, known_node(dag, y), self.hidden)
        self.outcome = outcomes[0]
        self.do = {known_node(dag, name): value for name, value in _read_do(do).items()}
        self.held = {name: value for name, value in self.do.items() if name not in self.cause}
        self.evidence = {known_node(dag, name): value for name, value in read_mapping(evidence).items()}
        refuse_continuous(network, (*self.cause, *outcomes, *self.held, *self.evidence), "effect")
        refuse_shared(tuple(self.held), (*outcomes, *self.hidden))
        refuse_shared(tuple(self.evidence), (*self.cause, *outcomes, *self.held, *self.hidden))
        for name in self.cause:
            if isinstance(self.do.get(name), Mapping):
                raise SettingError(
                    "{name!r} is a cause, and its states are compared one by one. To set it at random, ask for "
                    "do({{{name!r}: {value!r}}}).query({outcome!r}).",
                    name=name,
                    value=self.do[name],
                    outcome=self.outcome,
                )

    @property
    def set_nodes(self) -> Names:
        return (*self.cause, *self.held)

    def formula(self, adjust: NamesLike | None) -> _Chosen:
        """Return the effect as a formula of the observed nodes; given nodes to adjust for must be valid."""
        self._refuse_evidence_below()
        dag, y, given = self.network.dag, (self.outcome,), tuple(self.evidence)
        x = self.set_nodes
        null = self.outcome not in descendants(dag, *self.cause)
        if adjust is not None:
            z = known_nodes(dag, adjust, "adjust")
            # What is observed is adjusted for, too.
            asked = CausalSet("back-door", x, y, tuple(dict.fromkeys((*z, *given))), (), self.hidden, dag=dag)
            if not asked.valid:
                raise InvalidAdjustment(
                    "{nodes} is no adjustment set for the effect of {cause} on {outcome!r}. {reason}{way_out}",
                    nodes=Joined(map(repr, asked.nodes)) or Message("The empty set"),
                    cause=Joined(map(repr, x)),
                    outcome=self.outcome,
                    reason=asked.objection(),
                    way_out=self._way_out(x, y),
                )
            z = tuple(name for name in z if name not in given)
            return _Chosen(adjustment_formula(y, x, z, given), asked, null)
        if not given:
            smallest = next(back_door_sets(dag, x, y, self.hidden), None)
            if smallest is not None:
                z = tuple(sorted(smallest, key=dag.position.__getitem__))
                found = CausalSet("back-door", x, y, z, (), self.hidden, dag=dag)
                return _Chosen(adjustment_formula(y, x, z), found, null)
        return _Chosen(identified(dag, x, y, self.hidden, given), None, null)

    def _way_out(self, x: Names, y: Names) -> Message | str:
        smallest = next(back_door_sets(self.network.dag, x, y, self.hidden), None)
        if smallest is None:
            return Message(" There is no adjustment set. If none is given, another formula is looked for.")
        if not smallest:
            return Message(" Nothing needs to be adjusted for.")
        return Message(
            " Adjust for {names}.",
            names=Joined(map(repr, sorted(smallest, key=self.network.dag.position.__getitem__))),
        )

    def _refuse_evidence_below(self) -> None:
        """Raise an error if evidence tells about a node that is set at random: a formula then is no mixture."""
        for name, value in self.held.items():
            below = descendants(self.network.dag, name)
            told = next((n for n in self.evidence if n in below), None)
            if told is not None and is_distribution(self.network[name].variable, value):
                raise NotSupported(
                    "{name!r} is set at random, and the evidence on {told!r} tells which state it got. This is "
                    "answered from the tables of the whole network only: leave out hidden, adjust and data, or set "
                    "{name!r} to one state at a time.",
                    name=name,
                    told=told,
                )

    # -- from tables ---------------------------------------------------------------------------

    def from_network(self, limit: float) -> CausalEffect:
        """Cut the arcs into what is set, and ask for the joint distribution of causes and outcome."""
        network = self.network
        network.require_distributions()
        changed = self.queries._of(network).do(self.held)._network
        for name in self.cause:
            node = network[name]
            changed = changed.with_node(
                replace(node, parents=(), distribution=uniform((node.variable.size,)))
            )
        names = (*self.cause, self.outcome)
        joint = self.queries._of(changed).query(list(names), evidence=self.evidence, max_memory=limit).values
        values = divided(joint, joint.sum(axis=-1, keepdims=True))
        table = self._compared(self._sliced(LabelledNumbers(names, values[None])))
        if np.isnan(table).any():
            cell = dict(zip(self.cause, np.argwhere(np.isnan(table[0]))[0], strict=False))
            raise ImpossibleEvidence(
                {**{n: self.codes(n)[1][k] for n, k in cell.items()}, **self.held, **self.evidence}
            )
        null = self.outcome not in descendants(network.dag, *self.cause)
        return self._result(table, is_null=null and not self.evidence)

    def from_observed(self, chosen: _Chosen, limit: float) -> CausalEffect:
        """Evaluate a formula of the observed nodes, from the tables."""
        self.network.require_distributions()
        source = FromTables(self.queries, limit)
        table = self._table(chosen.expression, source)
        text = self._written(chosen.expression)
        return self._result(table, formula=text, adjustment=chosen.adjustment, is_null=chosen.is_null)

    def _written(self, expression: Formula) -> str:
        return written(expression, PLAIN, (*self.set_nodes, self.outcome, *self.evidence))

    def _table(self, expression: Formula, source: Source) -> Floats:
        values = self._sliced(evaluated(expression, source))
        if np.isnan(values.values).any():
            refuse_undefined(self.network, expression, source, self.set_nodes, values)
        return self._compared(values)

    def _sliced(self, table: LabelledNumbers) -> LabelledNumbers:
        """Return the part of a table where held nodes and evidence have their states; held nodes may be set at random.

        States that a held node never gets are left out before anything is multiplied: what is unknown there does not
        matter.
        """
        fixed = {**self.held, **self.evidence}
        place: list[Any] = [range(len(table.values))]
        shares = np.ones(())
        for name in table.names:
            shares = shares[..., None]
            if name in self.cause:
                place.append(self.codes(name)[0])
            elif name in self.held:
                weights = self._weights(name)
                place.append(np.flatnonzero(weights))
                shares = shares * weights[place[-1]]
            elif name in fixed:
                place.append([state_code(name, self.network[name].variable.states, fixed[name])])
            else:
                place.append(range(self.network[name].variable.size))
        values = table.values[np.ix_(*place)] * shares
        gone = tuple(k + 1 for k, name in enumerate(table.names) if name in fixed)
        return LabelledNumbers(tuple(n for n in table.names if n not in fixed), values.sum(axis=gone))

    def _weights(self, name: Name) -> Floats:
        """Return the probability with which a held node is set to each of its states."""
        return np.asarray(intervention(self.network[name], self.held[name]))

    def codes(self, name: Name) -> tuple[list[int], tuple[Label, ...]]:
        """Return the codes and the states of a cause that are compared."""
        states = self.network[name].variable.states
        wanted = self.do.get(name, states)
        several = isinstance(wanted, (list, tuple, set, frozenset, np.ndarray)) and wanted not in states
        codes = [state_code(name, states, value) for value in (wanted if several else [wanted])]
        if len(set(codes)) < len(codes) or not codes:
            raise SettingError(
                "The states {wanted!r} of {name!r} cannot be compared. Name each once, and at least one.",
                wanted=wanted,
                name=name,
            )
        return codes, tuple(states[code] for code in codes)

    def _compared(self, table: LabelledNumbers) -> Floats:
        """Return draws × compared states of the causes × outcome."""
        sizes = [len(self.codes(n)[0]) for n in self.cause] + [self.network[self.outcome].variable.size]
        return spread(table, (*self.cause, self.outcome), sizes)

    # -- from rows -----------------------------------------------------------------------------

    def with_columns(self, data: TableLike) -> _Question:
        """Return the question with nodes that have no column as hidden, and states that are read from the rows."""
        table = open_table(data)
        dag = self.network.dag
        there = columns_of(dag.nodes, table.names) if table.named else dict.fromkeys(dag.nodes)
        asked = (*self.set_nodes, self.outcome, *self.evidence)
        absent = next((name for name in asked if name not in there), None)
        if absent is not None:
            raise ColumnError(
                "{absent!r} has no column. There are {names}.",
                absent=absent,
                names=Joined(map(repr, table.names[:12])),
            )
        hidden = tuple(name for name in dag.nodes if name in self.hidden or name not in there)
        return _Question(self.queries, list(self.cause), self.outcome, self.do, self.evidence, list(hidden))

    def from_rows(
        self,
        data: TableLike,
        chosen: _Chosen,
        level: float,
        n_samples: int,
        rng: np.random.Generator,
        limit: float,
    ) -> CausalEffect:
        terms = probabilities_in(chosen.expression)
        used = {self.outcome, *self.cause}.union(*(term.free for term in terms))
        names = (*(n for n in self.network.dag.nodes if n in used and n != self.outcome), self.outcome)
        self._read_states(data, names)
        counts, n_left_out = self._counted(data, names, limit)
        total = counts.sum()
        if not total:
            raise DataError("No row has all of {names}.", names=Joined(map(repr, names)))
        source = FromCounts(names, (counts / total)[None], limit)
        table = self._table(chosen.expression, source)
        draws = None
        if n_samples:
            at_once = max(1, CELLS_AT_ONCE // counts.size)
            parts = []
            for first in range(0, n_samples, at_once):
                joint = _drawn(counts, min(at_once, n_samples - first), rng)
                parts.append(self._table(chosen.expression, FromCounts(names, joint, limit)))
            draws = np.concatenate(parts)
        return self._result(
            table,
            draws,
            formula=self._written(chosen.expression),
            adjustment=chosen.adjustment,
            is_null=chosen.is_null,
            n_rows=int(total),
            n_left_out=n_left_out,
            level=level,
            n_samples=n_samples,
        )

    def _read_states(self, data: TableLike, names: Names) -> None:
        """Find the states of nodes that have none yet in the rows."""
        from bayeskit._networks.bayesian_network import BayesianNetwork

        refuse_continuous(self.network, names, "effect")
        if all(self.network[name].variable.size for name in names):
            return
        states = {n: v.states for n in names if (v := self.network[n].variable).size}
        found = BayesianNetwork({name: [] for name in names}, states).fit(data)._network
        refuse_continuous(found, names, "effect")
        for name in names:
            node = replace(self.network[name], variable=found[name].variable)
            self.network = self.network.with_node(node)

    def _counted(self, data: TableLike, names: Names, limit: float) -> tuple[Floats, int]:
        """Return the number of complete rows in each cell, and the number of other rows."""
        sizes = self.network.sizes_of(names)
        cells = math.prod(sizes)
        if 16 * cells > limit:
            raise TooLarge(
                16 * cells, limit, names, cells, Message("Allow more memory, or adjust for fewer nodes.")
            )
        rows = Rows(data, [node.variable for node in self.network.nodes], "error")
        codes = rows.matrix([self.network.dag.position[name] for name in names])
        whole = (codes < np.asarray(sizes)).all(axis=1)
        flat = np.ravel_multi_index(tuple(codes[whole].T), sizes)
        counts = np.bincount(flat, minlength=cells).astype(np.float64).reshape(sizes)
        return counts, int((~whole).sum())

    # -- results -------------------------------------------------------------------------------

    def _result(self, table: Floats, draws: Floats | None = None, **more: Any) -> CausalEffect:
        names = (*self.cause, self.outcome)
        states = [*(self.codes(n)[1] for n in self.cause), self.network[self.outcome].variable.states]
        level = more.get("level", 0.95)
        low = high = None
        if draws is not None:
            tails = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
            low, high = (Factor(names, states, limits) for limits in tails)
        contrasts = contrasts_of(table, draws, states, level)
        return CausalEffect(
            self.cause,
            self.outcome,
            Factor(names, states, table[0]),
            contrasts,
            held={name: self._held_as(name) for name in self.held},
            evidence=self.evidence,
            low=low,
            high=high,
            **more,
        )

    def _held_as(self, name: Name) -> Any:
        """Return the state that a node is set to, or {state: probability}."""
        variable = self.network[name].variable
        if not is_distribution(variable, self.held[name]):
            return self.held[name]
        return dict(zip(variable.states, self._weights(name).tolist(), strict=True))


def _read_do(do: object) -> dict[Name, Any]:
    if do is None:
        return {}
    if not isinstance(do, Mapping):
        raise SettingError("do={do!r} does not say what is set. Give {{node: state}}.", do=do)
    return dict(do)


def _drawn(counts: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Draw joint tables: the groups (all axes but the last) by the Bayesian bootstrap, then the outcome in each."""
    flat = counts.reshape(-1, counts.shape[-1])
    sizes = flat.sum(axis=1)
    groups = rng.standard_gamma(sizes, (n, len(sizes)))
    within = rng.standard_gamma(np.where(sizes[:, None] > 0.0, flat + JEFFREYS, 0.0), (n, *flat.shape))
    totals = within.sum(axis=2, keepdims=True)
    within = np.divide(within, totals, out=within, where=totals > 0.0)
    joint = within * (groups / groups.sum(axis=1, keepdims=True))[:, :, None]
    return np.asarray(joint.reshape(n, *counts.shape))
