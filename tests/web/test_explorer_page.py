"""The explorer in a browser: every state clicked, every gesture, both languages. Needs Playwright and Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayeskit import BayesianNetwork, NaiveBayes
from bayeskit.errors import ImpossibleEvidence, TooLarge
from bayeskit.networks import Not, asia, read_network, wet_grass
from explorer_browser import (
    AXE,
    NETWORKS,
    TOKEN,
    is_right,
    is_shown,
    name_of,
    opened,
    row,
    when_found,
)

pytestmark = pytest.mark.web


def test_every_state_clicked_shows_the_numbers_of_the_engine(browser: Any) -> None:
    network = asia()
    with opened(browser, network) as page:
        is_shown(page, network.posteriors(), network)
        for name in network.nodes:
            for state in network.states(name):
                row(page, name, state).click()
                page.wait_for_selector(f'.row.seen[aria-label^="{name}, {state},"]')
                is_shown(page, network.posteriors({name: state}), network)
                row(page, name, state).click()
                when_found(page, 0)
                row(page, name, state).click(modifiers=["Shift"])
                page.wait_for_selector(f'.row.out[aria-label^="{name}, {state},"]')
                other = next(each for each in network.states(name) if each != state)
                is_shown(page, network.posteriors({name: other}), network)
                row(page, name, state).click(modifiers=["Shift"])
                when_found(page, 0)


def test_the_story_of_the_chest_clinic(browser: Any) -> None:
    with opened(browser, asia()) as page:
        assert TOKEN not in page.url
        assert name_of(page, "lung", "yes") == "lung, yes, 5.5%"
        row(page, "xray", "yes").click()
        when_found(page, 1)
        assert name_of(page, "lung", "yes") == "lung, yes, 48.9%, up from 5.5"
        row(page, "asia", "yes").click()
        when_found(page, 2)
        assert name_of(page, "lung", "yes") == "lung, yes, 37.1%, down from 48.9"
        page.keyboard.press("Control+z")
        when_found(page, 1)
        assert "48.9%" in name_of(page, "lung", "yes")
        page.get_by_role("button", name="Redo").click()
        when_found(page, 2)
        page.reload()  # the cookie opens it again, and the address has the findings
        when_found(page, 2)
        assert "37.1%" in name_of(page, "lung", "yes")


def test_a_guided_tour_goes_on_with_each_click(browser: Any) -> None:
    from playwright.sync_api import expect

    with opened(browser, asia()) as page:
        row(page, "dysp", "yes").click()
        when_found(page, 1)
        page.get_by_role("button", name="Story").click()
        when_found(page, 0)
        text = page.locator("#story-text")
        expect(text).to_have_text("Step 1 of 3 Click yes of xray.")
        expect(row(page, "xray", "yes")).to_have_class(re.compile("wanted"))
        row(page, "smoke", "no").click()  # another click does not go on
        when_found(page, 1)
        expect(text).to_contain_text("Step 1 of 3")
        page.keyboard.press("Control+z")
        when_found(page, 0)
        row(page, "xray", "yes").press("Enter")
        expect(text).to_contain_text("raises lung = yes from 5.5% to 48.9%.")
        expect(text).to_contain_text("Step 2 of 3 Click yes of asia.")
        page.locator("#language").click()
        expect(text).to_contain_text("lung = yes 从 5.5% 升到 48.9%")
        page.locator("#language").click()
        row(page, "asia", "yes").click()
        expect(text).to_contain_text("falls from 48.9% to 37.1%")
        row(page, "smoke", "yes").click()
        expect(text).to_contain_text("That was the story.")
        assert page.locator(".wanted").count() == 0
        page.get_by_role("button", name="Begin again").click()
        when_found(page, 0)
        expect(text).to_have_text("Step 1 of 3 Click yes of xray.")
        expect(page.locator("#story-close")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#story")).to_be_hidden()
    with opened(browser, forest(5)) as page:
        expect(page.get_by_role("button", name="Story")).to_have_count(0)


def test_impossible_evidence_is_told_in_words_and_changes_nothing(browser: Any) -> None:
    with opened(browser, asia()) as page:
        row(page, "lung", "yes").click()
        when_found(page, 1)
        before = page.locator(".row").evaluate_all("rows => rows.map(row => row.getAttribute('aria-label'))")
        row(page, "either", "no").click()
        alert = page.get_by_role("alert").filter(has_text="lung")
        alert.wait_for()
        assert "lung = yes" in alert.inner_text() and "either = no" in alert.inner_text()
        after = page.locator(".row").evaluate_all("rows => rows.map(row => row.getAttribute('aria-label'))")
        assert before == after and page.locator("#chips li").count() == 1
        row(page, "smoke", "yes").click()
        when_found(page, 2)
        assert page.locator("#alert").is_hidden()


def test_every_gesture_by_keyboard(browser: Any) -> None:
    with opened(browser, wet_grass()) as page:
        page.keyboard.press("/")
        page.keyboard.type("wet")
        page.keyboard.press("Enter")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("wet, yes")
        page.keyboard.press("Enter")
        when_found(page, 1)
        assert "33.8%" in name_of(page, "sprinkler", "yes")
        page.keyboard.press("Delete")
        when_found(page, 0)
        page.keyboard.press("Shift+Enter")
        page.wait_for_selector(".row.out")
        page.keyboard.press("l")
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("spinbutton").nth(0).fill("1")
        dialog.get_by_role("spinbutton").nth(1).fill("4")
        page.keyboard.press("Enter")
        page.wait_for_selector(".row.out", state="detached")
        soft = wet_grass().posteriors(soft={"wet": [1, 4]})
        is_shown(page, soft, wet_grass())
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("w")
        dialog.get_by_text(re.compile("/")).first.wait_for()
        page.keyboard.press("Escape")


def test_a_continuous_node_takes_a_number(browser: Any) -> None:
    network = BayesianNetwork({"sex": [], "height": ["sex"]}, {"sex": ["f", "m"], "height": float})
    network.set_cpt("sex", [0.5, 0.5])
    network.set_gaussian("height", {"f": (165.0, 36.0), "m": (178.0, 49.0)})
    with opened(browser, network) as page:
        card = page.get_by_role("button", name=re.compile("^height, mean 171.5, standard deviation"))
        card.click()
        page.get_by_role("dialog").get_by_role("textbox").fill("180")
        page.keyboard.press("Enter")
        when_found(page, 1)
        wanted = network.posteriors({"height": 180.0})["sex"][1]
        assert f"{100 * wanted:.1f}%" in name_of(page, "sex", "m")


def curve(page: Any, node: str, kind: str) -> np.ndarray:
    """The points of a drawn density: x, and the height above the axis."""
    path = page.locator(f'.card[aria-label="{node}"] .{kind}').get_attribute("d")
    points = np.array([[float(x), float(y)] for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path)])
    return points.reshape(-1, 2)


def test_a_continuous_node_shows_its_density(browser: Any) -> None:
    from playwright.sync_api import expect

    network = BayesianNetwork(
        {"sex": [], "height": ["sex"], "weight": ["height"]},
        {"sex": ["f", "m"], "height": float, "weight": float},
    )
    network.set_cpt("sex", [0.5, 0.5])
    network.set_gaussian("height", {"f": (165.0, 36.0), "m": (178.0, 49.0)})
    network.set_gaussian("weight", -100.0, {"height": 1.0}, 25.0)
    with opened(browser, network) as page:
        prior = curve(page, "weight", "density-prior")
        bottom = float(page.locator('.card[aria-label="weight"] .density-axis').get_attribute("y1"))
        left, right = (
            float(page.locator('.card[aria-label="weight"] .small').nth(k).text_content()) for k in (0, 1)
        )
        # The heights are those of the density, in proportion.
        x = left + (prior[:, 0] - prior[0, 0]) / np.ptp(prior[:, 0]) * (right - left)
        wanted = network.query("weight").pdf(x)
        heights = bottom - prior[:, 1]
        np.testing.assert_allclose(heights / heights.max(), wanted / wanted.max(), atol=0.01)
        page.get_by_role("button", name=re.compile("^height, mean")).click()
        page.get_by_role("dialog").get_by_role("textbox").fill("183")
        page.keyboard.press("Enter")
        when_found(page, 1)
        # Narrower is higher: what was the highest point is not any more. What is known is a line.
        heights = bottom - curve(page, "weight", "density-prior")[:, 1]
        now = curve(page, "weight", "density")
        assert heights.max() < 0.7 * (bottom - now[:, 1]).max()
        lines = page.locator(".density-value").evaluate_all("all => all.map(each => each.style.display)")
        assert lines == ["", "none"]
        page.locator("#chips button").hover()
        dashed = page.locator('.card[aria-label="weight"] .density-would')
        expect(dashed).not_to_have_attribute("d", "")


def test_what_is_too_large_is_shown_with_errors(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from playwright.sync_api import expect

    network = asia()
    exact = network.posteriors({"xray": "yes"})

    def refused(*_: Any, **__: Any) -> Any:
        raise TooLarge(2.0**50, 2.0**30, ["lung"], 2**47)

    monkeypatch.setattr(type(network), "posteriors", refused)
    with opened(browser, network) as page:
        expect(page.locator("#estimated")).to_contain_text("estimates from 50000 samples")
        row(page, "xray", "yes").click()
        when_found(page, 1)
        label = name_of(page, "lung", "yes")
        found = re.fullmatch(r"lung, yes, about ([\d.]+)%, standard error ([\d.]+), up from [\d.]+", label)
        assert found is not None, label
        shown, error = float(found[1]) / 100, float(found[2]) / 100
        assert abs(shown - exact["lung"][0]) <= 5 * error + 0.0005
        expect(row(page, "lung", "yes").locator(".change")).to_have_text(f"▲±{found[2]}")
        expect(row(page, "lung", "yes").locator(".whisker")).to_have_count(1)
        # What was observed is exact.
        assert name_of(page, "xray", "yes").startswith("xray, yes, 100%")
        page.locator("#language").click()
        expect(page.locator("#estimated")).to_contain_text("50000")
        assert "标准误" in name_of(page, "lung", "yes")


def test_names_are_shown_as_they_are(browser: Any) -> None:
    bad = '<img src=x onerror="document.title=1">'
    network = BayesianNetwork({bad: []}, {bad: [bad, "<b>no</b>"]}, name=bad)
    network.set_cpt(bad, [0.25, 0.75])
    with opened(browser, network) as page:
        page.locator(".row").nth(1).click()
        when_found(page, 1)
        assert page.locator("img, b").count() == 0 and page.locator("#name").inner_text() == bad


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_telephone_in_chinese(browser: Any, theme: str) -> None:
    how: dict[str, Any] = {
        "locale": "zh-CN",
        "color_scheme": theme,
        "has_touch": True,
        "reduced_motion": "reduce",
    }
    with opened(browser, asia(), **how) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.reload()
        page.wait_for_selector(".row", state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("document.documentElement.lang") == "zh-CN"
        row(page, "smoke", "yes").tap()
        when_found(page, 1)
        assert name_of(page, "lung", "yes") == "lung，yes，10.0%，由 5.5 上升"
        for key in ("undo", "redo", "fit", "zoom-in", "language", "help"):
            assert page.locator(f"#{key}").bounding_box()["width"] >= 24
        duration = page.evaluate("getComputedStyle(document.querySelector('.bar')).transitionDuration")
        assert duration == "0s"
        page.locator("#language").click()
        assert name_of(page, "lung", "yes").endswith("up from 5.5")


def test_what_is_on_the_screen_can_be_saved(browser: Any, tmp_path: Any) -> None:
    with opened(browser, asia(), accept_downloads=True) as page:
        row(page, "xray", "yes").click()
        when_found(page, 1)
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as SVG").click()
        target = tmp_path / "asia.svg"
        download.value.save_as(target)
        text = target.read_text("utf-8")
        assert "48.9%" in text and TOKEN not in text and "<script" not in text


def forest(n: int) -> BayesianNetwork:
    """A network in which each node has up to two parents among those before it."""
    parents: dict[str, list[str]] = {
        f"node {k}": [f"node {p}" for p in sorted({k // 3, k // 2}) if p < k] for k in range(n)
    }
    network = BayesianNetwork(parents, {name: ["no", "yes"] for name in parents})
    for name, above in parents.items():
        rows = [[0.7 - 0.2 * k, 0.3 + 0.2 * k] for k in range(2 ** len(above))]
        network.set_cpt(name, rows[0] if not above else np.reshape(rows, (2,) * len(above) + (2,)))
    return network


def test_all_cards_of_a_very_large_network_follow_those_in_the_window(browser: Any) -> None:
    from playwright.sync_api import expect

    names = [f"node {k}" for k in range(450)]
    network = BayesianNetwork(
        {name: [names[k // 2]] if k else [] for k, name in enumerate(names)},
        {name: ["no", "yes"] for name in names},
    )
    for k, name in enumerate(names):
        network.set_cpt(name, [[0.9, 0.1], [0.2, 0.8]] if k else [0.7, 0.3])
    with opened(browser, network) as page:
        for _ in range(20):  # cards, not pills
            if page.locator("#canvas.far").count():
                page.locator("#zoom-in").click()
        canvas = page.locator("#canvas")
        expect(canvas).to_have_attribute("aria-busy", "false")
        page.locator(".row").nth(1).press("Enter")
        when_found(page, 1)
        expect(canvas).to_have_attribute("aria-busy", "false")
        is_shown(page, network.posteriors({"node 0": "yes"}), network)


def boxes(page: Any, kind: str) -> list[list[float]]:
    return page.locator(kind).evaluate_all(
        "all => all.map(each => { const b = each.getBoundingClientRect();"
        " return [b.left, b.top, b.right, b.bottom] })"
    )


def test_a_large_network_is_pills_that_open(browser: Any) -> None:
    network = forest(120)
    with opened(browser, network) as page:
        places = boxes(page, ".pill .box")
        assert len(places) == 120 and page.locator(".card:visible").count() == 0
        for k, (left, top, right, bottom) in enumerate(places):
            assert left >= 0 and right <= 1280 and top >= 0 and bottom <= 800, k
            assert all(
                right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
                for other in places[:k]
            ), k
        page.keyboard.press("/")
        page.keyboard.type("node 117")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector(".card")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("node 117, no,")
        page.keyboard.press("Enter")
        when_found(page, 1)
        is_shown(page, network.posteriors({"node 117": "no"}), network)
        page.keyboard.press("0")
        pill = page.get_by_role("button", name=re.compile("^node 117, no, 100%"))
        assert "seen" in pill.get_attribute("class")


def cells(page: Any) -> list[list[str]]:
    return page.locator("#panel tbody tr:not(.answers)").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )


def test_what_to_ask_next_with_costs(browser: Any) -> None:
    from playwright.sync_api import expect

    network = asia()
    with opened(browser, network) as page:
        row(page, "xray", "yes").click()
        when_found(page, 1)
        page.get_by_role("button", name="Ask next").click()
        page.get_by_label("To learn about").select_option("lung")
        first = page.locator("#panel tbody tr").first
        expect(first).to_contain_text("either")
        wanted = network.ask_next("lung", {"xray": "yes"})
        for shown, right in zip(cells(page), wanted, strict=True):
            assert shown[0].startswith(str(right.name)) and shown[1] == f"{right.value:.3f}"
        assert "yes (57.6%) → lung = yes: 84.8%" in page.locator("#panel .answers").first.inner_text()
        field = page.get_by_label("Cost of observing either, in bits")
        field.fill("0.6")
        field.press("Enter")
        expect(first).to_contain_text("smoke")
        # A new finding asks again, with the same costs.
        row(page, "smoke", "yes").click()
        when_found(page, 2)
        expect(page.locator("#panel tbody")).not_to_contain_text("smoke")
        dear = network.ask_next("lung", {"xray": "yes", "smoke": "yes"}, costs={"either": 0.6})
        assert [shown[3] for shown in cells(page)] == [f"{right.net:.3f}" for right in dear]
        page.locator("#panel").get_by_role("button", name="tub").click()
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("tub, yes")


def test_scenarios_side_by_side(browser: Any) -> None:
    network = asia()
    with opened(browser, network) as page:
        row(page, "xray", "yes").click()
        when_found(page, 1)
        page.get_by_role("button", name="Scenarios").click()
        keep = page.get_by_role("button", name="Keep these findings as a scenario")
        keep.click()
        row(page, "asia", "yes").click()
        when_found(page, 2)
        keep.click()
        page.get_by_role("button", name="Remove all findings").click()
        when_found(page, 0)
        shown = cells(page)
        at = next(place for place, line in enumerate(shown) if line[0] == "lung")
        assert [text.strip() for text in shown[at + 1]] == ["yes", "48.9%", "37.1%", "5.5%"]
        page.get_by_role("button", name="Return to Scenario 2").click()
        when_found(page, 2)
        assert "37.1%" in name_of(page, "lung", "yes")
        page.get_by_role("button", name="Remove: Scenario 1").click()
        assert page.locator("#panel thead th").count() == 2
        page.keyboard.press("Control+z")
        page.keyboard.press("Escape")


def test_the_most_probable_explanation_is_a_list_of_states(browser: Any) -> None:
    network = asia()
    with opened(browser, network) as page:
        row(page, "dysp", "yes").click()
        when_found(page, 1)
        page.get_by_role("button", name="Most probable explanation").click()
        page.wait_for_selector("#panel table")
        found = network.mpe({"dysp": "yes"})
        assert {line[0]: line[1] for line in cells(page)} == dict(found)


def test_the_bars_of_a_tornado(browser: Any) -> None:
    from playwright.sync_api import expect

    network = asia()
    with opened(browser, network) as page:
        row(page, "xray", "yes").click()
        when_found(page, 1)
        page.get_by_role("button", name="Sensitivity").click()
        page.get_by_label("To learn about").select_option("lung")
        bars = page.locator(".tornado-row")
        expect(bars.first).to_have_attribute("aria-label", re.compile(r"^P\(lung = yes \| smoke = yes\)"))
        found = network.parameter_sensitivity(("lung", "yes"), {"xray": "yes"})
        reach = {}
        for one in found:
            given = ", ".join(f"{name} = {state}" for name, state in one.given.items())
            name = f"P({one.node} = {one.state}{' | ' if given else ''}{given})"
            reach[name] = (one, sorted(p for _, p in one.between(2)))
        labels = bars.evaluate_all("bars => bars.map(bar => bar.getAttribute('aria-label'))")
        for label in labels:
            name, _, told = label.partition(": from ")
            low, high = reach[name][1]
            assert told == f"{100 * low:.1f}% to {100 * high:.1f}%"
        # No bar that is left out would be longer.
        spans = [reach[label.partition(": from ")[0]][1] for label in labels]
        assert [high - low for low, high in spans] == sorted(
            (high - low for low, high in spans), reverse=True
        )
        # By keyboard: the bar opens, keeps the focus, and shows its numbers.
        bars.nth(1).focus()
        page.keyboard.press("Enter")
        numbers = page.locator(".numbers")
        one = reach[labels[1].partition(": from ")[0]][0]
        for x, p in one.between(2):
            expect(numbers).to_contain_text(f"Entry {x:.4g} → {100 * p:.1f}%")
        focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert focused == labels[1]
        page.get_by_label("How far").select_option("from 0 to 1")
        ends = [p for one in found for _, p in one.between(None)]
        expect(page.locator(".axis")).to_have_text(f"0%now 48.9%{100 * max(ends):.1f}%")
        page.get_by_label("Vary").select_option("what could be observed")
        expect(bars.first).to_have_attribute("aria-label", "either: from 0% to 84.8%")
        row(page, "lung", "yes").click()
        expect(page.locator("#panel-body")).to_contain_text("lung has a finding")


def test_a_decision_with_losses_typed_in(browser: Any) -> None:
    from playwright.sync_api import expect

    network = asia()
    with opened(browser, network) as page:
        row(page, "xray", "yes").click()
        when_found(page, 1)
        page.get_by_role("button", name="Decide").click()
        page.get_by_label("To learn about").select_option("lung")
        verdict = page.locator(".verdict")
        expect(verdict).to_have_text("Best: act as if no. Risk 0.4887.")
        field = page.get_by_label("Cost of act as if no if lung = yes")
        field.focus()
        page.keyboard.press("Control+a")
        page.keyboard.type("20")
        page.keyboard.press("Enter")
        expect(verdict).to_have_text("Best: act as if yes. Risk 0.5113.")
        # What is no number is refused in words; the number before stays in use, and the text can be mended.
        field.fill("a lot")
        page.keyboard.press("Enter")
        expect(page.locator("#panel").get_by_role("alert")).to_contain_text("“a lot” is not a number")
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(verdict).to_have_text("Best: act as if yes. Risk 0.5113.")
        field.fill("20")
        page.keyboard.press("Enter")
        expect(page.locator("#panel").get_by_role("alert")).to_have_count(0)
        page.get_by_label("Cost of not deciding").fill("0.25")
        page.keyboard.press("Enter")
        expect(verdict).to_have_text("Best: do not decide. Risk 0.25.")
        page.get_by_role("button", name="Add an action").click()
        page.get_by_label("Name of action 3").fill("biopsy")
        page.keyboard.press("Enter")
        for state, cost in (("yes", "0.1"), ("no", "0.2")):
            page.get_by_label(f"Cost of biopsy if lung = {state}").fill(cost)
            page.keyboard.press("Enter")
        p = network.posteriors({"xray": "yes"})["lung"]
        expect(verdict).to_have_text(f"Best: biopsy. Risk {0.1 * p[0] + 0.2 * p[1]:.4g}.")
        row(page, "smoke", "no").click()
        p = network.posteriors({"xray": "yes", "smoke": "no"})["lung"]
        expect(verdict).to_have_text(f"Best: biopsy. Risk {0.1 * p[0] + 0.2 * p[1]:.4g}.")


def customers() -> NaiveBayes:
    x = {
        "contract": ["month", "month", "year", "two", "year", "month", "two", "year"],
        "minutes": [3.1, 2.9, 3.6, 2.4, 2.6, 2.5, 2.3, 2.2],
    }
    return NaiveBayes().fit(x, ["leaves"] * 3 + ["stays"] * 5)


def test_contributions_and_a_nomogram_that_is_dragged(browser: Any) -> None:
    from playwright.sync_api import expect

    model = customers()
    with opened(browser, model) as page:
        row(page, "contract", "month").click()
        when_found(page, 1)
        page.get_by_role("button", name="Contributions").click()
        page.locator("#class-state").select_option("leaves")
        expect(page.locator("#panel-body")).to_contain_text("log-odds of leaves against stays")
        wanted = model.contributions({"contract": ["month"], "minutes": [None]}).of("leaves")
        sums = np.cumsum([wanted["(prior)"][0], wanted["contract"][0]])
        signed = [f"{x:+.3f}".replace("-", "−") for x in (wanted["(prior)"][0], wanted["contract"][0], *sums)]
        assert cells(page) == [
            ["before any finding", signed[0], signed[2]],
            ["contract = month", signed[1], signed[3]],
            ["log-odds", "", signed[3]],
        ]
        p = model.predict_proba({"contract": ["month"], "minutes": [None]})[0, 0]
        expect(page.locator(".verdict")).to_contain_text(f"P(y = leaves) = {100 * p:.1f}%")
        page.get_by_role("button", name="Nomogram").click()
        contract = page.get_by_role("slider", name="contract")
        expect(contract).to_have_attribute("aria-valuetext", re.compile("^month, "))
        # Dragged to the left end, which has 0 points.
        box = contract.locator("svg").bounding_box()
        mark = contract.locator(".mark").bounding_box()
        page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 2, mark["y"] + 4, steps=4)
        page.mouse.up()
        chart = model.nomogram("leaves")
        least = chart["contract"].values[int(np.argmin(chart["contract"].log_odds))]
        expect(contract).to_have_attribute("aria-valuetext", f"{least}, 0.0 points")
        expect(row(page, "contract", least)).to_have_class(re.compile("seen"))
        # By keyboard: a number, then unknown again.
        minutes = page.get_by_role("slider", name="minutes")
        minutes.focus()
        page.keyboard.press("End")
        when_found(page, 2)
        shown = page.locator("#chips").inner_text()
        number = float(re.search(r"minutes = ([\d.]+)", shown)[1])
        wanted = model.nomogram("leaves", row={"contract": least, "minutes": number})
        text = f"{wanted.total:.1f} points: P(y = leaves) = {100 * wanted.probability(wanted.total):.1f}%"
        expect(page.locator(".verdict")).to_have_text(text)
        expect(minutes).to_be_focused()
        page.keyboard.press("Delete")
        when_found(page, 1)
        expect(minutes).to_have_attribute("aria-valuetext", re.compile("^unknown"))


def drag(page: Any, bar: Any, to: float) -> None:
    """Draw a bar to a part of its track."""
    box = bar.locator(".track").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.5 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], y + 1, steps=3)
    page.mouse.move(box["x"] + to * box["width"], y + 1, steps=3)
    page.mouse.up()


def test_a_bar_is_drawn_to_where_it_should_be(browser: Any) -> None:
    network = asia()
    with opened(browser, network) as page:
        drag(page, row(page, "lung", "yes"), 0.5)
        when_found(page, 1)
        shown = float(name_of(page, "lung", "yes").split(", ")[2].rstrip("%"))
        assert abs(shown - 50) < 2
        # It is soft evidence: the others answer as to likelihoods with the same odds.
        ratio = (shown / (100 - shown)) / (0.055 / 0.945)
        wanted = network.posteriors(soft={"lung": [ratio, 1]})["xray"][0]
        assert abs(float(name_of(page, "xray", "yes").split(", ")[2].rstrip("%")) - 100 * wanted) < 0.2
        drag(page, row(page, "lung", "yes"), 0.25)
        page.locator('.row[aria-label^="lung, yes, 2"]').wait_for()
        row(page, "lung", "yes").click()
        page.wait_for_selector('.row.seen[aria-label^="lung, yes,"]')
        # What the others settle cannot be weighed.
        drag(page, row(page, "either", "yes"), 0.3)
        page.get_by_role("alert").filter(has_text="either").wait_for()
        assert page.locator("#chips li").count() == 1 and "100%" in name_of(page, "either", "yes")


def test_a_screen_reader_is_told_what_moved(browser: Any) -> None:
    with opened(browser, asia()) as page:
        row(page, "xray", "yes").click()
        when_found(page, 1)
        told = page.locator("#told").inner_text()
        assert told.startswith("xray = yes. either, yes, 57.6%, up from 6.5. lung, yes, 48.9%, up from 5.5.")
        row(page, "xray", "yes").click()
        when_found(page, 0)
        assert page.locator("#told").inner_text().startswith("no findings. ")


# -- published pages --------------------------------------------------------------------------


@contextmanager
def published(browser: Any, network: Any, folder: Path, fragment: str = "") -> Iterator[Any]:
    """Open a published page from a file, in a browser that is told to load nothing else."""
    path = folder / "page.html"
    network.publish(path)
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda told: faults.append(told.text) if told.type == "error" else None)
    page.on("request", lambda asked: faults.append(asked.url) if asked.url.startswith("http") else None)
    page.goto(path.as_uri() + fragment)
    page.wait_for_selector(".row", state="attached")
    yield page
    context.close()
    assert faults == []


def findings_of(network: BayesianNetwork) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every state of every node observed, and some excluded and weighed: the fragment, and the evidence."""
    found: list[tuple[str, dict[str, Any], dict[str, Any]]] = [("", {}, {})]
    nodes = list(network.nodes)
    for node, name in enumerate(nodes):
        states = network.states(name)
        found += [(f"{node}={code}", {name: state}, {}) for code, state in enumerate(states)]
        weights = [1 + (3 * code) % 5 for code in range(len(states))]
        other = (node + 1) % len(nodes)
        found.append(
            (
                f"{node}~{':'.join(map(str, weights))}&{other}!0",
                {nodes[other]: Not(network.states(nodes[other])[0])},
                {name: weights},
            )
        )
    return found


