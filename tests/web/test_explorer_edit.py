"""Build and edit networks in the explorer: documents, and the gestures of the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayeskit import BayesianNetwork, NaiveBayes
from bayeskit._networks.editing import WRITTEN, columns_of, document_of, edited_network, learned
from bayeskit._web.layout_file import LayoutFile
from bayeskit._web.limited import run_limited
from bayeskit.datasets import load_dataset
from bayeskit.errors import BayeskitError, DataError, UsageError
from bayeskit.networks import asia, melon, read_network, wet_grass
from explorer_browser import name_of, opened, row, when_found
from refusals import refuses
from test_explorer import ask, explorer


@pytest.mark.parametrize("make", [asia, wet_grass, melon])
def test_a_document_is_the_network(make: Any) -> None:
    network = make()
    again = edited_network(document_of(network))
    assert list(again.nodes) == [str(name) for name in network.nodes]
    for old, new in zip(network.nodes, again.nodes, strict=True):
        np.testing.assert_array_equal(network.cpt(old).values, again.cpt(new).values)
    assert document_of(again) == document_of(network)


def node(**change: Any) -> dict[str, Any]:
    return {"name": "a", "states": ["no", "yes"], "parents": [], "table": [[0.5, 0.5]], **change}


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"name": "", "nodes": [], "more": 1},
        {"name": 3, "nodes": []},
        {"name": "x" * 201, "nodes": []},
        {"name": "", "nodes": [3]},
        {"name": "", "nodes": [node(name="")]},
        {"name": "", "nodes": [node(name=["a"])]},
        {"name": "", "nodes": [node(), node()]},
        {"name": "", "nodes": [node(states=[])]},
        {"name": "", "nodes": [node(states=["no", "no"])]},
        {"name": "", "nodes": [node(states=["no", 1])]},
        {"name": "", "nodes": [node(parents=[0], table=[[0.5, 0.5]] * 2)]},
        {"name": "", "nodes": [node(parents=[7])]},
        {"name": "", "nodes": [node(parents=[True])]},
        {"name": "", "nodes": [node(table=[[0.5, 0.6]])]},
        {"name": "", "nodes": [node(table=[[0.5]])]},
        {"name": "", "nodes": [node(table=[[-0.5, 1.5]])]},
        {"name": "", "nodes": [node(table=[["0.5", "0.5"]])]},
        {"name": "", "nodes": [node(table=[[10**400, 0]])]},
        {"name": "", "nodes": [node(table=[[True, False]])]},
        {
            "name": "",
            "nodes": [node(parents=[1], table=[[1, 0]] * 2), node(name="b", parents=[0], table=[[1, 0]] * 2)],
        },
        {"name": "", "nodes": [node(name=f"n{k}") for k in range(2_001)]},
        {
            "name": "",
            "nodes": [node(name=f"n{k}") for k in range(30)]
            + [node(name="z", parents=list(range(30)), table=[])],
        },
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_network_is_refused(document: Any) -> None:
    with pytest.raises(BayeskitError):
        edited_network(document)
    assert ask(explorer(asia()), "/build", {"document": document})[0] == 422


def test_an_edited_network_is_asked_by_its_version() -> None:
    app = explorer(asia())
    document = ask(app, "/document", {})[1]
    document["nodes"][0]["table"] = [[0.5, 0.5]]
    status, told, _ = ask(app, "/build", {"document": document})
    assert status == 200 and told["beliefs"][0] == [0.5, 0.5]
    query = f"version={told['id']}"
    assert ask(app, "/posteriors", {"findings": []}, query=query)[1]["beliefs"] == told["beliefs"]
    assert ask(app, "/posteriors", {"findings": []})[1]["beliefs"][0] == pytest.approx([0.01, 0.99])
    clash = {"findings": [{"node": 3, "state": 0}, {"node": 5, "state": 1}]}
    assert sorted(ask(app, "/posteriors", clash, query=query)[1]["conflict"]) == [3, 5]
    assert ask(app, "/posteriors", {"findings": []}, query="version=unknown")[0] == 422
    for k in range(40):  # the oldest ones are not kept
        document["name"] = str(k)
        assert ask(app, "/build", {"document": document})[0] == 200
    assert ask(app, "/posteriors", {"findings": []}, query=query)[0] == 422
    assert len(app._versions) == 32


def test_an_edited_network_is_what_is_published_and_laid_out(tmp_path: Path) -> None:
    layout = LayoutFile(tmp_path / "asia.bif")
    app = explorer(asia(), layout=layout)
    document = ask(app, "/document", {})[1]
    lawn = document_of(wet_grass())
    query = f"version={ask(app, '/build', {'document': lawn})[1]['id']}"
    for more, names in ((query, [node["name"] for node in lawn["nodes"]]), ("", list(asia().nodes))):
        status, page, _ = ask(app, "/published", query=f"{more}&findings=0%3D1%262~1:3")
        block = re.search(r'<script[^>]* id="network"[^>]*>(.*?)</script>', page, re.S)
        assert status == 200 and block is not None
        content = json.loads(block[1])
        assert [node["name"] for node in content["nodes"]] == names and content["findings"] == "0=1&2~1:3"
        said = {"direction": "down", "cards": [[3, 40, 80]], "pills": []}
        assert ask(app, "/layout", said, query=more)[0] == 200
        assert list(json.loads(layout.path.read_text("utf-8"))["cards"]) == [names[3]]
    assert ask(app, "/published", query="version=unknown")[0] == 422
    assert document == document_of(asia())


def test_numbers_that_json_has_not_are_refused() -> None:
    """Python reads NaN and 1e999 in JSON; they came through to the worker as an internal error."""
    app = explorer(asia())
    for number in (b"NaN", b"1e999"):
        for path in ("write", "build"):
            more = b', "format": "bif"' if path == "write" else b""
            assert ask(app, f"/{path}", b'{"document": %s%s}' % (number, more))[0] == 422
            node = b'{"name": "a", "states": ["x", "y"], "parents": [], "table": [[%s, 0]]}' % number
            document = b'{"name": "", "nodes": [%s]}' % node
            assert ask(app, f"/{path}", b'{"document": %s%s}' % (document, more))[0] == 422


def test_read_only_edits_nothing() -> None:
    app = explorer(asia(), read_only=True)
    assert ask(app, "/network")[1]["edits"] is False
    for path, body in [
        ("/document", {}),
        ("/build", {"document": {"name": "", "nodes": []}}),
        ("/write", {"document": {}, "format": "bif"}),
        ("/columns", {"text": "a,b"}),
        ("/learn", {"text": "", "required": [], "forbidden": []}),
    ]:
        assert ask(app, path, body)[0] == 403


def test_what_cannot_be_edited() -> None:
    network = BayesianNetwork({"h": []}, {"h": float})
    network.set_gaussian("h", 0.0, variance=1.0)
    app = explorer(network)
    assert ask(app, "/network")[1]["edits"] is False and ask(app, "/document", {})[0] == 422


@pytest.mark.parametrize("format", WRITTEN)
def test_a_network_is_written_in_every_format(format: str, tmp_path: Path) -> None:
    body = {"document": document_of(asia()), "format": format}
    status, told, _ = ask(explorer(asia()), "/write", body)
    assert status == 200, told
    path = tmp_path / told["name"]
    path.write_text(told["text"], "utf-8")
    again = read_network(path, format)
    if format != "uai":  # which has no names
        assert again.query("lung", {"xray": "yes"})["yes"] == pytest.approx(0.4887, abs=1e-4)


def csv_of(network: BayesianNetwork, n: int) -> str:
    rows = network.sample(n, random_state=0)
    names = list(network.nodes)
    lines = zip(*(list(rows[name]) for name in names), strict=True)
    return "\n".join([",".join(names), *(",".join(map(str, line)) for line in lines)])


def test_a_network_is_learned_from_a_table() -> None:
    text = csv_of(wet_grass(), 2_000)
    assert columns_of(text) == {"names": ["rain", "sprinkler", "joe", "wet"]}
    found = edited_network(learned(text, [[1, 3]], [[0, 2], [2, 0]]))
    arcs = set(found.arcs)
    assert ("sprinkler", "wet") in arcs and not arcs & {("rain", "joe"), ("joe", "rain")}
    free = edited_network(learned(text, [], []))
    assert {frozenset(arc) for arc in free.arcs} >= {
        frozenset(("rain", "wet")),
        frozenset(("sprinkler", "wet")),
    }
    numbers = "x,y\n" + "\n".join(f"{k / 7},{'a' if k < 50 else 'b'}" for k in range(100))
    assert [len(each["states"]) for each in learned(numbers, [], [])["nodes"]] == [4, 2]


@pytest.mark.parametrize(
    "text", ["", "a,b", "a,a\n1,2", "a,\n1,2", "a,b\n1,2\n3", "\x00", 'a,b\n"1,2'], ids=repr
)
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        learned(text, [], [])
    for arcs in ([[0, 9]], [[0]], {}, [[0, True]], [["a", "b"]]):
        with pytest.raises(BayeskitError):
            learned("a,b\n1,2\n3,4", arcs, [])


def test_the_worker_has_limits() -> None:
    found = run_limited("bayeskit._networks.editing:columns_of", {"text": "a,b\n1,2"}, "en")
    assert found == {"names": ["a", "b"]}
    with pytest.raises(DataError, match="没有数据行"):
        run_limited("bayeskit._networks.editing:columns_of", {"text": "a,b"}, "zh")
    with refuses(UsageError, "0.01 seconds"):
        run_limited("bayeskit._networks.editing:columns_of", {"text": "a,b"}, "en", seconds=0.01)
    with refuses(UsageError, "memory"):
        run_limited(
            "bayeskit._networks.editing:columns_of",
            {"text": "a,b\n" + "1,2\n" * 400_000},
            "en",
            memory=2**20,
        )


# -- in the browser ---------------------------------------------------------------------------


def typed(page: Any, field: str, text: str) -> None:
    page.locator(field).fill(text)
    page.locator(field).press("Enter")


def add(page: Any, name: str) -> None:
    from playwright.sync_api import expect

    before = page.locator(".card").count()
    page.locator("#add-node").click()
    expect(page.locator(".card")).to_have_count(before + 1)
    typed(page, "#node-name", name)
    page.wait_for_selector(f'.card[aria-label="{name}"]', state="attached")


@pytest.mark.web
def test_the_wet_lawn_from_nothing(browser: Any, tmp_path: Path) -> None:
    """P(sprinkler | wet) = 0.34, and 0.16 when Joe's lawn is wet, too."""
    from playwright.sync_api import expect

    with opened(browser, BayesianNetwork(), rows=False, accept_downloads=True) as page:
        expect(page.locator("#panel")).to_be_visible()
        for name in ("rain", "sprinkler", "joe", "wet"):
            add(page, name)
        for name, yes in (("rain", "0.2"), ("sprinkler", "0.1")):
            page.locator("#edit-node").select_option(label=name)
            expect(page.locator("#node-name")).to_have_value(name)
            typed(page, "#cell-0-1", yes)
            expect(page.locator("#cell-0-0")).to_have_value(f"{1 - float(yes):g}")
        page.locator("#edit-node").select_option(label="joe")
        page.locator("#add-parent").select_option(label="rain")
        typed(page, "#cell-0-1", "1/5")
        expect(page.locator("#cell-0-0")).to_have_value("0.8")
        typed(page, "#cell-1-1", "1")
        expect(page.locator("#cell-1-0")).to_have_value("0")
        page.locator("#edit-node").select_option(label="wet")
        page.locator("#add-parent").select_option(label="rain")
        expect(page.locator(".cpt tbody tr")).to_have_count(2)
        page.locator("#add-parent").select_option(label="sprinkler")
        expect(page.locator(".cpt tbody tr")).to_have_count(4)
        for k, yes in enumerate(("0", "0.9", "1", "1")):
            typed(page, f"#cell-{k}-1", yes)
            expect(page.locator(f"#cell-{k}-0")).to_have_value(f"{round(1 - float(yes), 4):g}")
        # rain leads to wet, so wet cannot be a parent of rain.
        page.locator("#edit-node").select_option(label="rain")
        expect(page.locator("#add-parent option", has_text="wet")).to_be_disabled()
        with page.expect_download() as download:
            page.locator("#format").select_option("json")
            page.locator("#write").click()
        download.value.save_as(tmp_path / "lawn.json")
        page.locator("#panel-close").click()
        page.locator("#fit").click()
        row(page, "wet", "yes").click()
        when_found(page, 1)
        assert "33.8%" in name_of(page, "sprinkler", "yes")
        row(page, "joe", "yes").click()
        when_found(page, 2)
        assert "16.0%" in name_of(page, "sprinkler", "yes")
    saved = read_network(tmp_path / "lawn.json")
    assert saved.query("sprinkler", {"wet": "yes"})["yes"] == pytest.approx(0.3382, abs=1e-4)
    assert saved.query("sprinkler", {"wet": "yes", "joe": "yes"})["yes"] == pytest.approx(0.1604, abs=1e-4)


