"""``bayeskit serve`` as a process: its address, its limits at the socket, Ctrl-C, and a newer file."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bayeskit import NaiveBayes, datasets
from bayeskit._cli.commands import serve as command
from bayeskit._web.server import is_loopback, listening
from bayeskit.errors import UsageError
from cli_run import refused
from refusals import refuses

for package in ("uvicorn", "httptools"):
    pytest.importorskip(package, reason='serve needs uvicorn and httptools: pip install "bayeskit[web]"')

TOKEN = "a-token-for-the-tests"


class Running:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address
        self.port = int(address.rpartition(":")[2])

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def talk(self, *parts: bytes) -> bytes:
        """Send bytes, and return what comes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as raw:
            for part in parts:
                raw.sendall(part)
            found = b""
            while part := raw.recv(65536):
                found += part
            return found

    def memory(self) -> float:
        """The resident memory in MB; Linux only."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


@contextmanager
def running(path: Path, *options: str, token: str = TOKEN) -> Iterator[Running]:
    environment = {**os.environ, command.TOKEN: token}
    words = [sys.executable, "-m", "bayeskit", "serve", str(path), "--port", "0", *options]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        address = process.stdout.readline().strip()  # type: ignore[union-attr]
        assert address.startswith("http://127.0.0.1:"), (address, process.stderr.read())  # type: ignore[union-attr]
        yield Running(process, address)
    finally:
        process.kill()
        process.communicate(timeout=60)


def melons(rows: slice = slice(None)) -> Any:
    melon = datasets.load_dataset("melon3")
    columns = {name: melon.columns[name][rows] for name in melon.attributes}
    return NaiveBayes().fit(columns, melon.y[rows])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    melons().save(tmp_path / "m.bayes")
    return tmp_path / "m.bayes"


def test_from_the_first_line_to_ctrl_c(saved: Path) -> None:
    with running(saved, "--timeout", "2", "--max-body", "1000") as server:
        row = {"色泽": "青绿", "密度": 0.5}
        status, found = server.ask("/predict_proba", row)
        model = melons()
        assert status == 200 and found["classes"] == ["否", "是"]
        right = model.predict_proba_one(row)
        assert abs(found["probabilities"][1] - right["是"]) < 1e-12
        assert server.ask("/predict", {"色则": "青绿"})[0] == 422
        assert server.ask("/health")[1]["status"] == "ok"
        # The protocol's own limits: no HTTP, a head without end, a head that does not come, a body that does not come.
        assert b" 400 " in server.talk(b"no http at all\r\n\r\n").split(b"\r\n")[0]
        head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
        assert b" 400 " in server.talk(head + b"x: " + b"a" * 70_000).split(b"\r\n")[0]
        assert server.talk(head) == b"" and server.talk() == b""
        body = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" % TOKEN.encode()
        body += b"Content-Type: application/json\r\n"
        assert b" 408 " in server.talk(body + b"Content-Length: 9\r\n\r\n{").split(b"\r\n")[0]
        chunks = b"Transfer-Encoding: chunked\r\n\r\n" + b"200\r\n" + b" " * 512 + b"\r\n"
        assert b" 413 " in server.talk(body + chunks, b"200\r\n" + b" " * 512 + b"\r\n").split(b"\r\n")[0]
        newer = melons(slice(0, 12))
        newer.save(saved)
        for _ in range(600):
            if server.ask("/predict_proba", row)[1]["probabilities"] != found["probabilities"]:
                break
            time.sleep(0.05)
        right = newer.predict_proba_one(row)
        assert abs(server.ask("/predict_proba", row)[1]["probabilities"][1] - right["是"]) < 1e-12
        server.process.send_signal(signal.SIGINT)
        out, err = server.process.communicate(timeout=60)
        assert server.process.returncode == 0 and err == "" and TOKEN not in out


def test_the_token_is_random_and_printed_once(saved: Path) -> None:
    tokens = set()
    for _ in range(2):
        with running(saved, token="") as server:
            tokens.add(server.process.stdout.readline().split()[-1])  # type: ignore[union-attr]
            assert server.ask("/health")[0] == 401
    assert len(tokens) == 2 and min(map(len, tokens)) >= 32


def test_what_the_command_refuses(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused("serve", saved, "--host", "0.0.0.0", names=["0.0.0.0", "--allow-remote"])
    refused("serve", tmp_path / "none.bayes", names=["none.bayes"])
    (tmp_path / "broken.bayes").write_bytes(saved.read_bytes()[:100])
    refused("serve", tmp_path / "broken.bayes", names=["broken.bayes"])
    refused(
        "serve", saved, "--host", "no.such.host.invalid", "--allow-remote", names=["no.such.host.invalid"]
    )
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        refused("serve", saved, "--port", port, names=[port])
        with refuses(UsageError, port):
            listening("127.0.0.1", port)
    monkeypatch.setenv(command.TOKEN, "short")
    refused("serve", saved, names=[command.TOKEN, 16])
    assert is_loopback("127.0.0.2") and not is_loopback("192.168.0.1") and not is_loopback("example.org")


@pytest.mark.serve
@pytest.mark.timeout(1800)
def test_memory_is_flat_over_many_requests(saved: Path) -> None:
    row = json.dumps({"色泽": "青绿", "密度": 0.5}).encode()
    head = (
        "POST /predict_proba HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(row)}\r\n\r\n"
    )
    request = head.encode() + row
    with running(saved) as server, socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:

        def many(n: int) -> None:
            for _ in range(n):
                raw.sendall(request)
                found = b""
                while not found.endswith(b"}"):
                    found += raw.recv(65536)
                assert found.startswith(b"HTTP/1.1 200")

        many(5_000)
        before = server.memory()
        many(100_000)
        assert server.memory() - before < 5


@pytest.mark.serve
@pytest.mark.timeout(600)
def test_hostile_requests_do_not_stop_the_server(saved: Path) -> None:
    import random

    rng = random.Random(0)
    good = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    with running(saved, "--timeout", "1") as server:
        for _ in range(2_000):
            broken = bytearray(good)
            for _ in range(rng.randint(1, 6)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
                raw.sendall(bytes(broken))
                raw.shutdown(socket.SHUT_WR)
                assert b"HTTP/1.1 5" not in raw.recv(65536)
        assert server.ask("/health")[1]["status"] == "ok"


@pytest.mark.parametrize("command_name", ["serve", "explore"])
def test_a_server_collects_garbage_of_requests_alone(saved: Path, command_name: str) -> None:
    """What was there before the first request is never looked at again, and what requests leave is, often."""
    script = """
import gc, sys
before = gc.get_threshold()
import bayeskit._web.explorer as explorer, bayeskit._web.server as server
def serve(application, opened, ready, stop=None):
    ready()
    print(gc.get_freeze_count() > 10_000, gc.get_threshold() == before)
server.serve = explorer.serve = serve
from bayeskit._cli.start import main
main()
"""
    words = {"serve": [str(saved), "--port", "0"], "explore": ["asia", "--no-browser"]}[command_name]
    done = subprocess.run(
        [sys.executable, "-c", script, command_name, *words], capture_output=True, text=True, check=True
    )
    assert "True True" in done.stdout, (done.stdout, done.stderr)
