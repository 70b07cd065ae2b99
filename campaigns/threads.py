"""Do 64 threads on one shared model or network get the answers of one thread, to the bit?

One thread answers in this process first. Then 64 threads ask the same object, all at once: in this process, and in a
fresh one with an empty folder of compiled code. There every kernel begins in plain Python in many threads, and begins
again compiled in the middle of its work. The object is new to the process, so caches are filled by many threads, too.
"""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from campaign import Campaign, run, use_tests

use_tests()

import numpy as np
from estimators import MORE, VARIANTS, name_of, small_labels, small_rows
from sklearn.base import clone

from bayeskit import GaussianMixture, LatentClass
from bayeskit.errors import BayeskitError
from network_twin import random_network
from query_networks import public, random_evidence
from test_threads import at_once

THREADS, EACH = 64, 3
ESTIMATORS = [*(e for e in VARIANTS if hasattr(e, "get_params")), *MORE]
MIXTURES = [GaussianMixture(2, random_state=0), LatentClass(2, random_state=0, categorical_features="all")]
N_NETWORKS = 12
STRIDE = 29
N_OBJECTS = len(ESTIMATORS) + len(MIXTURES) + N_NETWORKS
Questions = dict[str, Callable[[Any], Any]]


def place_of(seed: int) -> int:
    """Return which object a seed takes: all kinds come early, and each comes once in N_OBJECTS seeds."""
    assert math.gcd(STRIDE, N_OBJECTS) == 1
    return STRIDE * seed % N_OBJECTS


def rows(seed: int) -> tuple[Any, Any]:
    """Return enough rows for kernels to begin again compiled in the middle, and few enough to begin plain."""
    n = (60, 400, 1_500)[seed % 3]
    return small_rows(n, 6, seed), small_labels(n, 3)


def of_model(seed: int) -> Questions:
    X, y = rows(seed)
    few = X[:40], y[:40]
    return {
        "predict_proba": lambda m: m.predict_proba(X),
        "predict": lambda m: m.predict(X[:50]),
        "predict_log_proba": lambda m: m.predict_log_proba(X[:200]),
        "one row": lambda m: m.predict_proba(X[:1]),
        "leave_one_out": lambda m: m.leave_one_out(*few),
        "explain": lambda m: str(m.explain(X[:1])),
        "sample": lambda m: [np.asarray(part) for part in m.sample(20, random_state=0)],
        "fit": lambda m: clone(m).fit(*few).predict_proba(few[0]),
        "score_samples": lambda m: m.score_samples(X),
    }


def of_network(seed: int) -> Questions:
    rng = np.random.default_rng(seed)
    value = network_value(seed)
    asked = [random_evidence(rng, value, share)[:2] for share in (0.0, 0.2, 0.4, 0.6)]
    table = {
        name: rng.choice(np.array([*states, None], dtype=object), 400)
        for name, states in ((node.name, node.variable.states) for node in value.nodes)
    }
    target = value.nodes[0].name
    table.pop(target)
    questions: Questions = {
        "predict_proba": lambda n: n.predict_proba(table, target),
        "sample": lambda n: list(map(str, n.sample(30, random_state=1).to_numpy().ravel())),
        "entropy": lambda n: n.entropy(target),
    }
    for k, (hard, soft) in enumerate(asked):
        questions |= {
            f"posteriors {k}": lambda n, h=hard, s=soft: list(n.posteriors(h, soft=s).values()),
            f"log_probability {k}": lambda n, h=hard, s=soft: n.log_probability(h, soft=s),
            f"mpe {k}": lambda n, h=hard, s=soft: sorted(map(str, n.mpe(h, soft=s).items())),
            f"query {k}": lambda n, h=hard, s=soft: n.query([target], evidence=h, soft=s).values,
        }
    return questions


def network_value(seed: int) -> Any:
    return random_network(np.random.default_rng(seed), 6 + seed % 12, 3, 4, zeros=0.1 * (seed % 2))


