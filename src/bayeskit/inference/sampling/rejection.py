"""Rejection: rows are drawn forward, and those that disagree with the evidence thrown away."""

from __future__ import annotations

import numpy as np

from bayeskit.errors import SettingError
from bayeskit.inference.potentials import Evidence
from bayeskit.inference.relevant import ancestral
from bayeskit.inference.sampling.cells import Cells
from bayeskit.inference.sampling.forward import Forward, uniform_chunks
from bayeskit.inference.sampling.likelihood_weighting import Shares, weighted_shares


def rejection(
    forward: Forward, cells: Cells, evidence: Evidence, n: int, rng: np.random.Generator
) -> tuple[Shares, int]:
    """Estimate the targets' distribution from the rows out of n that agree; return how many did.

    A likelihood accepts a row with its own probability (the largest must not exceed one).
    """
    p = forward.potentials
    observed = np.flatnonzero(evidence.codes >= 0)
    forward = forward.only(ancestral(p, [*cells.targets, *observed, *evidence.likelihoods]))
    width, soft = len(forward.order), list(evidence.likelihoods.items())
    found = [np.zeros(0, np.int64)]
    for _, uniforms in uniform_chunks(rng, n, width + len(soft)):
        codes = np.zeros((len(uniforms), p.n_variables), np.int64)
        forward.fill(uniforms, codes)
        agrees = (codes[:, observed] == evidence.codes[observed]).all(axis=1)
        for k, (v, likelihood) in enumerate(soft):
            agrees &= uniforms[:, width + k] < likelihood[codes[:, v]]
        found.append(cells.of_rows(codes[agrees]))
    at = np.concatenate(found)
    if not len(at):
        raise SettingError(
            f"None of the {n} samples agrees with the evidence: it is impossible, or too improbable for rejection. "
            'Raise n_samples, or use method="likelihood weighting", or query, which is exact.'
        )
    return weighted_shares(at, np.ones(len(at)), cells), len(at)
