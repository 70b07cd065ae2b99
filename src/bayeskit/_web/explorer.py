"""The explorer: a page that shows a network, and the server of its numbers.

The page, its script and its style are files in ``page/``; they are built from ``web/`` and read once. Every path needs
the token. The address that is printed has it, and the answer to it sets a cookie, which the browser sends from then on.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import threading
import warnings
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs

from bayeskit._messages import LANGUAGES, WordList, speaking
from bayeskit._report.words import words_of
from bayeskit._visible import json_text
from bayeskit._web.json_server import CLOSE, Access, Content, JsonServer, Limits, Receive, Refused, parsed
from bayeskit._web.server import address_of, listening, need_packages, serve
from bayeskit.errors import BayeskitError, DataTypeError, ImpossibleEvidence, UsageError

PAGE = Path(__file__).parent / "page"
# Path → file and kind.
FILES = {
    "": ("explorer.html", b"text/html; charset=utf-8"),
    "explorer.js": ("explorer.js", b"text/javascript; charset=utf-8"),
    "explorer.css": ("explorer.css", b"text/css; charset=utf-8"),
}
GOTTEN = (*FILES, "network", "published")
# Path → what its body holds.
POSTED = {
    "posteriors": frozenset({"findings"}),
    "why": frozenset({"node", "findings"}),
    "next": frozenset({"target", "costs", "findings"}),
    "explanation": frozenset({"findings"}),
    "sensitivity": frozenset({"node", "state", "factor", "findings"}),
    "decide": frozenset({"node", "loss", "reject", "findings"}),
    "contributions": frozenset({"state", "findings"}),
    "nomogram": frozenset({"state", "findings"}),
}
# Scripts and styles from the server's own files only, and never inline: a name in a network cannot become a script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Findings are short.
LONGEST_BODY = 1_000_000

# All words of the page; it gets them in both languages.
WORDS = WordList(
    {
        "network": "network",
        "find": "Find a node",
        "zoom_in": "Zoom in",
        "zoom_out": "Zoom out",
        "fit": "Fit to the window",
        "undo": "Undo",
        "redo": "Redo",
        "clear": "Remove all findings",
        "theme": "Light or dark",
        "language": "Language",
        "help": "Keys and gestures",
        "close": "Close",
        "save": "Save as SVG",
        "publish": "Save as one HTML file that needs no server",
        "findings": "Findings",
        "start": "Click a state to observe it. Shift-click or long touch: not this state.",
        "is": "{node} = {state}",
        "is_not": "{node} ≠ {state}",
        "weighed": "{node}: likelihoods {numbers}",
        "remove": "Remove: {finding}",
        "row": "{node}, {state}, {percent}%",
        "up": "up from {before}",
        "down": "down from {before}",
        "observed": "observed",
        "excluded": "excluded",
        "measured": "{node}, mean {mean}, standard deviation {sd}",
        "prior": "prior {percent}%",
        "pill": "{what}. Enter shows all states.",
        "impossible": "These findings cannot all be true: {findings}. The last one was not taken.",
        "silent": "The server does not answer. Start it again with 'bayeskit explore', and open its new address.",
        "none_found": "There is no node with {text} in its name.",
        "n_found": "{n} found; Enter goes to the next.",
        "why_of": "Why? {node}",
        "weigh": "Weigh the states of {node}",
        "weigh_hint": "How likely is what was seen in each state of the node? 0 excludes a state; only ratios count.",
        "observe_number": "Observe {node}",
        "number": "Number",
        "not_number": "Type a number.",
        "all_zero": "Give some state more than 0.",
        "settled": "The other findings settle {node}; likelihoods cannot change it.",
        "take": "Take",
        "cancel": "Cancel",
        "canvas": "The network. Arrow keys move between states and nodes.",
        "key_observe": "click, Enter: observe a state; again: retract",
        "key_not": "Shift-click, Shift+Enter, long touch: not this state",
        "key_weigh": "drag a bar, L, or ≈ on a card: likelihoods of the states; the number of a continuous node",
        "key_why": "W, or ? on a card: the arithmetic behind the numbers",
        "key_retract": "Delete: retract the finding of a node",
        "key_move": "arrow keys: next state, next node; Tab: next card",
        "key_undo": "Ctrl+Z, Ctrl+Y: undo, redo",
        "key_zoom": "wheel, + and −: zoom; drag: move; 0: fit to the window; Enter on a pill: show its states",
        "key_find": "/: find a node",
        "panels": "Questions",
        "story": "Story",
        "story_label": "A guided story: what to click, what moves, and why",
        "story_step": "Step {k} of {n}",
        "story_click": "Click {state} of {node}.",
        "story_end": "That was the story. Click on, or begin again.",
        "story_again": "Begin again",
        "next": "Ask next",
        "scenarios": "Scenarios",
        "explanation": "Most probable explanation",
        "sensitivity": "Sensitivity",
        "decide": "Decide",
        "contributions": "Contributions",
        "nomogram": "Nomogram",
        "target": "To learn about",
        "next_hint": "What observing a node is expected to say about the target, in bits, less its cost. "
        "Below each node: what each of its states would mean.",
        "known": "{node} is observed, so there is nothing to learn about it. Choose another node.",
        "nothing_next": "There is no other node to observe.",
        "node": "node",
        "bits": "bits",
        "cost": "cost",
        "net": "net",
        "cost_of": "Cost of observing {node}, in bits",
        "answer": "{state} ({percent}%) → {target} = {value}: {posterior}%",
        "keep": "Keep these findings as a scenario",
        "scenario": "Scenario {n}",
        "scenarios_hint": "Keep the findings of now, change them, and compare. The nodes that differ most come first.",
        "now": "Now",
        "no_findings": "no findings",
        "load": "Return to {scenario}",
        "explanation_hint": "The states that are most probable together, given the findings. "
        "Beside them: how probable each is alone.",
        "explanation_probability": "Together: {percent}%",
        "state": "state",
        "alone": "alone",
        "why_rule": "Bayes' rule, one finding after the other. Each factor is the probability of the finding given the "
        "state and the findings above it.",
        "why_product": "= product",
        "why_sum": "÷ sum {sum}",
        "vary": "Vary",
        "vary_entries": "entries of the tables",
        "vary_findings": "what could be observed",
        "vary_by": "How far",
        "odds_times": "odds divided and multiplied by {factor}",
        "odds_all": "from 0 to 1",
        "entries_hint": "How the probability of the state goes with one entry of a table, while the rest of its row "
        "keeps its proportions. Filled: the entry is raised; outlined: it is lowered. Click a bar for the numbers.",
        "observations_hint": "How low and how high the state would go if one more node were observed. "
        "Click a bar for the numbers.",
        "has_finding": "{node} has a finding. Retract it, or choose another node.",
        "nothing_moves": "Nothing moves it.",
        "axis_now": "now {percent}%",
        "bar": "{what}: from {low}% to {high}%",
        "entry_at": "Entry {value} → {percent}%",
        "finding_at": "{finding} → {percent}%",
        "decide_hint": "What each action costs in each state. The risk of an action is its expected cost given the "
        "findings; the best action has the least. Costs may be negative: a gain.",
        "action": "action",
        "act_as": "act as if {state}",
        "action_name": "Name of action {n}",
        "new_action": "action {n}",
        "add_action": "Add an action",
        "plain_losses": "Start again with 0 and 1",
        "loss_of": "Cost of {action} if {finding}",
        "reject": "do not decide",
        "reject_cost": "Cost of not deciding (empty: never)",
        "best_action": "Best: {action}. Risk {risk}.",
        "is_best": "{action} (best)",
        "wrong_number": "“{text}” is not a number up to 1,000,000,000. The number before stays in use.",
        "class_known": "{node} is the class and has a finding. Retract it to see what the others say.",
        "against": "{state} against {rival}",
        "contributions_hint": "What each finding adds to the log-odds of {against}, the most probable other class. "
        "Filled: for it; outlined: against it. Each bar begins where the last one ended, and the tick is 0.",
        "of_prior": "before any finding",
        "of_together": "all findings together",
        "finding": "finding",
        "adds": "adds",
        "sum": "sum",
        "log_odds": "log-odds",
        "odds_of": "Odds {odds} for {against}. P({finding}) = {percent}%.",
        "n_points": "{points} points",
        "nomogram_hint": "Drag a mark, or use the arrow keys, to observe a value; Delete: unknown. "
        "The points add up to the log-odds of the class.",
        "nomogram_sum": "{points} points: P({finding}) = {percent}%",
        "nomogram_inexact": "With more than two classes the points are for this class against all others taken as one, "
        "so that the sum is close to the posterior, not equal to it.",
        "unknown": "unknown",
        "stop": "Press Ctrl-C to stop.",
        "legend": "A tick marks the prior. ▲ and ▼ are changes since the last finding, in percentage points.",
    }
)


class Explored(Protocol):
    """What is explored; nodes and states are numbers."""

    def description(self) -> dict[str, Any]: ...

    def published(self) -> dict[str, Any]: ...

    def beliefs(self, findings: Any) -> list[Any]: ...

    def why(self, node: Any, findings: Any, lang: str) -> str: ...

    def next(self, target: Any, costs: Any, findings: Any) -> dict[str, Any]: ...

    def explanation(self, findings: Any) -> dict[str, Any]: ...

    def sensitivity(self, node: Any, state: Any, factor: Any, findings: Any) -> dict[str, Any]: ...

    def decide(self, node: Any, loss: Any, reject: Any, findings: Any) -> dict[str, Any]: ...

    def contributions(self, state: Any, findings: Any) -> dict[str, Any]: ...

    def nomogram(self, state: Any, findings: Any) -> dict[str, Any]: ...

    def conflict(self, error: ImpossibleEvidence) -> list[int]: ...


class Explorer(JsonServer):
    """Answers the page.

    Parameters
    ----------
    explored : Explored
    access : Access
    limits : Limits
    lang : "en" or "zh"
    """

    headers = (
        (b"content-security-policy", POLICY.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cache-control", b"no-store"),
    )
    mend_host = "Open the address that was printed."
    mend_length = "Send fewer findings."

    def __init__(
        self, explored: Explored, access: Access, limits: Limits | None = None, *, lang: str = "en"
    ) -> None:
        super().__init__(access, limits or Limits(body=LONGEST_BODY), lang=lang)
        self.explored = explored
        # Cookies are shared by all ports of a machine, so each server has a name of its own.
        self._cookie = b"bayeskit-" + hashlib.sha256(access.token.encode()).hexdigest()[:12].encode()
        self._files = {path: (PAGE / name).read_text("utf-8") for path, (name, _) in FILES.items()}
        self._words = {lang: dict(WORDS.of(lang)) for lang in LANGUAGES}

    async def _answer(
        self, scope: dict[str, Any], headers: dict[bytes, bytes], receive: Receive, lang: str
    ) -> Content:
        path, is_first = self._admitted(scope, headers)
        if path in FILES:
            cookie = b"%s=%s; HttpOnly; SameSite=Strict; Path=/" % (self._cookie, self.access.token.encode())
            more = ((b"set-cookie", cookie),) if is_first else ()
            return Content(self._files[path], FILES[path][1], more)
        if path == "network":
            # A language that was chosen at the start comes before that of the browser.
            chosen = lang if self.lang == "en" else self.lang
            content = {**self.explored.description(), "lang": chosen, "words": self._words}
            return Content(json_text(content))
        if path == "published":
            from bayeskit._web.published import published_page

            page = await self._in_pool(lambda: published_page(self.explored.published()))
            # It is saved, never shown here: the policy of this server would forbid its script anyway.
            return Content(page, b"text/html; charset=utf-8", ((b"content-disposition", b"attachment"),))
        body = await self._body(headers, receive)
        return Content(await self._in_pool(self._answered, path, body, lang))

    def _answered(self, path: str, body: bytes, lang: str) -> str:
        said = parsed(body)
        if not isinstance(said, dict) or set(said) != POSTED[path]:
            raise DataTypeError(
                "/{path} takes an object with {names}, and nothing else.",
                path=path,
                names=", ".join(sorted(POSTED[path])),
            )
        if path == "why":
            return json_text({"text": self.explored.why(**said, lang=lang)})
        if path == "posteriors":
            return json_text({"beliefs": self.explored.beliefs(**said)})
        answered: dict[str, Any] = getattr(self.explored, path)(**said)
        return json_text(answered)

    def _told(self, error: BayeskitError, lang: str) -> dict[str, Any]:
        told = super()._told(error, lang)
        if isinstance(error, ImpossibleEvidence):
            told["conflict"] = self.explored.conflict(error)
        return told

    def _admitted(self, scope: dict[str, Any], headers: dict[bytes, bytes]) -> tuple[str, bool]:
        """Return the path, and whether the browser comes for the first time; refuse all others."""
        self._need_host(headers)
        origin = headers.get(b"origin")
        if origin is not None and origin != b"http://" + headers[b"host"]:
            raise Refused(
                403,
                UsageError("A page of {origin!r} may not ask here.", origin=origin.decode("latin-1")),
                CLOSE,
            )
        known = self.access.knows_token(headers.get(b"authorization", b"")) or self._has_cookie(headers)
        # As text: bytes that are no ASCII after %-decoding are an error of parse_qs.
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        is_first = scope["path"] == "/" and self.access.is_token(given.encode())
        if not known and not is_first:
            raise Refused(
                401, UsageError("The token is missing or wrong. Open the address that was printed."), CLOSE
            )
        path = self._need_path(scope, GOTTEN, tuple(POSTED))
        if path in POSTED:
            self._need_json(headers)
        return path, is_first

    def _has_cookie(self, headers: dict[bytes, bytes]) -> bool:
        for part in headers.get(b"cookie", b"").split(b";"):
            name, _, value = part.strip().partition(b"=")
            if name == self._cookie and self.access.is_token(value):
                return True
        return False


def open_explorer(
    explored: Explored,
    *,
    lang: str = "en",
    port: int = 0,
    open_browser: bool = True,
    tell: Callable[[str], None] | None = None,
) -> None:
    """Serve the page until Ctrl-C; ``tell`` gets the address when it can be opened."""
    need_packages("explore")
    words = words_of(lang, WORDS)
    token = secrets.token_urlsafe(24)
    opened = listening("127.0.0.1", port)
    address = f"{address_of(opened)}/?token={token}"

    def ready() -> None:
        if tell is None:
            print(address, words["stop"], sep="\n", flush=True)
        else:
            tell(address)
        if open_browser:  # finding a browser takes a while, and some only return when they are closed
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    with opened, warnings.catch_warnings(), speaking(lang):
        warnings.simplefilter("ignore")
        _run(Explorer(explored, Access(token), lang=lang), opened, ready)


def _run(application: Explorer, opened: Any, ready: Callable[[], None]) -> None:
    """Serve in this thread, or beside the loop of a notebook, until Ctrl-C in either case."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        serve(application, opened, ready)
        return
    stop = threading.Event()
    thread = threading.Thread(target=serve, args=(application, opened, ready, stop), daemon=True)
    thread.start()
    with suppress(KeyboardInterrupt):
        thread.join()
    stop.set()
    thread.join()
