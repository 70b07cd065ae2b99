"""Chromium for the tests of the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    for package in ("uvicorn", "httptools"):
        pytest.importorskip(
            package, reason='explore needs uvicorn and httptools: pip install "bayeskit[web]"'
        )
    api = pytest.importorskip(
        "playwright.sync_api", reason="the page is tested with Playwright: pip install playwright"
    )
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with api.sync_playwright() as play:
        try:
            found = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except api.Error as error:
            pytest.skip(f"there is no Chromium (apt-get install chromium): {error.message.splitlines()[0]}")
        yield found
        found.close()
