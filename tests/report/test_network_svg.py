"""Pictures of networks: well-formed, self-contained, no name can break out, every number is the one drawn."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit._graphs.network import Network, Node, continuous, discrete
from bayeskit._report.drawing.network_scene import MOST_STATES, PERCENT, card_of, network_scene, percent
from bayeskit._report.scene import (
    ROOT,
    STYLES,
    Rectangle,
    Words,
    as_svg,
    number,
    shortened,
    stylesheet,
    text_width,
    xml,
)
from network_twin import random_network

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    "a\"b'c",
    "湿&度",
    "]]>",
    "--><b>",
    "x\x00\x0b\ud800y",
    "line\nbreak",
    "",
]


def tree(network, *arguments):
    return ET.fromstring(as_svg(network_scene(network, *arguments)))


def named(*names, states=("no", "yes")):
    return Network(
        tuple(Node(discrete(n, states), (names[k - 1],) if k else ()) for k, n in enumerate(names))
    )


def test_hostile_names_stay_text():
    network = named(*HOSTILE, states=("<i>", '"'))
    beliefs = {name: np.array([0.25, 0.75]) for name in HOSTILE}
    text = as_svg(network_scene(network, beliefs, {HOSTILE[0]: "= <i>"}))
    root = ET.fromstring(text)
    assert {e.tag.removeprefix(SVG) for e in root.iter()} == {
        *("svg", "title", "desc", "style", "rect", "g", "text", "path")
    }
    assert "<script>" not in text and "<i>" not in text and "]]>" not in text
    titles = [e.text or "" for e in root.iter(f"{SVG}title")]
    assert any(t.startswith("<script>alert(1)</script> = <i>; <i>: 25.0 %") for t in titles)
    assert any(t.startswith("x� �y;") for t in titles)
    assert any(t.startswith("line break;") for t in titles)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=5, unique=True))
def test_any_names_parse(names):
    root = tree(named(*names), {name: np.array([0.5, 0.5]) for name in names})
    assert len(root.findall(f"{SVG}g")) == 2 * len(names) - 1


def test_a_long_name_is_cut_and_whole_in_its_title():
    name = "the_temperature_of_the_oil_in_the_left_hydraulic_pump_湿度湿度湿度湿度"
    root = tree(named(name))
    shown = root.find(f"{SVG}g/{SVG}text").text
    assert shown.endswith("…") and name.startswith(shown[:-1]) and len(shown) < 40
    assert root.find(f"{SVG}g/{SVG}title").text == name


def test_nothing_is_referred_to():
    text = as_svg(network_scene(named("a", "b"), {"a": np.array([1.0, 0.0])}))
    assert not re.search(r"href|url\(|@import|<image|<use|<foreignObject|\bid=|\bon\w+=", text)
    assert text.count("http") == 1  # the name of SVG itself


def test_light_and_dark():
    sheet = stylesheet()
    light, dark = sheet.split("@media (prefers-color-scheme:dark)")
    for name, style in STYLES.items():
        for colour, part in zip(style.fill or style.stroke, (light, dark), strict=True):
            rule = re.search(rf"\.{ROOT} \.{name}\{{([^}}]*)\}}", part)[1]
            assert colour in rule
    assert all(f".{ROOT} " in rule for rule in re.findall(r"[^{}]+\{", light))


def test_said_in_words():
    network = Network(named("rain", "wet").nodes, name="grass")
    root = tree(network, None, {"wet": "= yes"})
    assert root.get("role") == "img" and root.get("aria-label") == "grass, 2 nodes, 1 arc"
    assert root.find(f"{SVG}desc").text == "Arcs: rain → wet. Observed: wet = yes."


@pytest.mark.parametrize("direction", ["down", "right"])
def test_an_arrow_ends_at_the_box_of_its_child(direction):
    scene = network_scene(named("rain", "wet"), None, None, direction)
    arrow, rain, wet = scene.groups
    assert arrow.title == "rain → wet"
    line, head = arrow.marks
    child = wet.marks[0]
    x, y = head.steps[0][1][0]  # its tip
    start = line.steps[0][1][0]
    if direction == "down":
        assert y == child.y and child.x < x < child.x + child.width
        assert start[1] == rain.marks[0].y + rain.marks[0].height
    else:
        assert x == child.x and child.y < y < child.y + child.height
        assert start[0] == rain.marks[0].x + rain.marks[0].width


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(0, 10**6))
def test_bars_are_the_probabilities(n_states, seed):
    p = np.random.default_rng(seed).dirichlet(np.full(n_states, 0.4))
    card = card_of("x", [f"s{k}" for k in range(n_states)], p)
    assert len(card.bars) <= MOST_STATES
    assert sum(share for _, share in card.bars) == pytest.approx(1.0)
    group = card.draw(3.0, 4.0)
    tracks = [m for m in group.marks if isinstance(m, Rectangle) and m.style == "track"]
    bars = {m.y: m.width for m in group.marks if isinstance(m, Rectangle) and m.style == "bar"}
    for track, (_, share) in zip(tracks, card.bars, strict=True):
        assert bars.get(track.y, 0.0) == pytest.approx(track.width * share, abs=0.61)
    shown = [card.bars[k][1] for k in range(len(card.bars)) if not card.bars[k][0].startswith("…")]
    assert min(shown) >= np.sort(p)[::-1][: len(shown)].min() - 1e-15  # the likeliest ones


def test_all_is_inside_its_box_and_nothing_lies_on_another():
    rng = np.random.default_rng(5)
    names = ["rain", "湿度湿度湿度湿度湿度湿度湿度湿度湿度", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", "i"]
    for name in names:
        for states in (("no", "yes"), ("MMMMMMMMMMMMMMMMMMMMMMMM", "很高很高很高很高很高很高", "x")):
            card = card_of(name, states, rng.dirichlet(np.ones(len(states))), "= " + states[0])
            box, *marks = card.draw(0.0, 0.0).marks
            rows: dict[float, list[tuple[float, float]]] = {}
            for mark in marks:
                if isinstance(mark, Words):
                    width = text_width(mark.text, STYLES[mark.style].font_size)
                    left = mark.x - {"start": 0, "middle": width / 2, "end": width}[mark.anchor]
                    assert 0 < mark.y < box.height - 2
                else:
                    left, width = mark.x, mark.width
                assert left >= 2 and left + width <= box.width - 2
                if not (isinstance(mark, Rectangle) and mark.style.startswith("bar")):
                    y = mark.y if isinstance(mark, Words) else mark.y + 8.5
                    rows.setdefault(y, []).append((left, left + width))
            for row in rows.values():
                assert all(a[1] < b[0] for a, b in pairwise(sorted(row)))


def test_the_widest_percentage_fits():
    assert max(text_width(percent(p), 11) for p in (0, 1, 0.5, 1e-9, 1 - 1e-9)) < PERCENT


def test_a_continuous_node_shows_its_mean_and_curve():
    mixture = SimpleNamespace(
        weights=np.array([0.5, 0.5]), means=np.array([0.0, 2.0]), variances=np.array([1.0, 1.0])
    )
    network = Network((Node(continuous("height")),))
    root = tree(network, {"height": mixture})
    texts = [e.text for e in root.iter(f"{SVG}text")]
    assert texts == ["height", "1 ± 1.41"]
    known = SimpleNamespace(weights=np.ones(1), means=np.array([7.0]), variances=np.zeros(1))
    root = tree(network, {"height": known}, {"height": "= 7"})
    assert [e.text for e in root.iter(f"{SVG}text")] == ["height = 7", "7 ± 0"]
    assert all("nan" not in path.get("d") for path in root.iter(f"{SVG}path"))


@pytest.mark.parametrize("network", [Network(), Network((Node(discrete("a", ["x"])),))])
def test_small_networks(network):
    root = tree(network)
    assert len(root.findall(f"{SVG}g")) == len(network.nodes)
    assert float(root.get("width")) > 0


def test_random_networks_are_drawn_the_same_twice():
    rng = np.random.default_rng(2)
    for _ in range(10):
        network = random_network(rng, n_nodes=9)
        assert as_svg(network_scene(network)) == as_svg(network_scene(network))
        assert len(tree(network).findall(f"{SVG}g")) == 9 + len(network.dag.arcs)


def test_numbers_and_texts():
    assert [number(v) for v in (0.0, -0.01, 12.34, 5)] == ["0", "0", "12.3", "5"]
    assert shortened("short", 500, 12) == "short"
    for text in ("湿度湿度湿度湿度", "MMMMMMMMMM", "iiiiiiiiiiiiiiiiiiiiiiiiiiiii"):
        cut = shortened(text, 60, 12)
        assert cut.endswith("…") and text_width(cut, 12) <= 60
    assert xml("\ufffe<") == "�&lt;"
