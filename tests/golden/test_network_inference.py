"""Posteriors, P(evidence) and explanations against gRain, pyAgrum and HiGHS (see networks/INFERENCE.md)."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from bayeskit import read_network
from bayeskit.errors import TooLarge
from outside import DATA

HERE = Path(__file__).parent / "networks"
BUNDLED = ["child", "hailfinder", "hepar2", "insurance", "water", "win95pts"]
REFERENCE = sorted(
    path.name.split(".")[0] for path in (DATA / "networks/reference_marginals").glob("*.json.gz")
)
UAI = sorted((DATA / "networks/uai").glob("*.uai"))


def read_json(path):
    with gzip.open(path, "rt", encoding="utf-8") as text:
        return json.load(text)


def check_case(network, case):
    evidence = case["evidence"]
    found = network.posteriors(evidence)
    for name, wanted in case["marginals"].items():
        assert np.abs(found[name] - wanted).max() < 1e-12, name
    assert network.log_probability(evidence) == pytest.approx(case["log_p_evidence"], abs=1e-12)
    for name in list(case["marginals"])[:3]:
        assert np.abs(network.query(name, evidence=evidence).values - case["marginals"][name]).max() < 1e-12
    if "mpe" in case:
        best = network.mpe(evidence)
        assert best.log_probability == pytest.approx(case["mpe"]["log_joint"], abs=1e-9)
        # The states themselves have that probability, so they are an explanation as good as theirs.
        assert network.log_probability(dict(best)) == pytest.approx(case["mpe"]["log_joint"], abs=1e-9)


@pytest.mark.parametrize("name", BUNDLED)
def test_double_precision_answers(name):
    network = read_network(HERE / "bif" / f"{name}.bif.gz")
    for case in read_json(HERE / "inference" / f"{name}.json.gz")["cases"]:
        check_case(network, case)


@pytest.mark.skipif(not (DATA / "golden/inference").is_dir(), reason="the larger networks are not here")
def test_double_precision_answers_of_mildew():
    network = read_network(DATA / "networks/bif/mildew.bif.gz")
    for case in read_json(DATA / "golden/inference/mildew.json.gz")["cases"]:
        check_case(network, case)


@pytest.mark.skipif(not REFERENCE, reason="the reference marginals are not here")
@pytest.mark.parametrize("name", REFERENCE or ["none"])
def test_single_precision_answers(name):
    # Made from tables in single precision: good to 1e-6.
    network = read_network(DATA / "networks/bif" / f"{name}.bif.gz")
    for case in read_json(DATA / "networks/reference_marginals" / f"{name}.json.gz")["cases"]:
        found = network.posteriors(case["evidence"])
        for node, wanted in case["marginals"].items():
            states = network.states(node)
            assert {str(s) for s in states} == set(wanted)
            assert np.abs(found[node] - [wanted[s] for s in states]).max() < 1e-6, node
        assert np.exp(network.log_probability(case["evidence"])) == pytest.approx(
            case["probability_of_evidence"], rel=1e-4
        )


def read_marginals(path):
    """Return the marginals of a .MAR file: after the word MAR, n, then for each variable its size and numbers."""
    numbers = iter(re.sub(r"^\s*MAR\s+(1\s+(?=\d+\s*\n?))?", "", path.read_text(), count=1).split())
    return [
        np.array([float(next(numbers)) for _ in range(int(next(numbers)))]) for _ in range(int(next(numbers)))
    ]


@pytest.mark.skipif(not UAI, reason="the UAI models are not here")
@pytest.mark.parametrize("path", UAI or [Path("none")], ids=lambda path: path.stem)
def test_uai_models(path):
    from bayeskit.networks import read_uai_evidence

    checked = {
        row["model"]: row for row in csv.DictReader((path.parent / "checked.csv").read_text().splitlines())
    }[path.name]
    network = read_network(path)
    evidence = read_uai_evidence(Path(f"{path}.evid"))
    try:
        found = network.posteriors(evidence)
    except TooLarge:
        # Only a model whose exact answer nobody here could compute may be too large.
        assert not checked["log10_Z_exact"] or "slow" in checked["max_marginal_diff_vs_MAR_file"]
        return
    for marginal, wanted in zip(found.values(), read_marginals(Path(f"{path}.MAR")), strict=True):
        assert np.abs(marginal - wanted).max() < 1e-6
    if checked["log10_Z_exact"]:
        total = network.log_partition if hasattr(network, "log_partition") else network.log_probability
        log_z = total(evidence) / np.log(10)
        assert log_z == pytest.approx(float(checked["log10_Z_exact"]), abs=1e-4)
