"""How well a network with unlabelled rows in it judges labelled ones, each left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.errors import DataError
from bayeskit.graphs.network import Network
from bayeskit.learning.search.node_columns import NodeColumns
from bayeskit.learning.unlabelled.unlabelled_weight import MOST_REFITS
from bayeskit.schema import Name

# No probability counts as less: the convention of scikit-learn's log_loss.
LEAST = float(np.finfo(np.float64).eps)


class LeftOutRows:
    """Labelled rows, spread evenly and 300 at most, each as a problem of its own: with its class, and without.

    Parameters
    ----------
    make : rows → problem of `bayeskit.learning.em`
        Over the network in question.
    columns : NodeColumns
    target : name of the class
    labelled : places of the labelled rows
    """

    def __init__(
        self,
        make: Callable[[NodeColumns], Any],
        columns: NodeColumns,
        target: Name,
        labelled: NDArray[np.intp],
    ) -> None:
        place = columns.names.index(target)
        spread = np.linspace(0, len(labelled) - 1, min(len(labelled), MOST_REFITS))
        chosen = labelled[np.unique(spread.round().astype(np.intp))]
        codes = columns.codes[place]
        assert codes is not None
        self.target = target
        self.classes = [int(code) for code in codes[chosen]]
        self.own, self.asked = [], []
        for i in chosen:
            row = columns.take(np.array([i]))
            unknown = (*row.codes[:place], np.full(1, columns.variables[place].size), *row.codes[place + 1 :])
            self.own.append(make(row))
            self.asked.append(make(replace(row, codes=unknown)))

    def loss(self, problem: Any, network: Network) -> float:
        r"""Return the mean of −log P(c | x) under tables estimated without the row's own share of the counts.

        What was expected of the unlabelled rows is held, although the row had a part in it.
        """
        statistics, _ = problem.expect(network)
        losses = []
        for own, asked, c in zip(self.own, self.asked, self.classes):
            rest = statistics.less(own.expect(network)[0])
            share = self._share(asked, problem.maximise(rest), rest)
            losses.append(-math.log(max(float(share[c]), LEAST)))
        return math.fsum(losses) / len(losses)

    def _share(self, asked: Any, network: Network, rest: Any) -> NDArray[np.float64]:
        """Return P(c | x): what is expected of the class in the row, if that alone is missing."""
        try:
            found = self._of_class(asked.expect(network)[0], network)
        except DataError:  # impossible without itself
            return np.zeros(network.shape_of(self.target)[-1])
        if not found.sum() > 0.0:  # no other cell is there
            found = self._of_class(rest, network)
        return np.asarray(found / max(float(found.sum()), LEAST))

    def _of_class(self, counts: Any, network: Network) -> NDArray[np.float64]:
        table = counts.table(network, self.target)
        return np.asarray(table.reshape(-1, table.shape[-1]).sum(axis=0))
