"""plot() and what a notebook shows of a network."""

from __future__ import annotations

import importlib.util
import runpy
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bayeskit import BayesianNetwork
from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._markup import framed
from bayeskit._networks import network_io
from bayeskit._networks.discrete_adapter import DerivedCache
from bayeskit._report.drawing.network_scene import MOST_NODES, network_html
from bayeskit.errors import BayeskitError, SettingError, SuspectResult, TooLarge, UnseenState, UsageError
from bayeskit.explanations import Picture
from bayeskit.networks import Deterministic, LinearGaussian, NoisyMax, Not, Table, asia
from refusals import refuses, warns_of

SVG = "{http://www.w3.org/2000/svg}"
YES_NO = ("no", "yes")


class Drawn:
    """A network whose posteriors are what the test says."""

    n_parameters = 7
    plot, _repr_html_ = network_io.plot, network_io.page

    def __init__(self, network, answers=None):
        self._network, self._cache = network, DerivedCache(network)
        self.answers, self.asked = answers, []

    def posteriors(self, evidence=None, soft=None):
        self.asked.append((evidence, soft))
        if isinstance(self.answers, Exception):
            raise self.answers
        return self.answers


def rain_and_wet(tables=True):
    nodes = (
        Node(discrete("rain", YES_NO), (), Table([0.8, 0.2]) if tables else None),
        Node(discrete("wet", YES_NO), ("rain",), Table([[0.9, 0.1], [0.2, 0.8]]) if tables else None),
    )
    return Network(nodes)


def texts(picture):
    return [e.text for e in ET.fromstring(str(picture)).iter(f"{SVG}text")]


def test_bars_show_the_posteriors():
    drawn = Drawn(rain_and_wet(), {"rain": np.array([1 / 3, 2 / 3]), "wet": np.array([0.0, 1.0])})
    picture = drawn.plot({"wet": "yes"})
    assert drawn.asked == [({"wet": "yes"}, None)]
    assert texts(picture) == [
        "rain",
        "no",
        "33.3 %",
        "yes",
        "66.7 %",
        "wet = yes",
        "no",
        "0 %",
        "yes",
        "100 %",
    ]
    observed = [
        g.find(f"{SVG}title").text for g in ET.fromstring(picture.svg).iter(f"{SVG}g") if _has(g, "observed")
    ]
    assert observed == ["wet = yes; no: 0 %; yes: 100 %"]
    assert isinstance(picture, Picture) and picture._repr_svg_() == str(picture)


def _has(group, style):
    return any(e.get("class") == style for e in group)


def test_without_bars_nothing_is_asked():
    drawn = Drawn(rain_and_wet(), RuntimeError("not to be asked"))
    picture = drawn.plot({"rain": Not("no")}, soft={"wet": [1, 2]}, bars=False, direction="right")
    assert texts(picture) == ["rain ≠ no", "wet ~ likelihood"]
    assert drawn.asked == []


def test_a_network_without_tables():
    drawn = Drawn(rain_and_wet(tables=False))
    assert texts(drawn.plot()) == ["rain", "wet"]
    with refuses(UsageError, "rain", "set_cpt"):
        drawn.plot({"wet": "yes"})
    assert "No table yet" in drawn._repr_html_()


def test_too_large_is_drawn_without_bars_and_said():
    drawn = Drawn(rain_and_wet(), TooLarge(2**40, 2**30, ["rain"], 1e12))
    with warns_of(SuspectResult, "bars=False", "max_memory"):
        picture = drawn.plot()
    assert texts(picture) == ["rain", "wet"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn.plot(bars=False)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"direction": "up"}, SettingError, ["direction", "up"]),
        ({"bars": "no"}, SettingError, ["bars", "no"]),
        ({"bars": False, "soft": {"wet": "a"}}, SettingError, ["evidence", "wet", "a"]),
        ({"bars": False, "evidence": {"wet": None}}, UnseenState, ["wet", None, "missing"]),
        ({"evidence": {"snow": "yes"}}, SettingError, ["snow", "rain", "wet"]),
        ({"evidence": {"rain": "maybe"}}, UnseenState, ["rain", "maybe", "no"]),
        ({"evidence": {"rain": Not("maybe")}}, UnseenState, ["rain", "maybe", "no"]),
        ({"evidence": "rain"}, SettingError, ["evidence", "rain", "{node: state}"]),
        ({"soft": {"snow": [1, 2]}}, SettingError, ["snow", "rain", "wet"]),
        ({"path": "network.docx"}, SettingError, ["network.docx", ".svg"]),
        ({"path": 3}, SettingError, [3, "network.svg"]),
    ],
)
def test_bad_arguments(arguments, error, message):
    drawn = Drawn(rain_and_wet(), {"rain": np.ones(2) / 2, "wet": np.ones(2) / 2})
    with refuses(error, *message):
        drawn.plot(**arguments)


