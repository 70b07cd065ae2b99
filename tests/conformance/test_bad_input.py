"""Bad input: an answer that makes sense, or a refusal that says why. Nothing else."""

from __future__ import annotations

import warnings
from typing import Any

import cases_cells  # noqa: F401  (each import enters its cases into the list)
import cases_frames  # noqa: F401
import cases_labels  # noqa: F401
import cases_numbers  # noqa: F401
import cases_sources  # noqa: F401
import cases_sparse  # noqa: F401
import numpy as np
import pytest
from bad_cases import CASES, Case
from estimators import BY_LETTER, bytes_held, check_answers

from bayeskit.errors import BayeskitError

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning"),
]

# Models that hold their counts once for each of so many ways to cut numbers.
VIEWS = {"I": 16, "U": 16}
PAIRS = [
    pytest.param(c, letter, id=f"{c.name}-{BY_LETTER[letter].__name__}") for c in CASES for letter in c.only
]


@pytest.mark.parametrize(("case", "letter"), PAIRS)
def test_bad_input(case: Case, letter: str, tmp_path: Any) -> None:
    given = case.make(tmp_path) if case.needs_folder else case.make()
    model = BY_LETTER[letter]()
    test = given.X if given.test is None else given.test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's own: a number went wrong on the way
        try:
            model.fit(given.X, given.y, **given.fit)
            check_answers(model, test, given.n_test or np.shape(test)[0])
        except BayeskitError as refusal:
            message = str(refusal)
            assert letter not in case.fine, f"refused: {message}"
            assert len(message) > 20
            assert case.is_named_by(message), message
            return
    assert letter in case.fine + case.either, "was not refused"
    assert bytes_held(model) <= case.largest * VIEWS.get(letter, 1)


def test_there_are_enough_cases_and_no_two_of_one_name() -> None:
    names = [c.name for c in CASES]
    assert len(names) == len(set(names))
    assert len(names) >= 150
