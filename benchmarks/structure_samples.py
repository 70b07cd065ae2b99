"""Rows drawn from known networks, their columns shuffled and renamed, and what a learned graph is worth on them.

Networks are found as ``network_work.py`` says; in the place of one that is not there the bundled chest clinic is
drawn from, and said so. The sampler is a few lines of NumPy, so that anybody can draw the same rows.
``BENCH_REFERENCE`` names a folder with ``w08_structure.py`` and ``common.py``, which score and
compare graphs by code that is not ours; where they are found, every number of this benchmark is checked against them.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit import BayesianNetwork, read_network
from bayeskit.networks import asia, score, shd
from network_work import DATA, FOLDER

REFERENCE = Path(os.environ.get("BENCH_REFERENCE", "BENCH_REFERENCE is not set")).resolve()

Arc = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Sample:
    """Codes of columns, the states of each, and the arcs of the network they were drawn from."""

    title: str
    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    codes: Any
    arcs: tuple[Arc, ...]

    @cached_property
    def frame(self) -> Any:
        """A pandas frame of categories, all states declared."""
        import pandas as pd

        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(self.codes[:, j], [f"s{i}" for i in range(size)])
                for j, (name, size) in enumerate(zip(self.columns, self.sizes, strict=True))
            }
        )

    def shuffled(self, order: int) -> Sample:
        """Permute the columns and give them meaningless names."""
        rng = np.random.default_rng(order)
        place = rng.permutation(len(self.columns))
        numbers = rng.permutation(len(self.columns))
        renamed = {self.columns[j]: f"v{numbers[j]:02d}" for j in place}
        return Sample(
            f"{self.title}, order {order}",
            tuple(renamed[self.columns[j]] for j in place),
            tuple(self.sizes[j] for j in place),
            np.ascontiguousarray(self.codes[:, place]),
            tuple((renamed[parent], renamed[child]) for parent, child in self.arcs),
        )

    @property
    def has_copies(self) -> bool:
        """Whether two columns are identical, so that they cannot be distinguished."""
        return len({self.codes[:, j].tobytes() for j in range(len(self.columns))}) < len(self.columns)

    @cached_property
    def bic_of_truth(self) -> float:
        return self.bic(self.arcs)

    def bic(self, arcs: Any) -> float:
        """Score a graph; the reference code, if present, must agree."""
        found = score(list(arcs), self.frame, "bic")
        other = _reference()
        if other is not None:
            states = [range(size) for size in self.sizes]
            theirs = other.bic(list(arcs), list(self.columns), states, self.codes)
            if abs(found - theirs) > 1e-9 * abs(theirs):
                raise AssertionError(f"{self.title}: our BIC is {found}, the reference's {theirs}")
        return found

    def distance(self, arcs: Any) -> int:
        """Count the pairs whose relation is not the true one; the reference code, if present, must agree."""
        found = shd(self._network(arcs), self._network(self.arcs))
        other = _reference()
        if other is not None:
            theirs = other.shd_cpdag(list(arcs), list(self.arcs), list(self.columns))
            if found != theirs:
                raise AssertionError(f"{self.title}: our SHD is {found}, the reference's {theirs}")
        return found

    def _network(self, arcs: Any) -> BayesianNetwork:
        parents: dict[str, list[str]] = {name: [] for name in self.columns}
        for parent, child in arcs:
            parents[child].append(parent)
        return BayesianNetwork(parents)


@cache
def _reference() -> Any:
    if not (REFERENCE / "w08_structure.py").exists():
        return None
    sys.path.append(str(REFERENCE))
    try:
        return import_module("w08_structure")
    finally:
        sys.path.remove(str(REFERENCE))


def has_reference() -> bool:
    """Return whether the reference code is present."""
    return _reference() is not None


@cache
def _network(name: str) -> tuple[BayesianNetwork, str]:
    for path in (FOLDER / f"{name}.bif.gz", FOLDER / f"{name}.bif"):
        if path.exists():
            return read_network(path), name
    return asia(), "asia" if name == "asia" else f"asia in the place of {name},"


def is_there(name: str) -> bool:
    """Return whether the network with that name is present."""
    return _network(name)[1] == name


def draw(name: str, n_rows: int, seed: int) -> Sample:
    """Draw rows, parents before children, one number a cell from ``default_rng(seed)``."""
    network, title = _network(name)
    order: list[str] = []
    while len(order) < len(network.nodes):
        for node in network.nodes:
            if node not in order and all(p in order for p in network.parents(node)):
                order.append(node)
    place = {node: j for j, node in enumerate(order)}
    rng = np.random.default_rng(seed)
    codes = np.zeros((n_rows, len(order)), np.int8)
    for node in order:
        parents = network.parents(node)
        table = np.asarray(network.cpt(node).values)
        cumulative = np.cumsum(table / table.sum(axis=-1, keepdims=True), axis=-1)
        cumulative[..., -1] = 1.0 + 1e-9
        rows = cumulative[tuple(codes[:, place[p]] for p in parents)] if parents else cumulative[None, :]
        codes[:, place[node]] = (rng.random(n_rows)[:, None] > rows).sum(axis=1)
    return Sample(
        f"{title} {n_rows:,} rows, seed {seed}",
        tuple(order),
        tuple(len(network.states(node)) for node in order),
        codes,
        tuple((p, node) for node in order for p in network.parents(node)),
    )


def real(name: str) -> Sample | None:
    """Return one of bnlearn's sample data sets with its published graph, or None if the data are missing."""
    rows, graphs = DATA / f"networks/data/{name}.parquet", DATA / "golden/networks/dags.csv"
    if not rows.exists() or not graphs.exists():
        return None
    import pandas as pd

    frame = pd.read_parquet(rows).astype("category")
    dags = pd.read_csv(graphs, keep_default_na=False)
    true = dags[(dags["data"] == name) & (dags["dag"] == "true") & (dags["from"] != "")]
    return Sample(
        f"{name}, bnlearn's {len(frame):,} rows",
        tuple(frame.columns),
        tuple(len(frame[c].cat.categories) for c in frame),
        np.column_stack([frame[c].cat.codes for c in frame]).astype(np.int64),
        tuple(zip(true["from"], true["to"], strict=True)),
    )