@pytest.mark.web
def test_every_panel_of_an_empty_network_says_something(browser: Any) -> None:
    from playwright.sync_api import expect

    with opened(browser, BayesianNetwork(), rows=False) as page:
        expect(page.locator("#start")).to_contain_text("There is no node yet")
        for panel in ("view", "paths", "next", "scenarios", "explanation", "sensitivity", "decide"):
            page.locator(f"#open-{panel}").click()
            expect(page.locator("#panel-body")).not_to_be_empty()
            expect(page.locator("#alert")).to_be_hidden()


@pytest.mark.web
def test_what_is_typed_while_an_edit_is_under_way_is_kept(browser: Any) -> None:
    """The server answers late: a row is set for every state of the new parent, and a half-typed text stays."""
    from playwright.sync_api import expect

    with opened(browser, wet_grass(), rows=False) as page:
        held: list[Any] = []
        page.locator("#open-edit").click()
        page.locator("#edit-node").select_option(label="sprinkler")
        expect(page.locator("#node-name")).to_have_value("sprinkler")
        page.route("**/build*", lambda route: route.continue_() if held else held.append(route))
        with page.expect_request("**/build*"):
            page.locator("#add-parent").select_option(label="rain")
        typed(page, "#cell-0-1", "1/5")
        page.locator("#node-name").fill("spr")
        arcs = page.locator(".arc").count()
        held[0].continue_()
        expect(page.locator(".arc")).to_have_count(arcs + 1)
        expect(page.locator("#node-name")).to_have_value("spr")
        page.locator("#node-name").press("Enter")
        page.wait_for_selector('.card[aria-label="spr"]', state="attached")
        for row_of_rain in (0, 1):
            expect(page.locator(f"#cell-{row_of_rain}-0")).to_have_value("0.8")
            expect(page.locator(f"#cell-{row_of_rain}-1")).to_have_value("0.2")
        # A selected text stays selected when the panel is made anew.
        page.locator("#cell-0-1").select_text()
        with page.expect_response("**/build*"):
            page.locator("#cell-1-1").evaluate(
                "cell => { cell.value = '1/4'; cell.dispatchEvent(new Event('change', {bubbles: true})); }"
            )
        expect(page.locator("#cell-1-0")).to_have_value("0.75")
        page.keyboard.insert_text("1/2")
        page.keyboard.press("Enter")
        expect(page.locator("#cell-0-0")).to_have_value("0.5")


