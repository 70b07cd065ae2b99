"""How long does it take to get going: to import, to see the help, to fit for the first time?

Every run is a fresh interpreter, timed by the CPU its process used. A first call is its process less the
imports, which are timed by themselves.
``--scale`` has no meaning here, save that only a run at 1 is kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from harness import Report, children_time, options

QUESTION = "Start-up: imports, --help and the first fit, in fresh interpreters"
IMPORTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "bayeskit": "import bayeskit",
    "sklearn.base": "import sklearn.base",
    "bayeskit.NaiveBayes": "from bayeskit import NaiveBayes",
    "sklearn.naive_bayes": "from sklearn.naive_bayes import GaussianNB",
}
_FIT = "import numpy as np; from bayeskit import {name}; m = {name}().fit({X}, [0, 1, 0, 1]); m.predict_proba({X})"
_NUMBERS, _WORDS = "np.arange(8.).reshape(4, 2)", "np.array([[1, 0], [0, 2], [2, 0], [0, 1]])"
_MIXED = '[["a", 1.5], ["b", 2.5], ["a", 0.5], ["c", 1.0]]'
FIRST_FITS = {
    "GaussianNB": _FIT.format(name="GaussianNB", X=_NUMBERS),
    "NaiveBayes, strings and numbers": _FIT.format(name="NaiveBayes", X=_MIXED),
    "CategoricalNB": _FIT.format(name="CategoricalNB", X=_WORDS),
    "MultinomialNB": _FIT.format(name="MultinomialNB", X=_WORDS),
}


def python(*arguments: str, cache: str | None = None) -> None:
    """Run an interpreter to its end; with ``cache`` it keeps compiled kernels there and nowhere else."""
    env = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    done = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed: {done.stderr[-500:]}")


def first_fit(code: str) -> None:
    """Fit where nothing was ever compiled."""
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as cache:
        python("-c", code, cache=cache)


def help_is_there() -> bool:
    import bayeskit

    return (Path(bayeskit.__file__).parent / "__main__.py").exists()


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "narwhals", "typer", "duckdb")
    stage = "import"
    report.race(stage, {n: partial(python, "-c", c) for n, c in IMPORTS.items()}, clock=children_time)
    numpy, base = report.cpu(stage, "numpy"), report.cpu(stage, "sklearn.base")
    report.claim("import bayeskit, beyond NumPy", report.cpu(stage, "bayeskit") - numpy, " s", at_most=0.1)
    ours = report.cpu(stage, "bayeskit.NaiveBayes")
    report.claim("from bayeskit import NaiveBayes, beyond sklearn.base", ours - base, " s", at_most=0.4)
    if help_is_there():
        report.race("help", {"--help": partial(python, "-m", "bayeskit", "--help")}, clock=children_time)
        report.claim("bayeskit --help", report.cpu("help", "--help"), " s", at_most=0.3)
    else:
        report.note("bayeskit --help is not there yet and was left out")
    # Compiling takes seconds, so two turns are enough: the noise is a smaller share of them.
    stage = "first fit + predict, nothing compiled"
    first = {name: partial(first_fit, code) for name, code in FIRST_FITS.items()}
    report.race(stage, first, clock=children_time, repeats=min(2, given.repeats))
    for name in FIRST_FITS:
        call = report.cpu(stage, name) - ours
        report.claim(f"first fit + predict, {name}, imports apart", call, " s", at_most=6)
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as cache:
        again = {name: partial(python, "-c", code, cache=cache) for name, code in FIRST_FITS.items()}
        report.race("fit + predict in a new process, compiled before", again, clock=children_time)
    report.finish()


if __name__ == "__main__":
    main()
