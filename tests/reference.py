"""Slow twins: every answer once more, by loops that can be checked by eye.

Counts and probabilities are fractions where the arithmetic is rational, so an answer is right to the last
digit or wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np


def is_gap(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def ordered(labels: Any) -> list[Any]:
    """Numbers before strings, each in their order."""
    return sorted(set(labels), key=lambda label: (isinstance(label, str), label))


def slow_tables(
    codes: Any, target: Any, weights: Any, sizes: Sequence[int], n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """n(c), and n(v, c) of all attributes one after the other, each with its spare row."""
    starts = [sum(sizes[:j]) + j for j in range(len(sizes) + 1)]
    margin, counts = np.zeros(n_classes), np.zeros((starts[-1], n_classes))
    for i in range(len(target)):
        weight = 1.0 if weights is None else float(weights[i])
        margin[target[i]] += weight
        for j in range(len(sizes)):
            counts[starts[j] + codes[i][j], target[i]] += weight
    return margin, counts


def slow_log_table(tables: Sequence[Any], codes: Any, n_classes: int) -> np.ndarray:
    """Σ_j log P(x_j | c) of each row, one look-up at a time."""
    out = np.zeros((len(codes), n_classes))
    for i, row in enumerate(codes):
        for c in range(n_classes):
            out[i, c] = math.fsum(tables[j][code][c] for j, code in enumerate(row))
    return out


def exact(number: Any) -> Fraction:
    return Fraction(float(number)) if not isinstance(number, Fraction) else number


def table_share(
    column: Sequence[Any],
    labels: Sequence[Any],
    weights: Sequence[Any],
    value: Any,
    label: Any,
    *,
    prior: Any,
    declared: Sequence[Any] = (),
    missing: str = "ignore",
    unseen: str = "ignore",
) -> Fraction:
    """P(x = value | c) of one categorical attribute; 1 where the value is left out.

    ``prior`` is the imaginary count of a state, as a number or a function of (state, number of states).
    """
    seen = {v for v, w in zip(column, weights, strict=True) if not is_gap(v) and w > 0}
    states = [*declared, *(v for v in ordered(seen) if v not in declared)]
    imaginary = {v: exact(prior(v, len(states)) if callable(prior) else prior) for v in states}
    # One more state counts as the others do on average; where there is none, as it would alone.
    extra = (
        sum(imaginary.values(), Fraction(0)) / len(states)
        if states
        else exact(prior(value, 1) if callable(prior) else prior)
    )
    gaps_count = missing == "state" and any(is_gap(v) and w > 0 for v, w in zip(column, weights, strict=True))
    known = not is_gap(value) and value in states
    if not known and not is_gap(value) and unseen != "smooth":
        value = None  # an unseen value is taken for a missing one
    if is_gap(value) and not gaps_count:
        return Fraction(1)
    count = total = Fraction(0)
    for v, own, w in zip(column, labels, weights, strict=True):
        if own != label or (is_gap(v) and not gaps_count):
            continue
        total += exact(w)
        count += exact(w) if v == value or (is_gap(v) and is_gap(value)) else 0
    total += sum(imaginary.values(), Fraction(0))
    total += extra * (int(gaps_count) + int(unseen == "smooth"))
    mine = imaginary[value] if known else extra
    return (count + mine) / total if total else Fraction(1, max(len(states), 1))


def normal_density(
    x: float, values: Sequence[float], weights: Sequence[float], unbiased: bool = False
) -> float:
    """N(x; mean, variance) of the values given, the variance by the book."""
    pairs = [(float(v), float(w)) for v, w in zip(values, weights, strict=True) if not is_gap(v) and w > 0]
    n = math.fsum(w for _, w in pairs)
    mean = math.fsum(w * v for v, w in pairs) / n
    variance = math.fsum(w * (v - mean) ** 2 for v, w in pairs) / (n - 1 if unbiased else n)
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def class_share(
    labels: Sequence[Any], weights: Sequence[Any], label: Any, prior: Any, given: Any = None
) -> Fraction:
    """P(c) = (n(c) + a)/(N + Σa)."""
    classes = ordered(own for own, w in zip(labels, weights, strict=True) if w > 0)
    if given is not None:
        return exact(given[label] if isinstance(given, dict) else given[classes.index(label)])
    imaginary = exact(prior(label, len(classes)) if callable(prior) else prior)
    count = sum((exact(w) for own, w in zip(labels, weights, strict=True) if own == label), Fraction(0))
    total = sum((exact(w) for w in weights), Fraction(0))
    return (count + imaginary) / (total + imaginary * len(classes))


def naive_posterior(
    rows: Sequence[Sequence[Any]],
    labels: Sequence[Any],
    query: Sequence[Any],
    *,
    weights: Sequence[Any] | None = None,
    prior: Any = 1,
    class_prior: Any = None,
    declared: dict[int, Sequence[Any]] | None = None,
    missing: str = "ignore",
    unseen: str = "ignore",
    unbiased: bool = False,
) -> list[Any]:
    """P(c | query) for the classes in order, by the definition: P(c) Π P(x_i | c) over its sum.

    A column whose values are all floats (or missing) is Gaussian, any other a table. Fractions come back
    where no column is Gaussian; the floor of the variance is not modelled.
    """
    weights = [1] * len(rows) if weights is None else list(weights)
    joint = []
    for label in ordered(own for own, w in zip(labels, weights, strict=True) if w > 0):
        product: Any = class_share(labels, weights, label, prior, class_prior)
        for j, value in enumerate(query):
            column = [row[j] for row in rows]
            if not all(map(is_gap, column)) and all(is_gap(v) or isinstance(v, float) for v in column):
                mine = [i for i, own in enumerate(labels) if own == label and not is_gap(column[i])]
                product = float(product)
                if missing == "state" and any(map(is_gap, column)):
                    all_mine = sum(w for own, w in zip(labels, weights, strict=True) if own == label)
                    present = sum(weights[i] for i in mine)
                    hit = all_mine - present if is_gap(value) else present
                    product *= float((exact(hit) + exact(prior)) / (exact(all_mine) + 2 * exact(prior)))
                if not is_gap(value):
                    product *= normal_density(
                        value, [column[i] for i in mine], [weights[i] for i in mine], unbiased
                    )
            else:
                product *= table_share(
                    column,
                    labels,
                    weights,
                    value,
                    label,
                    prior=prior,
                    declared=(declared or {}).get(j, ()),
                    missing=missing,
                    unseen=unseen,
                )
        joint.append(product)
    total = sum(joint)
    return [product / total for product in joint]


def leave_one_out_loss(
    x: Sequence[float], labels: Sequence[Any], weights: Sequence[float], density: Any
) -> float:
    """Σ_i w_i·(−log P(c_i | x_i)), every time from all rows but i.

    ``density(value, values, weights)`` is fitted anew to each class; rows whose x is missing count for the
    class prior alone.
    """
    classes, loss = ordered(labels), 0.0
    for i, value in enumerate(x):
        if is_gap(value) or weights[i] <= 0:
            continue
        scores = []
        for label in classes:
            mine = [j for j in range(len(x)) if j != i and labels[j] == label]
            prior = math.fsum(weights[j] for j in mine) + 1.0
            scores.append(
                math.log(prior) + math.log(density(value, [x[j] for j in mine], [weights[j] for j in mine]))
            )
        top = max(scores)
        total = top + math.log(math.fsum(math.exp(s - top) for s in scores))
        loss += weights[i] * (total - scores[classes.index(labels[i])])
    return loss


def slow_tree(nodes: Sequence[tuple[int, int, int]]) -> Any:
    """Nodes (column, bound, way) in the order of a walk → nested (column, bound, way, left, right); None is a leaf."""
    place = -1

    def walk() -> Any:
        nonlocal place
        place += 1
        column, bound, way = nodes[place]
        return None if way == 0 else (column, bound, way, walk(), walk())

    return walk()


def slow_way(tree: Any, codes: Sequence[int]) -> str:
    """The way of a row from the root, a letter for each step: codes 254 (unknown) and 255 (missing) may end it."""
    if tree is None:
        return ""
    column, bound, way, left, right = tree
    code = codes[column]
    if code == 254 or (code == 255 and way == 1):
        return ""
    goes_left = way == 2 if code == 255 else code <= bound
    return "L" + slow_way(left, codes) if goes_left else "R" + slow_way(right, codes)


def slow_tree_posterior(
    ways: Sequence[str], labels: Sequence[int], weights: Sequence[Any], way: str, prior: Any, constant: float
) -> list[Fraction]:
    """p_v = (n_v + s p_u)/(N_v + s) from the root down a way; ``ways`` are those of the rows that were counted."""
    share = [exact(p) for p in prior]
    for depth in range(len(way) + 1):
        counts = [Fraction(0)] * len(share)
        for other, label, weight in zip(ways, labels, weights, strict=True):
            if other.startswith(way[:depth]):
                counts[label] += exact(weight)
        total = sum(counts) + exact(constant)
        share = [(n + exact(constant) * p) / total for n, p in zip(counts, share, strict=True)]
    return share


def slow_residuals(
    z: Any, cell: Any, weights: Any, inside: Sequence[int], more: Sequence[int], child: int
) -> np.ndarray:
    """Return the residual sum of squares of a column in each cell, regressed on some columns and one more.

    Weighted least squares over the rows of each cell; a negative one more is none.
    """
    z, cell, weights = np.asarray(z, float), np.asarray(cell), np.asarray(weights, float)
    out = np.zeros((int(cell.max()) + 1, len(more)))
    for c in np.unique(cell):
        rows = cell == c
        root = np.sqrt(weights[rows])[:, None]
        for k, v in enumerate(more):
            above = [*inside, *([] if v < 0 else [v])]
            X = root * np.column_stack([np.ones(rows.sum()), *(z[j, rows] for j in above)])
            y = root[:, 0] * z[child, rows]
            away = y - X @ np.linalg.lstsq(X, y, rcond=1e-12)[0]
            out[c, k] = away @ away
    return out
