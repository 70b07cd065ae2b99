"""What a case of bad (or merely odd) input is, and the one list that they all enter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from estimators import EVERY, SEMI_NAIVE, small_labels, small_rows

from refusals import unnamed


@dataclass(frozen=True)
class Given:
    """What a user passes: rows and labels to learn, other arguments of ``fit``, rows to predict."""

    X: Any
    y: Any = None
    test: Any = None
    n_test: int | None = None
    fit: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes
    ----------
    make : callable
        Gives the input anew for each estimator; with ``needs_folder`` it is given a directory.
    fine : str
        The letters of the estimators that must answer; all others must refuse.
    says : str
        What the message of a refusal names: values joined by ``&``, and ``|`` between what different estimators name.
    either : str
        The letters of the estimators that may answer or refuse: where the arithmetic decides.
    largest : int
        How many bytes of tables a model may keep.
    """

    name: str
    make: Callable[..., Given]
    fine: str
    says: str
    either: str = ""
    only: str = EVERY
    largest: int = 100_000
    needs_folder: bool = False

    def is_named_by(self, message: str) -> bool:
        """Tell whether a refusal names what it has to."""
        return any(not unnamed(message, *values.split("&")) for values in self.says.split("|"))


CASES: list[Case] = []


def enter(
    name: str,
    make: Callable[..., Given],
    fine: str = EVERY,
    says: str = "",
    *,
    once: bool = False,
    sparse: bool = False,
    **more: Any,
) -> None:
    """Enter a case into the list.

    The semi-naive family does as naive Bayes does. With ``once`` the source can be read only once, which is not enough
    for it; with ``sparse`` the rows are sparse, which it does not take.
    """
    assert says or set(fine) >= set(more.get("only", EVERY)), f"{name} must say what a refusal says"
    if once:
        fine, says = fine.translate(dict.fromkeys(map(ord, SEMI_NAIVE))), f"{says}|Batches".lstrip("|")
    elif not sparse:
        undecided = set(more.get("either", ""))
        fine = "".join(letter for letter in _with_relatives(fine) if letter not in undecided)
        more = {
            key: _with_relatives(value) if key in ("either", "only") else value for key, value in more.items()
        }
    CASES.append(Case(name, make, fine, says, **more))


def _with_relatives(letters: str) -> str:
    return letters + SEMI_NAIVE if "N" in letters and SEMI_NAIVE not in letters else letters


def case(fine: str = EVERY, says: str = "", **more: Any) -> Callable[[Callable[..., Given]], None]:
    """Enter a function into the list of cases under its own name."""
    return lambda make: enter(make.__name__, make, fine, says, **more)


def given(X: Any = None, y: Any = None, test: Any = None, n_test: int | None = None, **fit: Any) -> Given:
    """Fill in good rows and labels where a case gives none."""
    X = small_rows() if X is None else X
    return Given(X, small_labels() if y is None else y, test, n_test, fit)


def put(value: float, row: Any = 4, column: Any = 1, n: int = 12) -> np.ndarray:
    """Return good rows with one cell (or more) changed."""
    rows = small_rows(n)
    rows[row, column] = value
    return rows


def pandas() -> Any:
    """The library, or a skipped test where it is not installed."""
    return pytest.importorskip("pandas")


def polars() -> Any:
    return pytest.importorskip("polars")


def arrow() -> Any:
    return pytest.importorskip("pyarrow")
