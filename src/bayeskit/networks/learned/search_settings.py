"""The settings of a search, checked against its method: what a method cannot follow is refused, never passed over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bayeskit.errors import SettingError
from bayeskit.learning.search.counted_columns import CountedColumns
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.learning.search.search_network import METHODS, Settings
from bayeskit.networks.arguments import number_below, whole_number
from bayeskit.networks.memory import allowed
from bayeskit.schema import Name
from bayeskit.structure.arcs import Arcs
from bayeskit.structure.limits import read_limits
from bayeskit.structure.scores import Score, as_score
from bayeskit.structure.tests_of_independence import as_independence_test

# The method that learns from rows with missing cells too: arcs and tables by turns, no search of its own.
STRUCTURAL = "structural-em"
BY_TESTS = ("pc", "mmhc")
BY_SCORE = (*(method for method in METHODS if method not in ("chow-liu", "pc")), STRUCTURAL)

# The methods that a setting speaks to, and its value where it was not given.
TAKEN_BY: dict[str, tuple[tuple[str, ...], Any]] = {
    "score": (BY_SCORE, "bic"),
    "max_parents": ((*(method for method in METHODS if method != "pc"), STRUCTURAL), None),
    "order": (("k2",), None),
    "alpha": (BY_TESTS, 0.01),
    "test": (BY_TESTS, None),
    "max_given": (BY_TESTS, 3),
    "restarts": (("hill-climbing", "tabu", STRUCTURAL), 0),
    "start": ((STRUCTURAL,), None),
}


def read_settings(
    columns: NodeColumns | CountedColumns,
    method: str = "auto",
    score: Any = "bic",
    *,
    required: Iterable[Any] = (),
    forbidden: Iterable[Any] = (),
    tiers: Sequence[Any] | None = None,
    max_parents: int | None = None,
    order: Sequence[Name] | None = None,
    ess: float = 1.0,
    alpha: float = 0.01,
    test: str | None = None,
    max_given: int | None = 3,
    restarts: int = 0,
    start: Any = None,
    time_limit: float | None = None,
    seed: int = 0,
    max_memory: float | None = None,
    read_in_pieces: bool = False,
) -> tuple[Arcs, Settings]:
    """Read the limits and the settings of a search over some columns; see `learn_network`."""
    if method not in (*METHODS, STRUCTURAL):
        raise SettingError(f"method is {method!r}; there are {', '.join((*METHODS, STRUCTURAL))}.")
    n_numeric = int((~columns.is_discrete).sum())
    limits = read_limits(
        columns.names,
        required=required,
        forbidden=forbidden,
        tiers=tiers,
        max_parents=max_parents,
        continuous=[v.name for v in columns.variables if v.kind == "numeric"],
    )
    settings = Settings(
        method=method,
        score=as_score(score, ess),
        alpha=number_below(alpha, "alpha", 1.0),
        test=None if test is None else _test(test, n_numeric, len(columns.variables)),
        max_given=None if max_given is None else whole_number(max_given, "max_given", 0),
        order=_places(order, columns),
        restarts=whole_number(restarts, "restarts", 0),
        time_limit=None if time_limit is None else number_below(time_limit, "time_limit"),
        seed=whole_number(seed, "seed", 0),
        max_memory=allowed(max_memory),
    )
    given = {
        "score": score,
        "max_parents": max_parents,
        "order": order,
        "alpha": alpha,
        "test": test,
        "max_given": max_given,
        "restarts": restarts,
        "start": start,
    }
    _refuse_what_is_not_taken(method, given)
    if ess != 1.0 and (isinstance(score, Score) or settings.score.name not in ("bdeu", "bds")):
        raise SettingError(
            f"ess is {ess!r}, and score={score!r} does not look at it. It is for bdeu and bds."
        )
    if max_memory is not None and method != "exact" and not read_in_pieces:
        raise SettingError(
            f'max_memory is for method="exact" and for rows read from a file or batches; method is {method!r}, and the '
            "rows are in memory. Leave it out: what tables may take is told by set_max_memory."
        )
    return limits, settings


def _refuse_what_is_not_taken(method: str, given: dict[str, Any]) -> None:
    for name, value in given.items():
        methods, unset = TAKEN_BY[name]
        if method in methods or (type(value) is type(unset) and value == unset):
            continue
        why = ""
        if name == "max_parents":
            why = (
                " It tests who are neighbours, not how many of them are parents; max_given= bounds its tests."
            )
        if name == "score" and method == "chow-liu":
            why = " Its tree is the one of the largest likelihood."
        listed = ", ".join(map(repr, methods))
        raise SettingError(
            f"{name} is {value!r}, which method={method!r} does not take.{why} It is for {listed}."
        )


def _test(name: str, n_numeric: int, n: int) -> str:
    if 0 < n_numeric < n:
        return as_independence_test(name, mixed=True).name
    return as_independence_test(name, continuous=n_numeric > 0).name


def _places(order: Sequence[Name] | None, columns: NodeColumns | CountedColumns) -> list[int] | None:
    if order is None:
        return None
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise SettingError(f"order is {order!r}; give all columns in an order in which parents come first.")
    order = list(order)
    if sorted(map(repr, order)) != sorted(map(repr, columns.names)):
        raise SettingError("order does not name every column once.")
    return [columns.names.index(name) for name in order]
