"""Demonstrations: a comparison on a table; networks, a decision, a mixture, texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayeskit._cli.demos.demo_pages import DemoPage

# Those that are not about a table. What they need is imported on demand: only some need scikit-learn.
NAMES = ("spam", "grass", "asia", "mixture", "docstrings")


def make_demo(name: str, lang: str) -> DemoPage:
    """Run a demonstration.

    Examples
    --------
    >>> make_demo("spam", "en").data["words"][0]["action"]
    'delete'
    """
    from bayeskit._cli.demos.demo_pages import asia_page, docstrings_page, grass_page, mixture_page, spam_page

    pages = {
        "spam": spam_page,
        "grass": grass_page,
        "asia": asia_page,
        "mixture": mixture_page,
        "docstrings": docstrings_page,
    }
    return pages[name](lang)
