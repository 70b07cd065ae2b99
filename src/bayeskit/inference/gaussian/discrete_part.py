"""The discrete nodes of a network with continuous ones, and an engine for them that is kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bayeskit.graphs.network import Network
from bayeskit.inference.exact import Exact
from bayeskit.inference.gaussian.layout import Layout
from bayeskit.inference.gaussian.log_tables import LogTable
from bayeskit.inference.potentials import Potentials


class DiscretePart:
    """The discrete nodes alone, numbered 0, 1, … in their order; their tables and a kept engine."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.nodes = layout.discrete
        self.number = {node: i for i, node in enumerate(self.nodes)}
        self.potentials = Potentials.of(Network(tuple(layout.network.nodes[v] for v in self.nodes)))
        self.sizes = [layout.sizes[v] for v in self.nodes]
        self.names = tuple(layout.names[v] for v in self.nodes)

    @cached_property
    def engine(self) -> Exact:
        return self.engine_with([])

    def engine_with(self, weights: Sequence[LogTable]) -> Exact:
        return Exact(self.potentials.beside([w.scope for w in weights], [np.exp(w.log) for w in weights]))
