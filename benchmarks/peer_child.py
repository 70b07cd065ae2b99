"""Fit one peer and predict, in its own interpreter; it imports nothing of ours.

``python peer_child.py TASK input.npz output.npz REPEATS``: the input holds codes ``X``, ``y`` and ``X_test``, the
output ``classes``, ``proba``, the best (CPU, wall) seconds of ``fit`` and ``predict``, the turns and the version.
A peer that takes long gets fewer turns.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any

import numpy as np

LONG_ENOUGH = 25.0


def best(run: Callable[[], Any], repeats: int) -> tuple[Any, tuple[float, float], int]:
    """Call a run up to ``repeats`` times. Return its result, the lowest (CPU, wall) seconds and the number of turns."""
    cpu = wall = float("inf")
    begin, turns, answer = time.perf_counter(), 0, None
    while turns < repeats and (turns == 0 or time.perf_counter() - begin < LONG_ENOUGH):
        c, w = time.process_time(), time.perf_counter()
        answer = run()
        cpu, wall = min(cpu, time.process_time() - c), min(wall, time.perf_counter() - w)
        turns += 1
    return answer, (cpu, wall), turns


def ande(n_dependence: int) -> Callable[[Any, Any], Any]:
    def fit(X: Any, y: Any) -> Any:
        from skbn import AnDE

        return AnDE(n_dependence=n_dependence, categorical_features=list(range(X.shape[1]))).fit(X, y)

    return fit


def pyagrum_tan(X: Any, y: Any) -> Any:
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    # The columns are already states. By default, it would cut them.
    as_they_are = DiscreteTypeProcessor(
        defaultDiscretizationMethod="NoDiscretization", defaultNumberOfBins=None
    )
    model = BNClassifier(learningMethod="TAN", prior="Smoothing", priorWeight=1, type_processor=as_they_are)
    return model.fit(X, y) or model


def frame(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


# Distribution, module, fit.
TASKS: dict[str, tuple[str, str, Callable[[Any, Any], Any]]] = {
    "scikit-bayes AnDE(1)": ("scikit-bayes", "skbn", ande(1)),
    "scikit-bayes AnDE(2)": ("scikit-bayes", "skbn", ande(2)),
    "pyAgrum TAN": ("pyagrum", "pyagrum.skbn", pyagrum_tan),
}


def main(task: str, source: str, out: str, repeats: int) -> None:
    warnings.simplefilter("ignore")
    distribution, module, fit = TASKS[task]
    import_module(module)  # outside of the time
    with np.load(source) as given:
        X, y, X_test = given["X"], given["y"], given["X_test"]
    if distribution == "pyagrum":
        import pandas as pd

        X, y, X_test = frame(X), pd.Series(y, name="y"), frame(X_test)
    if repeats > 1:  # a timing: warm up, as the others do
        fit(X[:1000], y[:1000]).predict_proba(X_test[:10])
    model, fitted, turns = best(lambda: fit(X, y), repeats)
    proba, predicted, _ = best(lambda: model.predict_proba(X_test), repeats)
    np.savez(
        out,
        classes=np.asarray(model.classes_).astype(np.int64),
        proba=np.asarray(proba),
        fit=fitted,
        predict=predicted,
        turns=turns,
        version=metadata.version(distribution),
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
