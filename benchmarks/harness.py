"""Ours and the peers, turn by turn in one run: a table with ratios, and a JSON file with versions.

CPU time is that of all threads of the process. The best of several turns counts, because noise only adds time. The
runs take turns (ours, peer, ours, peer, …), so that a busy machine affects both equally.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import gc
import json
import math
import os
import platform
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
# Benchmarks measure compiled code. Only startup.py measures what happens before anything is compiled.
os.environ.setdefault("BAYESKIT_COMPILE", "always")
# A shorter run is called many times per turn, because the clock and the caches are not stable enough.
SHORTEST_TURN = 0.05

Run = Callable[[], Any]
Clock = Callable[[], float]


@cache
def _bytecode() -> str:
    """Return a folder for bytecode that goes with this process."""
    folder = tempfile.mkdtemp(prefix="bayeskit-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def as_a_user(**settings: str) -> dict[str, str]:
    """Return an environment as users have it.

    Kernels are compiled only when that pays. The bytecode of our modules is kept, as an installation does; a machine
    that forbids bytecode would compile every module in every process.
    """
    ours = {k: v for k, v in os.environ.items() if k not in ("BAYESKIT_COMPILE", "PYTHONDONTWRITEBYTECODE")}
    return {**ours, "PYTHONPYCACHEPREFIX": _bytecode(), **settings}


def children_time() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Timing:
    """The best seconds of one call."""

    cpu: float
    wall: float
    calls: int = 1
    turns: int = 1

    def best(self, other: Timing) -> Timing:
        return Timing(
            min(self.cpu, other.cpu), min(self.wall, other.wall), self.calls, self.turns + other.turns
        )


def time_calls(run: Run, calls: int, clock: Clock = time.process_time) -> Timing:
    """Time this many calls of a run, and return the seconds of one."""
    gc.collect()
    cpu, wall = clock(), time.perf_counter()
    for _ in range(calls):
        run()
    return Timing((clock() - cpu) / calls, (time.perf_counter() - wall) / calls, calls)


def race(
    runs: Mapping[str, Run], repeats: int, clock: Clock = time.process_time
) -> tuple[dict[str, Timing], dict[str, Any]]:
    """Time runs by turns. Return the best time of each, and the result of an untimed first call."""
    answers = {name: run() for name, run in runs.items()}  # compiles kernels, warms caches
    best: dict[str, Timing] = {}
    for name, run in runs.items():
        first = time_calls(run, 1, clock)
        calls = math.ceil(SHORTEST_TURN / max(first.wall, 1e-9))
        best[name] = first if calls == 1 else time_calls(run, calls, clock)
    for _ in range(repeats - 1):
        for name, run in runs.items():
            best[name] = best[name].best(time_calls(run, best[name].calls, clock))
    return best, answers


def peak_memory(prepare: Callable[..., Run], *arguments: Any) -> float | None:
    """Return by how many MB a run raises the peak memory of a fresh process, without its input.

    ``prepare(*arguments)``, a top-level function of the script, makes the input and warms up on little data, because
    compiling takes memory once, regardless of the data. The run that it returns is measured.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_peak, prepare, arguments).result()


def _peak(prepare: Callable[..., Run], arguments: tuple[Any, ...]) -> float | None:
    run = prepare(*arguments)
    gc.collect()
    try:
        # Freed blocks that the allocator keeps would hide the memory of the run.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark; Linux only
        before = _status("VmRSS")
        answer = run()
        peak = _status("VmHWM") - before
    except (OSError, AttributeError):
        return None
    del answer
    return peak


