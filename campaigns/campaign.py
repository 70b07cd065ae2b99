"""Runs a campaign: one check for many seeds, over processes, within limits, with counts that are kept.

A campaign repeats what the tests check, with seeds that the tests do not have time for. The check of a seed is a
function from ``tests/``. It returns what it did as counts (``{"networks": 1}``) and raises where something is wrong.

    python campaigns/networks.py --short            a few seconds; what CI runs
    python campaigns/networks.py                    the long form: as many seeds as the promise names
    python campaigns/networks.py --minutes 10       stops after ten minutes, and the result says so
    python campaigns/networks.py --resume           goes on after the last seed of the result, and adds to its counts
    python campaigns/networks.py --seed 4711        one seed again, with its traceback

Counts, seeds, versions and date are written to ``benchmarks/results/campaign_NAME.json``. A run with fewer cases
never replaces one with more, unless it failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
VERSIONS = ("numpy", "scipy", "numba", "scikit-learn", "narwhals", "duckdb", "safetensors", "pandas")
# Failures that are written down; the number of all of them is written in any case.
MOST_FAILURES = 20


def use_tests() -> None:
    """Make the library and the helpers of ``tests/`` importable, here and in processes that are started."""
    source, tests = ROOT / "src", ROOT / "tests"
    folders = sorted(path for path in tests.iterdir() if path.is_dir() and path.name[0] not in "_.")
    sys.path[:0] = [str(path) for path in (source, tests, *folders) if str(path) not in sys.path]
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, dict.fromkeys([str(source), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))
    )


@dataclass(frozen=True)
class Campaign:
    """What is asked, what the long form promises, and the check of one seed.

    Attributes
    ----------
    name, question : str
        The name of the script, and what it asks.
    check : callable
        Checks one seed and returns counts; raises if something is wrong.
    promised : dict of str to int
        The counts that the long form must reach.
    long, short : int
        The number of seeds of the two forms.
    seconds : float
        CPU seconds that one seed may take; more is a failure.
    memory : int
        Bytes that a process may have on top of what it has before its first seed; more is a failure.
    """

    name: str
    question: str
    check: Callable[[int], Mapping[str, int]]
    promised: Mapping[str, int]
    long: int
    short: int
    seconds: float = 60.0
    memory: int = 4 * 2**30


class OverTime(Exception):
    """A seed took more CPU time than a campaign allows."""


def _stop(*_: object) -> None:
    raise OverTime


_campaign: Campaign


def _begin(campaign: Campaign) -> None:
    """Prepare a process: its limits of time and memory."""
    global _campaign
    _campaign = campaign
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGPROF"):
        signal.signal(signal.SIGPROF, _stop)
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + campaign.memory, resource.RLIM_INFINITY))
    except (ImportError, OSError, ValueError):
        pass  # Windows and macOS have no such limit; time is limited there by the whole run


def _cpu_seconds() -> float:
    """CPU seconds of this process and of those that it started."""
    return sum(os.times()[:4])


def _one(seed: int) -> tuple[int, dict[str, int], str | None, float]:
    begin = _cpu_seconds()
    counts, failure = {}, None
    try:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, _campaign.seconds)
        try:
            counts = dict(_campaign.check(seed))
        finally:
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_PROF, 0.0)
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)[-1:]
        where = "".join(f" ({Path(frame.filename).name}:{frame.lineno})" for frame in frames)
        failure = f"{type(error).__name__}: {str(error).strip()[:400]}{where}"
    return seed, counts, failure, _cpu_seconds() - begin


def _answers(campaign: Campaign, seeds: Iterable[int], workers: int) -> Iterator[Any]:
    if workers == 0 or "fork" not in get_all_start_methods():
        _begin(campaign)
        yield from map(_one, seeds)
        return
    with get_context("fork").Pool(workers, _begin, (campaign,), maxtasksperchild=2_000) as pool:
        yield from pool.imap_unordered(_one, seeds)


def versions() -> dict[str, str]:
    """Return the versions of Python, the library and its dependencies."""
    found = {"python": platform.python_version()}
    from bayeskit import __version__

    found["bayeskit"] = __version__
    for name in VERSIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def keep(result: dict[str, Any], path: Path) -> bool:
    """Write a result, unless one with more cases and without failures stands there; tell whether it was written."""
    if path.exists() and not result["failures"]:
        before = json.loads(path.read_text("utf-8"))
        if not before["failures"] and sum(before["counts"].values()) > sum(result["counts"].values()):
            return False
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return True


def so_far(path: Path) -> dict[str, Any]:
    """Return the result of an earlier run, if this one may add to it: of the same versions, without failures."""
    result: dict[str, Any] = json.loads(path.read_text("utf-8"))
    if result["failures"] or result["versions"] != versions():
        sys.exit(f"{path.name} has failures or other versions. Start again without --resume.")
    return result


def options(question: str, arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=question)
    parser.add_argument("--short", action="store_true", help="the short form, seconds")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--first", type=int, default=0, help="the first seed, 0 by default")
    parser.add_argument("--workers", type=int, default=1, help="processes, 1 by default")
    parser.add_argument("--resume", action="store_true", help="go on after the last seed of the result")
    parser.add_argument("--seed", type=int, help="check one seed and show its traceback")
    parser.add_argument(
        "--output", type=Path, help="JSON file; by default benchmarks/results/campaign_NAME.json"
    )
    return parser.parse_args(arguments)


def finish(
    name: str,
    question: str,
    *,
    given: argparse.Namespace,
    counts: Mapping[str, int],
    promised: Mapping[str, int],
    failures: list[dict[str, Any]],
    more: Mapping[str, Any],
) -> int:
    """Write and print the result of a campaign; return the exit status."""
    is_whole = all(counts.get(key, 0) >= n for key, n in promised.items())
    result = {
        "campaign": name,
        "question": question,
        "form": "long" if is_whole else "short" if given.short else "part of the long form",
        "counts": dict(sorted(counts.items())),
        "promised": dict(promised),
        "failures": failures[:MOST_FAILURES],
        "n_failures": len(failures),
        **more,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "versions": versions(),
    }
    path = given.output or RESULTS / f"campaign_{name}.json"
    written = keep(result, path)
    print(", ".join(f"{key} {n:,}" for key, n in result["counts"].items()))
    print(
        f"{len(failures)} failures; {result['form']}; {'written to' if written else 'fewer cases than in'} {path.name}"
    )
    for failure in failures[:MOST_FAILURES]:
        print(" ", failure)
    return 1 if failures else 0


def run(campaign: Campaign, arguments: list[str] | None = None) -> int:
    """Run a campaign from the command line; return the exit status."""
    given = options(campaign.question, arguments)
    warnings.simplefilter("ignore")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if given.seed is not None:
        print(dict(campaign.check(given.seed)))
        return 0
    n = campaign.short if given.short else campaign.long
    counts: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    first, begin, cpu, done = given.first, time.monotonic(), 0.0, 0
    last, shown = first - 1, begin
    if given.resume:
        before = so_far(given.output or RESULTS / f"campaign_{campaign.name}.json")
        counts.update(before["counts"])
        first, last, done = (before["seeds"][key] for key in ("first", "last", "checked"))
        cpu = before["cpu_seconds"]
    for seed, found, failure, took in _answers(campaign, range(last + 1, first + n), given.workers):
        counts.update(found)
        cpu, done, last = cpu + took, done + 1, max(last, seed)
        if failure is not None:
            failures.append({"seed": seed, "error": failure})
            print(f"seed {seed}: {failure}", flush=True)
        now = time.monotonic()
        if now - shown > 30:
            shown = now
            print(f"{done:,} of {n:,} seeds, {cpu:.0f} CPU s, {len(failures)} failures", flush=True)
        if given.minutes is not None and now - begin > 60 * given.minutes:
            break
    more = {"seeds": {"first": first, "last": last, "checked": done}, "cpu_seconds": round(cpu, 1)}
    return finish(
        campaign.name,
        campaign.question,
        given=given,
        counts=counts,
        promised=campaign.promised,
        failures=failures,
        more=more,
    )