@pytest.mark.parametrize("name", ["asia", "child", "alarm", "hailfinder"])
def test_a_published_page_computes_as_the_library_does(browser: Any, tmp_path: Path, name: str) -> None:
    network = read_network(NETWORKS / f"{name}.bif.gz")
    cases = findings_of(network)
    with published(browser, network, tmp_path) as page:
        found = page.evaluate(
            "cases => Promise.all(cases.map(each => bayeskit.posteriors(each).catch(() => null)))",
            [fragment for fragment, _, _ in cases],
        )
    for (fragment, evidence, soft), answer in zip(cases, found, strict=True):
        try:
            wanted = network.posteriors(evidence, soft=soft)
        except ImpossibleEvidence:
            assert answer is None, fragment
            continue
        for node, right in zip(answer, wanted.values(), strict=True):
            np.testing.assert_allclose(node, right, atol=1e-9, rtol=0, err_msg=fragment)


def test_the_findings_of_a_published_page_are_in_its_address(browser: Any, tmp_path: Path) -> None:
    network = asia()
    names = list(network.nodes)
    xray, visit, lung = (names.index(name) for name in ("xray", "asia", "lung"))
    with published(browser, network, tmp_path, f"#{xray}=0") as page:
        when_found(page, 1)
        assert name_of(page, "lung", "yes") == "lung, yes, 48.9%, up from 5.5"
        row(page, "asia", "yes").click()
        when_found(page, 2)
        assert page.url.endswith(f"#{xray}=0&{visit}=0") and "37.1%" in name_of(page, "lung", "yes")
        # A link that somebody sends, and one that is no findings at all.
        page.evaluate("to => { location.hash = to }", f"#{lung}~1:3&{xray}!1")
        page.wait_for_selector(".row.out")
        is_shown(page, network.posteriors({"xray": "yes"}, soft={"lung": [1, 3]}), network)
        page.evaluate("() => { location.hash = '#99=0&1=9&x=y&2~0:0&%ff&3~1e999:1' }")
        when_found(page, 0)
        page.get_by_role("button", name="Undo").click()
        when_found(page, 2)


