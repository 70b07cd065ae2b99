"""Draws of log P(text | class) of rows: the words of a class from their Dirichlet or their betas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayeskit.counting.count_totals import is_sparse
from bayeskit.data.encoded import Chunk
from bayeskit.estimation.bernoulli_block import BernoulliBlock
from bayeskit.estimation.multinomial import Multinomial
from bayeskit.estimation.posterior_draws import NEVER, Draws, keyed, log_dirichlet, log_gamma_draws
from bayeskit.typing import Floats

# Cells drawn at a time: all draws of a large vocabulary together would not fit.
_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class WordPosterior:
    """Dirichlet or beta distributions of the words of each class."""

    family: Multinomial | BernoulliBlock

    def add(self, chunk: Chunk, draws: Draws, out: Floats) -> None:
        add_block_draws(self.family, chunk, draws, out)


def add_block_draws(family: Multinomial | BernoulliBlock, chunk: Chunk, draws: Draws, out: Floats) -> None:
    """Add log P(x | c) under each draw of the words' shares to ``out`` of shape (n, draws, K)."""
    n, _, k = out.shape
    sums, rng = family.totals.sums, keyed(draws.seed, 6)
    v = sums.shape[1]
    step = max(1, _AT_ONCE // max(v * k, 1))
    words = _words(family, chunk.block)
    for start in range(0, draws.n, step):
        some = min(step, draws.n - start)
        if isinstance(family, Multinomial):
            counts = (sums + family.alpha).T
            table, constant = log_dirichlet(rng, counts, some), np.zeros((some, k))
        else:
            pair = np.stack([sums, family.totals.rows[:, None] - sums]) + family.alpha
            logs = log_gamma_draws(rng, np.swapaxes(pair, 1, 2), some)
            present, absent = np.maximum(logs - np.logaddexp(logs[0], logs[1]), NEVER)
            table, constant = present - absent, absent.sum(axis=0)
        table = np.clip(table, NEVER, -NEVER).reshape(v, some * k)
        out[:, start : start + some] += (words @ table).reshape(n, some, k) + constant


def _words(family: Multinomial | BernoulliBlock, block: Any) -> Any:
    """Return the block as it is multiplied: counts of words, or zeros and ones."""
    if isinstance(family, Multinomial):
        return block
    if not is_sparse(block):
        return (block > family.binarize).astype(np.float64)
    if family.binarize < 0:  # a word that is not stored is there too
        return (block.toarray() > family.binarize).astype(np.float64)
    kept = csr_array(block)
    return csr_array(
        ((kept.data > family.binarize).astype(np.float64), kept.indices, kept.indptr), shape=kept.shape
    )
