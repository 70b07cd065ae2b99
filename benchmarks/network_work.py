"""The networks that the benchmark asks, the evidence it gives them, and pyAgrum's answers to the same.

``BENCH_NETS`` names a folder with the networks of the bnlearn repository as ``NAME.bif.gz`` or ``NAME.bif``;
without it, they are searched in ``networks/bif`` under ``BAYESKIT_DATA``. If a network is missing, a random network of
about the same size is used instead, and the output says so.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit import BayesianNetwork, read_network
from harness import Timing
from peers import NotThere, python

DATA = Path(os.environ.get("BAYESKIT_DATA", "BAYESKIT_DATA is not set"))
FOLDER = Path(os.environ.get("BENCH_NETS", DATA / "networks/bif")).resolve()
CHILD = Path(__file__).with_name("network_child.py")

# The number of nodes, the maximum number of states and of parents, and the maximum distance to a parent in the order,
# which bounds the cliques.
STAND_INS = {
    "asia": (8, 2, 2, 4),
    "alarm": (37, 4, 3, 4),
    "hailfinder": (56, 5, 3, 4),
    "win95pts": (76, 2, 4, 6),
    "pigs": (441, 3, 2, 6),
    "andes": (223, 2, 4, 10),
    "water": (32, 4, 4, 5),
    "mildew": (35, 20, 2, 3),
    "barley": (48, 12, 3, 3),
    "link": (724, 4, 2, 6),
    "munin1": (186, 7, 2, 3),
    "diabetes": (413, 12, 2, 4),
}

Asked = tuple[dict[str, str], str]


@dataclass(frozen=True)
class Work:
    """A network, the file that both sides read, and whether it is a replacement."""

    name: str
    network: Any
    path: Path
    is_stand_in: bool

    @property
    def nodes(self) -> list[str]:
        return list(self.network.nodes)

    def sets(self, n_sets: int, observed: int, seed: int) -> list[Asked]:
        """Draw evidence on random nodes from sampled rows, so that none is impossible, and an unobserved node."""
        rng = np.random.default_rng(seed)
        codes = self.network.sample(n_sets, random_state=seed, as_codes=True)
        made = []
        for row in codes:
            *chosen, free = rng.choice(len(self.nodes), min(observed, len(self.nodes) - 1) + 1, replace=False)
            evidence = {self.nodes[v]: self.network.states(self.nodes[v])[row[v]] for v in chosen}
            made.append((evidence, self.nodes[free]))
        return made


@cache
def room() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bayeskit-")


@cache
def work(name: str) -> Work:
    """Return the network with a name. The file is unpacked once, because not every reader accepts packed files."""
    path = Path(room().name, f"{name}.bif")
    packed, plain = FOLDER / f"{name}.bif.gz", FOLDER / f"{name}.bif"
    if packed.exists():
        with gzip.open(packed) as source, path.open("wb") as out:
            shutil.copyfileobj(source, out)
    elif plain.exists():
        shutil.copyfile(plain, path)
    else:
        _random(*STAND_INS[name]).write(path)
        return Work(name, read_network(path), path, True)
    return Work(name, read_network(path), path, False)


def _random(n_nodes: int, most_states: int, most_parents: int, window: int) -> BayesianNetwork:
    rng = np.random.default_rng(n_nodes)
    parents: dict[str, list[str]] = {}
    for k in range(n_nodes):
        before = np.arange(max(0, k - window), k)
        chosen = rng.choice(before, int(rng.integers(0, min(most_parents, len(before)) + 1)), replace=False)
        parents[f"x{k}"] = [f"x{p}" for p in sorted(chosen)]
    states = {name: [f"s{i}" for i in range(int(rng.integers(2, most_states + 1)))] for name in parents}
    network = BayesianNetwork(parents, states)
    for name, above in parents.items():
        shape = [len(states[p]) for p in above]
        network.set_cpt(name, rng.dirichlet(np.ones(len(states[name])), shape), normalize=True)
    return network


@dataclass(frozen=True)
class Answer:
    """The times of pyAgrum for each round, and its results of the first."""

    engine: str
    rounds: list[Timing]
    numbers: Any
    version: str

    @property
    def best(self) -> Timing:
        return Timing(
            min(r.cpu for r in self.rounds), min(r.wall for r in self.rounds), turns=len(self.rounds)
        )

    @property
    def total(self) -> Timing:
        return Timing(
            sum(r.cpu for r in self.rounds), sum(r.wall for r in self.rounds), turns=len(self.rounds)
        )


def pyagrum(task: str, engine: str, timeout: float = 240.0, **given: Any) -> Answer:
    """Run one task of :mod:`network_child` in the peers' interpreter."""
    interpreter = python()
    if interpreter is None:
        raise NotThere("pyAgrum: no interpreter of peers in BENCH_PEERS")
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        source, out = Path(folder, "in.json"), Path(folder, "out.npz")
        source.write_text(json.dumps({**given, "engine": engine.split()[0]}), encoding="utf-8")
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [str(interpreter), str(CHILD), task, str(source), str(out)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise NotThere(f"pyAgrum {engine}: over {timeout:g} s") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
            raise NotThere(f"pyAgrum {engine}: {last[:200]}")
        with np.load(out) as found:
            rounds = [Timing(float(cpu), float(wall)) for cpu, wall in found["seconds"]]
            return Answer(engine, rounds, found["answers"], str(found["version"]))
