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
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs

from bayeskit._messages import LANGUAGES, speaking
from bayeskit._report.words import words_of
from bayeskit._visible import json_text
from bayeskit._web.explorer_words import WORDS
from bayeskit._web.json_server import (
    CLOSE,
    LOOPBACK_NAMES,
    Access,
    Content,
    JsonServer,
    Limits,
    Receive,
    RequestError,
    parsed,
)
from bayeskit._web.layout_file import LayoutFile
from bayeskit._web.limited import run_limited
from bayeskit._web.server import address_of, is_loopback, listening, need_packages, serve
from bayeskit.errors import DataTypeError, ImpossibleEvidence, SettingError, TooLarge, UsageError

PAGE = Path(__file__).parent / "page"
# Path → file and kind.
FILES = {
    "": ("explorer.html", b"text/html; charset=utf-8"),
    "explorer.js": ("explorer.js", b"text/javascript; charset=utf-8"),
    "explorer.css": ("explorer.css", b"text/css; charset=utf-8"),
    "layout.js": ("layout.js", b"text/javascript; charset=utf-8"),
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
    "counts": frozenset({"node", "findings"}),
    "layout": frozenset({"direction", "cards", "pills"}),
    "document": frozenset(),
    "build": frozenset({"document"}),
    "write": frozenset({"document", "format"}),
    "columns": frozenset({"text"}),
    "learn": frozenset({"text", "required", "forbidden"}),
}
# Paths that write or edit: not if the explorer is read-only.
EDITS = frozenset({"layout", "document", "build", "write", "columns", "learn"})
# Functions that read what a user sent; they run in a process of their own.
LIMITED = {
    "write": "bayeskit._networks.editing:written",
    "columns": "bayeskit._networks.editing:columns_of",
    "learn": "bayeskit._networks.editing:learned",
}
# Edited networks are kept for questions about them; the ones asked for last.
MOST_VERSIONS = 32
# Scripts and styles from the server's own files only, and never inline: a name in a network cannot become a script.
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Findings are short; documents and tables may be longer.
LONGEST_FINDINGS = 1_000_000
LONGEST_BODY = 16_000_000


class ExplorerModel(Protocol):
    """What is explored; nodes and states are numbers."""

    def description(self) -> dict[str, Any]: ...

    def published(self) -> dict[str, Any]: ...

    def posteriors(self, findings: Any) -> dict[str, Any]: ...

    def why(self, node: Any, findings: Any, lang: str) -> str: ...

    def next(self, target: Any, costs: Any, findings: Any) -> dict[str, Any]: ...

    def explanation(self, findings: Any) -> dict[str, Any]: ...

    def sensitivity(self, node: Any, state: Any, factor: Any, findings: Any) -> dict[str, Any]: ...

    def decide(self, node: Any, loss: Any, reject: Any, findings: Any) -> dict[str, Any]: ...

    def contributions(self, state: Any, findings: Any) -> dict[str, Any]: ...

    def nomogram(self, state: Any, findings: Any) -> dict[str, Any]: ...

    def counts(self, node: Any, findings: Any) -> dict[str, Any]: ...

    @property
    def formats(self) -> tuple[str, ...]: ...

    def document(self) -> dict[str, Any]: ...

    def edited(self, document: Any) -> ExplorerModel: ...

    def conflict(self, error: ImpossibleEvidence) -> list[int]: ...


def need_fields(path: str, said: Any) -> None:
    """Raise an error if a request has not the fields of its path."""
    if not isinstance(said, dict) or set(said) != POSTED[path]:
        raise DataTypeError(
            "/{path} takes an object with {names}, and nothing else.",
            path=path,
            names=", ".join(sorted(POSTED[path])),
        )


def answer(explored: ExplorerModel, path: str, said: Any, lang: str) -> dict[str, Any]:
    """Answer a question about what is explored."""
    need_fields(path, said)
    try:
        if path == "why":
            return {"text": explored.why(**said, lang=lang)}
        found: dict[str, Any] = getattr(explored, path)(**said)
        return found
    except TooLarge as error:
        # What the page cannot do is not advised: set a limit, or call another method.
        raise TooLarge(
            error.bytes_needed,
            error.max_memory,
            error.largest,
            error.cells,
            "The bars are estimates; this question has none. Observe some of these nodes, and ask again.",
        ) from None