def test_a_published_page_answers_the_same_questions(browser: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    network = asia()
    with published(browser, network, tmp_path) as page:
        row(page, "dysp", "yes").click()
        when_found(page, 1)
        page.get_by_role("button", name="Ask next").click()
        page.get_by_label("To learn about").select_option("lung")
        expect(page.locator("#panel tbody tr").first).to_contain_text("either")
        for shown, right in zip(cells(page), network.ask_next("lung", {"dysp": "yes"}), strict=True):
            assert shown[0].startswith(str(right.name)) and shown[1] == f"{right.value:.3f}"
        page.get_by_role("button", name="Most probable explanation").click()
        expect(page.locator("#panel-title")).to_have_text("Most probable explanation")
        expect(page.locator("#panel")).to_contain_text("Together")
        found = network.mpe({"dysp": "yes"})
        assert {line[0]: line[1] for line in cells(page)} == dict(found)
        page.get_by_role("button", name="Decide").click()
        verdict = page.locator(".verdict")
        page.get_by_label("To learn about").select_option("lung")
        page.get_by_label("Cost of act as if no if lung = yes").fill("20")
        page.keyboard.press("Enter")
        risk = network.posteriors({"dysp": "yes"})["lung"] @ [0, 1]
        expect(verdict).to_have_text(f"Best: act as if yes. Risk {risk:.4g}.")
        page.get_by_label("Cost of not deciding").fill("0.5")
        page.keyboard.press("Enter")
        expect(verdict).to_have_text("Best: do not decide. Risk 0.5.")
        page.get_by_role("button", name="Sensitivity").click()
        expect(page.locator(".tornado-row").first).to_have_attribute(
            "aria-label", re.compile("^either: from 0%")
        )
        page.get_by_role("button", name="Most probable explanation").click()
        expect(page.locator("#panel")).to_contain_text("Together")
        share = np.exp(found.log_probability - network.log_probability({"dysp": "yes"}))
        assert f"{100 * share:.4g}%" in page.locator("#panel").inner_text()
        row(page, "lung", "yes").click()
        when_found(page, 2)
        row(page, "either", "no").click()
        alert = page.get_by_role("alert").filter(has_text="either = no")
        alert.wait_for()
        assert "lung = yes" in alert.inner_text() and "dysp" not in alert.inner_text()
        assert page.locator("#publish").is_hidden() and page.locator("#chips li").count() == 2


def test_a_published_page_says_why(browser: Any, tmp_path: Path) -> None:
    """Bayes' rule, one finding after the other: every factor is a query of the library."""
    network = asia()
    names = list(network.nodes)
    xray, dysp, lung, bronc = (names.index(name) for name in ("xray", "dysp", "lung", "bronc"))
    with published(browser, network, tmp_path, f"#{xray}=0&{lung}~1:3&{dysp}!1&{bronc}~2:1") as page:
        when_found(page, 4)
        row(page, "lung", "yes").press("w")
        text = page.locator("#page-text").inner_text()
        found = re.findall(r"^ *(\S+) +(\S+)   (.+)$", text, re.MULTILINE)
        lines = {name: (yes, no) for yes, no, name in found}
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        row(page, "xray", "yes").press("w")
        page.get_by_role("alert").filter(has_text="xray is observed").wait_for()
    given: dict[str, Any] = {}
    wanted = [("P(lung)", network.query("lung").values)]
    for told, evidence, soft in (
        ("xray = yes", {"xray": "yes"}, {}),
        ("", {}, {}),
        ("dysp ≠ no", {"dysp": "yes"}, {}),
        ("bronc: likelihoods 2 : 1", {}, {"bronc": [2, 1]}),
    ):
        if not told:
            wanted.append(("× lung: likelihoods 1 : 3", np.array([1.0, 3.0])))
            continue
        factor = [
            np.exp(
                network.log_probability({**given, **evidence, "lung": state}, soft=soft)
                - network.log_probability({**given, "lung": state})
            )
            for state in ("yes", "no")
        ]
        given |= evidence
        wanted.append((f"× P({told} | …)", np.array(factor)))
    product = np.prod([factor for _, factor in wanted], axis=0)
    posterior = network.query("lung", {"xray": "yes", "dysp": "yes"}, soft={"lung": [1, 3], "bronc": [2, 1]})
    wanted += [("= product", product), (f"÷ sum {product.sum():.6g}", posterior.values)]
    for name, numbers in wanted:
        assert [float(cell) for cell in lines[name]] == pytest.approx(numbers, rel=1e-5), (name, text)


# Click a row, note the names of all rows, and click it again.
CLICK_ALL = """async (places) => {
  const rows = [...document.querySelectorAll(".row")];
  const chips = document.getElementById("chips");
  const clicked = (row) => new Promise((resolve) => {
    const seen = new MutationObserver(() => { seen.disconnect(); resolve(); });
    seen.observe(chips, { childList: true });
    row.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });
  const found = [];
  for (const place of places) {
    await clicked(rows[place]);
    found.push(rows.map((row) => row.getAttribute("aria-label")));
    await clicked(rows[place]);
  }
  return found;
}"""


@pytest.mark.parametrize("name", ["child", "alarm", "hailfinder", "win95pts"])
def test_every_state_of_a_large_network_clicked(browser: Any, name: str) -> None:
    """All percentages shown are those of the engine, to 0.05 %."""
    network = read_network(NETWORKS / f"{name}.bif.gz")
    states = [(node, state) for node in network.nodes for state in network.states(node)]
    prior = [p for probabilities in network.posteriors().values() for p in probabilities]
    places = [k for k, p in enumerate(prior) if p > 0]
    with opened(browser, network) as page:
        for _ in range(12):  # cards, not pills
            if page.locator("#canvas.far").count():
                page.locator("#zoom-in").click()
        found = page.evaluate(CLICK_ALL, places)
    assert len(found) == len(places)
    for place, labels in zip(places, found, strict=True):
        node, state = states[place]
        wanted = [p for probabilities in network.posteriors({node: state}).values() for p in probabilities]
        for label, p in zip(labels, wanted, strict=True):
            is_right(label, p)


def test_a_reload_and_the_way_back_keep_the_findings(browser: Any) -> None:
    network = asia()
    xray, visit = (list(network.nodes).index(name) for name in ("xray", "asia"))
    with opened(browser, network) as page:
        row(page, "xray", "yes").click()
        when_found(page, 1)
        row(page, "asia", "no").click(modifiers=["Shift"])
        when_found(page, 2)
        assert page.url.endswith(f"/#{xray}=0&{visit}!1") and TOKEN not in page.url
        page.reload()
        when_found(page, 2)
        assert "37.1%" in name_of(page, "lung", "yes")
        page.goto("about:blank")
        page.go_back()
        when_found(page, 2)
        page.get_by_role("button", name="Remove all findings").click()
        when_found(page, 0)
        assert page.url.endswith("/")


def test_an_edited_network_is_not_lost_without_a_question(browser: Any) -> None:
    from playwright.sync_api import expect

    with opened(browser, wet_grass(), accept_downloads=True) as page:
        asked: list[str] = []
        page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
        row(page, "wet", "yes").click()
        when_found(page, 1)
        page.locator("#open-edit").click()
        page.locator("#add-node").click()
        expect(page.locator(".card")).to_have_count(5)
        assert "#" not in page.url  # nobody else has this network
        page.evaluate("() => { location.href = 'about:blank' }")
        expect(page.locator(".card")).to_have_count(5)
        assert asked == ["beforeunload"]
        with page.expect_download():
            page.locator("#write").click()
        page.evaluate("() => { setTimeout(() => { location.href = 'about:blank' }) }")
        page.wait_for_url("about:blank")


def test_long_names_and_names_from_right_to_left(browser: Any) -> None:
    names = {"مطر": ["نعم", "لا"], "disease": ["myocardial infarction", "none"]}
    network = BayesianNetwork({"مطر": [], "disease": ["مطر"]}, names)
    network.set_cpt("مطر", [0.2, 0.8])
    network.set_cpt("disease", [[0.1, 0.9], [0.3, 0.7]])
    with opened(browser, network) as page:
        shown = page.locator(".card .label").all_text_contents()
        assert shown == [state for states in names.values() for state in states]  # none is cut
        page.locator(".row").first.click()
        when_found(page, 1)
        # Each name is set off, so that the sign between them stays between them.
        assert page.locator("#chips").inner_text() == "\u2068مطر\u2069 = \u2068نعم\u2069 ×"


def test_a_refusal_and_a_second_line_of_findings_leave_no_card_outside(browser: Any) -> None:
    with opened(browser, asia()) as page:
        page.set_viewport_size({"width": 700, "height": 500})
        before = page.locator("#canvas").bounding_box()
        row(page, "lung", "yes").click()
        when_found(page, 1)
        row(page, "either", "no").dispatch_event("click")
        page.get_by_role("alert").filter(has_text="either = no").wait_for()
        assert page.locator("#canvas").bounding_box() == before
        page.locator("#alert-close").click()
        for n, node in enumerate(("smoke", "bronc", "xray", "dysp", "asia"), start=2):
            row(page, node, "yes").dispatch_event("click")
            when_found(page, n)
        room = page.locator("#canvas").bounding_box()
        assert room["height"] < before["height"]
        for card in page.locator(".card .box").all():
            box = card.bounding_box()
            assert box["y"] >= room["y"] and box["y"] + box["height"] <= room["y"] + room["height"] + 1


def test_a_page_is_published_from_the_explorer(browser: Any, tmp_path: Path) -> None:
    with opened(browser, asia(), accept_downloads=True) as page:
        row(page, "xray", "yes").click()
        when_found(page, 1)
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as one HTML file").click()
        download.value.save_as(tmp_path / "asia.html")
        text = (tmp_path / "asia.html").read_text("utf-8")
        assert TOKEN not in text and 'id="network"' in text
    # It begins with the findings of now, and an address with findings comes before them.
    context = browser.new_context()
    page = context.new_page()
    for fragment, n in (("", 1), ("#0=0&1=0", 2)):
        page.goto("about:blank")
        page.goto((tmp_path / "asia.html").as_uri() + fragment)
        when_found(page, n)
    context.close()


# -- for all ---------------------------------------------------------------------------------


def violations(page: Any) -> list[str]:
    """What axe-core finds; run as the browser's own script, since the page allows no other.

    The name of a row says its change in words ("up from 5.5") where ▲ is written, so that rule is left out.
    """
    page.evaluate(AXE.read_text("utf-8") + ";0")
    found = page.evaluate(
        "() => axe.run(document, { rules: { 'label-content-name-mismatch': { enabled: false } } })"
    )
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]]


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not here: cd web && npm ci")
@pytest.mark.parametrize(
    ("theme", "width", "locale"),
    [("light", 1280, "en"), ("dark", 390, "zh-CN"), ("dark", 1280, "en"), ("light", 390, "zh-CN")],
    ids=str,
)
def test_every_screen_is_accessible(browser: Any, theme: str, width: int, locale: str) -> None:
    with opened(browser, asia(), color_scheme=theme, locale=locale) as page:
        page.set_viewport_size({"width": width, "height": 844})
        assert violations(page) == []
        row(page, "xray", "yes").click()
        when_found(page, 1)
        page.locator("#open-story").click()
        page.wait_for_selector("#story strong")
        assert violations(page) == []
        page.locator("#story-close").click()
        page.locator("#fit").click()  # the story has moved the canvas to its row
        row(page, "xray", "yes").click()
        when_found(page, 1)
        for name in ("edit", "view", "paths", "next", "scenarios", "explanation", "sensitivity", "decide"):
            page.locator(f"#open-{name}").click()
            if name == "edit":
                page.locator("#edit-node").select_option(label="dysp")
                page.locator("summary").click()
                page.wait_for_selector("#noisy-or")
            if name == "view":
                page.wait_for_selector("#focus")
                assert violations(page) == [], name
                continue
            if name == "scenarios":
                page.locator("#keep").click()
            if name == "sensitivity":
                page.locator(".tornado-row").first.click()
            if name == "decide":
                page.locator("#loss-0-0").fill("x")
                page.keyboard.press("Enter")
                page.wait_for_selector(".problem")
            page.wait_for_selector("#panel table, #panel .numbers, #panel .path")
            assert violations(page) == [], name
        page.locator("#panel-close").click()
        row(page, "lung", "yes").click()
        when_found(page, 2)
        row(page, "either", "no").click()
        page.wait_for_selector("#alert:not([hidden])")
        assert violations(page) == []
        row(page, "bronc", "yes").press("l")
        page.wait_for_selector("dialog[open]")
        assert violations(page) == []
        page.keyboard.press("Escape")
        row(page, "bronc", "yes").press("w")
        page.wait_for_selector("dialog[open] #page-text")
        assert violations(page) == []
    with opened(browser, customers(), color_scheme=theme, locale=locale) as page:
        page.set_viewport_size({"width": width, "height": 844})
        row(page, "contract", "month").press("Enter")
        when_found(page, 1)
        for name in ("contributions", "nomogram", "counts"):
            page.locator(f"#open-{name}").click()
            page.wait_for_selector("#panel .figures .best" if name == "counts" else "#panel .verdict")
            assert violations(page) == [], name
    with opened(browser, forest(120), color_scheme=theme, locale=locale) as page:
        assert violations(page) == []