def made(seed: int) -> tuple[str, Any, Questions]:
    """Return what is shared, its name, and what is asked; the object has answered nothing yet."""
    place = place_of(seed)
    X, y = rows(seed)
    if place < len(ESTIMATORS):
        model = clone(ESTIMATORS[place])
        return name_of(model), model.fit(X, y), of_model(seed)
    if place < len(ESTIMATORS) + len(MIXTURES):
        model = clone(MIXTURES[place - len(ESTIMATORS)])
        return name_of(model), model.fit(X[:300]), of_model(seed)
    return f"network {seed}", public(network_value(seed)), of_network(seed)


def answer(question: Callable[[Any], Any], thing: Any) -> Any:
    """Return an answer, or the refusal: an error of the library, or a method that the object does not have."""
    try:
        return question(thing)
    except (BayeskitError, AttributeError, TypeError) as refusal:
        return f"{type(refusal).__name__}: {refusal}"


def same(a: Any, b: Any) -> bool:
    """Whether two answers are equal to the bit."""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) and a.dtype.kind != "O":
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, np.ndarray):
        return a.tolist() == b.tolist()
    return bool(a == b or (a != a and b != b))


def differences(blob: bytes, questions: Questions, wanted: Mapping[str, Any]) -> Iterator[str]:
    """Ask from 64 threads: each asks three questions in a row, and begins with another one than its neighbours."""
    thing = pickle.loads(blob)
    names, count = list(questions), iter(range(THREADS))

    def task() -> dict[str, Any]:
        first = next(count) % len(names)
        return {name: answer(questions[name], thing) for name in (names + names)[first : first + EACH]}

    for found in at_once(task, THREADS):
        if isinstance(found, BaseException):
            yield repr(found)
            continue
        yield from (name for name in found if not same(found[name], wanted[name]))


def child(path: str) -> int:
    """Ask in this fresh process; its exit status tells whether the answers were those of one thread."""
    seed, blob, wanted = pickle.loads(Path(path).read_bytes())
    place = place_of(seed)
    questions = of_network(seed) if place >= len(ESTIMATORS) + len(MIXTURES) else of_model(seed)
    wrong = sorted(set(differences(blob, questions, wanted)))
    print("; ".join(wrong)[:2_000])
    return 1 if wrong else 0


def check(seed: int) -> Mapping[str, int]:
    name, thing, questions = made(seed)
    blob = pickle.dumps(thing)
    wanted = {key: answer(question, pickle.loads(blob)) for key, question in questions.items()}
    answered = sum(not isinstance(found, str) or key == "explain" for key, found in wanted.items())
    assert answered > 2, f"{name}: {wanted}"
    wrong = sorted(set(differences(blob, questions, wanted)))
    assert not wrong, f"{name}, in one process: {wrong}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "asked"
        path.write_bytes(pickle.dumps((seed, blob, wanted)))
        (Path(folder) / "kernels").mkdir(mode=0o700)
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "kernels")}
        environment.pop("BAYESKIT_COMPILE", None)
        words = [sys.executable, "-W", "ignore", __file__, "--child", str(path)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{name}, in a fresh process: {done.stdout}{done.stderr[-500:]}"
    kind = "networks" if name.startswith("network") else "models"
    return {f"shared {kind}": 1, "answers compared": 2 * THREADS * EACH, "fresh processes": 1}


CAMPAIGN = Campaign(
    name="threads",
    question=__doc__.splitlines()[0],
    check=check,
    promised={"shared models": len(ESTIMATORS), "shared networks": N_NETWORKS},
    long=N_OBJECTS,
    short=2,
    seconds=600.0,
    memory=64 * 2**30,
)

if __name__ == "__main__":
    sys.exit(child(sys.argv[2]) if sys.argv[1:2] == ["--child"] else run(CAMPAIGN))
