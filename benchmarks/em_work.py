"""The rows that the benchmark of EM learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structure_samples import Sample, draw

MIXED, CLASSES = 8, 4
# The initial variance of all mixtures. The initial means are rows.
FIRST_VARIANCE = 4.0
# Imaginary rows in every cell of a network's tables, the same for both sides.
PRIOR = 1e-3


def mixture_rows(n: int) -> Any:
    """Rows of eight Gaussians in ten dimensions, each stretched in its own way."""
    rng = np.random.default_rng(0)
    component, means = rng.integers(0, MIXED, n), rng.normal(0, 2.0, (MIXED, 10))
    stretch = rng.normal(0, 0.5, (MIXED, 10, 10)) + np.eye(10)
    noise, rows = rng.standard_normal((n, 10)), means[component]
    for k in range(MIXED):
        rows[component == k] += noise[component == k] @ stretch[k]
    return rows


def first_means(rows: Any) -> Any:
    return rows[np.random.default_rng(1).choice(len(rows), MIXED, replace=False)]


def latent_rows(n: int) -> Any:
    """Codes of twenty attributes of four states, in four classes."""
    rng = np.random.default_rng(0)
    component = rng.integers(0, CLASSES, n)
    tables = np.cumsum(rng.dirichlet(np.full(4, 0.7), (20, CLASSES)), axis=-1)
    columns = [(rng.random(n)[:, None] > table[component]).sum(axis=1).clip(0, 3) for table in tables]
    return np.stack(columns, axis=1).astype(np.int64)


def classified_rows(n: int, kind: str) -> tuple[Any, Any, Any]:
    """Thirty attributes (8 states in bytes, or numbers) in five classes: rows, classes, and a tenth of the classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    if kind == "gaussian":
        rows = rng.normal(0, 0.5, (5, 30))[y] + rng.standard_normal((n, 30))
    else:
        tables = np.cumsum(rng.dirichlet(np.ones(8), (30, 5)), axis=-1)
        rows = np.empty((n, 30), np.uint8)
        for j, table in enumerate(tables):
            rows[:, j] = (rng.random(n)[:, None] > table[y]).sum(axis=1).clip(0, 7)
    return rows, y, np.where(rng.random(n) < 0.1, y, -1)


@dataclass(frozen=True, eq=False)
class Holed:
    """Rows of a network, with −1 for missing cells."""

    sample: Sample
    codes: Any

    @property
    def states(self) -> dict[str, list[str]]:
        return {
            name: [f"s{i}" for i in range(size)]
            for name, size in zip(self.sample.columns, self.sample.sizes, strict=True)
        }

    @property
    def parents(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {name: [] for name in self.sample.columns}
        for parent, child in self.sample.arcs:
            found[child].append(parent)
        return found

    def frame(self, n: int | None = None) -> Any:
        """A pandas frame of categories, of the first n rows."""
        import pandas as pd

        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(self.codes[:n, j], states)
                for j, (name, states) in enumerate(self.states.items())
            }
        )


def holed_alarm(n: int) -> Holed:
    """Return rows of alarm with a fifth of the cells missing at random, so that almost every pattern differs."""
    sample = draw("alarm", n, 21)
    missing = np.random.default_rng(9).random(sample.codes.shape) < 0.2
    return Holed(sample, np.where(missing, -1, sample.codes.astype(np.int64)))


def close_rows(n: int) -> Any:
    """Three Gaussians in the plane that overlap: EM is slow here."""
    rng = np.random.default_rng(2)
    means = np.array([[0.0, 0.0], [1.5, 1.5], [3.0, 0.0]])
    return means[rng.integers(0, 3, n)] + rng.standard_normal((n, 2))


def faint_rows(n: int) -> Any:
    """Return eight attributes of three states that hardly distinguish three classes: EM is slow here."""
    rng = np.random.default_rng(3)
    component = rng.integers(0, 3, n)
    tables = np.cumsum(rng.dirichlet(np.full(3, 3.0), (8, 3)), axis=-1)
    columns = [(rng.random(n)[:, None] > table[component]).sum(axis=1).clip(0, 2) for table in tables]
    return np.stack(columns, axis=1)
