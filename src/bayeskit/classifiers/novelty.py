"""Rows against rows that a model would draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.questions import log_evidence_of, refuse_scores
from bayeskit.classifiers.sampling import draw_codes
from bayeskit.data.encode import encode, match_columns
from bayeskit.data.encoded import Chunk
from bayeskit.data.table import Table
from bayeskit.learning.fitted import Fitted
from bayeskit.learning.model import Model
from bayeskit.report.novelty import Novelty, conflicts, shares_among
from bayeskit.typing import Seed


def novelty_of(model: Model, fitted: Fitted, table: Table, n_drawn: int, seed: Seed, who: str) -> Novelty:
    """Draw rows, and say how many of them are at most as probable as each row of a table."""
    refuse_scores(model, who, "novelty")
    assert fitted.recipe is not None
    schema = model.schema
    _, codes, values = draw_codes(model, n_drawn, np.random.default_rng(seed))
    drawn = Chunk(n_drawn, np.ascontiguousarray(codes.astype(schema.code_dtype)), values)
    table = match_columns(table, schema, fitted.names if fitted.named else None, fitted.who)
    encoded = encode(table, schema, fitted.recipe.unseen)
    sizes = np.array([v.size for v in schema.categorical], dtype=np.intp)
    missing = None if fitted.recipe.missing == "state" else sizes

    def score(chunk: Chunk) -> NDArray[np.float64]:
        return log_evidence_of(model, chunk)

    pieces = []
    for rows in encoded.chunks():
        log_p, share = shares_among(score, rows, drawn, missing)
        conflict = None if missing is None else conflicts(score, rows, log_p, missing)
        pieces.append((log_p, share, conflict))
    log_p, share = (np.concatenate([piece[i] for piece in pieces]) for i in (0, 1))
    conflict = None if missing is None else np.concatenate([piece[2] for piece in pieces])
    return Novelty(log_p, share, conflict, _unseen(table, model, fitted), n_drawn)


def _unseen(table: Table, model: Model, fitted: Fitted) -> NDArray[np.intp]:
    """Count the values of each row that are no states: only this way of coding tells them from missing ones."""
    sizes = np.array([v.size for v in model.schema.categorical])
    apart = encode(table, model.schema, "smooth")
    return np.concatenate([(chunk.codes == sizes + 1).sum(axis=1) for chunk in apart.chunks()])
