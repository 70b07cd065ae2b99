"""ONNX answers as Python does, in onnxruntime, on rows with holes and unseen values."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from bayeskit import AODE, KDB, TAN, NaiveBayes
from bayeskit.errors import ColumnError, NotSupported, UsageError
from exported_models import MODELS, case, plain_posteriors
from onnx_run import run
from refusals import refuses

pytest.importorskip("onnx", reason='to_onnx needs onnx: pip install "bayeskit[onnx]"')
pytest.importorskip(
    "onnxruntime", reason="the answers of ONNX are computed by onnxruntime: pip install onnxruntime"
)

LONG = (
    "nb-state-smooth",
    "nb-isotonic",
    "gaussian",
    "tan",
    "tan-gaussian",
    "aode",
    "a2de",
    "kdb",
    "kdb-wide",
)


def check(found, posterior, prediction):
    labels, shares = found
    np.testing.assert_allclose(shares, posterior, rtol=0, atol=1e-9)
    top = np.sort(posterior, axis=1)
    clear = (top[:, -1] - top[:, -2] > 1e-9) if posterior.shape[1] > 1 else np.ones(len(top), bool)
    assert (labels[clear] == prediction[clear]).all()


@pytest.mark.parametrize("name", MODELS)
def test_onnx_answers_as_python_does(name):
    model, X, posterior, prediction = case(name, 1_000)
    check(run(model.to_onnx(), X), posterior, prediction)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", LONG)
def test_onnx_answers_as_python_does_on_many_rows(name):
    model, X, posterior, prediction = case(name, 100_000)
    check(run(model.to_onnx(), X, batch=5_000), posterior, prediction)


@pytest.mark.parametrize("name", ["nb", "tan", "aode", "a2de", "kdb"])
def test_a_single_row(name):
    model, X, posterior, prediction = case(name, 1_000)
    check(run(model.to_onnx(), X[:1]), posterior[:1], prediction[:1])


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        ([1, 0, 1, 0], np.int64),
        ([1.0, -2.0, 1.0, -2.0], np.float64),
        ([True, False, True, False], np.bool_),
        (["a'b", "", "a'b", ""], object),
        (["one"] * 4, object),
    ],
    ids=["whole", "floats", "truth", "text", "one class"],
)
def test_classes_of_any_kind(labels, dtype):
    X = pd.DataFrame({"sky": ["red", "blue", "red", "grey"], "n": [1.0, 2.0, np.nan, 3.0]})
    model = NaiveBayes().fit(X, labels)
    found = run(model.to_onnx(), X)
    assert found[0].dtype == dtype and found[0].shape == (4,)
    check(found, model.predict_proba(X), model.predict(X))


@pytest.mark.parametrize("cls", [NaiveBayes, TAN, AODE, KDB])
def test_states_that_are_numbers_and_truth_values(cls):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"whole": rng.integers(-2, 3, 200), "yes": rng.random(200) < 0.5})
    model = cls(categorical_features="all").fit(X, (X["whole"] > 0) ^ X["yes"])
    new = pd.DataFrame({"whole": rng.integers(-3, 4, 99), "yes": rng.random(99) < 0.5})
    check(run(model.to_onnx(), new), *plain_posteriors(model, new))


def test_metadata_say_what_missing_is():
    model = case("nb-smooth", 1_000)[0].to_onnx()
    told = {prop.key: prop.value for prop in model.metadata_props}
    assert "NaN" in told["missing"] and '""' in told["missing"]
    assert json.loads(told["classes"]) == ["it's", "no", "是"] and told["unseen"] == "smooth"
    assert {opset.domain for opset in model.opset_import} == {"", "ai.onnx.ml"}
    assert {node.domain for node in model.graph.node} <= {"", "ai.onnx.ml"}


def test_what_onnx_cannot_do_is_refused():
    X = pd.DataFrame({"sky": ["red", ""] * 10, "n": np.arange(20.0)})
    y = [0, 1] * 10
    with pytest.raises(NotSupported, match=r"sky.*empty"):
        NaiveBayes().fit(X, y).to_onnx()
    with pytest.raises(NotSupported, match="unseen"):
        NaiveBayes(unseen="error").fit(X, y).to_onnx()
    with pytest.raises(NotSupported, match="'kernel'"):
        NaiveBayes(numeric="kernel").fit(X, y).to_onnx()
    with pytest.raises(ColumnError, match="output_label"):
        NaiveBayes().fit(X.rename(columns={"n": "output_label"}), y).to_onnx()


def test_names_of_tensors_are_not_those_of_columns():
    X = pd.DataFrame({f"t{j}": np.arange(6.0) * (j % 3 + 1) for j in range(40)})
    model = NaiveBayes().fit(X, [0, 1] * 3)
    check(run(model.to_onnx(), X), model.predict_proba(X), model.predict(X))


@pytest.mark.parametrize("package", ["onnx"])
def test_a_missing_extra_is_named(monkeypatch, package):
    model = NaiveBayes().fit([["a"], ["b"]], [0, 1])
    monkeypatch.setitem(sys.modules, package, None)
    with refuses(UsageError, "onnx", '"bayeskit[onnx]"'):
        model.to_onnx()
