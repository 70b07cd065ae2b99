"""Learners of other packages, run by :mod:`structure_child` in the peers' interpreter (``peers.py`` says where)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import Timing
from peers import NotThere, python
from structure_samples import Arc, Sample

CHILD = Path(__file__).with_name("structure_child.py")


@dataclass(frozen=True)
class Learned:
    """The arcs that a peer found in one sample, and what that took."""

    arcs: tuple[Arc, ...]
    timing: Timing
    version: str


def peer(task: str, samples: Sequence[Sample], repeats: int, timeout: float = 240.0) -> list[Learned]:
    """Learn from each sample; one that runs out of time answers for the samples it got through."""
    interpreter = python()
    if interpreter is None:
        raise NotThere(f"{task}: no interpreter of peers in BENCH_PEERS")
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        out = Path(folder, "out.json")
        sources = []
        for k, sample in enumerate(samples):
            sources.append(Path(folder, f"{k}.npz"))
            np.savez(sources[-1], columns=sample.columns, sizes=sample.sizes, codes=sample.codes)
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [str(interpreter), str(CHILD), task, str(repeats), str(out), *map(str, sources)]
        wrong = ""
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=timeout)
            if done.returncode:
                wrong = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:200]
        except subprocess.TimeoutExpired:
            wrong = f"over {timeout:g} s"
        if not out.exists():
            raise NotThere(f"{task}: {wrong}")
        found = json.loads(out.read_text(encoding="utf-8"))
    return [
        Learned(
            tuple((a, b) for a, b in answer["arcs"]),
            Timing(*answer["seconds"], turns=answer["turns"]),
            found["version"],
        )
        for answer in found["answers"]
    ]
