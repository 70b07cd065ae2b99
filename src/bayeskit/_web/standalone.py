"""The explorer without a server of its own: as a widget of notebooks, and as one HTML file that computes by itself.

The widget is the same page in a frame; the kernel answers instead of a server. The file has the style, the script with
the engine, and the network in it. A policy in the page names the hashes of the style and the script: nothing else
runs, and nothing is loaded.
"""

from __future__ import annotations

import base64
import hashlib
import sys
from functools import cache
from importlib.util import find_spec
from typing import Any

from bayeskit._markup import inlined
from bayeskit._messages import LANGUAGES
from bayeskit._report.words import words_of
from bayeskit._visible import json_text
from bayeskit._web.explorer import EDITS, PAGE, POSTED, answer, open_explorer
from bayeskit._web.explorer_words import WORDS
from bayeskit.errors import BayeskitError, ImpossibleEvidence, UsageError

# What the page asks of the kernel: in a notebook, Python edits the network.
ASKED = frozenset(POSTED) - EDITS
HEIGHT = 640
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; worker-src blob:"


def is_notebook() -> bool:
    """Whether this runs in the kernel of a notebook.

    >>> is_notebook()
    False
    """
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return getattr(running, "kernel", None) is not None


def open_here(explored: Any, *, lang: str, port: int, open_browser: bool) -> Any:
    """Return a widget in a notebook that has anywidget; otherwise serve the page until Ctrl-C."""
    if is_notebook() and find_spec("anywidget") is not None:
        return explorer_widget()(explored, lang=lang)
    open_explorer(explored, lang=lang, port=port, open_browser=open_browser)
    return None


@cache
def explorer_widget() -> type[Any]:
    """Return the class of widgets; anywidget is imported only here."""
    import anywidget
    import traitlets

    class ExplorerWidget(anywidget.AnyWidget):
        """A network in a notebook. Click a state, or set the evidence from Python: each side sees what the other does.

        Parameters
        ----------
        explored : what ``_explored()`` of a network or a classifier returns
        lang : "en" or "zh"
        height : int
            In pixels.

        Attributes
        ----------
        evidence : dict
            {node: state}, {node: Not(state)}, or {node: number}. It can be set, and observed:
            ``widget.observe(function, "evidence")``. Impossible evidence raises an error and changes nothing.
        soft : dict
            {node: likelihoods of its states}.

        Examples
        --------
        >>> from bayeskit.networks import asia
        >>> widget = asia().explore()  # doctest: +SKIP
        >>> widget.evidence = {"xray": "yes"}  # doctest: +SKIP
        >>> round(float(widget.posteriors["lung"][0]), 3)  # doctest: +SKIP
        0.489
        """

        _esm = (PAGE / "widget.js").read_text("utf-8")
        _network = traitlets.Dict().tag(sync=True)
        _page = traitlets.Unicode().tag(sync=True)
        _layout = traitlets.Unicode().tag(sync=True)
        _findings: traitlets.List[Any] = traitlets.List().tag(sync=True)
        height = traitlets.Int(HEIGHT).tag(sync=True)
        evidence = traitlets.Dict()
        soft = traitlets.Dict()

        def __init__(self, explored: Any, *, lang: str = "en", height: int = HEIGHT) -> None:
            words_of(lang, WORDS)
            page, style, script = (
                (PAGE / name).read_text("utf-8") for name in ("explorer.html", "explorer.css", "explorer.js")
            )
            self._explored = explored
            words = {each: dict(WORDS.of(each)) for each in LANGUAGES}
            super().__init__(
                _network={**explored.description(), "lang": lang, "words": words},
                _page=inlined(page, style, script, "{}", POLICY),
                _layout=(PAGE / "layout.js").read_text("utf-8"),
                height=height,
            )
            self.on_msg(self._asked)

        @property
        def posteriors(self) -> dict[Any, Any]:
            """The posterior of every node given the evidence, as `BayesianNetwork.posteriors` returns it."""
            found: dict[Any, Any] = self._explored.network.posteriors(self.evidence, soft=self.soft)
            return found

        @traitlets.validate("evidence", "soft")
        def _possible(self, proposal: Any) -> dict[Any, Any]:
            given = {"evidence": self.evidence, "soft": self.soft, proposal.trait.name: proposal.value}
            self._explored.beliefs(self._explored.findings(**given))
            value: dict[Any, Any] = proposal.value
            return value

        @traitlets.observe("evidence", "soft")
        def _set_findings(self, _: Any) -> None:
            self._findings = self._explored.findings(self.evidence, self.soft)

        @traitlets.observe("_findings")
        def _set_evidence(self, _: Any) -> None:
            evidence, soft = self._explored.read(self._findings)
            if self._explored.findings(self.evidence, self.soft) == self._findings:
                return
            # A click may replace likelihoods by a state, so neither is compared with the other's old value.
            with self.hold_trait_notifications():
                self.set_trait("evidence", evidence)
                self.set_trait("soft", soft)

        def _asked(self, _: Any, content: Any, __: Any) -> None:
            """Answer a request of the page."""
            if not isinstance(content, dict) or not isinstance(content.get("id"), int):
                return
            said = content.get("lang")
            lang = said if isinstance(said, str) and said in LANGUAGES else "en"
            try:
                path = content.get("path")
                if path not in ASKED:
                    raise UsageError("There is no {path!r} in a notebook.", path=path)
                found, is_right = answer(self._explored, path, content.get("body"), lang), True
            except BayeskitError as error:
                found, is_right = (
                    {"error": type(error).__name__, "message": error.message.in_language(lang)},
                    False,
                )
                if isinstance(error, ImpossibleEvidence):
                    found["conflict"] = self._explored.conflict(error)
            self.send({"id": content["id"], "ok": is_right, "content": found})

    return ExplorerWidget


# A network as one HTML file that computes by itself.
#
# It is the page of the explorer with its style, the script with the engine, and the network in it. A policy in the page
# names the hashes of the style and the script: nothing else runs, and nothing is loaded.

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
