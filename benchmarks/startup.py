"""How long is the first minute: imports, help, and the first work of a process that finds nothing compiled?

Every run is a fresh interpreter, timed by the CPU time of its process. The work is 1,000 rows of 20 columns (half
words, half numbers), fitted and predicted, or one query to the network alarm. "First" has an empty cache of compiled
kernels, and "second" is a new process with the cache of the first. The time of the same process without the work (its
imports and the creation of its rows) is subtracted from both. ``--scale`` is the share of the rows.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from harness import Report, as_a_user, children_time, options

QUESTION = "The first minute: imports, --help, and first work with nothing compiled"
ALARM = Path(__file__).parent.parent / "tests" / "golden" / "networks" / "bif" / "alarm.bif.gz"
IMPORTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "bayeskit": "import bayeskit",
    "sklearn.base": "import sklearn.base",
    "bayeskit.NaiveBayes": "from bayeskit import NaiveBayes",
    "bayeskit.AutoBayes": "from bayeskit import AutoBayes",
    "bayeskit.learn_network": "from bayeskit import learn_network",
    "sklearn.naive_bayes": "from sklearn.naive_bayes import GaussianNB",
}
_ROWS = """
import numpy as np
rng = np.random.default_rng(0)
y = rng.integers(0, 2, {n})
X = {{}}
for j in range(10):
    X[f"word {{j}}"] = np.array(["u", "v", "w", "x"])[(rng.integers(0, 3, {n}) + y * (rng.random({n}) < 0.3)) % 4]
    X[f"number {{j}}"] = rng.normal(y * (j % 3), 1.0)
"""
_MODEL = "from bayeskit import {name}" + _ROWS
_FIT = "\nm = {name}().fit(X, y); m.predict_proba(X)"
_WORDS = "\nX = {name: c if c.dtype.kind == 'U' else np.digitize(c, [-1, 0, 1]).astype(str) for name, c in X.items()}"
# The work, its time limit for the first run, and the program without and with it.
MODELS = {"NaiveBayes": 0.5, "TAN": 0.5, "AODE": 0.5, "AutoBayes": 5.0}


def programs(n: int) -> dict[str, tuple[float, str, str]]:
    """Return the work by name: its target, the program without it, and the work."""
    found = {
        name: (most, _MODEL.format(name=name, n=n), _FIT.format(name=name)) for name, most in MODELS.items()
    }
    found["learn_network"] = 0.5, _MODEL.format(name="learn_network", n=n) + _WORDS, "\nlearn_network(X)"
    read = f"from bayeskit import read_network\nalarm = read_network({str(ALARM)!r})"
    found["a query of alarm"] = 0.5, read, "\nalarm.query('CVP', evidence={'BP': 'LOW', 'HRBP': 'HIGH'})"
    return found


def python(*arguments: str, cache: str | None = None) -> None:
    """Run an interpreter to its end. With ``cache``, compiled kernels are stored only there."""
    env = as_a_user(**({"NUMBA_CACHE_DIR": cache} if cache else {}))
    done = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed: {done.stderr[-500:]}")


def first(*arguments: str) -> None:
    """Run an interpreter with an empty cache of compiled kernels."""
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as cache:
        python(*arguments, cache=cache)


def measure_imports(report: Report) -> None:
    stage = "import"
    report.race(stage, {n: partial(python, "-c", c) for n, c in IMPORTS.items()}, clock=children_time)
    numpy, base = report.cpu(stage, "numpy"), report.cpu(stage, "sklearn.base")
    report.claim("import bayeskit, beyond NumPy", report.cpu(stage, "bayeskit") - numpy, " s", at_most=0.1)
    ours = report.cpu(stage, "bayeskit.NaiveBayes")
    report.claim("from bayeskit import NaiveBayes, beyond sklearn.base", ours - base, " s", at_most=0.4)
    for name in IMPORTS:
        if name.startswith("bayeskit."):
            report.claim(f"import {name}", report.cpu(stage, name), " s", at_most=1.2)
    report.race("help", {"--help": partial(python, "-m", "bayeskit", "--help")}, clock=children_time)
    report.claim("bayeskit --help", report.cpu("help", "--help"), " s", at_most=0.3)


def measure_work(report: Report, n: int, folder: str) -> None:
    work = programs(n)
    bare, fresh, again = "imports and rows", "first process", "second process"
    # The first run of a program compiles it to bytecode and fills its own cache; races repeat it.
    caches = {name: f"{folder}/{place}" for place, name in enumerate(work)}
    report.race(bare, {k: partial(python, "-c", s) for k, (_, s, _) in work.items()}, clock=children_time)
    report.race(
        fresh,
        {name: partial(first, "-c", setup + run) for name, (_, setup, run) in work.items()},
        clock=children_time,
    )
    report.race(
        again,
        {
            name: partial(python, "-c", setup + run, cache=caches[name])
            for name, (_, setup, run) in work.items()
        },
        clock=children_time,
    )
    for name, (most, _, _) in work.items():
        base = report.cpu(bare, name)
        report.claim(f"{name}: first work, imports apart", report.cpu(fresh, name) - base, " s", at_most=most)
        report.claim(f"{name}: in a second process", report.cpu(again, name) - base, " s", at_most=0.3)


def measure_demo(report: Report, folder: str) -> None:
    demo = ("-m", "bayeskit", "demo")
    runs = {
        "first": partial(first, *demo),
        "second": partial(python, *demo, cache=f"{folder}/demo"),
    }
    report.race("bayeskit demo", runs, clock=children_time, repeats=min(2, report.given.repeats))
    report.claim("bayeskit demo, nothing compiled", report.cpu("bayeskit demo", "first"), " s", at_most=15)
    report.claim("bayeskit demo, again", report.cpu("bayeskit demo", "second"), " s", at_most=8)


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "narwhals", "typer", "duckdb")
    measure_imports(report)
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        measure_work(report, max(20, int(1_000 * given.scale)), folder)
        measure_demo(report, folder)
    report.finish()


if __name__ == "__main__":
    main()