def test_saving(tmp_path, monkeypatch):
    drawn = Drawn(rain_and_wet())
    picture = drawn.plot(bars=False, path=tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == str(picture)
    assert picture.save(str(tmp_path / "b.SVG")) == tmp_path / "b.SVG"
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.font_manager", None)
    with refuses(UsageError, "matplotlib", "a.png", ".svg"):
        picture.save(tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_saving_by_matplotlib(tmp_path, suffix, magic):
    path = Drawn(rain_and_wet()).plot(bars=False).save(tmp_path / f"a{suffix}")
    assert path.read_bytes().startswith(magic)


def test_the_page_of_a_notebook():
    html = Drawn(rain_and_wet())._repr_html_()
    root = ET.fromstring(html)
    assert root.find("p").text is None and "7 free parameters" in html
    assert [s.text for s in root.iter("summary")] == ["P(rain)", "P(wet | rain)"]
    rows = [["".join(c.itertext()) for c in row] for row in root.findall("details/table/tbody/tr")]
    assert rows == [["", "0.8", "0.2"], ["no", "0.9", "0.1"], ["yes", "0.2", "0.8"]]
    assert len(root.findall(f".//{SVG}svg")) == 1


def test_the_page_of_every_kind_of_node():
    nodes = (
        Node(discrete("a", YES_NO), (), Table([0.5, 0.5])),
        Node(discrete("<b>", YES_NO), ("a",), Deterministic([1, 0], 2)),
        Node(discrete("c", YES_NO), ("a",), NoisyMax(([[1, 0], [0.25, 0.75]],), [1, 0])),
        Node(continuous("d"), (), LinearGaussian(1.0, [], 2.0)),
        Node(continuous("e"), ("a", "d"), LinearGaussian([0.0, 1.0], [[0.5], [-0.25]], [1.0, 4.0])),
    )
    root = ET.fromstring(network_html(Network(nodes)))
    assert [c.text for c in root.iter("caption")] == ["deterministic", "noisy-MAX"]
    cells = [["".join(c.itertext()) for c in row] for row in root.findall("details/table/tbody/tr")]
    assert cells[1:3] == [["no", "0", "1"], ["yes", "1", "0"]]
    assert cells[3:5] == [["no", "1", "0"], ["yes", "0.25", "0.75"]]
    assert cells[5:] == [["1", "2"], ["no", "0 + 0.5 · d", "1"], ["yes", "1 − 0.25 · d", "4"]]


def test_the_page_of_a_large_network_is_short():
    nodes = tuple(Node(discrete(f"x{k}", YES_NO), (), Table([0.5, 0.5])) for k in range(MOST_NODES + 1))
    html = network_html(Network(nodes), len(nodes))
    assert "<svg" not in html and "61 nodes" in html and len(html) < len(framed()) + 400
    assert "<svg" in network_html(Network(nodes[:-1]), 1)
    assert "no node" in network_html(Network())


def test_a_table_beyond_all_bounds_is_not_made():
    causes = [Node(discrete(f"x{k}", YES_NO), (), Table([0.5, 0.5])) for k in range(40)]
    effect = NoisyMax(tuple([[1, 0], [0.5, 0.5]] for _ in causes), [1, 0])
    child = Node(discrete("y", YES_NO), tuple(c.name for c in causes), effect)
    assert "noisy-MAX of 2.2e+12 cells" in network_html(Network((*causes, child)))


def test_states_that_are_not_known_yet():
    drawn = Drawn(Network((Node(discrete("a", ())),)))
    type(drawn).n_parameters = property(lambda self: (_ for _ in ()).throw(UsageError("no states")))
    try:
        html = drawn._repr_html_()
    finally:
        type(drawn).n_parameters = 7
    assert "free parameter" not in html and "not known yet" in html


def test_a_mixture_is_drawn():
    network = Network((Node(continuous("d"), (), LinearGaussian(1.0, [], 2.0)),))
    mixture = SimpleNamespace(weights=np.ones(1), means=np.ones(1), variances=np.full(1, 2.0))
    assert texts(Drawn(network, {"d": mixture}).plot()) == ["d", "1 ± 1.41"]
    assert texts(Drawn(network, {"d": mixture}).plot({"d": 1.5}, bars=False)) == ["d = 1.5"]


def test_the_pictures_of_the_guide_are_what_their_script_draws():
    folder = Path(__file__).parents[2] / "docs" / "pictures"
    if not folder.is_dir():
        pytest.skip("the documentation is not part of this copy")
    script = runpy.run_path(str(folder / "make_networks.py"))
    for name in script["PICTURES"]:
        for lang, ending in script["LANGUAGES"].items():
            drawn = (folder / f"{name}{ending}.svg").read_text(encoding="utf-8")
            assert script["picture"](name, lang) == drawn


def test_the_neighbourhood_of_a_node_is_drawn():
    network = asia()
    assert "8 nodes, 8 arcs" in network.plot(around="either", radius=3).scene.title
    drawn = network.plot({"smoke": "yes", "xray": "yes"}, around=["xray"], radius=1)
    assert "2 nodes, 1 arc" in drawn.scene.title
    assert "smoke" not in str(drawn) and "either → xray" in str(drawn)
    for wrong in ({"around": "nobody"}, {"around": "xray", "radius": -1}, {"around": "xray", "radius": 0.5}):
        with pytest.raises(BayeskitError):
            network.plot(**wrong)


def test_a_picture_that_nobody_can_look_at_is_refused_with_a_neighbourhood():
    """One parent of 480 children is 17,500 pixels wide, though they stand in many layers."""
    names = [f"child {'of-many-' * 5}{k}" for k in range(480)]
    network = BayesianNetwork({"top": [], **{name: ["top"] for name in names}}, states=["no", "yes"])
    with refuses(SettingError, names[0], 1, 2):
        network.plot()
    with refuses(SettingError, "radius", 1):
        network.plot(around="top", radius=1)
    assert network.plot(around="top", radius=0).scene.width < 1000
