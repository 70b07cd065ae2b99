"""The layout of the explorer: moved by hand or by key, kept in a file only if saved, and made in a worker."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bayeskit._web.layout_file import LayoutFile
from bayeskit.errors import DataError
from bayeskit.networks import asia, read_network
from explorer_browser import NETWORKS, TOKEN, opened, row, when_found
from refusals import refuses
from test_explorer import ask, explorer

NAMES = list(asia().nodes)


def test_a_layout_is_kept_by_the_names_of_nodes(tmp_path: Path) -> None:
    kept = LayoutFile(tmp_path / "asia.bif")
    app = explorer(asia(), layout=kept)
    told = ask(app, "/network")[1]
    assert told["layout"] is None and told["keeps_layout"] is True
    body = {"direction": "right", "cards": [[0, 12, -40.5], [7, 3, 4]], "pills": [[1, 0, 0]]}
    assert ask(app, "/layout", body)[0] == 200
    assert ask(app, "/network")[1]["layout"] == {**body, "cards": [[0, 12.0, -40.5], [7, 3.0, 4.0]]}
    assert kept.read(NAMES[::-1])["cards"] == [[7, 12.0, -40.5], [0, 3.0, 4.0]]
    assert kept.read(["other"]) == {"direction": "right", "cards": [], "pills": []}
    assert [path.name for path in tmp_path.iterdir()] == ["asia.bif.layout.json"]


@pytest.mark.parametrize(
    "body",
    [
        {"direction": "up", "cards": [], "pills": []},
        {"direction": "auto", "cards": [[99, 0, 0]], "pills": []},
        {"direction": "auto", "cards": [[0, 0]], "pills": []},
        {"direction": "auto", "cards": [[0, 1e9, 0]], "pills": []},
        {"direction": "auto", "cards": [["../asia", 0, 0]], "pills": []},
        {"direction": "auto", "cards": {}, "pills": []},
        {"direction": "auto", "cards": [[True, 0, 0]], "pills": []},
    ],
    ids=str,
)
def test_what_is_no_layout_is_refused_and_writes_nothing(tmp_path: Path, body: Any) -> None:
    assert ask(explorer(asia(), layout=LayoutFile(tmp_path / "asia.bif")), "/layout", body)[0] == 422
    assert list(tmp_path.iterdir()) == []


def test_who_may_keep_a_layout(tmp_path: Path) -> None:
    body = {"direction": "auto", "cards": [], "pills": []}
    assert ask(explorer(asia()), "/layout", body)[0] == 422  # an example has no file
    app = explorer(asia(), layout=LayoutFile(tmp_path / "asia.bif"), read_only=True)
    assert ask(app, "/layout", body)[0] == 403
    assert ask(app, "/network")[1]["keeps_layout"] is False
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": "bayeskit-layout"}',
        '{"format": "bayeskit-layout", "direction": "auto", "cards": {"lung": [1]}, "pills": {}}',
        '{"format": "bayeskit-layout", "direction": "auto", "cards": {"lung": [1, Infinity]}, "pills": {}}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:60],
)
def test_a_damaged_layout_is_named(tmp_path: Path, content: str) -> None:
    kept = LayoutFile(tmp_path / "asia.bif")
    kept.path.write_text(content, "utf-8")
    with refuses(DataError, "asia.bif.layout.json"):
        kept.read(NAMES)


def place(page: Any, node: str) -> tuple[float, float]:
    found = page.locator(f'.card[aria-label="{node}"]').get_attribute("transform")
    x, y = re.findall(r"-?[\d.]+", found)
    return float(x), float(y)


@pytest.mark.web
def test_a_card_is_moved_kept_and_reset(browser: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    kept = LayoutFile(tmp_path / "asia.bif")
    settings = {"layout": kept, "command": "asia.bif"}
    with opened(browser, asia(), server=settings) as page:
        before = place(page, "lung")
        title = page.locator('.card[aria-label="lung"] .box').bounding_box()
        x, y = title["x"] + 20, title["y"] + 10
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 60, y + 30, steps=4)
        page.mouse.up()
        after = place(page, "lung")
        assert after[0] > before[0] and after[1] > before[1]
        assert page.locator("#chips li").count() == 0  # moving is no finding
        row(page, "xray", "yes").focus()
        was = place(page, "xray")
        page.keyboard.press("Alt+ArrowLeft")
        assert place(page, "xray") == (was[0] - 16, was[1])
        assert not kept.path.exists()
        page.locator("#open-view").click()
        page.get_by_role("button", name="Save the layout").click()
        expect(page.get_by_text("Saved beside the file.")).to_be_visible()
        assert set(json.loads(kept.path.read_text("utf-8"))["cards"]) == {"lung", "xray"}
        page.reload()
        page.wait_for_selector(".row", state="attached")
        assert place(page, "lung") == (round(after[0]), round(after[1]))
        page.locator("#open-view").click()
        page.locator("#direction").select_option("right")
        expect(page.locator('.card[aria-label="asia"]')).not_to_have_attribute("transform", "")
        page.get_by_role("button", name="Lay out anew").click()
        page.locator("#direction").select_option("down")
        expect(page.locator('.card[aria-label="lung"]')).to_have_attribute(
            "transform", f"translate({before[0]:g} {before[1]:g})"
        )
        assert set(json.loads(kept.path.read_text("utf-8"))["cards"]) == {"lung", "xray"}  # until saved again


@pytest.mark.web
def test_focus_and_what_can_be_taken_away(browser: Any) -> None:
    from playwright.sync_api import expect

    with opened(browser, asia(), server={"command": "my asia.bif"}, accept_downloads=True) as page:
        page.locator("#open-view").click()
        page.locator("#target").select_option(label="tub")
        page.locator("#focus").select_option("blanket")
        seen = page.locator(".card:not(.aside)").evaluate_all("all => all.map(e => e.ariaLabel)")
        assert set(seen) == {"asia", "tub", "either", "lung"}
        page.locator("#focus").select_option("moved")
        row(page, "smoke", "yes").press("Enter")
        when_found(page, 1)
        seen = page.locator(".card:not(.aside)").evaluate_all("all => all.map(e => e.ariaLabel)")
        assert set(seen) == {"smoke", "lung", "either", "xray", "bronc", "dysp"}
        page.locator("#focus").select_option("all")
        assert page.locator(".aside").count() == 0
        expect(page.locator("#command")).to_have_value(
            "bayeskit network query 'my asia.bif' tub --given smoke=yes"
        )
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as PNG").click()
        assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
        assert TOKEN not in page.locator("#command").input_value()


@pytest.mark.web
def test_resting_on_a_finding_shows_what_would_move_without_it(browser: Any) -> None:
    from playwright.sync_api import expect

    with opened(browser, asia()) as page:
        row(page, "xray", "yes").click()
        row(page, "asia", "yes").click()
        when_found(page, 2)
        change = row(page, "lung", "yes").locator(".change")
        page.locator("#chips button").nth(1).hover()
        expect(change).to_have_text("→48.9")
        expect(row(page, "smoke", "yes").locator(".percent")).to_contain_text("%")
        page.locator("#chips button").nth(0).focus()
        expect(change).to_have_text("→5.5")
        page.locator("#chips button").nth(0).blur()
        page.mouse.move(640, 790)
        expect(change).to_have_text("▼11.7")
        assert "37.1%" in row(page, "lung", "yes").get_attribute("aria-label")


@pytest.mark.web
def test_the_layout_is_made_beside_the_page(browser: Any) -> None:
    network = read_network(NETWORKS / "hailfinder.bif.gz")
    with opened(browser, network) as page:
        assert page.evaluate("performance.getEntriesByName('layout').length") == 1
        names = page.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
        assert any(name.endswith("/layout.js") for name in names)
