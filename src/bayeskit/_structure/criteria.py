"""Scores of families and tests of independence, by name."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bayeskit._messages import Joined
from bayeskit.errors import SettingError

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
