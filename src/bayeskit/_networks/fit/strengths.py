"""Bootstrap arc strengths (arc_strengths), and the averaged network of the strong arcs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from bayeskit._data.frames import to_native
from bayeskit._data.source import thread_count
from bayeskit._fitting.long_runs import progress_of
from bayeskit._fitting.search.node_columns import NodeColumns
from bayeskit._fitting.search.search_network import SearchSettings, search_network
from bayeskit._graphs.network import Network, Node
from bayeskit._networks.arguments import number_below, whole_number
from bayeskit._networks.bayesian_network import BayesianNetwork
from bayeskit._networks.fit.fitting import TablePrior, fit_settings
from bayeskit._networks.fit.learning import read_search
from bayeskit._schema import Name
from bayeskit._structure.search.equivalence import PartialGraph, complete
from bayeskit._structure.search_protocol import Arcs, bits, members
from bayeskit._visible import visible
from bayeskit.errors import SettingError
from bayeskit.typing import Floats, RowSource, Seed


def arc_frequencies(
    columns: NodeColumns,
    arcs: Arcs,
    settings: SearchSettings,
    n_samples: int,
    n_jobs: int = 1,
    on_sample: Callable[[int], None] | None = None,
) -> Floats:
    """Return for each (parent, child) the share of samples whose learned equivalence class has the arc.

    An undirected edge counts half for each direction. Each sample has its own random generator, so the result
    does not depend on the number of processes.
    """
    n = len(columns.variables)
    seeds = np.random.SeedSequence(settings.seed).spawn(n_samples)
    learned = partial(_learned, columns, arcs, settings)
    total = np.zeros((n, n))
    if n_jobs == 1:
        for k, seed in enumerate(seeds):
            total += learned(seed)
            if on_sample is not None:
                on_sample(k + 1)
        return total / n_samples
    # Processes, because a search runs in Python; spawned, because forking a process with threads may hang.
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        for k, found in enumerate(pool.map(learned, seeds)):
            total += found
            if on_sample is not None:
                on_sample(k + 1)
    return total / n_samples


def _learned(
    columns: NodeColumns, arcs: Arcs, settings: SearchSettings, seed: np.random.SeedSequence
) -> Floats:
    """Return the arcs of one sample: 1, or ½ in each direction of an undirected edge."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(columns.complete)
    drawn = columns.take(np.sort(rng.choice(rows, len(rows))))
    found = search_network(drawn, arcs, replace(settings, seed=int(rng.integers(2**31))))
    parents = tuple(bits(list(mine)) for mine in found.parents)
    # With limits, equivalent graphs are distinguished.
    graph = complete(parents) if arcs.is_free else PartialGraph(parents, (0,) * len(parents))
    out = np.zeros((arcs.n, arcs.n))
    for child in range(arcs.n):
        for parent in members(graph.parents[child]):
            out[parent, child] = 1.0
        for other in members(graph.near[child]):
            out[other, child] = 0.5
    return out


class Strength(NamedTuple):
    """An arc, its strength (how often its nodes are adjacent), and how often it then has this direction."""

    parent: Name
    child: Name
    strength: float
    direction: float


