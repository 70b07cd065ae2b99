"""Does any kernel read or write outside its arrays while the test suite runs?

The suite runs with Numba's bounds checking: an index outside an array raises an IndexError instead of reading arbitrary
memory, and the test fails. Compiled code with checks has its own folder, ``.numba-bounds``. The short form runs the
tests of the kernels alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

from campaign import ROOT, finish, options, use_tests

SHORT = ["tests/test_kernel.py", "tests/conformance/test_kernels.py"]


def main() -> int:
    question = __doc__.splitlines()[0]
    given = options(question)
    use_tests()
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(ROOT / ".numba-bounds"),
    }
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0"]
    if given.workers > 1:
        words += ["-n", str(given.workers), "--dist", "worksteal"]
    words += SHORT if given.short else []
    limit = None if given.minutes is None else 60 * given.minutes
    begin = time.monotonic()
    try:
        done = subprocess.run(
            words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"Not finished after {given.minutes} minutes; nothing was written.")
    print(done.stdout[-2_000:])
    last = done.stdout.strip().splitlines()[-1]
    found = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", last)}
    failures = [
        {"error": line} for line in re.findall(r"^(?:FAILED|ERROR) .*", done.stdout, flags=re.MULTILINE)
    ]
    if done.returncode and not failures:
        failures = [{"error": f"pytest ended with {done.returncode}: {last}"}]
    counts = {"tests passed": found.get("passed", 0)}
    return finish(
        "bounds",
        question,
        given=given,
        counts=counts,
        promised={} if not given.short else {"the whole suite": 1},
        failures=failures,
        more={"wall_seconds": round(time.monotonic() - begin, 1), "skipped": found.get("skipped", 0)},
    )


if __name__ == "__main__":
    sys.exit(main())
