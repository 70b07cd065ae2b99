"""The answers of the server: who may ask, what a request must look like, and which method of the model answers it.

This is a plain ASGI application. Six paths need no framework, and what is not run costs nothing: a framework's
routing and its layers took a third of the time of a request.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bayeskit._messages import LANGUAGES, Joined
from bayeskit._schema import first_twice
from bayeskit._visible import json_text
from bayeskit._web.openapi import description_of
from bayeskit._web.served_model import Check, Clock, ModelFile, Row, ServedModel, json_kind
from bayeskit.errors import BayeskitError, DataError, DataTypeError, SettingError, UsageError

Headers = list[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

# Longer bodies are parsed by a thread of the pool, so that others need not wait.
SHORT_BODY = 2**16
# Requests that wait for a thread, for each of them; more are told to come back.
MOST_WAITING = 16
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
POSTED = ("predict", "predict_proba", "explain", "decide")
# What a body may hold beside its rows.
SETTINGS: dict[str, frozenset[str]] = {
    "predict": frozenset(),
    "predict_proba": frozenset(),
    "explain": frozenset({"loss", "reject"}),
    "decide": frozenset({"loss", "reject", "actions"}),
}
GOTTEN = ("health", "schema")

log = logging.getLogger("bayeskit.serve")


@dataclass(frozen=True)
class Limits:
    """What a request may take.

    Attributes
    ----------
    body : int
        Bytes of a body, counted as they come.
    seconds : float
        For receiving a body, and again for answering it.
    threads : int
        Of the pool that answers all but single rows.
    """

    body: int = 4_000_000
    seconds: float = 30.0
    threads: int = 4
    clock: Clock = time.monotonic


@dataclass(frozen=True)
class Access:
    """Who may ask: the token, and the names by which the server may be called.

    A page of another site can make a browser send requests to this machine under a name of that site (DNS
    rebinding), so names that are not listed are refused. Such a page cannot choose a number instead of a name:
    addresses are accepted where others than this machine may ask at all.
    """

    token: str
    hosts: frozenset[str] = LOOPBACK_NAMES
    any_address: bool = False

    def knows_host(self, header: str) -> bool:
        """Whether a Host header names this server."""
        host = header.rpartition("]")[0].lstrip("[") if header.startswith("[") else header.partition(":")[0]
        if host.lower() in self.hosts:
            return True
        if self.any_address:
            with suppress(ValueError):
                ipaddress.ip_address(host)
                return True
        return False

    def knows_token(self, header: bytes) -> bool:
        """Whether an Authorization header has the token, compared in a time that tells nothing about it."""
        scheme, _, token = header.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self.token.encode())


class Refused(Exception):
    """A request that gets an error of HTTP, with a message of ours."""

    def __init__(self, status: int, error: BayeskitError, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(error)
        self.status, self.error, self.headers = status, error, headers


class _Gone(Exception):
    """The client has left."""


@dataclass(frozen=True)
class Asked:
    """The rows of a body, and what it says beside them."""

    rows: list[Row]
    single: bool
    settings: Mapping[str, Any]


class Application:
    """Answers requests with the newest model of a file.

    Parameters
    ----------
    models : ModelFile
    access : Access
    limits : Limits
    lang : "en" or "zh"
        Of messages and explanations, where Accept-Language names neither.
    look_every : float
        Seconds between two looks at the file.
    """

    def __init__(
        self,
        models: ModelFile,
        access: Access,
        limits: Limits | None = None,
        *,
        lang: str = "en",
        look_every: float = 1.0,
    ) -> None:
        self.models, self.access, self.limits = models, access, limits or Limits()
        self.lang, self.look_every = lang, look_every
        self._pool = ThreadPoolExecutor(self.limits.threads, thread_name_prefix="bayeskit-serve")
        self._waiting = 0

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        headers = dict(scope["headers"])
        lang = self._language(headers.get(b"accept-language", b""))
        more: tuple[tuple[bytes, bytes], ...] = ()
        try:
            status, body = 200, await self._answer(scope, headers, receive, lang)
        except _Gone:
            return
        except Refused as refusal:
            status, more = refusal.status, refusal.headers
            body = _error_text(refusal.error, lang)
        except BayeskitError as error:
            status, body = 422, _error_text(error, lang)
        except Exception:
            log.exception("A request could not be answered.")
            fault = UsageError("The server has made a mistake. What happened is in its log.")
            status, body = 500, _error_text(fault, lang)
        content = body.encode()
        start: Headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(content)),
            *more,
        ]
        if status != 200:
            start.append((b"content-language", lang.encode()))
        await send({"type": "http.response.start", "status": status, "headers": start})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    async def _answer(
        self, scope: dict[str, Any], headers: dict[bytes, bytes], receive: Receive, lang: str
    ) -> str:
        path = self._admitted(scope, headers)
        if path == "health":
            return json_text(self.models.health(lang))
        served = self.models.served  # one model for the whole request, whatever comes meanwhile
        if path == "schema":
            return json_text(description_of(served, self.limits.body))
        body = await self._body(headers, receive)
        check = self._deadline()
        if len(body) <= SHORT_BODY:
            asked = _asked(body, served, path)
            if asked.single and served.quick and path != "explain":
                return self._answered(path, served, asked, lang, check)
            return await self._in_pool(self._answered, path, served, asked, lang, check)
        return await self._in_pool(self._parsed_and_answered, body, path, served, lang, check)

    def _admitted(self, scope: dict[str, Any], headers: dict[bytes, bytes]) -> str:
        """Return the path that is asked for, or refuse the request before its body is read."""
        close = (b"connection", b"close")
        host = headers.get(b"host", b"").decode("latin-1")
        if not self.access.knows_host(host):
            names = Joined(map(repr, sorted(self.access.hosts)))
            raise Refused(
                400,
                UsageError(
                    "This server is not called {host!r}, but {names}. Allow a name with --allow-host.",
                    host=host,
                    names=names,
                ),
                close,
            )
        if not self.access.knows_token(headers.get(b"authorization", b"")):
            raise Refused(
                401,
                UsageError("The token is missing or wrong. Send the header Authorization: Bearer TOKEN."),
                (b"www-authenticate", b"Bearer"),
                close,
            )
        path: str = scope["path"].removeprefix("/")
        if path not in POSTED and path not in GOTTEN:
            paths = Joined(f"/{name}" for name in (*POSTED, *GOTTEN))
            raise Refused(
                404,
                UsageError("There is no {path!r}. There are {paths}.", path=f"/{path}", paths=paths),
                close,
            )
        allowed = "POST" if path in POSTED else "GET, HEAD"
        if scope["method"] not in allowed.split(", "):
            raise Refused(
                405,
                UsageError("/{path} takes {method}.", path=path, method=allowed),
                (b"allow", allowed.encode()),
                close,
            )
        if path in POSTED:
            kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
            if kind != b"application/json" or b"content-encoding" in headers:
                raise Refused(
                    415,
                    DataTypeError(
                        "A body is JSON, not compressed. Send the header Content-Type: application/json."
                    ),
                    close,
                )
        return path

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """Receive the body, and stop as soon as it is too long or takes too long."""
        with suppress(ValueError):
            if int(headers.get(b"content-length", b"0")) > self.limits.body:
                raise self._too_long()
        parts: list[bytes] = []
        length = 0
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Gone
                    part = message.get("body", b"")
                    length += len(part)
                    if length > self.limits.body:
                        raise self._too_long()
                    parts.append(part)
                    if not message.get("more_body"):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise Refused(
                408,
                UsageError("The body did not come within {seconds} seconds.", seconds=self.limits.seconds),
                (b"connection", b"close"),
            ) from None

    def _too_long(self) -> Refused:
        error = DataError(
            "The body is longer than {most} bytes. Send fewer rows at a time, or start the server with --max-body.",
            most=self.limits.body,
        )
        return Refused(413, error, (b"connection", b"close"))

    def _deadline(self) -> Check:
        """Return what refuses a request that takes too long, asked between slices of its rows."""
        clock, seconds = self.limits.clock, self.limits.seconds
        end = clock() + seconds

        def check(done: int) -> None:
            if clock() > end:
                raise Refused(
                    413,
                    DataError(
                        "After {seconds} seconds {done} rows were answered. Send fewer rows at a time.",
                        seconds=seconds,
                        done=done,
                    ),
                )

        return check

    async def _in_pool(self, work: Callable[..., str], *arguments: Any) -> str:
        if self._waiting >= MOST_WAITING * self.limits.threads:
            raise Refused(
                429,
                UsageError("{n} requests are waiting. Try again in a second.", n=self._waiting),
                (b"retry-after", b"1"),
            )
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
        finally:
            self._waiting -= 1

    def _parsed_and_answered(
        self, body: bytes, path: str, served: ServedModel, lang: str, check: Check
    ) -> str:
        return self._answered(path, served, _asked(body, served, path), lang, check)

    def _answered(self, path: str, served: ServedModel, asked: Asked, lang: str, check: Check) -> str:
        """Return the answer to a request for rows, as JSON."""
        rows, said = asked.rows, asked.settings
        if path == "predict":
            predictions = served.predictions(rows, check)
            content = {"prediction": predictions[0]} if asked.single else {"predictions": predictions}
            return json_text(content)
        if path == "predict_proba":
            found = served.posteriors(rows, check).tolist()
            shown = found[0] if asked.single else found
            return json_text({"classes": served.classes, "probabilities": shown})
        loss, reject = said.get("loss", served.loss), said.get("reject", served.reject)
        if path == "explain":
            pages = served.explanations(rows, check, lang, loss, reject)
            return json_text(pages[0] if asked.single else {"explanations": pages})
        decisions = served.decisions(rows, check, loss, reject, said.get("actions"))
        return json_text(decisions[0] if asked.single else {"decisions": decisions})

    def _language(self, header: bytes) -> str:
        """Return the language of ours that an Accept-Language header prefers."""
        if not header:
            return self.lang
        best = (0.0, self.lang)
        for part in header.decode("latin-1").split(","):
            name, *parameters = part.strip().split(";")
            quality = 1.0
            for parameter in parameters:
                with suppress(ValueError):
                    quality = float(parameter.strip().removeprefix("q="))
            found = name.strip().lower().partition("-")[0]
            if found in LANGUAGES and quality > best[0]:
                best = (quality, found)
        return best[1]

    async def _live(self, receive: Receive, send: Send) -> None:
        """Watch the file from the start of the server to its end."""
        await receive()
        watch = asyncio.create_task(self._watch())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        watch.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)
        await send({"type": "lifespan.shutdown.complete"})

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self.look_every)
            try:
                await loop.run_in_executor(None, self.models.look)
            except Exception:  # whatever is wrong with a new file, the model of before answers
                log.exception("The file could not be looked at.")


def _asked(body: bytes, served: ServedModel, path: str) -> Asked:
    """Read a body: a row, a list of rows, or {"rows": either of these, …} with what a path takes beside rows."""
    content = _parsed(body)
    settings: dict[str, Any] = {}
    # No cell is a list or an object, so this is no row of a model with a column "rows".
    if isinstance(content, dict) and isinstance(content.get("rows"), (list, dict)):
        settings = {name: value for name, value in content.items() if name != "rows" and value is not None}
        content = content["rows"]
        for name in settings:
            if name not in SETTINGS[path]:
                raise SettingError(
                    "/{path} takes no {name!r} beside its rows.",
                    path=path,
                    name=name,
                )
        _check_settings(settings)
    single = isinstance(content, dict)
    if not single and not isinstance(content, list):
        raise DataTypeError(
            "The body is {kind}. Send a row as an object, or a list of rows.", kind=json_kind(content)
        )
    if not content and not single:
        raise DataError("The list of rows is empty. Send at least one.")
    return Asked(served.read_rows([content] if single else content), single, settings)


def _check_settings(settings: Mapping[str, Any]) -> None:
    actions = settings.get("actions", [])
    if not (isinstance(actions, list) and all(isinstance(name, str) for name in actions)):
        raise SettingError("actions: give a list of texts.")


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode(), object_pairs_hook=_object)
    except BayeskitError:
        raise
    except RecursionError:
        raise Refused(400, DataError("The JSON is nested too deeply.")) from None
    except UnicodeDecodeError as error:
        raise Refused(400, DataError("The body is not UTF-8: byte {n}.", n=error.start)) from None
    except json.JSONDecodeError as error:
        raise Refused(
            400,
            DataError(
                "The body is no JSON: {what} (line {line}, column {column}).",
                what=error.msg,
                line=error.lineno,
                column=error.colno,
            ),
        ) from None
    except ValueError:  # a whole number of thousands of digits
        raise Refused(400, DataError("The JSON holds a number that is too long.")) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = first_twice(name for name, _ in pairs)
        raise DataError("A row names {name!r} twice. Name it once.", name=twice)
    return found


def _error_text(error: BayeskitError, lang: str) -> str:
    return json_text({"error": type(error).__name__, "message": error.message.in_language(lang)})