class ArcStrengths:
    """The arcs learned from bootstrap samples, the strongest first."""

    def __init__(self, columns: NodeColumns, frequencies: Floats, n_samples: int) -> None:
        self._columns, self.frequencies, self.n_samples = columns, frequencies, n_samples

    def __iter__(self) -> Iterator[Strength]:
        names = self._columns.names
        joined = self.frequencies + self.frequencies.T
        pairs = [(p, c) for p in range(len(names)) for c in range(len(names)) if self.frequencies[p, c] > 0]
        order = sorted(pairs, key=lambda a: (-joined[a], -self.frequencies[a], a))
        for p, c in order:
            yield Strength(
                names[p], names[c], float(joined[p, c]), float(self.frequencies[p, c] / joined[p, c])
            )

    def __len__(self) -> int:
        return int((self.frequencies > 0).sum())

    def strength(self, a: Name, b: Name) -> float:
        """Return the share of samples in which two columns are adjacent, in either direction."""
        p, c = self._place(a), self._place(b)
        return float(self.frequencies[p, c] + self.frequencies[c, p])

    def averaged(self, threshold: float = 0.5, *, smoothing: TablePrior = "bdeu") -> BayesianNetwork:
        """Return the network of all arcs with at least this strength, fitted to all rows.

        Each arc takes its most frequent direction. The strongest arcs come first, and an arc that would
        create a cycle is left out.
        """
        least = number_below(threshold, "threshold", 1.0 + 1e-9)
        how = fit_settings(smoothing)
        parents: dict[Name, list[Name]] = {name: [] for name in self._columns.names}
        for arc in self:
            chosen = arc.direction > 0.5 or (arc.direction == 0.5 and arc.child not in parents[arc.parent])
            if arc.strength >= least and chosen and not _leads(parents, arc.child, arc.parent):
                parents[arc.child].append(arc.parent)
        nodes = (Node(v, tuple(parents[v.name])) for v in self._columns.variables)
        network = Network(tuple(nodes), reading=self._columns.reading)
        return BayesianNetwork._of(network)._fit_columns(self._columns, how, None)

    def to_frame(self) -> Any:
        """Return a data frame with a row for each arc."""
        arcs = [*self]
        labels = {key: np.array([getattr(a, key) for a in arcs], object) for key in ("parent", "child")}
        numbers = {key: np.array([getattr(a, key) for a in arcs]) for key in ("strength", "direction")}
        return to_native({**labels, **numbers})

    def _place(self, name: Name) -> int:
        try:
            return self._columns.names.index(name)
        except ValueError:
            raise SettingError("There is no column {name!r}.", name=name) from None

    def _repr_html_(self) -> str:
        from bayeskit._display_table import DisplayTable, notebook_html

        rows = tuple((f"{a.parent} → {a.child}", f"{a.strength:.2f}", f"{a.direction:.2f}") for a in self)
        title = f"Arcs learned from {self.n_samples:,} samples"
        return notebook_html(DisplayTable(title, ("arc", "strength", "this way"), rows, (), ()))

    def __repr__(self) -> str:
        lines = [f"ArcStrengths over {self.n_samples} samples:"]
        lines += [
            f"  {visible(a.parent)} → {visible(a.child)}  {a.strength:.2f}  ({a.direction:.2f} this way)"
            for a in [*self][:20]
        ]
        return "\n".join(lines + (["  …"] if len(self) > 20 else []))


def arc_strengths(
    data: RowSource,
    n_samples: int = 100,
    *,
    n_jobs: int | None = None,
    random_state: Seed = 0,
    progress: bool = False,
    **how: Any,
) -> ArcStrengths:
    """Learn a network from each of many bootstrap samples, and count its arcs.

    Parameters
    ----------
    data : a table in memory, paths of files, or batches
    n_samples : the number of bootstrap samples
    n_jobs : the number of processes; −1 for one per processor. The result does not depend on it.
    random_state : for drawing the rows
    how : the search, as for `learn_network`: method, criterion, required, forbidden, tiers, max_parents, states …

    Examples
    --------
    >>> from bayeskit.networks import wet_grass
    >>> found = arc_strengths(wet_grass().sample(500, random_state=1), 10, method="hill-climbing")
    >>> found.strength("rain", "joe"), found.strength("sprinkler", "joe") < 0.5
    (1.0, True)
    >>> sorted(found.averaged().arcs)[-2:]
    [('rain', 'wet'), ('sprinkler', 'wet')]
    """
    columns, limits, settings = read_search(data, random_state=random_state, **how)
    n = whole_number(n_samples, "n_samples", 1)
    with progress_of(progress, "samples learned") as show:
        found = arc_frequencies(columns, limits, settings, n, thread_count(n_jobs), show)
    return ArcStrengths(columns, found, n)


def _leads(parents: dict[Name, list[Name]], source: Name, target: Name) -> bool:
    """Whether a directed path leads from one node to another."""
    left, seen = [target], {target}
    while left:
        for parent in parents[left.pop()]:
            if parent == source:
                return True
            if parent not in seen:
                seen.add(parent)
                left.append(parent)
    return source == target
