"""What does a prediction over HTTP cost?

``bayeskit serve`` in a process of its own, one row of 30 attributes a request (numbers, categories of 8 states, or
half of each), over one kept connection. The CPU time is that of the server. Latency is measured at 200 requests a
second: a request is sent when it is due, whether the one before has been answered or not, and its time counts from
when it was due.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import bayeskit
from harness import Report, options

QUESTION = "One row over HTTP: requests a CPU second, latency, memory"
WIDTH, N_TRAINED, N_REQUESTS, RATE = 30, 5_000, 100_000, 200


def data(kind: str) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_TRAINED)
    states = np.array([f"state {k}" for k in range(8)], dtype=object)
    n_numeric = {"numbers": WIDTH, "categories": 0, "mixed": WIDTH // 2}[kind]
    columns: dict[str, Any] = {}
    for j in range(WIDTH):
        columns[f"attribute {j}"] = (
            rng.standard_normal(N_TRAINED) + y if j < n_numeric else states[rng.integers(0, 8, N_TRAINED)]
        )
    return columns, y


@contextmanager
def server(path: Path) -> Iterator[tuple[int, int, str]]:
    """Start a server; give its port, its process and its token."""
    token = secrets.token_urlsafe(24)
    words = [sys.executable, "-m", "bayeskit", "serve", str(path), "--port", "0"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**os.environ, "BAYESKIT_TOKEN": token}
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().rpartition(":")[2]), process.pid, token
    finally:
        process.terminate()
        process.wait(60)


class Client(asyncio.Protocol):
    """One kept connection; answers come in the order of the requests."""

    def __init__(self) -> None:
        self.held, self.due, self.times = b"", list[float](), list[float]()
        self.done: asyncio.Future[None] | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            head = self.held[:end]
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            if len(self.held) < end + 4 + length:
                return
            assert head.startswith(b"HTTP/1.1 200"), self.held
            self.held = self.held[end + 4 + length :]
            self.times.append(time.perf_counter() - self.due.pop(0))
            if self.done is not None and not self.due:
                self.done.set_result(None)
                self.done = None

    def send(self, request: bytes, due: float) -> None:
        self.due.append(due)
        self.transport.write(request)

    async def answered(self) -> None:
        self.done = asyncio.get_running_loop().create_future()
        await self.done


async def in_turn(port: int, requests: list[bytes], n: int) -> None:
    """Ask n times, each when the one before is answered."""
    _, client = await asyncio.get_running_loop().create_connection(Client, "127.0.0.1", port)
    for i in range(n):
        client.send(requests[i % len(requests)], time.perf_counter())
        await client.answered()
    client.transport.close()


async def at_a_rate(port: int, requests: list[bytes], n: int) -> list[float]:
    """Ask n times at a fixed rate, over eight connections, and return the seconds of each."""
    loop = asyncio.get_running_loop()
    clients = [(await loop.create_connection(Client, "127.0.0.1", port))[1] for _ in range(8)]
    begun = time.perf_counter()
    for i in range(n):
        due = begun + i / RATE
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        clients[i % 8].send(requests[i % len(requests)], due)
    while any(client.due for client in clients):
        await asyncio.sleep(0.01)
    for client in clients:
        client.transport.close()
    return [seconds for client in clients for seconds in client.times]


def cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "uvicorn", "httptools")
    n = max(2_000, int(N_REQUESTS * given.scale))
    for kind in ("numbers", "categories", "mixed"):
        columns, y = data(kind)
        cells = {name: column[:200].tolist() for name, column in columns.items()}
        rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.bayes"
            bayeskit.NaiveBayes().fit(columns, y).save(path)
            with server(path) as (port, process, token):
                head = (
                    "POST /predict_proba HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    f"Authorization: Bearer {token}\r\nContent-Length: "
                )
                bodies = [json.dumps(row).encode() for row in rows]
                requests = [head.encode() + b"%d\r\n\r\n" % len(body) + body for body in bodies]
                asyncio.run(in_turn(port, requests, 2_000))
                best = 0.0
                for _ in range(given.repeats):
                    before = cpu_of(process)
                    asyncio.run(in_turn(port, requests, n // 50))
                    best = max(best, (n // 50) / max(1e-9, cpu_of(process) - before))
                report.claim(f"{kind}: requests a CPU second", best, at_least=2_000)
                times = asyncio.run(at_a_rate(port, requests, n // 50))
                report.claim(f"{kind}: median at {RATE} a second", float(np.median(times)) * 1e3, " ms")
                p99 = float(np.quantile(times, 0.99)) * 1e3
                report.claim(f"{kind}: p99 at {RATE} a second", p99, " ms", at_most=20)
                if kind == "mixed":
                    start = memory_of(process)
                    asyncio.run(in_turn(port, requests, n))
                    report.claim(
                        f"growth of memory over {n:,} requests", memory_of(process) - start, " MB", at_most=5
                    )
    report.finish()


if __name__ == "__main__":
    main()
