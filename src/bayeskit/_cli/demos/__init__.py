"""Demonstrations other than a comparison on a table: networks, a decision, a mixture, texts."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from bayeskit._cli.demos.demo_page import DemoPage

# Each has a module, imported on demand: only some of them need scikit-learn.
NAMES = ("spam", "grass", "asia", "mixture", "news")


def make_demo(name: str, lang: str) -> DemoPage:
    """Run a demonstration.

    Examples
    --------
    >>> make_demo("spam", "en").data["words"][0]["action"]
    'delete'
    """
    return cast("Callable[[str], DemoPage]", import_module(f"{__name__}.{name}_demo").make_page)(lang)
