"""How fast are all pairs of attributes counted, against a product of one-hot matrices and a plain loop?

TAN, AODE and kDB are estimated from n(x_i, x_j, class) for every two attributes. The product is float32, class by
class, and exact below 2^24 rows. Its half-table form (syrk) is the BLAS routine for a matrix times its transpose. The
plain loop is also compiled by Numba, row by row with signed indices. Two more workloads are those of AODE and TAN. The
last one has so many states that rows are counted one by one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba import njit

from bayeskit._counting.count_tables import count_pairs
from bayeskit._data.encoded import EncodedTable
from bayeskit._statistics.tables import Pairs
from bayeskit.statistics import Schema, Variable, pair_information
from harness import Report, Run, options

QUESTION = "All pairs of attributes with the class: ours against one-hot products and a plain loop"
OURS, PRODUCT, LOOP = "bayeskit count_pairs", "one-hot product, float32", "plain Numba loop"
# Rows, attributes, states, classes; the maximum CPU seconds.
WORKLOADS = (
    (1_000_000, 50, 4, 2, 0.17),
    (100_000, 20, 6, 3, 0.02),
    (100_000, 30, 5, 2, 0.03),
    (100_000, 20, 30, 3, None),
)


def data(n: int, d: int, n_states: int, n_classes: int) -> EncodedTable:
    rng = np.random.default_rng(0)
    attributes = (Variable(f"x{j}", "categorical", tuple(range(n_states))) for j in range(d))
    schema = Schema(tuple(attributes), Variable("y", "categorical", tuple(range(n_classes))))
    codes = rng.integers(0, n_states, (n, d), dtype=np.uint8)
    target = rng.integers(0, n_classes, n, dtype=np.uint32)
    return EncodedTable(schema, n, codes, np.empty((n, 0)), target=target)


def ours(table: EncodedTable, weights: Any = None) -> Pairs:
    if weights is not None:
        table = EncodedTable(
            table.schema, table.n_rows, table.codes, table.values, None, table.target, weights
        )
    counted = (count_pairs(chunk, table.schema, ()) for chunk in table.chunks())
    total = next(counted)
    for pairs in counted:
        total = total.merge(pairs)
    return total


def product(table: EncodedTable) -> np.ndarray:
    """ΣXᵀX over the rows of each class, X one-hot; in blocks, since X has states times as many cells."""
    t, k = int(table.schema.offsets[-1]), table.schema.n_classes
    counts = np.zeros((k, t, t))
    places = table.schema.offsets[:-1].astype(np.intp)
    for start in range(0, table.n_rows, 8192):
        codes, target = table.codes[start : start + 8192], table.target[start : start + 8192]
        for c in range(k):
            at = codes[target == c] + places
            one_hot = np.zeros((len(at), t), dtype=np.float32)
            np.put_along_axis(one_hot, at, 1.0, axis=1)
            counts[c] += one_hot.T @ one_hot
    return np.moveaxis(counts, 0, 2)


@njit(nogil=True)
def _loop(codes: Any, target: Any, offsets: Any, counts: Any) -> None:
    n, d = codes.shape
    for r in range(n):
        for i in range(d):
            g = offsets[i] + np.int64(codes[r, i])
            for j in range(i, d):
                counts[g, offsets[j] + np.int64(codes[r, j]), target[r]] += 1.0


def loop(table: EncodedTable) -> np.ndarray:
    t = int(table.schema.offsets[-1])
    counts = np.zeros((t, t, table.schema.n_classes))
    _loop(table.codes, table.target, table.schema.offsets.astype(np.int64), counts)
    upper = np.triu(np.ones((t, t), dtype=bool), 1)[:, :, None]
    return counts + np.where(upper, counts, 0.0).swapaxes(0, 1)


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    for n, d, n_states, n_classes, most in WORKLOADS:
        n = int(n * given.scale)
        table = data(n, d, n_states, n_classes)
        stage = f"{n:g} × {d}, {n_states} states, {n_classes} classes"
        runs: dict[str, Run] = {OURS: partial(ours, table), LOOP: partial(loop, table)}
        if n_states < 10:  # the product takes minutes beyond
            runs[PRODUCT] = partial(product, table)
        answers = report.race(stage, runs, repeats=min(3, given.repeats))
        pairs = answers[OURS]
        cpu = report.cpu(stage, OURS)
        report.claim(f"{stage}: CPU seconds", cpu, " s", at_most=None if most is None else most * given.scale)
        for name in runs:
            if name != OURS:
                report.claim(
                    f"{stage}: ours against the {name}", report.cpu(stage, name) / cpu, "×", at_least=2
                )
                report.claim(
                    f"{stage}: cells that differ from the {name}",
                    float((answers[name] != pairs.counts).sum()),
                    at_most=0,
                )
        weights = np.ones(n)
        report.race(
            f"{stage}: with weights, and information",
            {
                "bayeskit count_pairs, weights": partial(ours, table, weights),
                "pair_information": partial(pair_information, pairs),
            },
            repeats=min(3, given.repeats),
        )
    report.finish()


if __name__ == "__main__":
    main()
