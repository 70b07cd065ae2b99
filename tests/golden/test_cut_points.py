"""Cut points of Weka 3.9.7 and scikit-bayes 1.2.1, reproduced to the last bit (see cut_points/README.md)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from bayeskit import Discretizer
from bayeskit.classifiers import mdl_cut_points

FILES = sorted((Path(__file__).parent / "cut_points").glob("*.json.gz"))


def read(path):
    return json.loads(gzip.decompress(path.read_bytes()).decode("utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_every_column_is_cut_where_weka_cuts_it(path):
    case = read(path)
    found = {
        name: mdl_cut_points(
            np.array(values, dtype=float), np.array(case["codes"]), len(case["classes"])
        ).tolist()
        for name, values in case["columns"].items()
    }
    assert found == case["weka_default"] == case["scikit_bayes_mdlp"]


def test_the_transformer_cuts_there_too():
    case = read(next(path for path in FILES if path.name.startswith("glass")))
    columns = {name: np.array(values) for name, values in case["columns"].items()}
    labels = np.array(case["classes"])[case["codes"]]
    found = Discretizer().fit(columns, labels).cut_points_
    assert {name: cuts.tolist() for name, cuts in found.items()} == case["weka_default"]


def test_all_are_here():
    cases = [read(path) for path in FILES]
    assert sum(len(case["columns"]) for case in cases) == 116
    assert sum(len(cuts) for case in cases for cuts in case["weka_default"].values()) > 150
