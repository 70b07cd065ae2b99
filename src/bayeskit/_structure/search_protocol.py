"""The interface of a structure search: what it asks, by which score or test, and which arcs it may and must use.

Variables are numbers; sets of variables are integers whose bits are the members.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bayeskit._graphs.dag import Dag
from bayeskit._messages import Joined, Message
from bayeskit._schema import Name
from bayeskit.errors import CyclicGraph, SettingError

T = TypeVar("T")


class Family(NamedTuple):
    """Requests the score of a child with these parents; with ``more``, with these parents and each one of ``more``.

    The answer is an array: one number, or one for each of ``more``.

    Examples
    --------
    >>> Family(0, bits([1, 3]), (2, 4))  # 0 with parents {1, 3, 2} and with parents {1, 3, 4}
    Family(child=0, parents=10, more=(2, 4))
    """

    child: int
    parents: int
    more: tuple[int, ...] | None = None


class Test(NamedTuple):
    """Requests a test of a and b given a set; the answer is (statistic, degrees of freedom, p-value)."""

    a: int
    b: int
    given: int


@dataclass(frozen=True)
class Graph:
    """The result of a search: the parents of each variable, and the undirected edges (pairs a < b).

    A score-based search returns directed arcs only; a constraint-based one returns an equivalence class.
    """

    parents: tuple[int, ...]
    undirected: frozenset[tuple[int, int]] = frozenset()


class Stop(Exception):
    """Thrown into a search at a request when time is up. The search returns its best graph."""


Question = Sequence[Family] | Sequence[Test]
Search = Generator[Question, list[Any], Graph]


def bits(members: Sequence[int]) -> int:
    """Return the set of these variables."""
    return sum(1 << v for v in set(members))


@lru_cache(maxsize=2**14)
def members(some: int) -> tuple[int, ...]:
    """Return the variables of a set, the lowest first.

    >>> members(10)
    (1, 3)
    """
    found = []
    if some < 1 << 64:
        while some:
            low = some & -some
            found.append(low.bit_length() - 1)
            some ^= low
        return tuple(found)
    # Every step of arithmetic on a long number costs its length; finding a character does not.
    digits = bin(some)[:1:-1]
    place = digits.find("1")
    while place >= 0:
        found.append(place)
        place = digits.find("1", place + 1)
    return tuple(found)


def answer_all(search: Generator[Question, list[Any], T], answer: Callable[[Question], list[Any]]) -> T:
    """Run a search to its end; ``answer`` answers its requests."""
    try:
        question = next(search)
        while True:
            question = search.send(answer(question))
    except StopIteration as end:
        found: T = end.value
        return found


NAMES = ("loglik", "aic", "bic", "bdeu", "bds", "k2")


@dataclass(frozen=True)
class Score:
    r"""A decomposable score on the scale of the log-likelihood; larger is better.

    ``loglik`` is Σ n log(n/n_parents). ``aic`` subtracts one for each parameter, ``bic`` (MDL) subtracts ½
    log n. ``bdeu`` is the evidence under Dirichlet rows with ess/(q·r) per cell; ``bds`` replaces q by the
    number of configurations that occur; ``k2`` has one per cell. The number of parameters is (r − 1)·∏
    r_parents over *declared* states.

    Examples
    --------
    >>> Score("bic").penalty(100)
    2.302585092994046
    """

    name: str = "bic"
    ess: float = 1.0

    def penalty(self, n_rows: float) -> float:
        """Return the penalty of one parameter."""
        if self.name == "aic":
            return 1.0
        return 0.5 * math.log(max(n_rows, 1.0)) if self.name == "bic" else 0.0

    @property
    def by_likelihood(self) -> bool:
        return self.name in ("loglik", "aic", "bic")

    @property
    def weight(self) -> float:
        """The imaginary rows of a family; −1 means one in every cell."""
        return -1.0 if self.name == "k2" else self.ess


def as_score(criterion: object, ess: float = 1.0) -> Score:
    """Read a criterion given by name; "mdl" is a synonym of "bic"."""
    if isinstance(criterion, Score):
        return criterion
    name = "bic" if isinstance(criterion, str) and criterion == "mdl" else criterion
    if not isinstance(name, str) or name not in NAMES:
        raise SettingError(
            "criterion is {criterion!r}; choose from {names}.", criterion=criterion, names=Joined(NAMES)
        )
    if isinstance(ess, bool) or not isinstance(ess, (int, float)) or not 0.0 < ess < math.inf:
        raise SettingError("ess is {ess!r}; give a number of imaginary rows above 0.", ess=ess)
    return Score(name, float(ess))


@dataclass(frozen=True)
class IndependenceTest:
    """A test of the independence of two variables given others.

    Attributes
    ----------
    name : str
        For tables: ``g2`` (2n times the mutual information, so also called ``mi``), ``x2`` (Pearson),
        ``g2-adf`` and ``x2-adf`` (degrees of freedom from the states that occur), ``mi-sh`` (the table is
        shrunk towards the uniform one). For numbers: ``cor`` (Student's t), ``zf`` (Fisher's z), ``mi-g`` (2n
        times the mutual information of Gaussian variables). For both together: ``mi-cg`` (2n times the mutual
        information of a conditional-Gaussian model).
    continuous : bool
        Whether it is for numeric columns.

    Examples
    --------
    >>> as_independence_test("mi-adf")
    IndependenceTest(name='g2-adf', continuous=False)
    """

    name: str
    continuous: bool


TABLE_TESTS = ("g2", "x2", "g2-adf", "x2-adf", "mi-sh")
NUMBER_TESTS = ("cor", "zf", "mi-g")
MIXED_TESTS = ("mi-cg",)
OTHER_WORDS = {"mi": "g2", "mi-adf": "g2-adf", "chi2": "x2"}


def as_independence_test(
    name: str, continuous: bool | None = None, *, mixed: bool = False
) -> IndependenceTest:
    """Read the name of a test; with ``continuous`` or ``mixed``, it must be for columns of that kind."""
    found = OTHER_WORDS.get(name, name) if isinstance(name, str) else name
    offered: tuple[str, ...] = MIXED_TESTS
    of = " of columns of both kinds"
    if not mixed:
        offered = {None: TABLE_TESTS + NUMBER_TESTS + MIXED_TESTS, False: TABLE_TESTS, True: NUMBER_TESTS}[
            continuous
        ]
        of = {None: "", False: " of discrete columns", True: " of numeric columns"}[continuous]
    if found not in offered:
        raise SettingError(
            "test is {name!r}; the tests{of} are {names}.", name=name, of=of, names=Joined(offered)
        )
    return IndependenceTest(found, found not in TABLE_TESTS)


def default_test(n_discrete: int, n_continuous: int) -> str:
    """Return the test for columns of these kinds.

    >>> default_test(8, 0), default_test(0, 8), default_test(4, 4)
    ('g2-adf', 'cor', 'mi-cg')
    """
    if not n_continuous:
        return "g2-adf"
    return "mi-cg" if n_discrete else "cor"


@dataclass(frozen=True)
class Arcs:
    """Limits of a search over the variables 0 … n−1, as sets of bits.

    Attributes
    ----------
    allowed : for each variable, the parents that it may have (never itself)
    required : for each variable, the parents that it must have (a subset of the allowed ones; no cycle)
    max_parents : the maximum number of parents of a variable
    """

    allowed: tuple[int, ...]
    required: tuple[int, ...]
    max_parents: int

    @classmethod
    def all(cls, n: int, max_parents: int | None = None) -> Arcs:
        """Return limits with no restriction except the number of parents."""
        everything = (1 << n) - 1
        return cls(
            tuple(everything ^ (1 << v) for v in range(n)),
            (0,) * n,
            n - 1 if max_parents is None else max_parents,
        )

    @property
    def n(self) -> int:
        return len(self.allowed)

    @property
    def is_free(self) -> bool:
        """Whether every graph with few enough parents is allowed."""
        everything = (1 << self.n) - 1
        return not any(self.required) and all(
            allowed == everything ^ (1 << v) for v, allowed in enumerate(self.allowed)
        )

    def permits(self, parents: tuple[int, ...]) -> bool:
        """Whether a graph satisfies the limits (cycles are not checked)."""
        return all(
            mine & ~self.allowed[v] == 0
            and self.required[v] & ~mine == 0
            and mine.bit_count() <= self.max_parents
            for v, mine in enumerate(parents)
        )


def read_limits(
    names: Sequence[Name],
    *,
    required: Iterable[Any] = (),
    forbidden: Iterable[Any] = (),
    tiers: Sequence[Any] | None = None,
    max_parents: int | None = None,
    continuous: Iterable[Name] = (),
) -> Arcs:
    """Read prior knowledge about a network; contradictions raise an error that names them.

    Parameters
    ----------
    required, forbidden : (parent, child) pairs
    tiers : lists of names, the earliest first
        No arc leads from a later tier to an earlier one. A name in no tier is unrestricted.
    max_parents : the maximum number of parents of a node
    continuous : nodes that cannot be parents of the others

    Examples
    --------
    >>> read_limits(["a", "b"], forbidden=[("a", "b")]).allowed
    (2, 0)
    """
    place = {name: v for v, name in enumerate(names)}
    n = len(names)
    if max_parents is not None and (
        isinstance(max_parents, bool) or not isinstance(max_parents, (int, np.integer)) or max_parents < 0
    ):
        raise SettingError(
            "max_parents is {max_parents!r}; give a whole number of at least 0, or None.",
            max_parents=max_parents,
        )
    allowed = [((1 << n) - 1) ^ (1 << v) for v in range(n)]
    why: dict[tuple[int, int], Message] = {}

    def forbid(parent: int, child: int, reason: Message) -> None:
        allowed[child] &= ~(1 << parent)
        why.setdefault((parent, child), reason)

    for pair in _pairs(forbidden, "forbidden"):
        forbid(*_arc(pair, place, "forbidden"), Message("it is forbidden"))
    level = _levels(tiers, place)
    for child in level:
        for parent in level:
            if level[parent] > level[child]:
                forbid(parent, child, Message("{name!r} is in a later tier", name=names[parent]))
    numeric = {place[name] for name in continuous}
    for parent in numeric:
        for child in range(n):
            if child not in numeric:
                forbid(
                    parent,
                    child,
                    Message(
                        "{parent!r} is continuous and {child!r} is not",
                        parent=names[parent],
                        child=names[child],
                    ),
                )
    needed = [0] * n
    for pair in _pairs(required, "required"):
        parent, child = _arc(pair, place, "required")
        if not allowed[child] >> parent & 1:
            raise SettingError(
                "The arc {name!r} → {name2!r} is required, but {why}. Remove one of the two.",
                name=names[parent],
                name2=names[child],
                why=why[parent, child],
            )
        needed[child] |= 1 << parent
    if any(needed):
        _refuse_cycle(needed, names)
    most = n - 1 if max_parents is None else int(max_parents)
    for child, mine in enumerate(needed):
        if mine.bit_count() > most:
            raise SettingError(
                "{name!r} is required to have {n} parents, and max_parents is {most}.",
                name=names[child],
                n=mine.bit_count(),
                most=most,
            )
    return Arcs(tuple(allowed), tuple(needed), most)


def _pairs(given: object, setting: str) -> Iterable[Any]:
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise SettingError(
            "{setting} is {given!r}; give a list of (parent, child) pairs.", setting=setting, given=given
        )
    return given


def _arc(pair: Sequence[Name], place: dict[Name, int], setting: str) -> tuple[int, int]:
    unordered = isinstance(pair, (str, bytes, Set, Mapping))
    if unordered or not hasattr(pair, "__len__") or len(pair) != 2:
        raise SettingError(
            "{setting} contains {pair!r}; give (parent, child) pairs.", setting=setting, pair=pair
        )
    for name in pair:
        if not isinstance(name, Hashable) or name not in place:
            raise SettingError("{setting} names {name!r}, which is not a column.", setting=setting, name=name)
    parent, child = (place[name] for name in pair)
    if parent == child:
        raise SettingError("{setting} holds an arc from {pair!r} to itself.", setting=setting, pair=pair[0])
    return parent, child


def _levels(tiers: Sequence[Any] | None, place: dict[Name, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for number, tier in enumerate(tiers or ()):
        alone = isinstance(tier, Hashable) and tier in place
        if not alone and (isinstance(tier, str) or not isinstance(tier, Iterable)):
            raise SettingError(
                "tiers contains {tier!r}, which is not a column. Give lists of columns.", tier=tier
            )
        for name in [tier] if alone else tier:
            if not isinstance(name, Hashable) or name not in place:
                raise SettingError("tiers contains {name!r}, which is not a column.", name=name)
            if place[name] in found:
                raise SettingError("{name!r} is in two tiers. Name it once.", name=name)
            found[place[name]] = number
    return found


def _refuse_cycle(parents: list[int], names: Sequence[Name]) -> None:
    try:
        Dag(tuple(names), tuple(tuple(names[p] for p in members(mine)) for mine in parents))
    except CyclicGraph as error:
        arcs = Joined(map(repr, error.cycle), " → ")
        raise SettingError("The required arcs form a cycle: {arcs}. Remove one of them.", arcs=arcs) from None
