"""Learned networks pass scikit-learn's own checks, and answer or refuse whatever rows in memory they get."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import cases_cells  # noqa: F401  (each import enters its cases into the list)
import cases_frames  # noqa: F401
import cases_labels  # noqa: F401
import cases_numbers  # noqa: F401
import numpy as np
import pytest
from bad_cases import CASES
from estimators import NETWORKS, check_answers, name_of
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from bayeskit import BayesNetClassifier
from bayeskit.errors import BayeskitError
from refusals import unnamed

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

# A column that the network has left out is not looked at.
NOT_LOOKED_AT = {"infinity_only_when_predicting"}


@pytest.mark.parametrize("estimator", NETWORKS, ids=name_of)
def test_scikit_learn_checks(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        if "on_fail" not in inspect.signature(check_estimator).parameters:
            check_estimator(clone(estimator))
            return
        results = check_estimator(clone(estimator), on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "skipped")}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40


@pytest.mark.parametrize("method", ["hill-climbing", "naive"])
def test_bad_input(method: str) -> None:
    """What naive Bayes must refuse a network refuses in the same words; it may refuse more, but never breaks."""
    answered, refused, wrong = 0, 0, []
    for case in CASES:
        if "N" not in case.only or case.needs_folder:
            continue
        given = case.make()
        if set(given.fit) - {"target"}:
            continue
        test = given.X if given.test is None else given.test
        model = BayesNetClassifier(method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            try:
                model.fit(given.X, given.y, **given.fit)
                check_answers(model, test, given.n_test or np.shape(test)[0])
            except BayeskitError as refusal:
                refused += 1
                must = "N" not in case.fine + case.either
                # Batches are refused whatever is wrong with them.
                named = case.is_named_by(str(refusal)) or not unnamed(str(refusal), "search", "networks")
                if len(str(refusal)) <= 20 or (must and not named):
                    wrong.append((case.name, str(refusal)))
                continue
            except Exception as error:  # all that break are told of together
                wrong.append((case.name, repr(error)))
                continue
        answered += 1
        if "N" not in case.fine + case.either and case.name not in NOT_LOOKED_AT:
            wrong.append((case.name, "was not refused"))
    assert not wrong
    assert answered > 80 and refused > 40
