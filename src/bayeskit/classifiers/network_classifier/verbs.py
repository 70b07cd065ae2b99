"""How a network classifier goes on learning: its tables change with the rows, its arcs are held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from bayeskit.classifiers.doors import announced, check_same_settings, refuse_sparse, say_y_is_needed
from bayeskit.classifiers.network_classifier.answers import BayesNetAnswers
from bayeskit.classifiers.network_classifier.batch import Batch, read_batch
from bayeskit.classifiers.network_classifier.states import States, moved, states_with_rows, with_states
from bayeskit.classifiers.semi_supervision import all_labelled
from bayeskit.data.labels import as_labels, encode_labels
from bayeskit.data.source import Source
from bayeskit.errors import DataError, Incompatible, SettingError, UnseenClass, UsageError
from bayeskit.graphs.network import Network
from bayeskit.learning.networks.network_counts import NetworkCounts
from bayeskit.networks.bayesian_network import BayesianNetwork
from bayeskit.schema import Name, Schema, sorted_labels


class BayesNetVerbs(BayesNetAnswers):
    """The verbs after ``fit``; each is all or nothing."""

    _schema: Schema
    states: Any

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, *, target: Name | None = None) -> Self:
        """Add rows to what was learned before; the first call is ``fit``, and learns the arcs.

        Later ones change the tables alone: the model is then that of ``fit`` to all rows, had it found the same arcs
        and cut points. States and classes that are new enlarge it, but for columns whose states were declared.

        Parameters
        ----------
        X, y, target
            As in ``fit``; from the second call on also batches and files.
        classes : list of labels, optional
            All that there will be; needed at the first call only, and any other label is refused then.

        Examples
        --------
        >>> from bayeskit import BayesNetClassifier
        >>> X, y = [["sun"], ["rain"]] * 5, ["go", "stay"] * 5
        >>> model = BayesNetClassifier("naive").fit(X, y).partial_fit([["snow"]], ["stay"])
        >>> model.network_.n_rows_, model.schema_["x0"].states
        (11.0, ('rain', 'snow', 'sun'))
        """
        known = None if classes is None else announced(classes, "y").states
        if not self.__sklearn_is_fitted__():
            return self._first(Source(X, y, None, target), known)
        held = self._held.get("classes")
        if known is not None and set(known) != set(held or self.schema_.target.states):
            was = list(held or self.schema_.target.states)
            raise UnseenClass(
                f"classes={list(known)!r} is not the same as on last call to partial_fit, was: {was!r}."
            )
        refuse_sparse(self, X)
        source = Source(X, y, None, target)
        if self.semi_supervised:
            source = all_labelled(self, source)
        say_y_is_needed(self, source)
        network, counts = self.network_._network, self._counts("partial_fit")
        for batch in self._batches(source, network):
            grown = with_states(network, batch.states)
            new = NetworkCounts.of(grown, batch.columns)
            network, counts = grown, moved(counts, network, grown).merge(new)
        return self._now(network, counts)

    def forget(self, X: Any, y: Any = None, *, target: Name | None = None) -> Self:
        """Take rows away that were learned before: what is left equals a fit to the others, of the same arcs.

        Rows that cannot have been counted, because some cell would hold less than nothing, are refused.
        """
        self._require_fitted()
        source = Source(X, y, None, target)
        say_y_is_needed(self, source)
        network, counts = self.network_._network, self._counts("forget")
        for batch in self._batches(source, network):
            grown = with_states(network, batch.states)
            counts = moved(counts, network, grown).subtract(NetworkCounts.of(grown, batch.columns))
            network = grown
        if not counts.n_rows > 0.0:
            raise DataError(
                "These are all the rows that the model has learned: nothing is left of it. Fit anew."
            )
        return self._now(network, counts)

    def merge(self, other: Self) -> Self:
        """Add what another model of the same parameters, arcs and cut points has learned."""
        self._require_fitted()
        check_same_settings(self, other)
        if tuple(self.schema_.position) != tuple(other.schema_.position) or self.target_ != other.target_:
            raise Incompatible("The two models were learned from different columns, and cannot be added.")
        for key in ("structure", "cut_points"):
            if self.held_[key] != other.held_[key]:
                raise Incompatible(
                    f"The two models hold different {key.replace('_', ' ')}, chosen from different rows. Fit one, and "
                    "let partial_fit add the rows of the other."
                )
        mine, its = self.network_._network, other.network_._network
        states = self._states_of_both(mine, its)
        both = with_states(mine, states)
        counts = moved(self._counts("merge"), mine, both)
        return self._now(both, counts.merge(moved(other._counts("merge"), its, with_states(its, states))))

    def fade(self, factor: float) -> Self:
        """Multiply the weight of everything learned so far by a factor: what comes next counts for more."""
        self._require_fitted()
        if not (isinstance(factor, (int, float, np.number)) and 0.0 < factor <= 1.0):
            raise SettingError(f"fade takes a factor above 0 and at most 1, not {factor!r}.")
        before = self._counts("fade")
        faded = NetworkCounts(before.statistics.scale(float(factor)))
        return self._now(self.network_._network, faded)

    def __add__(self, other: Self) -> Self:
        return copy(self).merge(other)

    def _first(self, source: Source, classes: tuple[Any, ...] | None) -> Self:
        """Learn the arcs from the first rows; announced classes that these lack have tables of the prior alone."""
        if classes is not None:
            _refuse_others(source, classes)
        self.fit(source.data, source.y, target=source.target)
        if classes is None:
            return self
        self._held = {**self._held, "classes": classes}
        network, counts = self.network_._network, self._counts("partial_fit")
        wider = with_states(network, {self.target_: sorted_labels(classes)})
        return self._now(wider, moved(counts, network, wider))

    def _batches(self, source: Source, network: Network) -> Iterator[Batch]:
        """Read rows as the columns of the network, each batch with the states of all before it."""
        found = False
        for rows in source:
            found = True
            batch = read_batch(self, network, rows, self._open())
            network = with_states(network, batch.states)
            yield batch
        if not found:
            raise DataError("The source gave no batch, so there is no row in it.")

    def _open(self) -> set[Name]:
        """The nodes that take new states: those not declared, nor cut into intervals."""
        declared = {*(self.states or ()), *([self.target_] if "classes" in self._held else [])}
        nodes = self.network_._network.nodes
        return {n.name for n in nodes if n.is_discrete and n.variable.cuts is None and n.name not in declared}

    def _states_of_both(self, mine: Network, its: Network) -> States:
        """Return the states of two networks together; what was declared or announced here is not enlarged."""
        grows, states = self._open(), {}
        for node in mine.nodes:
            here, there = node.variable.states, its[node.name].variable.states
            strange = [state for state in there if state not in node.variable.codes]
            if strange and node.name not in grows:
                raise Incompatible(
                    f"{node.name!r} has the state {strange[0]!r} in the other model, which was not announced in this "
                    "one. Merge this one into the other."
                )
            if node.is_discrete:
                states[node.name] = sorted_labels({*here, *there}) if strange else here
        return states

    def _counts(self, verb: str) -> NetworkCounts:
        learned = self.network_._learned
        if not isinstance(learned, NetworkCounts):
            raise UsageError(
                f"{verb} needs counts, and a model that unlabelled rows took part in by EM has none: what such a row "
                "tells depends on all the others. Give all rows to fit."
            )
        return learned

    def _now(self, network: Network, counts: NetworkCounts) -> Self:
        """Be the model of these counts; states that no row has any more leave."""
        kept = with_states(network, states_with_rows(network, counts, self._in_order(network, self._open())))
        made = BayesianNetwork._of(kept)
        made._learn(kept, moved(counts, network, kept), self.network_._prior)
        nodes = {node.name: node.variable for node in kept.nodes}
        schema = self._schema
        attributes = tuple(nodes.get(v.name, v) for v in schema.attributes)
        self.network_, self._schema = made, replace(schema, attributes=attributes, target=nodes[self.target_])
        return self

    def _in_order(self, network: Network, names: Iterable[Name]) -> list[Name]:
        return sorted(names, key=network.dag.position.__getitem__)


def _refuse_others(source: Source, classes: tuple[Any, ...]) -> None:
    """Refuse a label that was not announced, before anything is learned."""
    for rows in source if source.in_memory and (source.y is not None or source.target is not None) else ():
        encode_labels(as_labels(rows.y, rows.table.n_rows), announced(classes, "y"), "grow")
