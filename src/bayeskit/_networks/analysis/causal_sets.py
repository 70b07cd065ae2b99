"""Adjustment sets, front-door sets and instruments of a network, each with its reason.

Each function is a method of :class:`bayeskit.BayesianNetwork`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Literal, Protocol

from bayeskit._graphs import adjustment
from bayeskit._graphs.adjustment import cut_arcs
from bayeskit._graphs.dag import Dag, descendants
from bayeskit._graphs.network import Network
from bayeskit._graphs.separation import Path, PathJudge, d_separated, paths_between
from bayeskit._markup import framed, paragraphs
from bayeskit._messages import Joined, Message
from bayeskit._networks.arguments import choice, known_nodes, whole_number
from bayeskit._networks.network_structure import Independence
from bayeskit._schema import Name
from bayeskit._visible import visible
from bayeskit.errors import SettingError
from bayeskit.typing import NamesLike

Criterion = Literal["back-door", "front-door"]
Names = tuple[Name, ...]

# The number of paths that a reason lists.
MOST_PATHS = 20


class WithGraph(Protocol):
    """A network with a graph."""

    _network: Network


@dataclass(frozen=True)
class _Part:
    """One condition of a criterion: a sentence, whether it holds, and the paths that show it."""

    sentence: Message
    holds: bool
    paths: Independence | None = None
    open_path: Path | None = None


@dataclass(frozen=True)
class CausalSet(Collection[Name]):
    """Nodes that fulfil a causal criterion, or do not, with the reason. Print it or show it in a notebook.

    Iterating, ``len`` and ``in`` refer to ``nodes``.

    Attributes
    ----------
    criterion : "back-door", "front-door" or "instrument"
    cause, outcome, nodes : tuples of names
    given : tuple of names
        For an instrument, the nodes that must be observed with it.
    hidden : tuple of names
        The nodes that cannot be observed.
    """

    criterion: str
    cause: Names
    outcome: Names
    nodes: Names
    given: Names = ()
    hidden: Names = ()
    dag: Dag = field(repr=False, compare=False, kw_only=True)

    def __contains__(self, name: object) -> bool:
        return name in self.nodes

    def __iter__(self) -> Iterator[Name]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def valid(self) -> bool:
        """Whether the criterion is fulfilled."""
        return all(part.holds for part in self._parts)

    @property
    def open_path(self) -> Path | None:
        """A path that should be blocked and is open; None if there is none."""
        return next((part.open_path for part in self._parts if part.open_path is not None), None)

    @property
    def title(self) -> str:
        """One sentence that says whether the criterion is fulfilled."""
        return self._title().in_language("en")

    @property
    def reason(self) -> str:
        """Why, in full: each condition, the paths, and what blocks them."""
        return self.text()

    def text(self, lang: str = "en") -> str:
        """Return the title and the reason in a language.

        Parameters
        ----------
        lang : "en" or "zh"
        """
        lines = [self._title().in_language(lang)]
        for part in self._parts:
            lines.append(part.sentence.in_language(lang))
            if part.paths is not None:
                lines += part.paths.details(lang)
        return "\n".join(lines)

    def objection(self) -> Message:
        """Return the first condition that does not hold."""
        return next(part.sentence for part in self._parts if not part.holds)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return framed(paragraphs(self.text().splitlines()))

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        return _CONDITIONS[self.criterion](self)

    def _title(self) -> Message:
        values = {
            "nodes": Joined(map(visible, self.nodes)),
            "given": Joined(map(visible, self.given)),
            "cause": Joined(map(visible, self.cause)),
            "outcome": Joined(map(visible, self.outcome)),
        }
        back = self.criterion == "back-door"
        if self.criterion == "instrument":
            template = (
                "{nodes} is an instrument for the effect of {cause} on {outcome} when {given} is observed."
                if self.given
                else "{nodes} is an instrument for the effect of {cause} on {outcome}."
            )
        elif not self.nodes:
            template = (
                "The empty set is a valid {criterion} set for the effect of {cause} on {outcome}."
                if self.valid
                else "The empty set is no valid {criterion} set for the effect of {cause} on {outcome}."
            )
        else:
            template = (
                "{nodes}: a valid {criterion} set for the effect of {cause} on {outcome}."
                if self.valid
                else "{nodes}: no valid {criterion} set for the effect of {cause} on {outcome}."
            )
        return Message(template, criterion=Message("back-door" if back else "front-door"), **values)


def _observable(found: CausalSet) -> list[_Part]:
    """Return the objections to nodes that are hidden, or are the cause or the outcome."""
    parts = []
    for node in found.nodes:
        if node in found.hidden:
            parts.append(_Part(Message("{node} is hidden.", node=visible(node)), False))
        elif node in (*found.cause, *found.outcome):
            parts.append(_Part(Message("{node} is the cause or the outcome.", node=visible(node)), False))
    return parts


def _back_door(found: CausalSet) -> tuple[_Part, ...]:
    parts = _observable(found)
    below = set(descendants(found.dag, *found.cause))
    cause = Joined(map(visible, found.cause))
    for node in found.nodes:
        if node in below:
            sentence = Message(
                "{node} is a descendant of {cause}: adjusting for it takes part of the effect away, or opens a path.",
                node=visible(node),
                cause=cause,
            )
            parts.append(_Part(sentence, False))
    cut = cut_arcs(found.dag, out_of=found.cause)
    if not any(node in (*found.cause, *found.outcome) for node in found.nodes):
        parts.append(
            _separated(
                cut,
                found.cause,
                found.outcome,
                found.nodes,
                Message("Every back-door path from {cause} to {outcome} is blocked.", **_ends(found)),
                "The back-door path {path} stays open.",
            )
        )
    return tuple(parts)


def _front_door(found: CausalSet) -> tuple[_Part, ...]:
    parts = _observable(found)
    if parts:
        return tuple(parts)
    dag, nodes = found.dag, found.nodes
    past = _directed_path(dag, found.cause, found.outcome, set(nodes))
    if past is None:
        sentence = Message("Every directed path from {cause} to {outcome} passes through it.", **_ends(found))
    else:
        sentence = Message("The directed path {path} does not pass through it.", path=str(past))
    parts.append(_Part(sentence, past is None, None, past))
    if not nodes:
        return tuple(parts)
    cut = cut_arcs(dag, out_of=found.cause)
    blocked = Message("No back-door path from {cause} to it is open.", **_ends(found))
    parts.append(_separated(cut, found.cause, nodes, (), blocked, "The back-door path {path} to it is open."))
    cut = cut_arcs(dag, out_of=nodes)
    blocked = Message("{cause} blocks every back-door path from it to {outcome}.", **_ends(found))
    parts.append(
        _separated(
            cut, nodes, found.outcome, found.cause, blocked, "The back-door path {path} from it stays open."
        )
    )
    return tuple(parts)


def _instrument(found: CausalSet) -> tuple[_Part, ...]:
    parts = _observable(found)
    dag, given = found.dag, found.given
    linked = not d_separated(dag, found.nodes, found.cause, given)
    why = _paths(dag, found.nodes, found.cause, given)
    told = Message(
        "It is linked with {cause}." if linked else "It is not linked with {cause}.", **_ends(found)
    )
    parts.append(_Part(told, linked, why))
    cut = cut_arcs(dag, into=found.cause)
    blocked = Message("Without the arcs into {cause}, it is independent of {outcome}.", **_ends(found))
    opened = "The path {path} goes past the cause and is open."
    parts.append(_separated(cut, found.nodes, found.outcome, given, blocked, opened))
    return tuple(parts)


_CONDITIONS: dict[str, Callable[[CausalSet], tuple[_Part, ...]]] = {
    "back-door": _back_door,
    "front-door": _front_door,
    "instrument": _instrument,
}


def _ends(found: CausalSet) -> dict[str, Joined]:
    return {"cause": Joined(map(visible, found.cause)), "outcome": Joined(map(visible, found.outcome))}


def _separated(dag: Dag, a: Names, b: Names, given: Names, blocked: Message, opened: str) -> _Part:
    """Return the condition that all paths of a graph are blocked."""
    why = _paths(dag, a, b, given)
    path = next((path for path in why.paths if not path.blocked), None)
    if path is None:
        return _Part(blocked, True, why)
    return _Part(Message(opened, path=str(path)), False, why, path)


def _paths(dag: Dag, a: Names, b: Names, given: Names) -> Independence:
    paths, complete = paths_between(dag, a, b, given, MOST_PATHS)
    return Independence(a, b, given, d_separated(dag, a, b, given), paths, complete)


def _directed_path(dag: Dag, x: Names, y: Names, closed: set[Name]) -> Path | None:
    """Return a shortest directed path that does not pass through closed nodes."""
    before: dict[Name, Name | None] = dict.fromkeys(x)
    todo = list(x)
    for node in todo:  # grows during the loop: breadth first
        if node in y:
            nodes, step = [node], before[node]
            while step is not None:
                nodes.append(step)
                step = before[step]
            return PathJudge(dag).path(tuple(reversed(nodes)))
        for child in dag.children[node]:
            if child not in before and child not in closed:
                before[child] = node
                todo.append(child)
    return None


# -- methods -----------------------------------------------------------------------------------


def adjustment_sets(
    self: WithGraph, x: NamesLike, y: NamesLike, *, hidden: NamesLike = (), most: int | None = None
) -> Iterator[CausalSet]:
    r"""Yield the minimal back-door adjustment sets for the effect of ``x`` on ``y``, smallest first.

    A set z that blocks every back-door path, and has no descendant of ``x``, gives the effect by adjustment:

    .. math:: P(y \mid do(x)) = \sum_z P(y \mid x, z) P(z)

    Minimal means that no node can be left out. Only the graph is used, not the tables. If ``y`` is no descendant of
    ``x``, then ``x`` has no effect on it; `effect` says so, whether an adjustment set exists or not.

    Parameters
    ----------
    x, y : a name, or a list of names
    hidden : nodes that are not observed, so cannot be adjusted for
    most : the maximum number of sets; None means all

    Returns
    -------
    iterator of CausalSet, each with its ``nodes`` and its ``reason``

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> network = BayesianNetwork({"x": ["a"], "b": ["a"], "y": ["x", "b"]})
    >>> [found.nodes for found in network.adjustment_sets("x", "y")]
    [('a',), ('b',)]
    >>> print(next(network.adjustment_sets("x", "y", hidden="a")))
    b: a valid back-door set for the effect of x on y.
    Every back-door path from x to y is blocked.
    There is one path between them, and it is blocked.
    <BLANKLINE>
    1. x ← a → b → y: blocked
       a is tail-to-tail and is not observed: it does not block.
       b is head-to-tail and is observed: it blocks.
    """
    dag, x, y, unseen, limit = _asked(self, x, y, hidden, most)
    found = adjustment.back_door_sets(dag, x, y, unseen)
    return (_found(dag, "back-door", x, y, z, unseen) for z in islice(found, limit))


def front_door_sets(
    self: WithGraph, x: NamesLike, y: NamesLike, *, hidden: NamesLike = (), most: int | None = None
) -> Iterator[CausalSet]:
    r"""Yield the minimal front-door sets for the effect of ``x`` on ``y``, smallest first.

    A front-door set z carries the whole effect, and is itself not confounded with ``x``. It gives the effect even if
    a common cause of ``x`` and ``y`` is hidden:

    .. math:: P(y \mid do(x)) = \sum_z P(z \mid x) \sum_{x'} P(y \mid x', z) P(x')

    Parameters
    ----------
    x, y, hidden, most : as in `adjustment_sets`

    Returns
    -------
    iterator of CausalSet, each with its ``nodes`` and its ``reason``

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> network = BayesianNetwork({"smoking": ["gene"], "tar": ["smoking"], "cancer": ["tar", "gene"]})
    >>> [found.nodes for found in network.front_door_sets("smoking", "cancer", hidden="gene")]
    [('tar',)]
    >>> list(network.adjustment_sets("smoking", "cancer", hidden="gene"))
    []
    """
    dag, x, y, unseen, limit = _asked(self, x, y, hidden, most)
    found = adjustment.front_door_sets(dag, x, y, unseen)
    return (_found(dag, "front-door", x, y, z, unseen) for z in islice(found, limit))


def instruments(
    self: WithGraph, x: Name, y: Name, *, hidden: NamesLike = (), most: int | None = None
) -> Iterator[CausalSet]:
    """Yield the instruments for the effect of ``x`` on ``y``, those that need the fewest observed nodes first.

    An instrument depends on ``x``, and on ``y`` only through ``x``. It identifies the effect in a linear model, and
    bounds it in any; no instrument identifies an effect between discrete nodes by itself.

    Parameters
    ----------
    x, y : names
    hidden, most : as in `adjustment_sets`

    Returns
    -------
    iterator of CausalSet: the instrument is its only node, and ``given`` are the nodes to observe with it

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> network = BayesianNetwork({"school": ["lottery", "home"], "wage": ["school", "home"]})
    >>> [found.nodes for found in network.instruments("school", "wage", hidden="home")]
    [('lottery',)]
    """
    dag, causes, outcomes, unseen, limit = _asked(self, x, y, hidden, most)
    for group, what in ((causes, "x"), (outcomes, "y")):
        if len(group) > 1:
            raise SettingError("{what} names {n} nodes; an instrument is for one.", what=what, n=len(group))
    found = adjustment.instruments(dag, causes[0], outcomes[0], unseen)
    return (
        CausalSet("instrument", causes, outcomes, (node,), given, unseen, dag=dag)
        for node, given in islice(found, limit)
    )


def why_adjustment(
    self: WithGraph,
    x: NamesLike,
    y: NamesLike,
    given: NamesLike = (),
    *,
    hidden: NamesLike = (),
    criterion: Criterion = "back-door",
) -> CausalSet:
    """Explain whether some nodes are an adjustment set for the effect of ``x`` on ``y``.

    Parameters
    ----------
    x, y : a name, or a list of names
    given : the nodes to adjust for
    hidden : nodes that are not observed
    criterion : "back-door" or "front-door"

    Returns
    -------
    CausalSet, with ``valid``, ``reason`` and, if a path stays open, ``open_path``

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> network = BayesianNetwork({"a": [], "x": ["a"], "m": ["x"], "y": ["m", "a"]})
    >>> str(network.why_adjustment("x", "y").open_path)
    'x ← a → y'
    >>> print(network.why_adjustment("x", "y", ["a", "m"]))
    a, m: no valid back-door set for the effect of x on y.
    m is a descendant of x: adjusting for it takes part of the effect away, or opens a path.
    Every back-door path from x to y is blocked.
    There is one path between them, and it is blocked.
    <BLANKLINE>
    1. x ← a → y: blocked
       a is tail-to-tail and is observed: it blocks.
    """
    choice(criterion, "criterion", ("back-door", "front-door"))
    dag, x, y, unseen, _ = _asked(self, x, y, hidden, None)
    return _found(dag, criterion, x, y, known_nodes(dag, given, "given"), unseen)


def _found(dag: Dag, criterion: str, x: Names, y: Names, nodes: Collection[Name], hidden: Names) -> CausalSet:
    ordered = tuple(sorted(nodes, key=dag.position.__getitem__))
    return CausalSet(criterion, x, y, ordered, (), hidden, dag=dag)


def _asked(
    network: WithGraph, x: NamesLike, y: NamesLike, hidden: NamesLike, most: int | None
) -> tuple[Dag, Names, Names, Names, int | None]:
    dag = network._network.dag
    unseen = known_nodes(dag, hidden, "hidden")
    cause, outcome = cause_and_outcome(dag, x, y, unseen)
    return dag, cause, outcome, unseen, None if most is None else whole_number(most, "most", 1)


def cause_and_outcome(dag: Dag, x: NamesLike, y: NamesLike, hidden: Names) -> tuple[Names, Names]:
    """Return the nodes of a cause and of an outcome: at least one each, none in both, none hidden."""
    groups = known_nodes(dag, x, "x"), known_nodes(dag, y, "y")
    for what, group in zip("xy", groups, strict=True):
        if not group:
            raise SettingError("{what} names no node. Give one name, or a list of names.", what=what)
    both = next((name for name in groups[0] if name in groups[1]), None)
    if both is not None:
        raise SettingError("{both!r} is the cause and the outcome. Take it out of one.", both=both)
    unseen = next((name for group in groups for name in group if name in hidden), None)
    if unseen is not None:
        raise SettingError("{unseen!r} is hidden. A cause and an outcome must be observed.", unseen=unseen)
    return groups
