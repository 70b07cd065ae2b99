"""A network as a classifier: rows in, the distribution or the most probable state of one node out."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.labels import as_weights
from bayeskit.errors import DataError, SuspectResult
from bayeskit.networks.answering import Answering
from bayeskit.networks.arguments import choice
from bayeskit.networks.data_rows import Rows, Unseen
from bayeskit.networks.memory import allowed
from bayeskit.schema import Label, Name

Floats = NDArray[np.float64]
Impossible = Literal["prior", "error"]

# So many impossible rows are named in a warning.
MOST_NAMED = 10


class Prediction(Answering):
    """The part of a network that answers for many rows at once."""

    def predict_proba(
        self,
        data: Any,
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
            Columns are matched to nodes by name. Missing cells (null, NaN, None) and absent columns are summed
            out; a column of the target is not looked at, nor are columns that are no node. Also a matrix of
            integer codes, one column for each node in order, -1 meaning missing.
        target : a discrete node
        unseen : "ignore" (a value that is no state counts as missing) or "error"
        impossible : "prior" or "error"
            What becomes of a row of probability zero: the target's prior with one warning that numbers such rows,
            or an error. A row that has the whole Markov blanket of the target is judged by that alone.
        max_memory : bytes that may be used, by default the setting of `set_max_memory`

        Returns
        -------
        array of shape (rows, states), in the order of ``states(target)``
        """
        return self._predicted(data, target, unseen, impossible, max_memory)[0]

    def predict(
        self,
        data: Any,
        target: Name,
        *,
        unseen: Unseen = "ignore",
        impossible: Impossible = "prior",
        max_memory: float | None = None,
    ) -> NDArray[Any]:
        """Return the most probable state of the target for each row; ties go to the first state.

        The parameters are those of `predict_proba`.
        """
        found, states = self._predicted(data, target, unseen, impossible, max_memory)
        best: NDArray[Any] = _array_of(states)[found.argmax(axis=1)]
        return best

    def log_prob(self, data: Any, *, unseen: Unseen = "ignore", max_memory: float | None = None) -> Floats:
        """Return the log probability of each row, missing cells summed out; −inf where a row is impossible.

        Parameters
        ----------
        data, unseen, max_memory : as in `predict_proba`

        Returns
        -------
        array of shape (rows,): log probabilities, of a network with continuous nodes log densities
        """
        choice(unseen, "unseen", ("ignore", "error"))
        door = self._door
        return door.log_prob(Rows(data, door.variables, unseen), allowed(max_memory))

    def log_likelihood(
        self,
        data: Any,
        sample_weight: Any = None,
        *,
        unseen: Unseen = "ignore",
        max_memory: float | None = None,
    ) -> float:
        r"""Return the log probability of all rows together, missing cells summed out; −inf where one is impossible.

        .. math:: \ell = \sum_i w_i \log P(\text{row}_i)

        Parameters
        ----------
        data, unseen, max_memory : as in `predict_proba`
        sample_weight : one number a row; rows of weight 0 do not matter, even impossible ones

        Examples
        --------
        >>> from bayeskit import BayesianNetwork
        >>> coin = BayesianNetwork({"coin": []}).set_cpt("coin", {"heads": 0.5, "tails": 0.5})
        >>> round(coin.log_likelihood({"coin": ["heads", None, "tails"]}), 4)
        -1.3863
        """
        logs = self.log_prob(data, unseen=unseen, max_memory=max_memory)
        weights = as_weights(sample_weight, len(logs))
        if weights is None:
            return float(logs.sum())
        return float(weights[weights > 0.0] @ logs[weights > 0.0])

    def _predicted(
        self, data: Any, target: Name, unseen: Unseen, impossible: Impossible, max_memory: float | None
    ) -> tuple[Floats, tuple[Label, ...]]:
        """Return P(target | row) and the states of the target, both of the network as it was when asked."""
        choice(unseen, "unseen", ("ignore", "error"))
        choice(impossible, "impossible", ("prior", "error"))
        limit = allowed(max_memory)
        door = self._door
        place = door.discrete_target(target)
        rows = Rows(data, door.variables, unseen)
        if unseen == "error":  # whoever wants to hear of unknown values wants it of all columns
            rows.check(place)
        found = door.predict(rows, place, limit)
        strange = np.flatnonzero(~found.any(axis=1))
        if len(strange):
            if impossible == "error":
                raise DataError(
                    f"Row {strange[0]} has probability zero (the first row is 0). Mend it, or pass "
                    'impossible="prior" to answer such rows with the prior of the target.'
                )
            found[strange] = door.prior(place, limit)
            shown = ", ".join(map(str, strange[:MOST_NAMED])) + (", …" if len(strange) > MOST_NAMED else "")
            warnings.warn(
                f"{len(strange)} of {len(found)} rows have probability zero and were answered with the prior of "
                f'{target!r}: {shown} (the first row is 0). impossible="error" raises instead.',
                SuspectResult,
                stacklevel=3,
            )
        return found, door.variables[place].states


def _array_of(states: tuple[Any, ...]) -> NDArray[Any]:
    """Return states as an array that keeps their types."""
    if len({type(state) for state in states}) == 1 and isinstance(states[0], (str, int, float)):
        return np.array(states)
    array = np.empty(len(states), dtype=object)
    for code, state in enumerate(states):  # one by one: a state may be a tuple
        array[code] = state
    return array
