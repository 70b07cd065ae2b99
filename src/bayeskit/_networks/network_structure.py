"""The graph of a network: relations between nodes, d-separation, equivalence graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from bayeskit._display_table import DisplayTable, table_html
from bayeskit._graphs import dag as graphs
from bayeskit._graphs import dag as relations
from bayeskit._graphs.dag import Cpdag
from bayeskit._graphs.network import Network, Node
from bayeskit._graphs.separation import Path, d_separated, paths_between
from bayeskit._markup import BREAK, framed, join, tag
from bayeskit._messages import Joined, Message
from bayeskit._networks.analysis import compare_networks
from bayeskit._networks.analysis.compare_networks import WithArcs
from bayeskit._networks.arguments import known_node, known_nodes, two_groups, whole_number
from bayeskit._networks.discrete_adapter import DerivedCache
from bayeskit._schema import Name
from bayeskit._visible import visible
from bayeskit.errors import SettingError, UsageError
from bayeskit.typing import NamesLike


@dataclass(frozen=True)
class Independence:
    """Whether ``a`` and ``b`` are d-separated given some nodes, with the paths between them.

    Print it or show it in a notebook.

    Attributes
    ----------
    a, b, given : tuples of names
    independent : bool
        Whether every path is blocked, including any that are not listed.
    paths : tuple of Path, the shortest first
        Each has ``nodes``, ``blocked`` and ``turns``: its inner nodes, each with ``kind``, ``blocks``, ``reason``.
        If ``independent`` is False, at least one of them is open.
    complete : bool
        Whether all paths are listed.
    """

    a: tuple[Name, ...]
    b: tuple[Name, ...]
    given: tuple[Name, ...]
    independent: bool
    paths: tuple[Path, ...]
    complete: bool

    @property
    def title(self) -> str:
        """One sentence that says whether they are independent."""
        return self._title().in_language("en")

    @property
    def summary(self) -> str:
        """One sentence about all paths."""
        return self._summary().in_language("en")

    def _title(self) -> Message:
        names = {key: Joined(map(visible, getattr(self, key))) for key in ("a", "b", "given")}
        if self.given:
            template = (
                "{a} and {b} are independent when {given} is observed."
                if self.independent
                else "{a} and {b} may depend on each other when {given} is observed."
            )
        else:
            template = (
                "{a} and {b} are independent when nothing is observed."
                if self.independent
                else "{a} and {b} may depend on each other when nothing is observed."
            )
        return Message(template, **names)

    def _summary(self) -> Message:
        if not self.paths:
            return Message(
                "No path joins them." if self.complete else "The graph is too large to list a path."
            )
        n = len(self.paths)
        n_open = sum(not path.blocked for path in self.paths)
        some = Message("{n} {_are} open", n=n_open, _are="are" if n_open > 1 else "is")
        found = some if n_open else Message("none is open")
        if not self.complete:
            verdict = Message("all blocked" if self.independent else "not all blocked")
            return Message(
                "There are more paths between them than are listed, {verdict}. Of the {n} listed, {found}.",
                verdict=verdict,
                n=n,
                found=found,
            )
        if n == 1:
            return Message("There is one path between them, and it is {state}.", state=_state(self.paths[0]))
        return Message("There are {n} paths between them, of which {found}.", n=n, found=found)

    def text(self, lang: str = "en") -> str:
        """Return the explanation as text in a language.

        Parameters
        ----------
        lang : "en" or "zh"
        """
        return "\n".join([self._title().in_language(lang), *self.details(lang)])

    def details(self, lang: str = "en") -> list[str]:
        """Return the lines below the title: how many paths there are, and what each inner node does."""
        lines = [self._summary().in_language(lang)]
        for number, path in enumerate(self.paths, 1):
            lines += ["", f"{number}. {_verdict(path, lang)}"]
            lines += [f"   {reason.in_language(lang)}" for reason in _reasons(path)]
        return lines

    def outline(self, lang: str = "en") -> list[str]:
        """Return the title, and whether each path is blocked."""
        return [self._title().in_language(lang), *(f"  {_verdict(path, lang)}" for path in self.paths)]

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        rows = tuple(
            (
                str(path),
                _state(path).in_language("en"),
                join((reason.in_language("en") for reason in _reasons(path)), BREAK),
            )
            for path in self.paths
        )
        table = DisplayTable("", ("path", "", "why"), rows, names=0, of_texts=True)
        said = tag("p", tag("b", self.title), " ", self.summary)
        return framed(said, *([table_html(table)] if rows else []))


def _verdict(path: Path, lang: str) -> str:
    return Message("{where}: {what}", where=str(path), what=_state(path)).in_language(lang)


def _state(path: Path) -> Message:
    return Message("blocked" if path.blocked else "open")


def _reasons(path: Path) -> list[Message]:
    if not path.turns:
        return [Message("An arc joins them: nothing can block it.")]
    return [
        Message(
            "{node} is {kind} and {reason}: it blocks."
            if turn.blocks
            else "{node} is {kind} and {reason}: it does not block.",
            node=visible(turn.node),
            kind=Message(turn.kind),
            reason=turn.reason_message,
        )
        for turn in path.turns
    ]


_Groups = tuple[tuple[Name, ...], tuple[Name, ...], tuple[Name, ...]]


class Structure:
    """The graph of a network. Results are in the order of its nodes.

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> network = wet_grass()
    >>> network.parents("wet"), network.children("rain"), network.markov_blanket("sprinkler")
    (('rain', 'sprinkler'), ('joe', 'wet'), ('rain', 'wet'))
    >>> len(network), network.n_parameters, "snow" in network
    (4, 8, False)
    """

    _network: Network
    _cache: DerivedCache

    @property
    def nodes(self) -> tuple[Name, ...]:
        """The names of the nodes, in order."""
        return self._network.dag.nodes

    @property
    def arcs(self) -> list[tuple[Name, Name]]:
        """(parent, child) of every arc."""
        return list(self._network.dag.arcs)

    def __len__(self) -> int:
        return len(self._network.nodes)

    def __contains__(self, name: object) -> bool:
        try:
            return name in self._network.dag.position
        except TypeError:
            return False

    def parents(self, name: Name) -> tuple[Name, ...]:
        """Return the parents of a node, in the order of the axes of its table."""
        dag = self._network.dag
        return dag.parents_of(known_node(dag, name))

    def children(self, name: Name) -> tuple[Name, ...]:
        """Return the children of a node."""
        dag = self._network.dag
        return dag.children[known_node(dag, name)]

    def ancestors(self, name: Name) -> tuple[Name, ...]:
        """Return the parents, their parents, and so on."""
        dag = self._network.dag
        return relations.ancestors(dag, known_node(dag, name))

    def descendants(self, name: Name) -> tuple[Name, ...]:
        """Return the children, their children, and so on."""
        dag = self._network.dag
        return relations.descendants(dag, known_node(dag, name))

    def topological_order(self) -> tuple[Name, ...]:
        """Return the nodes with parents before children, otherwise in their given order."""
        cache = self._cache
        return cache.get("topological order", lambda: relations.topological_order(cache.network.dag))

    def markov_blanket(self, name: Name) -> tuple[Name, ...]:
        """Return the Markov blanket of a node: its parents, its children and the children's other parents."""
        dag = self._network.dag
        return relations.markov_blanket(dag, known_node(dag, name))

    def moral_graph(self) -> dict[Name, tuple[Name, ...]]:
        """Return the neighbours of each node in the moral graph: co-parents are joined, directions are dropped."""
        return relations.moral_neighbours(self._network.dag)

    @property
    def n_parameters(self) -> int:
        r"""The number of free parameters.

        A table has :math:`(r - 1) \prod_p r_p` parameters, where r is the number of states of the node and
        r_p that of its parents. A Gaussian node has an intercept, a variance and a coefficient for each
        numeric parent, for each configuration of its discrete parents. A noisy-MAX node has :math:`(r - 1) (1
        + \sum_p (r_p - 1))`: the leak, and each parent state except the one without effect. A deterministic
        node has none.
        """
        return sum(_free(self._network, node) for node in self._network.nodes)

    def to_networkx(self) -> Any:
        """Return the graph as a ``networkx.DiGraph``, with the ``states`` as node attributes."""
        return to_networkx(self._network)

    def independent(self, a: NamesLike, b: NamesLike, given: NamesLike = ()) -> bool:
        """Return whether ``a`` and ``b`` are d-separated given ``given``.

        True means that they are independent for any tables. False means that they are dependent for some
        tables.

        Parameters
        ----------
        a, b, given : a name, or a list of names

        Examples
        --------
        >>> from bayeskit.networks import wet_grass
        >>> wet_grass().independent("rain", "sprinkler"), wet_grass().independent("rain", "sprinkler", given="wet")
        (True, False)
        """
        a, b, given = self._groups(a, b, given)
        return d_separated(self._network.dag, a, b, given)

    def why_independent(
        self, a: NamesLike, b: NamesLike, given: NamesLike = (), max_paths: int = 50
    ) -> Independence:
        """Explain d-separation: list every path between ``a`` and ``b``, and what blocks it.

        Parameters
        ----------
        a, b, given : a name, or a list of names
        max_paths : int
            The maximum number of paths to list, the shortest first. The number of paths grows exponentially
            with the graph, and ``complete`` says whether all are listed. ``independent`` is always exact.

        Examples
        --------
        >>> from bayeskit.networks import wet_grass
        >>> print(wet_grass().why_independent("joe", "sprinkler"))
        joe and sprinkler are independent when nothing is observed.
        There is one path between them, and it is blocked.
        <BLANKLINE>
        1. joe ← rain → wet ← sprinkler: blocked
           rain is tail-to-tail and is not observed: it does not block.
           wet is head-to-head and is not observed, nor is any descendant of it: it blocks.
        """
        a, b, given = self._groups(a, b, given)
        dag = self._network.dag
        paths, complete = paths_between(dag, a, b, given, whole_number(max_paths, "max_paths", 1))
        return Independence(a, b, given, d_separated(dag, a, b, given), paths, complete)

    def cpdag(self) -> Cpdag:
        """Return the CPDAG: the equivalence class of graphs with the same independences.

        Examples
        --------
        >>> from bayeskit.networks import wet_grass
        >>> print(wet_grass().cpdag())
        rain → wet, sprinkler → wet, rain — joe
        """
        cache = self._cache
        return cache.get("cpdag", lambda: graphs.cpdag(cache.network.dag))

    def shd(self, other: WithArcs, dag: bool = False) -> int:
        """Return the structural Hamming distance: the number of node pairs with different edges.

        Parameters
        ----------
        other : BayesianNetwork over the same nodes
        dag : bool
            Compare the arcs of the two graphs instead of their equivalence graphs.
        """
        return compare_networks.shd(self, other, dag)

    def _groups(self, a: NamesLike, b: NamesLike, given: NamesLike) -> _Groups:
        dag = self._network.dag
        a, b = two_groups(dag, a, b)
        given = known_nodes(dag, given, "given")
        _refuse_observed((*a, *b), set(given))
        return a, b, given


