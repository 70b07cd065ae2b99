"""A network as one HTML file that computes by itself.

It is the page of the explorer with its style, the script with the engine, and the network in it. A policy in the page
names the hashes of the style and the script: nothing else runs, and nothing is loaded.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from bayeskit._markup import inlined
from bayeskit._messages import LANGUAGES
from bayeskit._report.words import words_of
from bayeskit._visible import json_text
from bayeskit._web.explorer import PAGE
from bayeskit._web.explorer_words import WORDS

# Inside a script element these begin a tag or a comment, and the two separators end a line in old scripts.
ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


def published_page(content: dict[str, Any], lang: str | None = None) -> str:
    """Return the page of a network (`ExploredNetwork.published`).

    Parameters
    ----------
    content : dict
    lang : "en" or "zh", optional
        The language at first; by default that of the browser.
    """
    if lang is not None:
        words_of(lang, WORDS)
    page, style, script = (
        (PAGE / name).read_text("utf-8") for name in ("explorer.html", "explorer.css", "published.js")
    )
    words = {each: dict(WORDS.of(each)) for each in LANGUAGES}
    data = json_text({"findings": "", **content, "lang": lang or "", "words": words}).translate(ESCAPES)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    return inlined(page, style, script, data, policy)


def _hash(text: str) -> str:
    """Return the hash of an inline script or style, as a policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
