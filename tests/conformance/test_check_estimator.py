"""Every estimator passes scikit-learn's own checks, with no exception asked for."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest
from estimators import VARIANTS, name_of
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from bayeskit import AutoBayes, SelectiveKDB, WeightedNB

# More settings of those that choose more than cut points from rows.
CHOOSERS = [
    cls(**settings)
    for cls in (SelectiveKDB, WeightedNB, AutoBayes)
    for settings in ({"numeric": "gaussian"}, {"categorical_features": "all"})
]


@pytest.mark.parametrize("estimator", [*VARIANTS, *CHOOSERS], ids=name_of)
def test_scikit_learn_checks(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # array API: SciPy's flag is set by the user
        if "on_fail" not in inspect.signature(check_estimator).parameters:
            check_estimator(clone(estimator))  # raises at the first failure
            return
        results = check_estimator(clone(estimator), on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "skipped")}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40