def _refuse_observed(names: Iterable[Name], given: set[Name]) -> None:
    observed = next((name for name in names if name in given), None)
    if observed is not None:
        raise SettingError(
            "{observed!r} is in given too. What is observed is independent of everything: take it out of one.",
            observed=observed,
        )


def _free(network: Network, node: Node) -> int:
    """Return the number of free parameters of one node; without a distribution, those of the usual one."""
    if node.distribution is not None:
        return node.distribution.n_free
    numeric = [p for p in node.parents if not network[p].is_discrete]
    states = {p: network[p].variable.size for p in node.parents if p not in numeric}
    if node.is_discrete:
        states[node.name] = node.variable.size
    unknown = next((name for name, size in states.items() if not size), None)
    if unknown is not None:
        raise UsageError(
            "The states of {unknown!r} are not known. Give states= or call fit.", unknown=unknown
        )
    if not node.is_discrete:
        return math.prod(states.values()) * (2 + len(numeric))
    size = states.pop(node.name)
    # Beside an intercept, a continuous parent has a coefficient for each state but the first.
    return (size - 1) * math.prod(states.values()) * (1 + len(numeric))


def to_networkx(network: Network) -> Any:
    """Return a ``networkx.DiGraph``: the nodes in order, each with its ``states`` (None if it is continuous).

    The edges into a node are in the order of its parents. Tables are not included.
    """
    try:
        networkx = import_module("networkx")
    except ImportError:
        raise UsageError(
            "to_networkx needs NetworkX, which is not installed: pip install networkx."
        ) from None
    graph = networkx.DiGraph(name=network.name)
    for node in network.nodes:
        graph.add_node(node.name, states=node.variable.states if node.is_discrete else None)
    graph.add_edges_from(network.dag.arcs)
    return graph
