"""Queries of a network: posteriors, probability of evidence, MPE and MAP, for one row or many."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit._data.class_labels import as_weights
from bayeskit._graphs.network import FactorGraph
from bayeskit._inference.exact import allowed
from bayeskit._messages import RowNumber, listed
from bayeskit._networks.arguments import Rows, Unseen, choice
from bayeskit._networks.discrete_adapter import DerivedCache, DiscreteAdapter, MostProbable
from bayeskit._networks.evidence import Given
from bayeskit._schema import Label, Name
from bayeskit.errors import DataError, SuspectResult
from bayeskit.typing import Floats, NamesLike, PathLike, TableLike, WeightsLike

if TYPE_CHECKING:
    from bayeskit._decision.loss import LossLike
    from bayeskit._networks.exploring import ExploredNetwork
    from bayeskit._networks.mixed_adapter import MixedAdapter
    from bayeskit._report.network_explanation import NetworkExplanation
    from bayeskit._report.value_of_information import Questions

Impossible = Literal["prior", "error"]

# The number of impossible rows that a warning names.
MOST_NAMED = 10


class Queries:
    """The methods of a network for exact inference.

    Evidence is ``{node: state}``, or ``{node: Not(state, ...)}`` to exclude states. A state may be given as
    it is or as text: 1, 1.0 and "1" all mean the state "1". Soft evidence is ``{node: likelihoods}``: numbers
    in the order of the states, or ``{state: number}``. They need not sum to one.

    ``max_memory`` limits the bytes that a call may use. The default is the setting of `set_max_memory` (one
    GiB). A query that needs more raises `TooLarge` before it starts. Evidence of probability zero raises
    `ImpossibleEvidence`, which names a minimal impossible subset of it.
    """

    _network: Any  # a Network, or the FactorGraph of a Markov network
    _cache: DerivedCache

    if not TYPE_CHECKING:  # a type checker would take any attribute for one of these

        def __getattr__(self, name: str) -> Any:
            from bayeskit._networks.arguments import refuse_attribute

            refuse_attribute(self, name)

    def query(
        self,
        targets: NamesLike,
        evidence: Given = None,
        *,
        soft: Given = None,
        max_memory: float | None = None,
    ) -> Any:
        """Return P(targets | evidence).

        Parameters
        ----------
        targets : a node or a list of nodes
            Observed nodes are allowed; their observed state has probability one.
        evidence : {node: state}, optional
            ``{node: Not(state, ...)}`` excludes states. A state may be given as it is or as text: 1, 1.0 and "1" all
            mean the state "1". Evidence of probability zero raises `ImpossibleEvidence`, which names a minimal
            impossible subset of it.
        soft : {node: likelihoods}, optional
            Soft evidence: numbers in the order of the states, or ``{state: number}``. They need not sum to one.
        max_memory : int, optional
            The memory limit in bytes, by default the setting of `set_max_memory` (one GiB). A query that needs more
            raises `TooLarge` before it starts.

        Returns
        -------
        Factor with axes in the order of ``targets`` and numbers that sum to one; for continuous targets a
        `GaussianMixturePosterior`.

        Examples
        --------
        >>> from bayeskit import MarkovNetwork
        >>> friends = MarkovNetwork({"ann": ["tea", "mate"], "bob": ["tea", "mate"]},
        ...                         [(["ann", "bob"], [[3, 1], [1, 3]])])
        >>> friends.query("ann", evidence={"bob": "mate"})
        Factor('ann': {'tea': 0.25, 'mate': 0.75})
        """
        return self._adapter.query(targets, evidence, soft, allowed(max_memory))

    def posteriors(
        self, evidence: Given = None, *, soft: Given = None, max_memory: float | None = None
    ) -> dict[Name, Any]:
        """Return P(node | evidence) of every node.

        Returns
        -------
        dict of node → array in the order of ``states(node)``, one-hot for observed nodes. A continuous node
        has a `GaussianMixturePosterior`.
        """
        return self._adapter.posteriors(evidence, soft, allowed(max_memory))

    def log_probability(
        self, evidence: Given = None, *, soft: Given = None, max_memory: float | None = None
    ) -> float:
        """Return log P(evidence), −inf if it is impossible.

        For soft evidence L it is the logarithm of the sum of P(x)·L(x). For observed continuous nodes it is
        the log density.
        """
        limit = allowed(max_memory)
        adapter = self._adapter
        return adapter.log_evidence(evidence, soft, limit) - adapter.log_total(limit)

    def mpe(
        self, evidence: Given = None, *, soft: Given = None, max_memory: float | None = None
    ) -> MostProbable:
        """Return the most probable explanation (MPE): the jointly most probable states of all nodes.

        Ties go to the first states, in the order of the nodes.

        Returns
        -------
        dict of node → state, including observed nodes, with ``.log_probability`` = log P(states, evidence).
        """
        return self._adapter.mpe(evidence, soft, allowed(max_memory))

    def map(
        self,
        targets: NamesLike,
        evidence: Given = None,
        *,
        soft: Given = None,
        max_memory: float | None = None,
    ) -> MostProbable:
        """Return the jointly most probable states of some nodes (MAP), with all others summed out.

        Parameters
        ----------
        targets : a node or a list of nodes
        evidence, soft, max_memory : as in `query`

        Returns
        -------
        dict of node → state: the targets in the given order, then the observed nodes, with ``.log_probability`` =
        log P(targets, evidence). Ties go to the first states, in the order of the nodes.
        """
        return self._adapter.map(targets, evidence, soft, allowed(max_memory))

    def explain(
        self,
        target: Name,
        evidence: Given = None,
        *,
        soft: Given = None,
        lang: str = "en",
        max_cells: int = 2000,
        max_memory: float | None = None,
    ) -> NetworkExplanation:
        """Explain P(target | evidence) step by step: the factors, each sum, and the normaliser.

        Only the factors that the query needs are included. The arithmetic uses exact fractions of the numbers
        in the tables. Print the result or show it in a notebook. It also has ``to_html``, ``to_latex``,
        ``to_json`` and ``to_dict``.

        Parameters
        ----------
        target : a discrete node that is not observed
        evidence, soft, max_memory : as in `query`
        lang : "en" or "zh"
        max_cells : int
            The maximum number of cells in all products together. More raise a `SettingError` that says how
            many there are.

        Examples
        --------
        >>> from bayeskit.networks import wet_grass
        >>> page = wet_grass().explain("rain", evidence={"wet": "yes"})
        >>> page.order, [str(p) for p in page.exact_posterior]
        (('sprinkler',), ['9/34', '25/34'])
        """
        from bayeskit._networks.analysis.explain_query import explain_query

        page = explain_query(self._network, self._adapter, target, evidence, soft, lang, max_cells)
        if not page.normaliser or (
            page.cancelled and self.log_probability(evidence, soft=soft, max_memory=max_memory) == -math.inf
        ):
            raise self._adapter.impossible(evidence, soft, allowed(max_memory))
        return page

    def explore(self, *, lang: str = "en", port: int = 0, open_browser: bool = True) -> Any:
        """Open the network in the browser: click a state to observe it, and every bar moves. Ctrl-C ends it.

        In a notebook with anywidget (``pip install "bayeskit[notebook]"``) it returns a widget at once, whose
        ``evidence`` can be read, set and observed.

        Only this machine can connect. The network is explored as it is now; later edits are not seen.
        Needs ``pip install "bayeskit[web]"``.

        Parameters
        ----------
        lang : "en" or "zh"
            The language of the page; it can be changed there.
        port : int
            The port to listen at; 0 finds a free one.
        open_browser : bool
            If False, only the address is printed.
        """
        from bayeskit._web.standalone import open_here

        return open_here(self._explored(), lang=lang, port=port, open_browser=open_browser)

    def _explored(self, name: str = "") -> ExploredNetwork:
        """Return what the explorer asks; ``name`` is shown if the network has none."""
        from bayeskit._networks.exploring import ExploredNetwork

        return ExploredNetwork(self, name)

    def publish(self, path: PathLike, *, lang: str | None = None) -> None:
        """Write the network as one HTML file that is explored in a browser without a server.

        The file holds the tables, a small exact engine and the page of `explore`; it loads nothing from elsewhere.
        The findings are in its address, after ``#``, so that a link shows what one sees. The names of nodes and
        states and all numbers of the tables can be read in the file.

        Parameters
        ----------
        path : str or Path
        lang : "en" or "zh", optional
            The language of the page at first; by default that of the browser.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from bayeskit.networks import asia
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "asia.html"
        >>> asia().publish(path)
        >>> path.stat().st_size < 200_000
        True
        """
        from bayeskit._io.replacing import replace_file
        from bayeskit._web.standalone import published_page

        target = Path(path)
        content = self._explored(target.name.partition(".")[0]).published()
        replace_file(target, published_page(content, lang).encode())

    def ask_next(
        self,
        target: Name,
        evidence: Given = None,
        candidates: NamesLike | None = None,
        costs: Mapping[Any, float] | None = None,
        loss: LossLike = None,
        *,
        soft: Given = None,
        lang: str = "en",
    ) -> Questions:
        """Rank the unobserved nodes by the value of information about the target.

        The value of a node is the expected information about the target in bits or, with a loss, the expected
        reduction in risk, minus the cost of observing it. It is exact: every state of every candidate is
        evaluated.

        Parameters
        ----------
        target : a discrete node that is not observed
        evidence : {node: state}, optional
        candidates : nodes, optional
            By default, all unobserved nodes. Continuous nodes have no states and are left out.
        costs : {node: number}, optional
            In bits or, with a loss, in the unit of the loss. Nodes that are not named cost 0.
        loss : as in :func:`bayeskit.decision.decide`, optional
            Its classes are the states of the target.
        soft : {node: likelihoods}, optional
            Soft evidence. Its nodes stay candidates, since their states are not known.
        lang : "en" or "zh"

        Examples
        --------
        >>> from bayeskit.networks import wet_grass
        >>> found = wet_grass().ask_next("rain", evidence={"wet": "yes"}, costs={"sprinkler": 0.5})
        >>> [(row.name, round(row.net, 4)) for row in found]
        [('joe', 0.5537), ('sprinkler', 0.0783)]
        """
        from bayeskit._networks.analysis.network_information import rank_observations

        return rank_observations(self, self._adapter, target, evidence, candidates, costs, loss, lang, soft)

    def predict_proba(
        self,
        data: TableLike,
        target: Name,
        *,
        unseen: Unseen = "ignore",
        impossible: Impossible = "prior",
        max_memory: float | None = None,
    ) -> Floats:
        """Return P(target | row) for each row.

        Parameters
        ----------
        data : a data frame or a mapping of columns
            Columns are matched to nodes by name. Missing cells (null, NaN, None) and absent columns are
            summed out. The target's column and columns that are not nodes are ignored. A matrix of integer
            codes is also accepted: one column for each node in order, with -1 for missing.
        target : a discrete node
        unseen : "ignore" (a value that is not a state counts as missing) or "error"
        impossible : "prior" or "error"
            What to return for rows of probability zero: the target's prior, with one warning that lists these
            rows, or an error. If a row has the whole Markov blanket of the target, only the blanket is used.
        max_memory : the memory limit in bytes, by default the setting of `set_max_memory`

        Returns
        -------
        array of shape (rows, states), in the order of ``states(target)``
        """
        return self._predicted(data, target, unseen, impossible, max_memory)[0]

    def predict(
        self,
        data: TableLike,
        target: Name,
        *,
        unseen: Unseen = "ignore",
        impossible: Impossible = "prior",
        max_memory: float | None = None,
    ) -> NDArray[Any]:
        """Return the most probable state of the target for each row. Ties go to the first state.

        The parameters are those of `predict_proba`.
        """
        found, states = self._predicted(data, target, unseen, impossible, max_memory)
        best: NDArray[Any] = _array_of(states)[found.argmax(axis=1)]
        return best

    def log_prob(
        self, data: TableLike, *, unseen: Unseen = "ignore", max_memory: float | None = None
    ) -> Floats:
        """Return the log probability of each row with missing cells summed out; −inf for an impossible row.

        Parameters
        ----------
        data, unseen, max_memory : as in `predict_proba`

        Returns
        -------
        array of shape (rows,): log probabilities, or log densities if the network has continuous nodes
        """
        choice(unseen, "unseen", ("ignore", "error"))
        adapter = self._adapter
        return adapter.log_prob(Rows(data, adapter.variables, unseen), allowed(max_memory))

    def log_likelihood(
        self,
        data: TableLike,
        sample_weight: WeightsLike | None = None,
        *,
        unseen: Unseen = "ignore",
        max_memory: float | None = None,
    ) -> float:
        r"""Return the log-likelihood of all rows with missing cells summed out; −inf if a row is impossible.

        .. math:: \ell = \sum_i w_i \log P(\text{row}_i)

        Parameters
        ----------
        data, unseen, max_memory : as in `predict_proba`
        sample_weight : one number per row; rows of weight 0 are ignored, even impossible ones

        Examples
        --------
        >>> from bayeskit import BayesianNetwork
        >>> coin = BayesianNetwork({"coin": []})
        >>> coin.set_cpt("coin", {"heads": 0.5, "tails": 0.5})
        >>> round(coin.log_likelihood({"coin": ["heads", None, "tails"]}), 4)
        -1.3863
        """
        logs = self.log_prob(data, unseen=unseen, max_memory=max_memory)
        weights = as_weights(sample_weight, len(logs))
        if weights is None:
            return float(logs.sum())
        return float(weights[weights > 0.0] @ logs[weights > 0.0])

    def _predicted(
        self, data: TableLike, target: Name, unseen: Unseen, impossible: Impossible, max_memory: float | None
    ) -> tuple[Floats, tuple[Label, ...]]:
        """Return P(target | row) and the states of the target, both from the same snapshot of the network."""
        choice(unseen, "unseen", ("ignore", "error"))
        choice(impossible, "impossible", ("prior", "error"))
        limit = allowed(max_memory)
        adapter = self._adapter
        place = adapter.discrete_target(target)
        rows = Rows(data, adapter.variables, unseen)
        if unseen == "error":  # unknown values are reported in all columns, not only in the relevant ones
            rows.check(place)
        found = adapter.predict(rows, place, limit)
        strange = np.flatnonzero(~found.any(axis=1))
        if len(strange):
            if impossible == "error":
                raise DataError(
                    '{place} has probability zero. Correct it, or pass impossible="prior" to answer such rows with '
                    "the prior of the target.",
                    place=RowNumber(strange[0], begins=True),
                )
            found[strange] = adapter.prior(place, limit)
            shown = listed(map(str, strange), MOST_NAMED)
            warnings.warn(
                SuspectResult(
                    "{n} of {n_found} rows have probability zero and were answered with the prior of "
                    '{target!r}: {shown} (the first row is 0). impossible="error" raises instead.',
                    n=len(strange),
                    n_found=len(found),
                    target=target,
                    shown=shown,
                ),
                stacklevel=3,
            )
        return found, adapter.variables[place].states

    def _family_margins(self, evidence: Given, *, soft: Given = None) -> tuple[list[Any], float]:
        """Return P(parents, node | evidence) of every node of a discrete network, and log P(evidence)."""
        adapter: Any = self._adapter
        found: tuple[list[Any], float] = adapter.family_margins(evidence, soft, allowed(None))
        return found

    @property
    def _adapter(self) -> DiscreteAdapter | MixedAdapter:
        """The adapter for queries, created at the first query and cached until the network changes."""
        cache = self._cache
        return cache.get("adapter", lambda: _open_adapter(cache))


def _open_adapter(cache: DerivedCache) -> DiscreteAdapter | MixedAdapter:
    network = cache.network
    if isinstance(network, FactorGraph):
        return DiscreteAdapter(network, cache)
    network.require_distributions()
    if network.is_discrete:
        return DiscreteAdapter(network, cache)
    from bayeskit._networks.mixed_adapter import MixedAdapter

    return MixedAdapter(network)


def _array_of(states: tuple[Any, ...]) -> NDArray[Any]:
    """Return states as an array, with their types."""
    if len({type(state) for state in states}) == 1 and isinstance(states[0], (str, int, float)):
        return np.array(states)
    array = np.empty(len(states), dtype=object)
    for code, state in enumerate(states):  # one by one, because a state may be a tuple
        array[code] = state
    return array
