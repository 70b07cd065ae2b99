"""Runs the application with uvicorn, until Ctrl-C."""

from __future__ import annotations

import errno
import ipaddress
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bayeskit._web.json_server import JsonServer
from bayeskit.errors import UsageError

# Bytes of a request before its body.
LONGEST_HEAD = 2**16
BACKLOG = 1024


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def listening(host: str, port: int) -> socket.socket:
    """Open the socket of a server; port 0 is any that is free."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _unusable(host, port, error) from error
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(BACKLOG)
    except OSError as error:
        opened.close()
        raise _unusable(host, port, error) from error
    opened.setblocking(False)
    return opened


def _unusable(host: str, port: int, error: OSError) -> UsageError:
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            "Port {port} of {host} is in use. Choose another; --port 0 finds one.", port=port, host=host
        )
    return UsageError(
        "{host}, port {port} cannot be used: {reason}. Check --host and --port.",
        host=host,
        port=port,
        reason=error.strerror or str(error),
    )


def address_of(opened: socket.socket) -> str:
    """Return the address that clients use."""
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def need_packages(command: str) -> None:
    """Raise an error if a package of the extra ``web`` is missing."""
    try:
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "{command} needs uvicorn and httptools ({error}). Install them: pip install bayeskit[web].",
            command=command,
            error=error,
        ) from error


def serve(
    application: JsonServer,
    opened: socket.socket,
    ready: Callable[[], None],
    stop: threading.Event | None = None,
) -> None:
    """Answer requests until Ctrl-C, SIGTERM or ``stop``; ``ready`` is called when the first one can come."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

        async def on_tick(self, counter: int) -> bool:
            ends: bool = await super().on_tick(counter)
            return ends or (stop is not None and stop.is_set())

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # As uvicorn does, but the signal is not sent again at the end: it has done what it was sent for.
            if threading.current_thread() is not threading.main_thread():
                yield
                return
            before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for each, handler in before.items():
                    signal.signal(each, handler)

    limit = application.limits.seconds
    config = uvicorn.Config(
        application,
        http=_protocol(limit),
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=max(5, int(limit)),
        timeout_graceful_shutdown=max(1, int(application.patience)),
    )
    Server(config).run(sockets=[opened])


def _protocol(seconds: float) -> type[Any]:
    """Return uvicorn's protocol, with limits of time and length for what comes before a body."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Protocol(HttpToolsProtocol):
        head_length = 0
        head_timer: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_came()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.head_timer is not None:
                self.head_length += len(data)
            super().data_received(data)
            if self.head_timer is not None and self.head_length > LONGEST_HEAD:
                self.send_400_response("The head of the request is too long.")

        def on_message_begin(self) -> None:
            if self.head_timer is None:
                self._expect_head()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head_came()
            super().on_headers_complete()

        def _expect_head(self) -> None:
            self.head_length = 0
            self.head_timer = self.loop.call_later(seconds, self.transport.close)

        def _head_came(self) -> None:
            if self.head_timer is not None:
                self.head_timer.cancel()
                self.head_timer = None

    return Protocol
