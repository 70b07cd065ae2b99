"""A model as JSON answers as Python does, read by the guide's description alone."""

import json

import numpy as np
import pandas as pd
import pytest

from bayeskit import NaiveBayes
from bayeskit.errors import NotSupported
from exported_models import MODELS, case
from formula_reader import Formula


@pytest.mark.parametrize("name", MODELS)
def test_json_answers_as_python_does(name):
    model, X, posterior, _ = case(name, 1_000)
    formula = Formula(model.to_json())
    found = np.array([formula.posterior(row) for row in X[:150].to_dict("records")])
    np.testing.assert_allclose(found, posterior[:150], rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "name", ["nb-state-smooth", "gaussian", "tan", "tan-gaussian", "aode", "kdb", "kdb-wide"]
)
def test_json_answers_as_python_does_on_many_rows(name):
    model, X, posterior, _ = case(name, 100_000)
    formula = Formula(model.to_json())
    found = np.array([formula.posterior(row) for row in X.to_dict("records")])
    np.testing.assert_allclose(found, posterior, rtol=0, atol=1e-9)


def test_json_names_columns_classes_and_states():
    X = pd.DataFrame({"色泽": ["青绿", "乌黑", "青绿"], "n": [1.0, 2.0, 4.0]})
    content = json.loads(NaiveBayes().fit(X, [True, False, True]).to_json(indent=1))
    assert content["format"] == "bayeskit-formula" and content["version"] == 1
    assert content["classes"] == [False, True]
    assert content["columns"] == [
        {"name": "色泽", "kind": "categorical", "states": ["乌黑", "青绿"]},
        {"name": "n", "kind": "numeric"},
    ]


def test_states_without_a_json_value_are_refused():
    X = pd.DataFrame({"pair": pd.Series([(1, 2), (3, 4), (1, 2)], dtype=object)})
    with pytest.raises(NotSupported, match=r"pair.*\(1, 2\).*tuple"):
        NaiveBayes().fit(X, [0, 1, 0]).to_json()
