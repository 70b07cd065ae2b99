"""Exact answers about one set of potentials."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeskit.inference.evidence import Evidence
from bayeskit.inference.potentials import Potentials

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_MEMORY = 2**30


@dataclass(frozen=True)
class Assignment:
    """A state for each variable, and log of the joint (MPE) or posterior-times-evidence (MAP) probability."""

    codes: Ints
    log_probability: float


class Exact:
    """Answers to any question about one set of potentials. Impossible evidence gives log_probability −inf.

    Safe to share between threads: what it keeps is immutable, what a question needs is its own.
    """

    def __init__(self, potentials: Potentials) -> None:
        self.potentials = potentials

    def marginals(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> tuple[Floats, float]:
        """Return P(x_v | e) of every variable, one after the other (potentials.offsets), and log P(e).

        Where log P(e) is −inf the numbers mean nothing. Observed variables are one-hot.
        """
        joint, log_p = self._joint(evidence)
        found = [joint.sum(axis=tuple(u for u in range(joint.ndim) if u != v)) for v in range(joint.ndim)]
        return np.concatenate([np.empty(0), *found]), log_p

    def joint(
        self, targets: tuple[int, ...], evidence: Evidence, max_memory: float = MAX_MEMORY
    ) -> tuple[Floats, float]:
        """Return P(targets | e) with one axis for each target in the order asked, and log P(e)."""
        joint, log_p = self._joint(evidence)
        summed = joint.sum(axis=tuple(u for u in range(joint.ndim) if u not in targets))
        return summed.transpose(np.argsort(np.argsort(targets))), log_p

    def log_probability(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> float:
        """Return log P(e); of a Markov network, log of the sum over all states that agree with e."""
        return self._joint(evidence)[1]

    def mpe(self, evidence: Evidence, max_memory: float = MAX_MEMORY) -> Assignment:
        """Return the most probable state of everything; ties go to the lowest states, variables in order."""
        joint, log_p = self._joint(evidence)
        best = np.unravel_index(int(joint.argmax()), joint.shape)
        return Assignment(
            np.array(best, np.int64), math.log(joint[best]) + log_p if joint[best] > 0 else -math.inf
        )

    def map(self, targets: tuple[int, ...], evidence: Evidence, max_memory: float = MAX_MEMORY) -> Assignment:
        """Return the most probable states of the targets (in their order), the rest summed out."""
        joint, log_p = self.joint(targets, evidence)
        order = np.argsort(targets)  # ties by the order of the variables, not of the asking
        turned = joint.transpose(order)
        best = np.unravel_index(int(turned.argmax()), turned.shape)
        codes = np.array(best, np.int64)[np.argsort(order)]
        top = float(turned[best])
        return Assignment(codes, math.log(top) + log_p if top > 0 else -math.inf)

    def batch(self, rows: Ints, target: int, max_memory: float = MAX_MEMORY) -> tuple[Floats, Floats]:
        """Return P(target | row) of each row of codes (−1: missing) and log P(row).

        The target's own column is not looked at. Rows that are impossible have log P −inf.
        """
        out = np.zeros((len(rows), int(self.potentials.sizes[target])))
        logs = np.zeros(len(rows))
        for i, row in enumerate(rows):
            codes = np.array(row, np.int64)
            codes[target] = -1
            out[i], logs[i] = self.joint((target,), Evidence(codes))
        return out, logs

    def _joint(self, evidence: Evidence) -> tuple[Floats, float]:
        p = self.potentials
        shape = tuple(int(s) for s in p.sizes)
        joint = np.ones(shape)
        for f in range(p.n_factors):
            scope = p.scope_of(f)
            order = np.argsort(scope)
            table = p.table_of(f).transpose(order)
            joint = joint * table.reshape([shape[v] if v in scope else 1 for v in range(len(shape))])
        for v, code in enumerate(evidence.codes):
            if code >= 0:
                one = np.zeros(shape[v])
                one[code] = 1.0
                joint = joint * one.reshape([-1 if u == v else 1 for u in range(len(shape))])
        for v, likelihood in evidence.likelihoods.items():
            joint = joint * likelihood.reshape([-1 if u == v else 1 for u in range(len(shape))])
        total = float(joint.sum())
        return (joint / total, math.log(total)) if total > 0 else (joint, -math.inf)
