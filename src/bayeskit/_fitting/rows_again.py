"""Counted rows, read again: all of them, or an evenly spaced selection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.encoded import Chunk, EncodedTable
from bayeskit._data.source import Source
from bayeskit._fitting.fitted_state import FittedState
from bayeskit._fitting.leave_one_out import encode_learned


def learned_chunks(fitted: FittedState, source: Source) -> Iterator[Chunk]:
    """Yield the rows of a counted source as chunks, in the codes of its schema, without rows of weight 0."""
    for rows in source:
        yield from chunks_with_weight(encode_learned(fitted, fitted.schema, rows))


def chunks_with_weight(encoded: EncodedTable) -> Iterator[Chunk]:
    """Yield encoded rows as chunks, without rows of weight 0."""
    for chunk in encoded.chunks():
        if chunk.weights is not None and not (chunk.weights > 0.0).all():
            chunk = chunk.take(np.flatnonzero(chunk.weights > 0.0))
        if chunk.n_rows:
            yield chunk


def spread(
    chunks: Iterable[Chunk], score: Callable[[Chunk], tuple[NDArray[Any], ...]], most: int
) -> list[NDArray[Any]]:
    """Score at most a given number of evenly spaced rows: every row, or every second, every fourth, …

    Parameters
    ----------
    chunks : iterable of Chunk
    score : callable
        A function from a chunk to arrays, with one entry for each row.
    most : int

    Returns
    -------
    list of arrays, concatenated over all chunks
    """
    pieces: list[tuple[NDArray[Any], ...]] = []
    held: list[NDArray[np.intp]] = []
    seen, step = 0, 1
    for chunk in chunks:
        numbers = seen + np.arange(chunk.n_rows)
        seen += chunk.n_rows
        while sum(int((n % step == 0).sum()) for n in (*held, numbers)) > most:
            step *= 2
        chosen = np.flatnonzero(numbers % step == 0)
        if len(chosen):
            pieces.append(score(chunk.take(chosen)))
            held.append(numbers[chosen])
    kept = [n % step == 0 for n in held]
    return [
        np.concatenate([a[k] for a, k in zip(arrays, kept, strict=True)])
        for arrays in zip(*pieces, strict=True)
    ]
