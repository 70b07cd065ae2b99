"""A network classifier in a file: the same answers, the same page, and nothing invalid is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayeskit
from bayeskit import BayesNetClassifier, datasets
from bayeskit._io.plain_values import from_plain, to_plain
from bayeskit._io.saved import SavedContent, read_saved, write_saved
from bayeskit.errors import ModelFormatError
from bayeskit.priors import BDeu
from refusals import refuses

MELON = datasets.load_dataset("melon3")
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
        {"method": "tan", "smoothing": BDeu(4)},
        {"method": "naive", "numeric": {"密度": 2}, "markov_blanket": False},
        {"method": "naive", "semi_supervised": True},
    ],
    ids=str,
)
def test_what_was_saved_comes_back(options: dict[str, Any], tmp_path: Path) -> None:
    model = BayesNetClassifier(**options).fit(MELON.X, labels("semi_supervised" in options))
    again = check(model, tmp_path / "m.bayes")
    if "semi_supervised" in options:
        assert again.history_ == model.history_
    again.partial_fit(MELON.X, MELON.y)  # the counts are there: it goes on learning
    assert again.statistics_.total == model.statistics_.total + 17


def test_names_and_labels_of_any_type(tmp_path: Path) -> None:
    rows = np.array([[0, 20], [1, 37], [0, 20], [1, 21]] * 4)
    model = BayesNetClassifier("naive").fit(rows, np.array([7, 9, 7, 9] * 4, dtype=np.int16))
    model.save(tmp_path / "m.bayes")
    again = bayeskit.load(tmp_path / "m.bayes")
    assert again.predict(rows).dtype == np.int16 and again.predict(rows).tolist() == [7, 9, 7, 9] * 4
    assert not hasattr(again, "feature_names_in_")
    assert again.schema_ == model.schema_  # whole numbers from 0 on have no short form here


def test_a_class_of_ones_own_is_loaded_by_who_knows_it(tmp_path: Path) -> None:
    class Mine(BayesNetClassifier):
        pass

    path = tmp_path / "m.bayes"
    Mine("naive").fit(MELON.X, MELON.y).save(path)
    with refuses(ModelFormatError, "Mine"):
        bayeskit.load(path)
    assert type(bayeskit.load(path, classes=[Mine])) is Mine
    with refuses(ValueError, "BayesNetClassifier"):
        BayesNetClassifier().save("m.bayes")


def test_files_that_do_not_hold_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.bayes"
    BayesNetClassifier("hill-climbing", required=[("y", "密度")], max_parents=1).fit(MELON.X, MELON.y).save(
        path
    )
    saved = read_saved(path, "model")
    held = from_plain(saved.content["held"])

    def refused(said: list[object], content: dict[str, Any] | None = None, arrays: Any = None) -> None:
        write_saved(
            SavedContent("model", {**saved.content, **(content or {})}, arrays or dict(saved.arrays)), path
        )
        with refuses(ModelFormatError, *said):
            bayeskit.load(path)

    def holding(structure: Any) -> dict[str, Any]:
        return {"held": to_plain({**held, "structure": structure}, "held")}

    structure = held["structure"]
    assert structure["密度"] == ("y",)
    refused(["structure"], {"held": to_plain({}, "held")})
    refused(["structure", "色"], holding({**structure, "色": ()}))
    refused(["'y'"], holding({name: () for name in structure if name != "y"}))
    refused(["statistics", "BayesNetClassifier"], holding({"y": ()}))
    refused(["'y'"], holding({**structure, "y": ("y",)}))
    refused(["密度"], holding({**structure, "y": ("密度",), "密度": ()}))
    refused(["structure"], holding(list(structure)))
    refused(["BayesNetClassifier", "colour"], {"parameters": {"colour": 1}})
    wrong = {name: a for name, a in saved.arrays.items() if name != "regressions/pivot"}
    refused(["regressions/pivot"], arrays=wrong)
    refused(["regressions/9"], arrays={**saved.arrays, "regressions/9": np.zeros((1, 1))})
    pivot = saved.arrays["regressions/pivot"]
    refused(["regressions/pivot"], arrays={**saved.arrays, "regressions/pivot": pivot[:, None]})
    for bad in (np.nan, 1e200):
        refused(["regressions/pivot"], arrays={**saved.arrays, "regressions/pivot": np.full_like(pivot, bad)})
