"""The bad input again, through the settings that lead another way: an answer that makes sense, or a refusal."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import test_bad_input  # noqa: F401  (fills the list of cases)
from bad_cases import CASES, Case
from estimators import check_answers, name_of

from bayeskit import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    MultinomialNB,
    NaiveBayes,
)
from bayeskit.errors import BayeskitError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning"),
]

OTHERS: list[Any] = [
    lambda: NaiveBayes(categorical_features="all", missing="state", unseen="smooth", class_weight="balanced"),
    lambda: NaiveBayes(numeric="kernel", missing="state"),
    lambda: NaiveBayes(numeric="student", variance="unbiased"),
    lambda: NaiveBayes(numeric="poisson", smoothing=0.0),
    lambda: NaiveBayes(smoothing="mle", unseen="error", variance="unbiased"),
    lambda: GaussianBayes("shared", variance="unbiased"),
    lambda: GaussianBayes("diagonal", class_weight="balanced"),
    lambda: GaussianBayes(shrinkage="ledoit-wolf"),
    lambda: GaussianBayes(shrinkage=0.0),
    lambda: MultinomialNB(alpha=0.0),
    lambda: ComplementNB(alpha=0.0, norm=True),
    lambda: BernoulliNB(alpha=0.0, binarize=1.0),
    lambda: CategoricalNB(alpha=0.0, min_categories=4),
    lambda: TAN(categorical_features="all", missing="state", unseen="smooth", class_weight="balanced"),
    lambda: AODE(smoothing="mle", weights="mutual-information", min_count=2, categorical_features="all"),
    lambda: AnDE(n=2, missing="state"),
    lambda: KDB(k=3, numeric="gaussian", missing="state", smoothing="mle"),
    lambda: SPODE(select="cv", numeric="gaussian", calibration="isotonic"),
]
SLOW = {"thousand_classes"}


@pytest.mark.parametrize("make", OTHERS, ids=lambda make: name_of(make()))
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in SLOW], ids=lambda case: case.name)
def test_other_settings(case: Case, make: Any, tmp_path: Any) -> None:
    given = case.make(tmp_path) if case.needs_folder else case.make()
    test = given.X if given.test is None else given.test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model = make().fit(given.X, given.y, **given.fit)
            check_answers(model, test, given.n_test or np.shape(test)[0])
        except BayeskitError as refusal:
            message = str(refusal)
        else:
            return
    assert len(message) > 20