class Explorer(JsonServer):
    """Answers the page.

    Parameters
    ----------
    explored : ExplorerModel
    access : Access
    limits : Limits
    lang : "en" or "zh"
    layout : LayoutFile, optional
        Where the layout is kept. Without it, the layout lasts as long as the page.
    command : str
        What was opened, as the command line names it.
    read_only : bool
        Write no file.
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
    patience = 1.0  # its questions change nothing, so Ctrl-C need not wait for answers

    def __init__(
        self,
        explored: ExplorerModel,
        access: Access,
        limits: Limits | None = None,
        *,
        lang: str = "en",
        layout: LayoutFile | None = None,
        command: str = "",
        read_only: bool = False,
    ) -> None:
        super().__init__(access, limits or Limits(body=LONGEST_BODY), lang=lang)
        self.explored, self.layout, self.command, self.read_only = explored, layout, command, read_only
        # Cookies are shared by all ports of a machine, so each server has a name of its own.
        self._cookie = b"bayeskit-" + hashlib.sha256(access.token.encode()).hexdigest()[:12].encode()
        self._versions: OrderedDict[str, ExplorerModel] = OrderedDict()
        self._lock = threading.Lock()
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
            return Content(json_text({**self._description(), "lang": chosen, "words": self._words}))
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        version = query.get("version", [""])[0]
        if path == "published":
            page = await self._in_pool(self._published, version, query.get("findings", [""])[0])
            # It is saved, never shown here: the policy of this server would forbid its script anyway.
            return Content(page, b"text/html; charset=utf-8", ((b"content-disposition", b"attachment"),))
        body = await self._body(headers, receive, None if path in EDITS else LONGEST_FINDINGS)
        return Content(await self._in_pool(self._answered, path, body, lang, version))

    async def _in_pool(self, work: Callable[..., str], *arguments: Any) -> str:
        """Work in a thread, and stop waiting for it when the time of a request is over."""
        seconds = self.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                return await super()._in_pool(work, *arguments)
        except TimeoutError:
            raise RequestError(
                413,
                UsageError(
                    "The answer takes longer than {seconds:g} seconds. Ask for less.", seconds=seconds
                ),
            ) from None

    def _published(self, version: str, findings: str) -> str:
        """Return the page of a network that needs no server; it begins with findings, as its address has them."""
        from bayeskit._web.standalone import published_page

        return published_page({**self._version(version).published(), "findings": findings})

    def _description(self) -> dict[str, Any]:
        found = self.explored.description()
        found["command"] = self.command
        found["formats"] = [] if self.read_only else list(self.explored.formats)
        found["edits"] = bool(found["formats"])
        found["keeps_layout"] = self.layout is not None and not self.read_only
        if self.layout is not None:
            found["layout"] = self.layout.read([node["name"] for node in found["nodes"]])
        return found

    def _answered(self, path: str, body: bytes, lang: str, version: str) -> str:
        said = parsed(body)
        if path not in EDITS:
            explored = self._version(version)
            try:
                return json_text(answer(explored, path, said, lang))
            except ImpossibleEvidence as error:
                # Numbers of nodes are those of the version that was asked.
                raise RequestError(422, error, more={"conflict": explored.conflict(error)}) from None
        need_fields(path, said)
        if self.read_only:
            raise RequestError(
                403, UsageError("This explorer is read-only: it writes no file and edits no network.")
            )
        if path in LIMITED:
            return json_text(run_limited(LIMITED[path], said, lang))
        if path == "layout":
            return json_text(self._keep(version, **said))
        return json_text(self.explored.document() if path == "document" else self._build(**said))

    def _version(self, version: str) -> ExplorerModel:
        """Return what is asked about: the network that was opened, or an edited one."""
        if not version:
            return self.explored
        with self._lock:
            found = self._versions.get(version)
            if found is None:
                raise UsageError("The edited network is no longer kept. Undo and redo the last edit.")
            self._versions.move_to_end(version)
            return found

    def _build(self, document: Any) -> dict[str, Any]:
        """Keep an edited network, and return what the page shows of it."""
        made = self.explored.edited(document)
        version = hashlib.sha256(json_text(document).encode()).hexdigest()[:16]
        with self._lock:
            self._versions[version] = made
            self._versions.move_to_end(version)
            while len(self._versions) > MOST_VERSIONS:
                self._versions.popitem(last=False)
        found = made.description()
        shown = ("name", "nodes", "arcs", "beliefs", "estimate")
        return {"id": version, **{name: found[name] for name in shown}}

    def _keep(self, version: str, direction: Any, cards: Any, pills: Any) -> dict[str, Any]:
        if self.layout is None:
            raise SettingError("There is no file beside which the layout could be kept.")
        names = [node["name"] for node in self._version(version).description()["nodes"]]
        self.layout.write(names, direction, cards, pills)
        return {"written": True}

    def _admitted(self, scope: dict[str, Any], headers: dict[bytes, bytes]) -> tuple[str, bool]:
        """Return the path, and whether the browser comes for the first time; refuse all others."""
        self._need_host(headers)
        origin = headers.get(b"origin")
        if origin is not None and origin != b"http://" + headers[b"host"]:
            raise RequestError(
                403,
                UsageError("A page of {origin!r} may not ask here.", origin=origin.decode("latin-1")),
                CLOSE,
            )
        known = self.access.knows_token(headers.get(b"authorization", b"")) or self._has_cookie(headers)
        # As text: bytes that are no ASCII after %-decoding are an error of parse_qs.
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        is_first = scope["path"] == "/" and self.access.is_token(given.encode())
        if not known and not is_first:
            raise RequestError(
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
    explored: ExplorerModel,
    *,
    lang: str = "en",
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
    tell: Callable[[str], None] | None = None,
    layout: LayoutFile | None = None,
    command: str = "",
    read_only: bool = False,
) -> bool:
    """Serve the page until Ctrl-C; ``tell`` gets the address when it can be opened.

    Returns
    -------
    bool
        Whether an answer is still being computed, for which nobody waits.
    """
    need_packages("explore")
    words = words_of(lang, WORDS)
    token = secrets.token_urlsafe(24)
    remote = not is_loopback(host)
    access = Access(token, LOOPBACK_NAMES | {host.lower()}, any_address=remote)
    opened = listening(host, port)
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
        application = Explorer(
            explored, access, lang=lang, layout=layout, command=command, read_only=read_only
        )
        _run(application, opened, ready)
    return application.is_busy


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
