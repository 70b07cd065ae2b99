"""A network classifier in a file: the same answers, the same page, and nothing invalid is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit
from bayeskit import BayesNetClassifier, datasets
from bayeskit.classifiers.network_classifier.saving import rebuilt_network_classifier
from bayeskit.errors import ModelFormatError, UsageError
from bayeskit.io.saved import Saved, read_saved, write_saved
from bayeskit.priors import BDeu
from refusals import refuses

MELON = datasets.load("melon3")
ROW = {name: MELON.columns[name][3] for name in MELON.attributes}
HOLES = {**ROW, "纹理": None, "触感": None, "密度": np.nan}


def labels(semi_supervised: bool) -> Any:
    y = MELON.y.astype(object)
    y[1::3] = None if semi_supervised else y[1::3]
    return y


def check(model: Any, path: Path) -> Any:
    """What comes back answers, explains and is written as the model was."""
    model.save(path)
    again = bayeskit.load(path)
    assert np.array_equal(again.predict_proba(MELON.X), model.predict_proba(MELON.X))
    for row in (ROW, HOLES):
        assert again.explain(row) == model.explain(row)
        assert again.ask_next(row).to_dict() == model.ask_next(row).to_dict()
    for name in ("schema_", "held_", "target_", "markov_blanket_", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name), name
    assert again.get_params() == model.get_params()
    assert again.classes_.tolist() == model.classes_.tolist() and again.classes_.dtype == model.classes_.dtype
    before = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == before
    return again


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "tan", "prior": BDeu(4)},
        {"method": "naive", "discretize": {"密度": 2}, "markov_blanket": False},
        {"method": "naive", "semi_supervised": True},
    ],
    ids=str,
)
def test_what_was_saved_comes_back(options: dict[str, Any], tmp_path: Path) -> None:
    model = BayesNetClassifier(**options).fit(MELON.X, labels("semi_supervised" in options))
    again = check(model, tmp_path / "m.bayes")
    if "semi_supervised" in options:
        assert again.history_ == model.history_
        assert again.network_.n_rows_ == model.network_.n_rows_
    elif "discretize" not in options:  # the counts are there: the network goes on learning
        rows = {again.target_: MELON.y, **MELON.columns}
        assert again.network_.partial_fit(rows).n_rows_ == 34


def test_names_and_labels_of_any_type(tmp_path: Path) -> None:
    rows = np.array([[0, 20], [1, 37], [0, 20], [1, 21]] * 4)
    model = BayesNetClassifier("naive").fit(rows, np.array([7, 9, 7, 9] * 4, dtype=np.int16))
    model.save(tmp_path / "m.bayes")
    again = bayeskit.load(tmp_path / "m.bayes")
    assert again.predict(rows).dtype == np.int16 and again.predict(rows).tolist() == [7, 9, 7, 9] * 4
    assert not hasattr(again, "feature_names_in_")
    assert again.schema_ == model.schema_  # whole numbers from 0 on have no short form here


def test_models_that_cannot_be_saved() -> None:
    class Mine(BayesNetClassifier):
        pass

    with refuses(UsageError, "Mine"):
        Mine("naive").fit(MELON.X, MELON.y).save("m.bayes")
    with refuses(ValueError, "BayesNetClassifier"):
        BayesNetClassifier().save("m.bayes")


def test_files_that_do_not_hold_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.bayes"
    BayesNetClassifier("naive").fit(MELON.X, MELON.y).save(path)
    saved = read_saved(path, "model")

    def refused(said: list[object], content: dict[str, Any] | None = None, arrays: Any = None) -> None:
        write_saved(Saved("model", {**saved.content, **(content or {})}, arrays or dict(saved.arrays)), path)
        with refuses(ModelFormatError, *said):
            bayeskit.load(path)

    network = saved.content["network"]
    variables = saved.content["variables"]
    refused([99, "column"], {"network": {**network, "nodes": [{**network["nodes"][0], "name": 99}]}})
    refused(["node", "class"], {"network": {**network, "nodes": []}})
    refused(["counts", "network"], {"network": {**network, "nodes": network["nodes"][:1]}})
    refused(["node", "column"], {"variables": [variables[0], *variables[2:], variables[1]]})
    refused(["y", 1_000_000_000], {"variables": [{**variables[0], "states": 10**9}, *variables[1:]]})
    refused(
        ["network", "table"],
        {"climbed": {"history": [0.0], "converged": True, "starts": [0.0], "n_rows": 17.0}},
    )
    refused(["BayesNetClassifier", "colour"], {"parameters": {"colour": 1}})
    wrong = {name: a for name, a in saved.arrays.items() if name != "regressions/pivot"}
    refused(["regressions/pivot"], arrays=wrong)
    refused(["regressions/9"], arrays={**saved.arrays, "regressions/9": np.zeros((1, 1))})
    refused(["regressions/pivot"], arrays={**saved.arrays, "regressions/pivot": np.zeros((2, 1))})
    refused(["regressions/pivot", "NaN"], arrays={**saved.arrays, "regressions/pivot": np.full(4, np.nan)})
    assert rebuilt_network_classifier(saved).classes_.tolist() == ["否", "是"]
