"""Does any kernel read or write outside its arrays?

Numba's bounds checking is on: an index outside an array raises an IndexError instead of reading arbitrary memory.
Compiled code with checks has its own folder, ``.numba-bounds``. The short form does the work of
``tests/conformance/test_kernels.py``, which calls every kernel, compiled. The long form runs the test suite as well,
folder by folder; ``--minutes`` stops after a folder, and ``--resume`` goes on with the next.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from typing import Any

from campaign import RESULTS, ROOT, finish, options, so_far, use_tests

KERNELS = "every kernel"
# What a process of its own is told to do: the work that calls every kernel.
CALL_KERNELS = "--call-kernels"


def parts() -> list[str]:
    """Return the parts of the long form: every kernel, then the folders of the test suite, then its single files."""
    tests = ROOT / "tests"
    folders = sorted(p for p in tests.iterdir() if p.is_dir() and any(p.rglob("test_*.py")))
    return [
        KERNELS,
        *(f"tests/{p.name}" for p in folders),
        *(f"tests/{p.name}" for p in tests.glob("test_*.py")),
    ]


def call_kernels() -> None:
    """Do the work that calls every kernel, compiled; print how many there are and which were not called."""
    use_tests()
    from test_kernels import WORK, kernels

    from bayeskit import _numba
    from both_ways import called_by

    called: set[Any] = set()

    def call(kernel: Any, *arguments: Any) -> Any:
        if kernel not in called:
            called.update(_numba._called(kernel))
        return kernel.made()(*arguments)

    warnings.simplefilter("ignore")
    errors = []
    with called_by(call):
        for work in WORK:
            try:
                work()
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                errors.append(
                    f"{work.__name__}: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
                )
    every = kernels()
    missed = sorted(name for name, one in every.items() if one not in called)
    print(json.dumps({"kernels": len(every) - len(missed), "missed": missed, "errors": errors}))


def run_part(
    part: str, environment: dict[str, str], workers: int
) -> tuple[Counter[str], list[dict[str, str]]]:
    """Run a part in a process of its own; return counts and failures."""
    if part == KERNELS:
        words = [sys.executable, __file__, CALL_KERNELS]
        done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            return Counter(), [{"error": f"{part}: ended with {done.returncode}"}]
        found = json.loads(done.stdout.splitlines()[-1])
        failures = [{"error": line} for line in found["errors"]]
        failures += [{"error": f"{name} was not called"} for name in found["missed"]]
        return Counter(kernels=found["kernels"]), failures
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0", part]
    words += ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else ["-n", "0"]
    done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.strip().splitlines() or [""]
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|skipped)", lines[-1])}
    failures = [{"error": line} for line in lines if line.startswith(("FAILED ", "ERROR "))]
    if done.returncode not in (0, 5) and not failures:  # 5: no test of that folder runs without a marker
        failures = [{"error": f"{part}: pytest ended with {done.returncode}: {lines[-1]}"}]
    return Counter({f"tests {word}": n for word, n in counts.items()}), failures


def main() -> int:
    if CALL_KERNELS in sys.argv:
        call_kernels()
        return 0
    question = __doc__.splitlines()[0]
    given = options(question)
    use_tests()
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(ROOT / ".numba-bounds"),
    }
    wanted = parts()
    counts: Counter[str] = Counter()
    failures: list[dict[str, str]] = []
    finished: list[str] = []
    if given.resume:
        before = so_far(given.output or RESULTS / "campaign_bounds.json")
        counts.update(before["counts"])
        finished = before["finished"]
    begin, cpu = time.monotonic(), 0.0
    for part in [KERNELS] if given.short else [part for part in wanted if part not in finished]:
        start = sum(os.times()[2:4])
        found, wrong = run_part(part, environment, given.workers)
        counts.update(found)
        failures += wrong
        finished.append(part)
        cpu += sum(os.times()[2:4]) - start
        print(f"{part}: {dict(found)}, {len(wrong)} failures, {cpu:.0f} CPU s", flush=True)
        if given.minutes is not None and time.monotonic() - begin > 60 * given.minutes:
            break
    counts["parts"] = len(finished)
    return finish(
        "bounds",
        question,
        given=given,
        counts=counts,
        promised={"parts": len(wanted)},
        failures=failures,
        more={"finished": finished, "cpu_seconds": round(cpu, 1)},
    )


if __name__ == "__main__":
    sys.exit(main())