def paths_shown(page: Any) -> tuple[set[tuple[str, bool]], bool]:
    """The paths in the panel, whether each is open, and whether any is."""
    heads = page.locator(".path button").all_inner_texts()
    paths = {(head.rpartition(": ")[0], head.endswith(": open")) for head in heads}
    assert len(paths) == len(heads)
    return paths, "independent" not in page.locator(".verdict").inner_text()


def test_the_paths_between_two_nodes(browser: Any) -> None:
    """Open and closed as the library says, for all pairs of nodes, given three sets of findings."""
    from playwright.sync_api import expect

    network = asia()
    with opened(browser, network) as page:
        page.locator("#open-paths").click()
        for node, given in (("", []), ("dysp", ["dysp"]), ("either", ["dysp", "either"])):
            if node:
                row(page, node, "yes").click()
                when_found(page, len(given))
            for a, b in combinations(network.nodes, 2):
                page.locator("#target").select_option(label=a)
                page.locator("#path-to").select_option(label=b)
                right = network.why_independent(a, b, [name for name in given if name not in (a, b)])
                wanted = {(str(path), not path.blocked) for path in right.paths}
                assert paths_shown(page) == (wanted, not right.independent), (a, b, given)
        page.locator("#clear").click()
        when_found(page, 0)
        page.locator("#target").select_option(label="tub")
        page.locator("#path-to").select_option(label="lung")
        # A likelihood opens what meets above it, and does not close the path through its own node.
        assert paths_shown(page)[1] is False
        row(page, "xray", "no").click(modifiers=["Shift"])
        when_found(page, 1)
        page.keyboard.press("ControlOrMeta+z")
        when_found(page, 0)
        row(page, "dysp", "yes").focus()
        page.keyboard.press("l")
        page.get_by_role("dialog").get_by_role("spinbutton").nth(0).fill("20")
        page.keyboard.press("Enter")
        when_found(page, 1)
        expect(page.locator(".path").first).to_contain_text("there is a finding below it, about dysp")
        assert paths_shown(page)[1] is True
        page.locator(".path button").first.hover()
        marked = page.locator(".card.trail").evaluate_all("all => all.map(each => each.ariaLabel)")
        assert set(marked) == {"tub", "either", "lung"}
        assert page.locator(".arc.trail").count() == 2
        page.locator("#language").click()
        expect(page.locator(".path button").first).to_contain_text("开放")


