"""The families of a dynamic network: read from two slices in one network, and laid out over time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bayeskit._fitting.networks.dynamic_em import DynamicProblem, Tables
from bayeskit._graphs.distributions import Distribution, LinearGaussian, Softmax, Table
from bayeskit._graphs.network import Network, Node, discrete
from bayeskit._inference.two_slices import SliceRows, TwoSlices
from bayeskit._messages import Joined
from bayeskit._schema import Name, Variable
from bayeskit.errors import SettingError, UsageError
from bayeskit.typing import Floats

# What the name of a node of the slice before ends in.
BEFORE = "[t-1]"
# The end of a name that looks like another step.
OTHER_STEP = re.compile(r"\[\s*t\s*([-+−]\s*\d+\s*)?\]$")


class SliceFamilies:
    """The nodes of a slice, and their families in the first slice and in later ones, in codes.

    In a scope, v is node v of the slice before and n + v node v of the slice itself, as in `TwoSlices`.
    """

    def __init__(
        self,
        variables: tuple[Variable, ...],
        first: tuple[tuple[int, ...], ...],
        later: tuple[tuple[int, ...], ...],
        tied: tuple[bool, ...],
        tables: tuple[tuple[Floats | None, ...], tuple[Floats | None, ...]],
    ) -> None:
        self.variables, self.first, self.later, self.tied, self.tables = variables, first, later, tied, tables
        self.names = tuple(variable.name for variable in variables)
        self.sizes = tuple(variable.size for variable in variables)

    def require(self) -> None:
        """Raise an error if a table is missing."""
        for suffix, tables in ((BEFORE, self.tables[0]), ("", self.tables[1])):
            for name, table in zip(self.names, tables, strict=True):
                if table is None:
                    raise UsageError(
                        "{name!r} has no table yet. Call set_cpt({name!r}, ...) or fit.",
                        name=f"{name}{suffix}",
                    )

    def known_tables(self) -> Tables | None:
        first, later = (tuple(t for t in part if t is not None) for part in self.tables)
        return (first, later) if len(first) == len(later) == len(self.names) else None

    def slices(self, max_memory: float) -> TwoSlices:
        self.require()
        known = self.known_tables()
        assert known is not None
        first, later = (
            list(zip(s, t, strict=True)) for s, t in ((self.first, known[0]), (self.later, known[1]))
        )
        return TwoSlices.of(self.sizes, first, later, self.names, max_memory)

    def problem(self, rows: SliceRows, max_memory: float, smoothing: float) -> DynamicProblem:
        return DynamicProblem(
            rows, self.sizes, (self.first, self.later), self.tied, self.names, max_memory, smoothing
        )

    def with_tables(self, tables: Tables) -> SliceFamilies:
        return SliceFamilies(self.variables, self.first, self.later, self.tied, tables)

    def order(self, scopes: tuple[tuple[int, ...], ...], n: int) -> list[int]:
        """Return the nodes of a slice, parents before children."""
        size = len(self.names)
        waiting = {v: {u - size for u in scope[:-1] if u >= size} for v, scope in enumerate(scopes)}
        found: list[int] = []
        while waiting:
            ready = [v for v, parents in waiting.items() if not parents - set(found)]
            found += ready
            for v in ready:
                del waiting[v]
        return found

    def two_slices(self) -> Network:
        n = len(self.names)
        before = {v for scope in self.later for v in scope if v < n} | {
            v for v in range(n) if not self.tied[v]
        }
        # A node of the first slice needs its parents there.
        more = True
        while more:
            parents = {u - n for v in before for u in self.first[v][:-1]}
            more = bool(parents - before)
            before |= parents
        nodes = [self._node(v, self.first[v], self.tables[0][v], BEFORE, BEFORE) for v in sorted(before)]
        nodes += [self._node(v, self.later[v], self.tables[1][v], BEFORE, "") for v in range(n)]
        return Network(tuple(nodes))

    def unrolled(self, steps: int) -> Network:
        self.require()
        nodes = []
        for t in range(steps):
            scopes, tables = (self.later, self.tables[1]) if t else (self.first, self.tables[0])
            for v in range(len(self.names)):
                nodes.append(self._node(v, scopes[v], tables[v], f"[{t - 1}]", f"[{t}]"))
        return Network(tuple(nodes))

    def _node(self, v: int, scope: tuple[int, ...], table: Floats | None, before: str, here: str) -> Node:
        n = len(self.names)
        parents = tuple(f"{self.names[u % n]}{before if u < n else here}" for u in scope[:-1])
        held: Distribution | None = None if table is None else Table(table)
        return Node(discrete(f"{self.names[v]}{here}", self.variables[v].states), parents, held)


def read_families(network: Network, prior: Network | None) -> SliceFamilies:
    """Read two slices, or raise an error that names what is wrong."""
    for node in (*network.nodes, *(() if prior is None else prior.nodes)):
        if not isinstance(node.name, str):
            raise SettingError(
                "A node is named {name!r}; the nodes of a dynamic network have text names.", name=node.name
            )
        if (other := OTHER_STEP.search(node.name)) and not _is_before(node.name):
            raise SettingError(
                "{name!r} is named after another time step ({step}), and a node depends only on its own step and the "
                "one before. Carry its state along in a node: a[t-2] is the node before of one that copies a[t-1].",
                name=node.name,
                step=other[0],
            )
        if not node.is_discrete:
            raise SettingError(
                "{name!r} is continuous, and a dynamic network has states. Cut it into intervals, or use "
                "HiddenMarkov(emission='gaussian').",
                name=node.name,
            )
    here = [node for node in network.nodes if not _is_before(node.name)]
    place = {node.name: v for v, node in enumerate(here)}
    n = len(here)
    if not here:
        raise SettingError("There is no node besides those of the slice before. Add the nodes of a slice.")
    for node in network.nodes:
        if not _is_before(node.name):
            continue
        own = _name_of(node.name)
        if own not in place:
            raise SettingError(
                "There is a node {name!r} of the slice before, and no node {own!r}. Add it, or rename the first.",
                name=node.name,
                own=own,
            )
        back = next((p for p in node.parents if not _is_before(p)), None)
        if back is not None:
            raise SettingError(
                "The arc {parent!r} → {child!r} leads back in time. Turn it round, or leave it out.",
                parent=back,
                child=node.name,
            )
        if node.variable.states != network[own].variable.states:
            raise SettingError(
                "{name!r} has the states {states}, and {own!r} has {others}. They are the same node at two times.",
                name=node.name,
                states=node.variable.listing(),
                own=own,
                others=network[own].variable.listing(),
            )
    for node in here:
        if not node.variable.size:
            raise UsageError(
                "The states of {name!r} are not known. Give states= or call fit.", name=node.name
            )

    def number(name: Name) -> int:
        return place[_name_of(name)] if _is_before(name) else n + place[name]

    later = tuple((*map(number, node.parents), n + v) for v, node in enumerate(here))
    first, tied, tables = [], [], []
    for v, node in enumerate(here):
        scope, same, table = _first_family(node, network, prior, place)
        first.append(scope if scope is not None else later[v])
        tied.append(same)
        tables.append(table)
    laters = tuple(_table(node) for node in here)
    return SliceFamilies(
        tuple(node.variable for node in here), tuple(first), later, tuple(tied), (tuple(tables), laters)
    )


def _first_family(
    node: Node, network: Network, prior: Network | None, place: dict[Name, int]
) -> tuple[tuple[int, ...] | None, bool, Floats | None]:
    """Return the scope of a node in the first slice (None: as later), whether its table is the same, and the table."""
    n, name = len(place), node.name
    if prior is not None:
        if name not in prior.dag.position or len(prior.nodes) != n:
            raise SettingError(
                "prior has the nodes {names}, and a slice has {others}. They must be the same.",
                names=Joined(map(repr, prior.dag.nodes[:12])),
                others=Joined(map(repr, [*place][:12])),
            )
        own = prior[name]
        if own.variable.states != node.variable.states:
            raise SettingError(
                "{name!r} has the states {states} in prior and {others} later. They must be the same.",
                name=name,
                states=own.variable.listing(),
                others=node.variable.listing(),
            )
        return (*(n + place[p] for p in own.parents), n + place[name]), False, _table(own)
    if f"{name}{BEFORE}" in network.dag.position:
        own = network[f"{name}{BEFORE}"]
        return (*(n + place[_name_of(p)] for p in own.parents), n + place[name]), False, _table(own)
    if any(_is_before(p) for p in node.parents):
        raise SettingError(
            "{name!r} depends on the slice before, which the first one does not have. Add a node {first!r} with its "
            "distribution there, or pass prior=.",
            name=name,
            first=f"{name}{BEFORE}",
        )
    return None, True, _table(node)


def _table(node: Node) -> Floats | None:
    if node.distribution is None:
        return None
    assert not isinstance(node.distribution, (LinearGaussian, Softmax))
    return np.asarray(node.distribution.table())


def _is_before(name: Any) -> bool:
    return str(name).endswith(BEFORE)


def _name_of(name: Any) -> str:
    """Return the name of a node of the slice before without its mark."""
    return str(name)[: -len(BEFORE)]