@pytest.mark.web
def test_every_edit_can_be_undone(browser: Any) -> None:
    from playwright.sync_api import expect

    with opened(browser, wet_grass()) as page:
        row(page, "wet", "yes").click()
        when_found(page, 1)
        page.locator("#open-edit").click()
        page.locator("#edit-node").select_option(label="wet")
        typed(page, "#state-0", "dry")
        page.wait_for_selector('.row[aria-label^="wet, dry,"]', state="attached")
        when_found(page, 1)  # the finding stays
        page.locator("#add-state").click()
        expect(page.locator("#state-2")).to_have_value("state 3")
        when_found(page, 0)
        typed(page, "#cell-0-0", "0.5")
        expect(page.locator(".cpt tbody tr").first.locator("td").last).to_contain_text("0.5")
        page.get_by_role("button", name="Fill up").click()
        expect(page.locator("#cell-0-2")).to_have_value("0.5")
        page.get_by_role("button", name="Remove the parent rain").click()
        expect(page.locator(".cpt tbody tr")).to_have_count(2)
        page.locator("#remove-node").click()
        expect(page.locator(".card")).to_have_count(3)
        for _ in range(4):
            page.locator("#undo").click()
        expect(page.locator(".card")).to_have_count(4)
        when_found(page, 1)
        page.wait_for_selector('.row[aria-label^="wet, dry,"]', state="attached")
        page.locator("#undo").click()
        page.wait_for_selector('.row[aria-label^="wet, no,"]', state="attached")
        assert "33.8%" in name_of(page, "sprinkler", "yes")
        for _ in range(5):
            page.locator("#redo").click()
        expect(page.locator(".card")).to_have_count(3)


