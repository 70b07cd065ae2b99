"""Questions to a network: posteriors, probabilities of evidence, most probable states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayeskit.networks.answers import MostProbable
from bayeskit.networks.memory import allowed
from bayeskit.networks.prediction import Prediction
from bayeskit.schema import Name

if TYPE_CHECKING:
    from bayeskit.report.information_value import Questions
    from bayeskit.report.networks.explanation import NetworkExplanation

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

    def explain(
        self,
        target: Name,
        evidence: Given = None,
        soft: Given = None,
        *,
        lang: str = "en",
        max_cells: int = 2000,
        max_memory: float | None = None,
    ) -> NetworkExplanation:
        """Show how P(target | evidence) comes about: the factors, one sum after the other, the normaliser.

        Only what the question needs takes part. Numbers are fractions of what the tables have written in them, so that
        the answer is exact. ``str`` and notebooks show it; it has ``to_html``, ``to_latex``, ``to_json``, ``to_dict``.

        Parameters
        ----------
        target : a discrete node that is not observed
        evidence, soft, max_memory : see the class
        lang : "en" or "zh"
        max_cells : int
            Where the products have more cells together no page is made, but a `SettingError` that says how many.

        Examples
        --------
        >>> from bayeskit.networks.examples import wet_grass
        >>> page = wet_grass().explain("rain", evidence={"wet": "yes"})
        >>> page.order, [str(p) for p in page.exact_posterior]
        (('sprinkler',), ['9/34', '25/34'])
        """
        from bayeskit.networks.analyses.explaining import explain_query

        page = explain_query(self._network, self._door, target, evidence, soft, lang, max_cells)
        if not page.normaliser or (
            page.cancelled and self.log_probability(evidence, soft, max_memory) == -math.inf
        ):
            raise self._door.impossible(evidence, soft, allowed(max_memory))
        return page

    def ask_next(
        self,
        target: Name,
        evidence: Given = None,
        candidates: Any = None,
        costs: Any = None,
        loss: Any = None,
        *,
        lang: str = "en",
    ) -> Questions:
        """Return which node is most worth observing next to know the target, as a ranked table.

        A node is worth the bits that it is expected to tell about the target or, with a loss, the risk that it is
        expected to save; less what observing it costs. Exact: every state of every candidate is gone through.

        Parameters
        ----------
        target : a discrete node that is not observed
        evidence : {node: state}, optional
        candidates : nodes, optional
            All that are not observed, unless given; continuous ones have no states and are left out.
        costs : {node: number}, optional
            In bits or, with a loss, in its unit; 0 for those not named.
        loss : as in :func:`bayeskit.decision.decide`, optional
            Its classes are the states of the target.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit.networks.examples import wet_grass
        >>> found = wet_grass().ask_next("rain", evidence={"wet": "yes"}, costs={"sprinkler": 0.5})
        >>> [(row.name, round(row.net, 4)) for row in found]
        [('joe', 0.5537), ('sprinkler', 0.0783)]
        """
        from bayeskit.networks.analyses.worth_asking import worth_asking

        return worth_asking(self, self._door, target, evidence, candidates, costs, loss, lang)

    def _family_margins(self, evidence: Given) -> tuple[list[Any], float]:
        """Return P(parents, node | evidence) of every node of a discrete network, and log P(evidence)."""
        door: Any = self._door
        found: tuple[list[Any], float] = door.family_margins(evidence, allowed(None))
        return found
