"""Requests of strangers: methods, types, sizes, names with markup, tokens and hosts. None breaks the server."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from bayeskit._networks.editing import document_of
from bayeskit._web.explorer import GOTTEN, POSTED, Explorer
from bayeskit._web.json_server import Access, Limits
from bayeskit._web.layout_file import LayoutFile
from bayeskit.networks import asia

TOKEN = "a-token-for-the-tests"
MARKUP = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "../../etc/passwd",
    "\x00",
    "\u2028",
    "é" * 500,
]
VALUES: list[Any] = [
    None, True, -1, 0, 1, 7, 8, 10**30, 1e308, -0.5, float("inf"), float("nan"), "", "yes", [], {}, [[]], [0, 1],
    [[0, 0]], {"node": 0}, {"node": 0, "state": 0}, [{"node": 0, "state": 0}], [{"node": 99, "not": [0]}],
    [{"node": 0, "likelihood": [0, 0]}], [{"node": 5, "state": 1}, {"node": 3, "state": 0}], *MARKUP,
]  # fmt: skip
FIELDS = sorted({field for fields in POSTED.values() for field in fields})
# A process of its own for each would take hours; `test_explorer_edit.py` asks them, and here they are asked rarely.
SLOW_PATHS = {"write", "columns", "learn"}


def mutated(rng: random.Random, value: Any) -> Any:
    """Change one place of a JSON value."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        return {**value, key: mutated(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        k = rng.randrange(len(value))
        return [*value[:k], mutated(rng, value[k]), *value[k + 1 :]]
    return rng.choice(VALUES)


def body_of(rng: random.Random, path: str, document: Any) -> bytes:
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.randrange(60))
    if kind < 0.15:
        return rng.choice([b"[" * 100_000, b'{"a": 1, "a": 2}', b"1" * 5_000, b"\xff\xfe", b"x" * 30_000])
    fields = POSTED.get(path, frozenset(rng.sample(FIELDS, 2)))
    if path == "build" and kind < 0.9:
        return json.dumps({"document": mutated(rng, document)}).encode()
    said = {field: rng.choice(VALUES) for field in fields}
    if "findings" in said and kind < 0.7:
        said["findings"] = []
    if kind > 0.95:
        said[rng.choice(FIELDS)] = rng.choice(VALUES)
    return json.dumps(said).encode()


def attack(app: Explorer, rng: random.Random, document: Any) -> tuple[int, bool, dict[bytes, bytes]]:
    """Send one request; return its status, whether it had the token, and the headers of the answer."""
    path = rng.choice([*GOTTEN, *POSTED, "..", "network/../secret", "%2e%2e", rng.choice(MARKUP)])
    if path in SLOW_PATHS and rng.random() < 0.97:
        path = "build"
    has_token = rng.random() < 0.7
    headers = [(b"host", rng.choice([b"127.0.0.1:8000"] * 9 + [b"evil.example", b"", b"[::1", b"\xff"]))]
    wrong = rng.choice(
        [b"Bearer x", b"Basic " + TOKEN.encode(), b"Bearer", b"\xff", b"Bearer " + TOKEN.encode()[:-1]]
    )
    headers.append((b"authorization", b"Bearer " + TOKEN.encode() if has_token else wrong))
    if rng.random() < 0.9:
        headers.append(
            (b"content-type", rng.choice([b"application/json"] * 9 + [b"text/plain", b"", b"\xff"]))
        )
    if rng.random() < 0.1:
        headers.append((b"origin", rng.choice([b"http://evil.example", b"null", b"http://127.0.0.1:8000"])))
    if rng.random() < 0.1:
        headers.append((b"content-length", rng.choice([b"-1", b"99999999999", b"x", b""])))
    if rng.random() < 0.2:
        headers.append((b"accept-language", rng.choice([b"zh", b"en;q=x", b";;;", b"\xff" * 100])))
    if rng.random() < 0.1:
        headers.append((b"cookie", rng.choice([b"=", b"bayeskit-=1", b"\xff=\xff; ;"])))
    usual = "POST" if path in POSTED else "GET"
    method = usual if rng.random() < 0.9 else rng.choice(["PUT", "DELETE", "TRACE", "HEAD", "<b>", "OPTIONS"])
    query = rng.choice([b""] * 6 + [b"token=x", b"token=%ff", b"version=x", b"version=%00&version=", b"\xff"])
    content = body_of(rng, path, document)
    scope = {"type": "http", "method": method, "path": f"/{path}", "query_string": query, "headers": headers}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], has_token, dict(sent[0]["headers"])


@pytest.mark.parametrize(
    "n", [600, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(3_600)])], ids=str
)
def test_hostile_requests(n: int, tmp_path: Path) -> None:
    """No 5xx; without the token 4xx only; every answer with its policy; and no file but the layout is written."""
    layout = LayoutFile(tmp_path / "asia.bif")
    app = Explorer(asia()._explored(), Access(TOKEN), Limits(body=16_000_000, seconds=30.0), layout=layout)
    rng = random.Random(n)
    document = document_of(asia())
    seen: dict[int, int] = {}
    for k in range(n):
        status, has_token, headers = attack(app, rng, document)
        seen[status] = seen.get(status, 0) + 1
        assert status < 500, k
        assert has_token or 400 <= status < 500, k
        assert b"content-security-policy" in headers and headers[b"x-content-type-options"] == b"nosniff", k
    assert {path.name for path in tmp_path.iterdir()} <= {"asia.bif.layout.json"}
    assert len(app._versions) <= 32
    assert set(seen) >= {200, 400, 401, 404, 422}
    app._pool.shutdown()
