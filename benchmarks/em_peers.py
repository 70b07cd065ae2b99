"""Peers of the benchmark of EM: each waits in a process of its own (:mod:`em_child`) for its turns."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

import numpy as np

from harness import Timing
from peers import NotThere, python

CHILD = Path(__file__).with_name("em_child.py")


class Peer:
    """One peer with its input. Calling it with a number of steps fits it again.

    Its environment limits it to one thread, see :mod:`em_child`.
    """

    def __init__(self, task: str, **given: Any) -> None:
        interpreter = python()
        if interpreter is None:
            raise NotThere(f"{task}: no interpreter of peers in BENCH_PEERS")
        self._task, self._folder = task, tempfile.TemporaryDirectory(prefix="bayeskit-")
        source, self._errors = Path(self._folder.name, "in.npz"), Path(self._folder.name, "errors")
        np.savez(source, **given)
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        env |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [str(interpreter), str(CHILD), task, str(source)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=env,
            )
        try:
            self.version = str(self._answer()["version"])
        except NotThere:
            self.__exit__()
            raise

    def __call__(self, steps: int) -> tuple[Timing, Any]:
        """Return the time of this many steps, and the result."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{steps}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the reason is told below
        found = self._answer()
        return Timing(found["cpu"], found["wall"]), found["found"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            told = self._errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise NotThere(f"{self._task}: {(told or ['ended without a word'])[-1][:200]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()
