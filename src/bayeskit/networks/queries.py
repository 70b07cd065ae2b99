"""Questions to a network: posteriors, probabilities of evidence, most probable states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayeskit.networks.answers import MostProbable
from bayeskit.networks.memory import allowed
from bayeskit.networks.prediction import Prediction
from bayeskit.schema import Name

Given = Mapping[Name, Any] | None


class Queries(Prediction):
    """The part of a network that answers questions exactly.

    Evidence is ``{node: state}``, or ``{node: Not(state, ...)}`` for states that are excluded. A state may be given
    as it is or as it is written: 1, 1.0 and "1" all mean the state "1". Soft evidence is ``{node: likelihoods}``,
    numbers in the order of states or ``{state: number}``; they need not sum to one.

    ``max_memory`` is how many bytes a call may use, by default the setting of `set_max_memory` (one GiB); what
    needs more is refused with `TooLarge` before it is begun. Evidence of probability zero raises
    `ImpossibleEvidence`, which names a smallest part of it that cannot be.
    """

    def query(
        self, *targets: Any, evidence: Given = None, soft: Given = None, max_memory: float | None = None
    ) -> Any:
        """Return P(targets | evidence).

        Parameters
        ----------
        *targets : nodes, or one list of nodes
            Observed nodes are allowed: all the probability lies on what was observed.
        evidence, soft, max_memory : see the class

        Returns
        -------
        Factor, axes in the order asked, its numbers summing to one; for continuous targets a
        `GaussianMixturePosterior`.

        Examples
        --------
        >>> from bayeskit.networks.markov_network import MarkovNetwork
        >>> friends = MarkovNetwork({"ann": ["tea", "mate"], "bob": ["tea", "mate"]},
        ...                         [(["ann", "bob"], [[3, 1], [1, 3]])])
        >>> friends.query("ann", evidence={"bob": "mate"})
        Factor('ann': {'tea': 0.25, 'mate': 0.75})
        """
        return self._door.query(targets, evidence, soft, allowed(max_memory))

    def posteriors(
        self, evidence: Given = None, soft: Given = None, max_memory: float | None = None
    ) -> dict[Name, Any]:
        """Return P(node | evidence) of every node.

        Returns
        -------
        dict of node → array in the order of ``states(node)``; observed nodes have a one where they were observed.
        A continuous node has a `GaussianMixturePosterior`.
        """
        return self._door.posteriors(evidence, soft, allowed(max_memory))

    def log_probability(
        self, evidence: Given = None, soft: Given = None, max_memory: float | None = None
    ) -> float:
        """Return log P(evidence), −inf where it is impossible.

        Of soft evidence L it is the logarithm of the sum of P(x)·L(x); of observed continuous nodes, the log
        density.
        """
        limit = allowed(max_memory)
        door = self._door
        return door.log_evidence(evidence, soft, limit) - door.log_total(limit)

    def mpe(
        self, evidence: Given = None, soft: Given = None, max_memory: float | None = None
    ) -> MostProbable:
        """Return the most probable state of all nodes together.

        Ties go to the lowest states, nodes in order.

        Returns
        -------
        dict of node → state, the observed ones included, with ``.log_probability`` = log P(states, evidence).
        """
        return self._door.mpe(evidence, soft, allowed(max_memory))

    def map(
        self, targets: Any, evidence: Given = None, soft: Given = None, max_memory: float | None = None
    ) -> MostProbable:
        """Return the most probable states of some nodes together, all others summed out.

        Parameters
        ----------
        targets : a node or a list of nodes
        evidence, soft, max_memory : see the class

        Returns
        -------
        dict of node → state: the targets in the order asked, then what was observed, with ``.log_probability`` =
        log P(targets, evidence). Ties go to the lowest states, nodes in order.
        """
        return self._door.map((targets,), evidence, soft, allowed(max_memory))

    def _family_margins(self, evidence: Given) -> tuple[list[Any], float]:
        """Return P(parents, node | evidence) of every node of a discrete network, and log P(evidence)."""
        door: Any = self._door
        found: tuple[list[Any], float] = door.family_margins(evidence, allowed(None))
        return found