@pytest.mark.web
def test_undo_brings_back_what_is_told_of_a_classifier(browser: Any) -> None:
    from playwright.sync_api import expect

    melons = load_dataset("melon2")
    with opened(browser, NaiveBayes().fit(melons.X, melons.y)) as page:
        told = [page.locator(f"#open-{name}") for name in ("story", "contributions", "nomogram", "counts")]
        page.locator("#open-edit").click()
        typed(page, "#node-name", "melon")
        for button in told:
            expect(button).to_be_hidden()
        page.locator("#undo").click()
        for button in told:
            expect(button).to_be_visible()
        page.locator("#open-contributions").click()
        expect(page.locator("#panel-body")).to_contain_text("log-odds")
        page.locator("#redo").click()  # its panel closes
        expect(page.locator("#panel")).to_be_hidden()
        expect(page.locator("#alert")).to_be_hidden()


@pytest.mark.web
def test_arcs_are_drawn_and_cycles_refused(browser: Any) -> None:
    from playwright.sync_api import expect

    def draw(page: Any, start: str, end: str, release: bool = True) -> None:
        handle = page.locator(f'.card[aria-label="{start}"] .handle').bounding_box()
        target = page.locator(f'.card[aria-label="{end}"] .box').bounding_box()
        page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
        page.mouse.down()
        x, y = target["x"] + target["width"] / 2, target["y"] + target["height"] / 2
        page.mouse.move(x - 5, y - 5, steps=5)
        page.mouse.move(x, y)
        if release:
            page.mouse.up()

    with opened(browser, wet_grass()) as page:
        page.locator("#open-edit").click()
        before = page.locator("path.arc").count()
        draw(page, "wet", "rain", release=False)
        page.wait_for_selector('.card.refused[aria-label="rain"]')
        page.mouse.up()
        expect(page.get_by_role("alert").filter(has_text="cycle")).to_be_visible()
        assert page.locator("path.arc").count() == before
        draw(page, "rain", "sprinkler")
        expect(page.locator("path.arc")).to_have_count(before + 1)
        expect(page.locator("#alert")).to_be_hidden()


