"""Is this version slower than another one? The same work in two source trees, turn by turn.

    python benchmarks/versions.py OLD_TREE              # against the tree that this file is in
    python benchmarks/versions.py OLD_TREE NEW_TREE

A tree is a checkout, such as one made by ``git worktree add ../old COMMIT``. Each tree has one process, which is asked
for one piece of work after the other; both have compiled their kernels before anything is timed. A time is the
median of the turns, in CPU seconds of the process, so a busy machine hits both alike. Work that a version does not
know by these names is left out, with its error.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ALARM = HERE.parent / "tests" / "golden" / "networks" / "bif" / "alarm.bif.gz"
Work = Callable[[], Any]


def make_work() -> dict[str, Work]:
    """Return what is timed: names that both versions know, on rows that are drawn alike."""
    import numpy as np
    import pandas as pd

    import bayeskit as bk

    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.integers(0, 3, n)
    codes = {
        f"c{j}": (rng.integers(0, 5, n) + y * (rng.random(n) < 0.3)).astype(np.int64) % 6 for j in range(20)
    }
    words = pd.DataFrame({name: np.array(list("uvwxyz"))[c] for name, c in codes.items()})
    numbers = pd.DataFrame({f"x{j}": rng.normal(y * (j % 3), 1.0) for j in range(20)})
    mixed = pd.concat([words.iloc[:, :10], numbers.iloc[:, :10]], axis=1)
    labels = np.array(["no", "perhaps", "yes"])[y]
    folder = Path(tempfile.mkdtemp(prefix="bayeskit-"))
    mixed.assign(label=labels).to_csv(folder / "rows.csv", index=False)
    mixed.assign(label=labels).to_parquet(folder / "rows.parquet")
    alarm: Any = bk.read_network(ALARM)
    evidence = {"BP": "LOW", "HRBP": "HIGH"}
    chain = np.empty((5000, 20), dtype=np.int64)
    chain[:, 0] = rng.integers(0, 3, len(chain))
    for j in range(1, 20):
        same = rng.random(len(chain)) < 0.7
        chain[:, j] = np.where(same, chain[:, rng.integers(0, j)], rng.integers(0, 3, len(chain)))
    table = pd.DataFrame({f"v{j}": np.array(list("uvw"))[chain[:, j]] for j in range(20)})
    lines = rng.normal(size=(10_000, 46))
    for j in range(1, 46):
        lines[:, j] += lines[:, rng.integers(0, j, 2)] @ rng.normal(size=2)
    models = {name: getattr(bk, name)().fit(words, labels) for name in ("NaiveBayes", "TAN", "AODE", "KDB")}
    half = mixed.iloc[: n // 2], labels[: n // 2]

    def fit(model: Any, X: Any, y: Any) -> Any:
        return model().fit(X, y)

    def incremental() -> None:
        model = bk.NaiveBayes().fit(mixed, labels)
        model.forget(*half).partial_fit(*half)

    def saved() -> None:
        models["AODE"].save(folder / "model.bayes")
        bk.load(folder / "model.bayes").predict(words[:10])

    found: dict[str, Work] = {
        "NaiveBayes, fit, mixed frame": lambda: bk.NaiveBayes().fit(mixed, labels),
        "GaussianNB, fit, array": lambda: bk.GaussianNB().fit(numbers.to_numpy(), y),
        "NaiveBayes, fit, CSV": lambda: bk.NaiveBayes().fit(folder / "rows.csv", target="label"),
        "NaiveBayes, fit, Parquet": lambda: bk.NaiveBayes().fit(folder / "rows.parquet", target="label"),
        "NaiveBayes, forget and partial_fit": incremental,
        "NaiveBayes, leave-one-out": lambda: bk.NaiveBayes().fit(mixed, labels).loo_score(mixed, labels),
        "AODE, save and load": saved,
        "NaiveBayes, one row": lambda: models["NaiveBayes"].predict_proba(words[:1]),
        "BayesNetClassifier, fit": lambda: bk.BayesNetClassifier().fit(words[:10_000], labels[:10_000]),
        "Discretizer, fit": lambda: bk.Discretizer().fit(numbers, labels),
        "GaussianMixture, fit": lambda: bk.GaussianMixture(3, random_state=0).fit(numbers[:10_000]),
        "LatentClass, fit": lambda: bk.LatentClass(3, random_state=0).fit(words[:5_000]),
        "alarm, read": lambda: bk.read_network(ALARM),
        "alarm, query": lambda: alarm.query("CVP", evidence=evidence),
        "alarm, all marginals": lambda: [alarm.query(name, evidence=evidence) for name in alarm.nodes[:10]],
        "alarm, sample": lambda: alarm.sample(20_000),
        "learn_network": lambda: bk.learn_network(table),
        "learn_network, continuous": lambda: bk.learn_network(pd.DataFrame(lines)),
    }
    for name, model in models.items():
        found[f"{name}, fit, words"] = partial(fit, type(model), words, labels)
        found[f"{name}, predict_proba, words"] = partial(model.predict_proba, words)
    return found


def child() -> None:
    """Answer requests from the standard input: a name of work, and how often; CPU seconds a call go out."""
    answers, sys.stdout = sys.stdout, sys.stderr
    work = make_work()
    print(json.dumps(list(work)), file=answers, flush=True)
    for line in sys.stdin:
        name, calls = json.loads(line)
        try:
            started = time.process_time()
            for _ in range(calls):
                work[name]()
            answer: Any = (time.process_time() - started) / calls
        except Exception as error:  # any failure of any version is what is told
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), file=answers, flush=True)


class Tree:
    """A source tree with its process."""

    def __init__(self, path: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(path.resolve() / "src"), "BAYESKIT_COMPILE": "always"}
        command = [sys.executable, "-W", "ignore", str(HERE / "versions.py"), "--child"]
        self._process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.work: list[str] = self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process of a tree ended; its error is above")
        return json.loads(line)

    def run(self, name: str, calls: int = 1) -> Any:
        assert self._process.stdin is not None
        print(json.dumps([name, calls]), file=self._process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(old: Tree, new: Tree, name: str, turns: int) -> dict[str, Any]:
    """Return the median seconds of both, or the error of one that cannot do it."""
    warm = [tree.run(name) for tree in (old, new)]
    failed = next((w for w in warm if isinstance(w, str)), None)
    if failed is not None:
        return {"work": name, "left_out": failed[:200]}
    again = [tree.run(name) for tree in (old, new)]  # the first call may have compiled
    calls = max(1, int(0.1 / max(min(again), 1e-5)))
    times = [[tree.run(name, calls) for tree in (old, new)] for _ in range(turns)]
    before, after = (statistics.median(column) for column in zip(*times, strict=True))
    return {"work": name, "old": before, "new": after, "ratio": after / before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("old", type=Path, help="source tree of the other version")
    parser.add_argument(
        "new", type=Path, nargs="?", default=HERE.parent, help="source tree; this one by default"
    )
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--output", type=Path, help="file for the results, as JSON")
    given = parser.parse_args()
    old, new = Tree(given.old), Tree(given.new)
    rows = []
    for name in new.work:
        rows.append(compare(old, new, name, given.turns))
        row = rows[-1]
        told = row.get("left_out") or f"{row['old']:10.5f} {row['new']:10.5f} {row['ratio']:6.2f}"
        print(f"{name:40} {told}", flush=True)
    for tree in (old, new):
        tree.close()
    if given.output:
        about = {
            "date": datetime.now(UTC).date().isoformat(),
            "turns": given.turns,
            "load": os.getloadavg()[0],
        }
        given.output.write_text(json.dumps({**about, "work": rows}, indent=1) + "\n")


if __name__ == "__main__":
    child() if sys.argv[1:] == ["--child"] else main()
