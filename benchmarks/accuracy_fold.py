"""Fit and predict each fold of one set with one model, and print a line of JSON per fold. ``accuracy.py`` starts it."""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from accuracy_models import SEED, Model, NotFit, Split, categories, codes, models

FOLDS = 5
LEAST = 1e-12
WARM_UP = 1000


def read(data: Path, name: str, limit_rows: int) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Read a set, or a seeded sample of it if it is larger than the limit. The class is the last column."""
    frame = pd.read_parquet(data / f"{name}.parquet")
    if len(frame) > limit_rows:
        kept = np.random.default_rng(SEED).permutation(len(frame))[:limit_rows]
        frame = frame.iloc[np.sort(kept)].reset_index(drop=True)
    y, _ = pd.factorize(frame.iloc[:, -1], sort=True)
    return frame.iloc[:, :-1], y.astype(np.int64)


def kind(X: pd.DataFrame) -> str:
    """Return the group of a set in the table."""
    n = len(categories(X))
    return "categorical" if n == X.shape[1] else "mixed" if n else "numeric"


def scores(proba: NDArray[np.float64], y: NDArray[np.int64]) -> dict[str, float | None]:
    """Score posteriors over all classes; the AUC is the mean over the classes that the fold has.

    >>> found = scores(np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.5, 0.5]]), np.array([0, 1, 1, 0]))
    >>> [round(found[name], 4) for name in ("error", "rmse", "log_loss", "auc")]
    [0.25, 0.4301, 0.5473, 0.75]
    """
    true = proba[np.arange(len(y)), y]
    # If no row or every row of the fold has a class, there is no AUC for it.
    areas = [roc_auc_score(y == c, proba[:, c]) for c in np.unique(y) if (y != c).any()]
    return {
        "error": float((proba.argmax(axis=1) != y).mean()),
        "rmse": float(np.sqrt(((1 - true) ** 2).mean())),
        "log_loss": float(-np.log(np.maximum(true, LEAST)).mean()),
        "auc": float(np.mean(areas)) if areas else None,
    }


def run(model: Model, split: Split, y_test: NDArray[np.int64], n_classes: int) -> dict[str, Any]:
    """Score one fold, or return why there is no score."""
    try:
        answer = model(split)
    except NotFit as reason:
        return {"note": f"left out: {reason}"}
    except MemoryError:
        return {"note": "memory"}
    except TimeoutError:  # a peer's process was ended by its limit, so this one ends as if by its own
        signal.raise_signal(signal.SIGXCPU)
        raise
    except Exception as error:  # a peer's fault is a result too
        return {"note": f"error: {type(error).__name__}: {error}"[:200]}
    proba = np.zeros((len(y_test), n_classes))
    proba[:, answer.classes] = answer.proba
    if not np.isfinite(proba).all():
        return {"note": "error: probabilities that are no numbers"}
    found = {name: None if v is None else round(v, 6) for name, v in scores(proba, y_test).items()}
    return {
        **found,
        "fit_cpu": round(float(answer.fit_cpu), 4),
        "predict_cpu": round(float(answer.predict_cpu), 4),
    }


def with_memory(model: Model, split: Split, y_test: NDArray[np.int64], n_classes: int) -> dict[str, Any]:
    """Score one fold, and return by how many MB the peak memory increased (Linux only).

    The memory of a peer in its own process is not included.
    """
    status = Path("/proc/self/status")
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = _kilobytes(status, "VmRSS")
    except OSError:
        return run(model, split, y_test, n_classes)
    found = run(model, split, y_test, n_classes)
    return {**found, "memory_mb": round((_kilobytes(status, "VmHWM") - before) / 1024, 1)}


def _kilobytes(status: Path, key: str) -> float:
    return float(next(line for line in status.read_text().splitlines() if line.startswith(key)).split()[1])


def main(given: dict[str, Any]) -> None:
    warnings.simplefilter("ignore")
    size = int(given["memory"] * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    X, y = read(Path(given["data"]), given["set"], given["limit_rows"])
    model = models()[given["model"]]
    python = given["peers_python"] and Path(given["peers_python"])
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(X, y)
    about = {"set": given["set"], "model": given["model"], "rows": len(X), "kind": kind(X)}
    warm = False
    for fold, (train, test) in enumerate(folds):
        if fold not in given["folds"]:
            continue
        X_train, X_test = (X.iloc[rows].reset_index(drop=True) for rows in (train, test))
        split = Split(X_train, y[train], X_test, python)
        if not warm:  # kernels are loaded and modules imported outside of the time
            # From the whole set: the first rows of a sorted one are of a single class, which some peers do not take.
            some = np.unique(np.linspace(0, len(train) - 1, WARM_UP, dtype=np.intp))
            few = Split(X_train.iloc[some].reset_index(drop=True), y[train][some], X_test[:10])
            codes(few)
            run(model, few, y[test][:10], int(y.max()) + 1)
            warm = True
        # CPU time, so that a busy machine makes no timeouts; the system ends the process when it is over.
        limit = int(time.process_time() + given["limit_seconds"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        found = with_memory(model, split, y[test], int(y.max()) + 1)
        print(json.dumps({**about, "fold": fold, **found}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