@pytest.mark.web
def test_large_tables_are_warned_of_and_noisy_or_fills_them(browser: Any) -> None:
    from playwright.sync_api import expect

    names = [f"cause {k}" for k in range(13)]
    network = BayesianNetwork({**{name: [] for name in names}, "effect": names[:11]}, states=["no", "yes"])
    for name in names:
        network.set_cpt(name, [0.5, 0.5])
    network.set_noisy_or("effect", dict.fromkeys(names[:11], 0.5))
    with opened(browser, network) as page:
        page.locator("#open-edit").click()
        page.locator("#edit-node").select_option(label="effect")
        expect(page.get_by_text("Rows 1 to 64 of 2048")).to_be_visible()
        page.locator("#add-parent").select_option(label="cause 11")
        warning = page.get_by_role("alert").filter(has_text="8,192 numbers")
        warning.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Rows 1 to 64 of 2048")).to_be_visible()
        page.locator("#add-parent").select_option(label="cause 11")
        warning.get_by_role("button", name="Do it anyway").click()
        expect(page.get_by_text("Rows 1 to 64 of 4096")).to_be_visible()
    lawn = wet_grass()
    with opened(browser, lawn) as page:
        page.locator("#open-edit").click()
        page.locator("#edit-node").select_option(label="wet")
        page.locator("summary").click()
        page.locator("#alone-0").fill("0.9")
        page.locator("#alone-1").fill("0.5")
        page.locator("#leak").fill("0.1")
        page.locator("#noisy-or").click()
        expect(page.locator("#cell-0-1")).to_have_value("0.1")
        lawn.set_noisy_or("wet", {"rain": 0.9, "sprinkler": 0.5}, leak=0.1)
        p = lawn.query("wet")["yes"]
        assert f"{100 * p:.1f}%" in name_of(page, "wet", "yes")


@pytest.mark.web
def test_a_file_is_learned_in_the_page(browser: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    path = tmp_path / "lawn.csv"
    path.write_text(csv_of(wet_grass(), 1_000), "utf-8")
    with opened(browser, asia()) as page:
        page.locator("#open-edit").click()
        page.locator("#learn-file").set_input_files(path)
        expect(page.get_by_text("lawn.csv: 4 columns")).to_be_visible()
        page.locator("#arc-from").select_option(label="joe")
        page.locator("#arc-to").select_option(label="sprinkler")
        page.locator("#add-arc").click()
        page.locator("#learn").click()
        page.wait_for_selector('.card[aria-label="sprinkler"]', state="attached", timeout=60_000)
        expect(page.locator(".card")).to_have_count(4)
        page.locator("#undo").click()
        expect(page.locator(".card")).to_have_count(8)
