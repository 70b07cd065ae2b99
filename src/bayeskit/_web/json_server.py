"""What every server of ours does: who may ask, how long a request may be and take, and how it is refused.

A server is a plain ASGI application. A few paths need no framework, and what is not run costs nothing: a framework's
routing and its layers took a third of the time of a request.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bayeskit._messages import LANGUAGES, Joined, Message
from bayeskit._schema import first_twice
from bayeskit._visible import json_text
from bayeskit.errors import BayeskitError, DataError, DataTypeError, UsageError

Headers = list[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Clock = Callable[[], float]

# Requests that wait for a thread, for each of them; more are told to come back.
MOST_WAITING = 16
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
CLOSE = (b"connection", b"close")

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
        """Whether an Authorization header has the token."""
        scheme, _, token = header.partition(b" ")
        return scheme.lower() == b"bearer" and self.is_token(token.strip())

    def is_token(self, given: bytes) -> bool:
        """Whether this is the token, compared in a time that tells nothing about it."""
        return hmac.compare_digest(given, self.token.encode())


class RequestError(Exception):
    """A request that gets an error of HTTP, with a message of ours and more values beside it."""

    def __init__(
        self,
        status: int,
        error: BayeskitError,
        *headers: tuple[bytes, bytes],
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(error)
        self.status, self.error, self.headers, self.more = status, error, headers, more or {}


class _Gone(Exception):
    """The client has left."""


@dataclass(frozen=True)
class Content:
    """What a request is answered with."""

    text: str
    kind: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


class JsonServer:
    """Receives requests and sends answers; what is answered is for subclasses to say.

    Parameters
    ----------
    access : Access
    limits : Limits
    lang : "en" or "zh"
        Of messages, where Accept-Language names neither.
    """

    # Of every answer.
    headers: tuple[tuple[bytes, bytes], ...] = ()
    # What a client does that calls the server by a wrong name, or sends a body that is too long.
    mend_host: str
    mend_length: str

    def __init__(self, access: Access, limits: Limits | None = None, *, lang: str = "en") -> None:
        self.access, self.limits, self.lang = access, limits or Limits(), lang
        self._pool = ThreadPoolExecutor(self.limits.threads, thread_name_prefix="bayeskit-serve")
        self._waiting = 0
        self._work: set[Future[str]] = set()

    @property
    def patience(self) -> float:
        """Seconds in which requests that are under way at Ctrl-C may end."""
        return self.limits.seconds

    @property
    def is_busy(self) -> bool:
        """Whether a thread still computes an answer."""
        return any(each.running() for each in self._work)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        headers = dict(scope["headers"])
        lang = self._language(headers.get(b"accept-language", b""))
        more: tuple[tuple[bytes, bytes], ...] = ()
        try:
            status, found = 200, await self._answer(scope, headers, receive, lang)
        except _Gone:
            return
        except RequestError as refusal:
            status, more = refusal.status, refusal.headers
            found = Content(json_text({**self._told(refusal.error, lang), **refusal.more}))
        except BayeskitError as error:
            status, found = 422, Content(json_text(self._told(error, lang)))
        except Exception:
            log.exception("A request could not be answered.")
            fault = UsageError("Internal server error. Details are in the server's log.")
            status, found = 500, Content(json_text(self._told(fault, lang)))
        content = found.text.encode()
        start: Headers = [
            (b"content-type", found.kind),
            (b"content-length", b"%d" % len(content)),
            *self.headers,
            *found.headers,
            *more,
        ]
        if status != 200:
            start.append((b"content-language", lang.encode()))
        await send({"type": "http.response.start", "status": status, "headers": start})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    async def _live(self, receive: Receive, send: Send) -> None:
        """Work from the start of the server to its end."""
        await receive()
        work = [asyncio.create_task(each) for each in self._works()]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in work:
            task.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)
        await send({"type": "lifespan.shutdown.complete"})

    def _works(self) -> list[Coroutine[Any, Any, None]]:
        """What is done beside answering."""
        return []

    async def _answer(
        self, scope: dict[str, Any], headers: dict[bytes, bytes], receive: Receive, lang: str
    ) -> Content:
        raise NotImplementedError

    def _told(self, error: BayeskitError, lang: str) -> dict[str, Any]:
        """Return what a client is told of an error."""
        return {"error": type(error).__name__, "message": error.message.in_language(lang)}

    def _need_host(self, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1")
        if not self.access.knows_host(host):
            raise RequestError(
                400,
                UsageError(
                    "This server is not called {host!r}, but {names}. {mend}",
                    host=host,
                    names=Joined(map(repr, sorted(self.access.hosts))),
                    mend=Message(self.mend_host),
                ),
                CLOSE,
            )

    def _need_path(self, scope: dict[str, Any], gotten: Sequence[str], posted: Sequence[str]) -> str:
        """Return the path that is asked for, with the method that it takes."""
        path: str = scope["path"].removeprefix("/")
        if path not in posted and path not in gotten:
            paths = Joined(f"/{name}" for name in (*posted, *gotten))
            raise RequestError(
                404,
                UsageError("There is no {path!r}. There are {paths}.", path=f"/{path}", paths=paths),
                CLOSE,
            )
        allowed = "POST" if path in posted else "GET, HEAD"
        if scope["method"] not in allowed.split(", "):
            raise RequestError(
                405,
                UsageError("/{path} takes {method}.", path=path, method=allowed),
                (b"allow", allowed.encode()),
                CLOSE,
            )
        return path

    def _need_json(self, headers: dict[bytes, bytes]) -> None:
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != b"application/json" or b"content-encoding" in headers:
            raise RequestError(
                415,
                DataTypeError(
                    "A body is JSON, not compressed. Send the header Content-Type: application/json."
                ),
                CLOSE,
            )

    async def _body(self, headers: dict[bytes, bytes], receive: Receive, most: int | None = None) -> bytes:
        """Receive the body, and stop as soon as it is too long or takes too long."""
        most = self.limits.body if most is None else min(most, self.limits.body)
        with suppress(ValueError):
            if int(headers.get(b"content-length", b"0")) > most:
                raise self._too_long(most)
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
                    if length > most:
                        raise self._too_long(most)
                    parts.append(part)
                    if not message.get("more_body"):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise RequestError(
                408,
                UsageError("The body did not arrive within {seconds} seconds.", seconds=self.limits.seconds),
                CLOSE,
            ) from None

    def _too_long(self, most: int) -> RequestError:
        error = DataError(
            "The body is longer than {most} bytes. {mend}",
            most=most,
            mend=Message(self.mend_length),
        )
        return RequestError(413, error, CLOSE)

    async def _in_pool(self, work: Callable[..., str], *arguments: Any) -> str:
        if self._waiting >= MOST_WAITING * self.limits.threads:
            raise RequestError(
                429,
                UsageError("{n} requests are waiting. Try again in a second.", n=self._waiting),
                (b"retry-after", b"1"),
            )
        self._waiting += 1
        done = self._pool.submit(work, *arguments)
        self._work.add(done)
        done.add_done_callback(self._work.discard)
        try:
            return await asyncio.wrap_future(done)
        finally:
            self._waiting -= 1

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


def parsed(body: bytes) -> Any:
    """Return what a body says."""
    try:
        return json.loads(body.decode(), object_pairs_hook=_object)
    except BayeskitError:
        raise
    except RecursionError:
        raise RequestError(400, DataError("The JSON is nested too deeply.")) from None
    except UnicodeDecodeError as error:
        raise RequestError(400, DataError("The body is not UTF-8: byte {n}.", n=error.start)) from None
    except json.JSONDecodeError as error:
        raise RequestError(
            400,
            DataError(
                "The body is not JSON: {what} (line {line}, column {column}).",
                what=error.msg,
                line=error.lineno,
                column=error.colno,
            ),
        ) from None
    except ValueError:  # a whole number of thousands of digits
        raise RequestError(400, DataError("The JSON holds a number that is too long.")) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = first_twice(name for name, _ in pairs)
        raise DataError("An object names {name!r} twice. Name it once.", name=twice)
    return found