def test_an_open_path_is_shown_among_many_closed_ones(browser: Any) -> None:
    effects = [f"effect {k}" for k in range(40)]
    network = BayesianNetwork(
        {"a": [], "b": [], **{name: ["a", "b"] for name in effects}}, states=["no", "yes"]
    )
    for name in network.nodes:
        rows = [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.2, 0.8]]
        network.set_cpt(name, [0.5, 0.5] if name in "ab" else np.reshape(rows, (2, 2, 2)))
    with opened(browser, network) as page:
        page.locator("#open-paths").click()
        page.locator("#target").select_option(label="a")
        page.locator("#path-to").select_option(label="b")
        paths, is_open = paths_shown(page)
        assert len(paths) == 20 and not is_open
        assert "There are more paths" in page.locator("#panel").inner_text()
        row(page, "effect 33", "yes").press("Enter")
        when_found(page, 1)
        assert paths_shown(page)[1] is True
        assert page.locator(".path button").first.inner_text() == "a → effect 33 ← b: open"


def test_a_click_on_a_percentage_says_why_and_leads_to_the_paths(browser: Any) -> None:
    with opened(browser, asia()) as page:
        row(page, "xray", "yes").click()
        when_found(page, 1)
        row(page, "lung", "yes").locator(".asked").click()
        dialog = page.get_by_role("dialog")
        assert "P(xray = yes | either)" in dialog.inner_text()
        dialog.get_by_role("button", name="Paths from lung to another node").click()
        assert page.locator("#target").evaluate("each => each.selectedOptions[0].label") == "lung"
        assert page.locator("#path-to").evaluate("each => each.selectedOptions[0].label") == "xray"
        assert paths_shown(page)[0] >= {("lung → either → xray", True)}
        # Of what was observed there is nothing to explain: the click retracts it.
        row(page, "xray", "yes").locator(".asked").click()
        when_found(page, 0)
        row(page, "xray", "yes").locator(".asked").click(modifiers=["Shift"])
        when_found(page, 1)


def test_a_long_network_fills_the_window(browser: Any) -> None:
    """A chain of 300 nodes in one column would be a line as wide as a hair."""
    names = [f"c{k}" for k in range(300)]
    parents = {name: names[k - 1 : k] if k else [] for k, name in enumerate(names)}
    network = BayesianNetwork(parents, {name: ["no", "yes"] for name in names})
    for k, name in enumerate(names):
        network.set_cpt(name, [[0.9, 0.1], [0.2, 0.8]] if k else [0.5, 0.5])
    with opened(browser, network) as page:
        places = np.array(boxes(page, ".pill .box"))
        assert places[:, 0].min() >= 0 and places[:, 2].max() <= 1280 and places[:, 3].max() <= 800
        assert (places[:, 2] - places[:, 0]).min() > 50  # the names can be read
