"""Does a kill at any moment, a full disk or an I/O error ever lose, double or damage what was saved?

Writers of a durable store (appending, forgetting, compacting) and of one model file are killed by SIGKILL at random
moments, and what they left is checked after each kill. A simulated disk fails at every request (full, I/O error, power
cut): these are tests of ``tests/classifiers/test_tally_store_crashes.py`` and ``tests/io/test_saved.py``, which seed 0
runs once.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from campaign import ROOT, Campaign, run, use_tests

use_tests()

import numpy as np

import bayeskit
import store_killer
from bayeskit import NaiveBayes

KILLS = 50
FAULTS = [
    "tests/classifiers/test_tally_store_crashes.py",
    "tests/io/test_saved.py",
    "-k",
    "disk_fails or power_cut or known_lasts or not_be_written or meets_whole or leaves_the_old or killed_process",
]


def of_version(n: int) -> Any:
    """Return a model that tells its number: it has learned so many rows."""
    rng = np.random.default_rng(n)
    return NaiveBayes().fit(rng.choice(["u", "v", "w"], (n + 4, 3)), np.arange(n + 4) % 2)


def kill_savers(folder: Path, chance: random.Random) -> None:
    """Kill a process that saves models to one path, KILLS times; the file must always be one of them, and whole."""
    path = folder / "model.bayes"
    models = [of_version(n) for n in range(8)]
    models[0].save(path)
    for _ in range(KILLS):
        child = os.fork()
        if child == 0:
            while True:
                for model in models:
                    model.save(path)
        time.sleep(chance.expovariate(1 / 0.01))
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "the writer ended by itself"
        found = bayeskit.load(path)
        version = int(found.statistics_.total) - 4
        np.testing.assert_array_equal(
            found.statistics_.tables.counts, models[version].statistics_.tables.counts
        )
    models[0].save(path)
    assert os.listdir(folder) == [path.name], os.listdir(folder)


def check(seed: int) -> Mapping[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "saved").mkdir()
        kill_savers(Path(folder) / "saved", random.Random(seed))
        store_killer.main(str(Path(folder) / "store"), KILLS, seed)
    counts = {"kills while saving": KILLS, "kills of a store": KILLS, "kills": 2 * KILLS}
    if seed == 0:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FAULTS]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-1_000:]
        counts["tests of a failing disk"] = int(done.stdout.split(" passed")[0].split()[-1])
    return counts


CAMPAIGN = Campaign(
    name="crash",
    question=__doc__.splitlines()[0],
    check=check,
    promised={"kills": 1_000},
    long=10,
    short=1,
    seconds=3_600.0,
)

if __name__ == "__main__":
    if not hasattr(os, "fork"):
        sys.exit("This campaign needs os.fork, which this system does not have.")
    sys.exit(run(CAMPAIGN))
