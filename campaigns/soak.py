"""Do the servers and a stream stay as they were after hours: flat memory, the same answers?

`bayeskit serve` and `bayeskit explore` are asked over one connection after the other. A stream learns and forgets rows
for as long, so that it always holds a window, and is compared with a fresh fit. Memory is read at each fifth of the
time, and what it grows by in the last four is judged: in the first, kernels are compiled. The long form takes an hour,
a third of it for each; the short form a few seconds. ``--pause 0.05`` waits after each request.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from campaign import finish, options, use_tests

use_tests()
os.environ["BAYESKIT_COMPILE"] = "always"  # here and in the servers

import numpy as np

import test_server
from bayeskit import NaiveBayes
from bayeskit.networks import asia

LIMIT = 5.0  # megabytes that memory may grow by in the last four fifths
WINDOW = 500


def memory(process: int) -> float:
    """Resident memory of a process in MB; Linux only."""
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def soak(ask: Callable[[int], None], process: int, seconds: float, pause: float) -> tuple[int, list[float]]:
    """Ask for so long; return how often, and the memory in MB at the end of each fifth of the time."""
    begin, n, read = time.monotonic(), 0, []
    while len(read) < 5:
        ask(n)
        n += 1
        time.sleep(pause)
        if time.monotonic() > begin + (len(read) + 1) / 5 * seconds:
            read.append(memory(process))
    return n, read


def growth(read: list[float]) -> float:
    """Return by how many MB memory has grown in the last four fifths."""
    return read[-1] - read[0]


def serve(seconds: float, pause: float) -> tuple[int, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.bayes"
        test_server.melons().save(path)
        with test_server.running(path) as server:
            row = {"色泽": "青绿", "密度": 0.5}
            first = server.ask("/predict_proba", row)

            def ask(n: int) -> None:
                if n % 10 == 0:
                    assert server.ask("/predict", {"色则": "青绿"})[0] == 422
                assert server.ask("/predict_proba", row) == first, "the answer has changed"

            return soak(ask, server.process.pid, seconds, pause)


def explore(seconds: float, pause: float) -> tuple[int, list[float]]:
    words = [sys.executable, "-m", "bayeskit", "explore", "asia", "--no-browser"]
    network, rng = asia(), np.random.default_rng(0)
    names = list(network.nodes)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()  # type: ignore[union-attr]
            with urllib.request.urlopen(address, timeout=60) as answer:
                cookie = answer.headers["set-cookie"].partition(";")[0]
            place = address.partition("?")[0] + "posteriors"
            headers = {"Cookie": cookie, "Content-Type": "application/json"}

            def ask(n: int) -> None:
                node, code = int(rng.integers(len(names))), int(rng.integers(2))
                body = json.dumps({"findings": [{"node": node, "state": code}]}).encode()
                with urllib.request.urlopen(
                    urllib.request.Request(place, body, headers), timeout=60
                ) as answer:
                    found = json.load(answer)["beliefs"]
                name = names[node]
                wanted = network.posteriors({name: network.states(name)[code]}).values()
                for ours, right in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(ours, right, atol=1e-12, rtol=0)

            return soak(ask, process.pid, seconds, pause)
        finally:
            process.kill()


def stream(seconds: float, pause: float) -> tuple[int, list[float]]:
    rng, model = np.random.default_rng(0), NaiveBayes()
    window: list[tuple[Any, Any]] = []

    def learn(n: int) -> None:
        row, label = {"a": str(rng.integers(4)), "b": float(rng.normal())}, str(rng.integers(2))
        model.learn_one(row, label)
        window.append((row, label))
        if len(window) > WINDOW:
            model.forget_one(*window.pop(0))
        if n % 5_000 == 4_999:
            fresh = NaiveBayes()
            for old, its_label in window:
                fresh.learn_one(old, its_label)
            ours, right = model.predict_proba_one(row), fresh.predict_proba_one(row)
            assert all(abs(ours[key] - right[key]) < 1e-9 for key in right), "the stream has drifted"

    return soak(learn, os.getpid(), seconds, pause)


def main() -> int:
    question = __doc__.splitlines()[0]
    slower = argparse.ArgumentParser(add_help=False)
    slower.add_argument("--pause", type=float, default=0.0)
    more, left = slower.parse_known_args()
    given = options(question, left)
    seconds = 12.0 if given.short else 60.0 * (given.minutes or 60.0)
    counts: dict[str, int] = {}
    read: dict[str, list[float]] = {}
    failures: list[dict[str, Any]] = []
    for name, part in {"serve": serve, "explore": explore, "stream": stream}.items():
        unit = "rows" if name == "stream" else "requests"
        try:
            counts[f"{name}: {unit}"], read[name] = part(seconds / 3, more.pause)
            grown = growth(read[name])
            print(f"{name}: {counts[f'{name}: {unit}']:,} {unit}, memory {read[name]} MB", flush=True)
            # In seconds nothing has settled; minutes are judged.
            if grown > LIMIT and not given.short:
                failures.append({"error": f"{name}: memory grew by {grown:.1f} MB"})
        except Exception as error:
            failures.append({"error": f"{name}: {type(error).__name__}: {str(error)[:400]}"})
    counts["seconds"] = round(seconds)
    return finish(
        "soak",
        question,
        given=given,
        counts=counts,
        promised={"seconds": 3_600},
        failures=failures,
        more={
            "memory_mb": {name: [round(mb, 1) for mb in of] for name, of in read.items()},
            "memory_grown_mb": {name: round(growth(of), 2) for name, of in read.items()},
            "pause_seconds": more.pause,
        },
    )


if __name__ == "__main__":
    sys.exit(main())
