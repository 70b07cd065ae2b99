"""The page of the explorer in a browser, for tests: a server in a thread, Chromium, and the rows of the page."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayeskit import BayesianNetwork
from bayeskit._web.explorer import Explorer
from bayeskit._web.json_server import Access
from bayeskit._web.server import address_of, listening, serve

TOKEN = "a-token-for-the-tests"
NETWORKS = Path(__file__).parents[1] / "golden" / "networks" / "bif"
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


@contextmanager
def served(network: Any, lang: str = "en", **settings: Any) -> Iterator[str]:
    """Run the server in a thread, and give the address to open."""
    opened, stop, ready = listening("127.0.0.1", 0), threading.Event(), threading.Event()
    app = Explorer(network._explored(), Access(TOKEN), lang=lang, **settings)
    thread = threading.Thread(target=serve, args=(app, opened, ready.set, stop))
    thread.start()
    try:
        assert ready.wait(60)
        yield f"{address_of(opened)}/?token={TOKEN}"
    finally:
        stop.set()
        thread.join()


@contextmanager
def opened(
    browser: Any,
    network: Any,
    lang: str = "en",
    server: dict[str, Any] | None = None,
    rows: bool = True,
    **how: Any,
) -> Iterator[Any]:
    with served(network, lang, **(server or {})) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 800}, **how)
        page = context.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "console",
            lambda told: (
                faults.append(told.text) if told.type == "error" and "422" not in told.text else None
            ),
        )
        page.goto(address)
        if rows:
            page.wait_for_selector(".row", state="attached")
        yield page
        context.close()
        assert faults == []


def row(page: Any, node: str, state: str) -> Any:
    return page.get_by_role("button", name=re.compile(f"^{re.escape(node)}[,，] ?{re.escape(state)}[,，]"))


def name_of(page: Any, node: str, state: str) -> str:
    return str(row(page, node, state).get_attribute("aria-label"))


def is_shown(page: Any, wanted: dict[Any, Any], network: BayesianNetwork) -> None:
    """All percentages are those of the engine, to what is shown of them."""
    labels = page.locator(".row").evaluate_all("rows => rows.map(row => row.getAttribute('aria-label'))")
    right = [p for name in network.nodes for p in wanted[name]]
    for label, p in zip(labels, right, strict=True):
        is_right(label, p)


def is_right(label: str, p: float) -> None:
    shown = re.search(r"([\d.]+\+?|<100)%", label)
    assert shown is not None, label
    number = {"0+": 0.0, "<100": 100.0}.get(shown[1])
    assert abs((float(shown[1]) if number is None else number) - 100 * p) <= 0.05 + 1e-9, label


def when_found(page: Any, n: int) -> None:
    from playwright.sync_api import expect

    # Not wait_for_function, which evaluates a text: the page's policy forbids it, as it should.
    expect(page.locator("#chips li")).to_have_count(n)