def _status(key: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status has no {key}")


def options(question: str) -> argparse.Namespace:
    """Read the options that all benchmarks share."""
    parser = argparse.ArgumentParser(description=question)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows to run, 1 by default")
    parser.add_argument("--repeats", type=int, default=5, help="turns, of which the best counts")
    parser.add_argument("--output", type=Path, help="JSON file; by default results/NAME.json at scale 1")
    return parser.parse_args()


class Report:
    """The measurements, printed immediately and stored as JSON.

    Parameters
    ----------
    question : str
        The question that the benchmark answers.
    given : namespace
        The result of :func:`options`.
    versions : str
        Distributions to list in addition to the default ones.
    """

    def __init__(self, question: str, given: argparse.Namespace, *versions: str) -> None:
        self.given = given
        self.content: dict[str, Any] = {
            "question": question,
            "date": datetime.now(UTC).date().isoformat(),
            "scale": given.scale,
            "repeats": given.repeats,
            "machine": {
                "cpu": _cpu_model(),
                "cores": os.cpu_count(),
                "system": platform.system(),
                "load": round(os.getloadavg()[0], 1),
            },
            "versions": _versions("numpy", "scipy", "numba", "scikit-learn", *versions),
            "timings": [],
            "claims": [],
            "notes": [],
        }
        print(question)
        print(", ".join(f"{name} {version}" for name, version in self.content["versions"].items()))
        machine = self.content["machine"]
        print(f"{machine['cpu']} × {machine['cores']}, load {machine['load']}, scale {given.scale:g}")

    def race(
        self,
        stage: str,
        runs: Mapping[str, Run],
        *,
        against: str | None = None,
        target: float | None = None,
        clock: Clock = time.process_time,
        repeats: int | None = None,
    ) -> dict[str, Any]:
        """Time runs by turns and print them, with the ratio to one of them; return what they answered."""
        timings, answers = race(runs, repeats or self.given.repeats, clock)
        print(f"\n{stage:<48}{'CPU':>10}{'wall':>10}")
        for name, timing in timings.items():
            self.content["timings"].append({"stage": stage, "run": name, **asdict(timing)})
            print(f"  {name:<46}{seconds(timing.cpu):>10}{seconds(timing.wall):>10}")
        for name, timing in timings.items():
            if against is not None and name != against:
                ratio = timings[against].cpu / timing.cpu
                self.claim(f"{stage}: {name} against {against}", ratio, "×", at_least=target)
        return answers

    def cpu(self, stage: str, run: str) -> float:
        """The CPU seconds measured before."""
        return next(t["cpu"] for t in self.content["timings"] if (t["stage"], t["run"]) == (stage, run))

    def claim(
        self,
        what: str,
        value: float | None,
        unit: str = "",
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        """Store and print a number, with its target and whether it was reached."""
        reached: bool | None = None
        target = ""
        if value is not None and at_least is not None:
            reached, target = value >= at_least, f"target ≥ {at_least:g}{unit}"
        elif value is not None and at_most is not None:
            reached, target = value <= at_most, f"target ≤ {at_most:g}{unit}"
        verdict = {True: "reached", False: "MISSED", None: ""}[reached]
        shown = "not measured" if value is None else f"{value:.3g}{unit}"
        print(f"  → {what}: {shown}  {target}  {verdict}".rstrip())
        claim = {
            "what": what,
            "value": value,
            "unit": unit,
            "at_least": at_least,
            "at_most": at_most,
            "reached": reached,
        }
        self.content["claims"].append(claim)

    def note(self, text: str) -> None:
        self.content["notes"].append(text)
        print(f"  # {text}")

    def finish(self) -> None:
        """Write the JSON file. A smaller run is written only to a given path, so that it never replaces a full one."""
        path = self.given.output
        if path is None and self.given.scale == 1.0:
            path = RESULTS / f"{Path(sys.argv[0]).stem}.json"
        if path is None:
            print("\nNot kept: the scale is not 1. Pass --output to keep it.")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"\nKept in {path}.")


def seconds(value: float) -> str:
    """Write a time in the unit that suits it.

    >>> seconds(2.5), seconds(0.0125), seconds(8e-5)
    ('2.50 s', '12.5 ms', '80.0 µs')
    """
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.1f} µs"


def _versions(*distributions: str) -> dict[str, str]:
    import bayeskit

    found = {"python": platform.python_version(), "bayeskit": bayeskit.__version__}
    for name in distributions:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
