"""Published pages as files: what is in them, what may run in them, and what is not published."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayeskit import BayesianNetwork, MarkovNetwork
from bayeskit._networks.exploring import MOST_CELLS, ExploredNetwork
from bayeskit._web.explorer import PAGE
from bayeskit.errors import BayeskitError, SettingError
from bayeskit.networks import asia, wet_grass
from cli_run import done, refused
from refusals import refuses


def published(network: Any, folder: Path, **how: Any) -> str:
    path = folder / "page.html"
    network.publish(path, **how)
    return path.read_text("utf-8")


def content(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="network">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    told: dict[str, Any] = json.loads(found[1])
    return told


def test_the_policy_allows_this_script_and_this_style_only(tmp_path: Path) -> None:
    page = published(asia(), tmp_path)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and "unsafe" not in policy[1] and "default-src 'none'" in policy[1]
    for kind, start in (("script", "<script>"), ("style", "<style>")):
        (text,) = re.findall(rf"{start}(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy[1]
    assert len(re.findall("<script", page)) == 2
    assert not re.search(r'(?:src|href)="(?!data:,")', page)
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_the_tables_are_those_of_the_network(tmp_path: Path) -> None:
    network = asia()
    told = content(published(network, tmp_path))
    assert sorted(told["order"]) == list(range(8)) and told["lang"] == ""
    names = list(network.nodes)
    for factor, name in zip(told["factors"], names, strict=True):
        assert [names[place] for place in factor["scope"]] == [*network.parents(name), name]
        assert factor["values"] == np.ravel(network.cpt(name).values).tolist()


def test_a_markov_network_and_a_language(tmp_path: Path) -> None:
    network = MarkovNetwork({"a": [0, 1], "b": [0, 1]}, [(["a", "b"], [[3, 1], [1, 3]])])
    told = content(published(network, tmp_path, lang="zh"))
    assert told["factors"] == [{"scope": [0, 1], "values": [3, 1, 1, 3]}] and told["lang"] == "zh"
    with pytest.raises(BayeskitError):
        network.publish(tmp_path / "other.html", lang="fr")
    assert not (tmp_path / "other.html").exists()


def test_names_are_never_markup(tmp_path: Path) -> None:
    bad = "</script><img src=x onerror=alert(1)><!--"
    network = BayesianNetwork({bad: []}, {bad: [bad, "\u2028"]}, name=bad)
    network.set_cpt(bad, [0.5, 0.5])
    page = published(network, tmp_path)
    assert bad not in page and "<img" not in page and "<!--" not in page
    assert content(page)["nodes"][0]["name"] == bad
    assert len(re.findall("</script", page)) == 2


def test_a_tree_that_is_too_large_is_refused_with_its_cells(tmp_path: Path) -> None:
    causes = [f"x{k}" for k in range(20)]
    states = {name: ["no", "yes"] for name in [*causes, "y"]}
    network = BayesianNetwork({**{cause: [] for cause in causes}, "y": causes}, states)
    for cause in causes:
        network.set_cpt(cause, [0.9, 0.1])
    network.set_cpt("y", np.full((2,) * 21, 0.5))
    assert ExploredNetwork(asia()).published()["order"]
    with refuses(SettingError, 2**21, MOST_CELLS):
        network.publish(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_continuous_node_is_refused(tmp_path: Path) -> None:
    network = BayesianNetwork({"sex": [], "height": ["sex"]}, {"sex": ["f", "m"], "height": float})
    network.set_cpt("sex", [0.5, 0.5])
    network.set_gaussian("height", {"f": (165.0, 36.0), "m": (178.0, 49.0)})
    with refuses(SettingError, "height"):
        network.publish(tmp_path / "page.html")


def test_the_command_writes_a_page_and_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "grass.html"
    wet_grass().write(tmp_path / "grass.bif")
    assert str(path) in done("explore", tmp_path / "grass.bif", "--publish", path)
    assert len(content(path.read_text("utf-8"))["nodes"]) == 4
    refused("explore", "asia", "--publish", tmp_path / "nowhere" / "page.html", names=["nowhere"])


def test_both_scripts_are_built_from_the_same_sources() -> None:
    scripts = [(PAGE / name).read_text("utf-8") for name in ("explorer.js", "published.js")]
    assert scripts[0].partition("\n")[0] == scripts[1].partition("\n")[0]
    assert all("</script" not in script.lower() for script in scripts)
