"""Families → tries: the counts of every level of back-off, ready for look-up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.estimation.kernels.trie import Trie, fill_hash, sum_contexts
from bayeskit.schema import Schema
from bayeskit.statistics.families import Families

Ints = NDArray[np.int64]

# A table of all contexts there could be is taken while it is small, or has no more than this many places for
# each context there is; otherwise a hash with twice as many places as contexts, at least.
_SMALL_TABLE, _PLACES_A_CONTEXT = 256, 8


def lay_tries(
    families: Families, schema: Schema, missing: str = "ignore", is_state: NDArray[np.bool_] | None = None
) -> Trie:
    """Lay the counts of all levels of all families out for look-up.

    Parameters
    ----------
    families : Families
    schema : Schema
    missing : "ignore" or "state"
        With "state", missing is one more state of every attribute that was ever missing.
    is_state : bool array over the categorical attributes, optional
        Which these are, where more families than these tell it.

    Examples
    --------
    >>> from bayeskit.schema import Variable
    >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
    >>> counted = Families.zero(schema, (("a",),))
    >>> counted = counted.with_cells([(np.array([0, 1, 3]), np.array([2.0, 1.0, 4.0]))], np.array([2.0, 5.0]))
    >>> trie = lay_tries(counted, schema)
    >>> trie.entry_class, trie.entry_weight
    (array([0, 1], dtype=int32), array([2., 5.]))
    """
    if missing != "state":
        is_state = np.zeros(len(schema.categorical), bool)
    elif is_state is None:
        is_state = states_of_missing(families, schema)
    names = [families.names_of(f) for f in range(len(families))]
    layer = _Layer(schema.n_classes)
    for f, family in enumerate(names):
        radices = [schema.categorical[j].size + 1 for j in family]
        for level, (keys, counts) in enumerate(families.levels(f, is_state)):
            layer.add(keys, counts, radices[0], radices[1 : level + 1])
    parents = [family[1:] for family in names]
    return Trie(
        sizes=np.array([v.size for v in schema.categorical], np.int64),
        is_state=is_state,
        child=np.array([family[0] for family in names], np.int64),
        first_parent=np.cumsum([0, *map(len, parents)], dtype=np.int64),
        parents=np.array([j for some in parents for j in some], np.int64),
        **layer.arrays(),
    )


def states_of_missing(families: Families, schema: Schema) -> NDArray[np.bool_]:
    """Tell which attributes were ever missing, as far as some family has them."""
    found, k = np.zeros(len(schema.categorical), bool), len(families.margin)
    for f in range(len(families)):
        rest = families.cells(f)[0] // max(k, 1)
        names = families.names_of(f)
        for j in (names[0], *names[:0:-1]):
            radix = schema.categorical[j].size + 1
            found[j] |= bool((rest % radix == radix - 1).any())
            rest = rest // radix
    return found


class _Layer:
    """Collects levels, each after the one with a parent less, into the flat arrays of a trie."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.sums, self.states = np.zeros(n_classes), np.zeros(n_classes)
        self.pieces: dict[str, list[NDArray[Any]]] = {}
        self.numbers: dict[str, list[int]] = {name: [] for name in ("shift", "key_start", "node_start")}
        self.length = dict.fromkeys(("context", "cell", "entry", "count", "key", "node"), 0)
        self.first_context = [0]
        self.last_contexts = np.empty(0, np.int64)

    def add(self, keys: Ints, counts: NDArray[np.float64], child_radix: int, radices: list[int]) -> None:
        k = max(self.n_classes, 1)
        pair = keys // k
        first_count = np.flatnonzero(np.diff(pair, prepend=-1))
        cell = pair[first_count]
        context_of_cell = cell // child_radix
        first_cell = np.flatnonzero(np.diff(context_of_cell, prepend=-1))
        contexts = context_of_cell[first_cell]
        classes = (keys - pair * k).astype(np.int32)
        ends = np.append(first_cell, len(cell)), np.append(first_count, len(keys))
        out = (
            np.empty(len(contexts) + 1, np.int64),
            np.empty_like(classes),
            np.empty(len(keys)),
            np.empty(len(keys)),
        )
        n = sum_contexts(*ends, classes, counts, self.sums, self.states, out)
        self._look_up_table(contexts, radices)
        at = self.length
        self._keep("entry_start", out[0][:-1] + at["entry"])
        self._keep("entry_class", out[1][:n].copy())
        self._keep("entry_weight", out[2][:n].copy())
        self._keep("entry_states", out[3][:n].copy())
        self._keep("cell_start", first_cell + at["cell"])
        self._keep("cell_state", (cell - context_of_cell * child_radix).astype(np.int32))
        self._keep("count_start", first_count + at["count"])
        self._keep("count_class", classes)
        self._keep("count_weight", counts)
        for name, more in (("context", contexts), ("cell", cell), ("count", keys)):
            at[name] += len(more)
        at["entry"] += n
        self.first_context.append(at["context"])

    def _look_up_table(self, contexts: Ints, radices: list[int]) -> None:
        n_keys, first = 1, self.length["context"]
        for radix in radices:
            n_keys *= radix  # Python's own whole numbers: no overflow
        if radices:
            # Whoever has l parents has the first l − 1 of them: each is found.
            shorter = np.searchsorted(self.last_contexts, contexts // radices[-1])
            self._keep("up", (first - len(self.last_contexts) + shorter).astype(np.int32))
        else:
            self._keep("up", np.full(len(contexts), -1, np.int32))
        self.last_contexts = contexts
        self.numbers["key_start"].append(self.length["key"])
        self.numbers["node_start"].append(self.length["node"])
        if n_keys <= max(_SMALL_TABLE, _PLACES_A_CONTEXT * len(contexts)):
            nodes = np.full(n_keys, -1, np.int32)
            nodes[contexts] = first + np.arange(len(contexts))
            self.numbers["shift"].append(-1)
        else:
            bits = max(1, (2 * len(contexts)).bit_length())
            hash_keys, nodes = np.full(1 << bits, -1, np.int64), np.full(1 << bits, -1, np.int32)
            fill_hash(contexts, first, 64 - bits, hash_keys, nodes)
            self._keep("hash_keys", hash_keys)
            self.length["key"] += len(hash_keys)
            self.numbers["shift"].append(64 - bits)
        self._keep("node_of", nodes)
        self.length["node"] += len(nodes)

    def _keep(self, name: str, piece: NDArray[Any]) -> None:
        self.pieces.setdefault(name, []).append(piece)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a trie, the starts with their ends."""
        kinds: dict[str, Any] = dict.fromkeys(("entry_weight", "entry_states", "count_weight"), np.float64)
        kinds |= dict.fromkeys(("hash_keys", "entry_start", "cell_start", "count_start"), np.int64)
        kinds |= dict.fromkeys(("node_of", "up", "cell_state", "entry_class", "count_class"), np.int32)
        found = {
            name: np.concatenate([np.empty(0, of), *self.pieces.get(name, [])]) for name, of in kinds.items()
        }
        for name, of in (("entry_start", "entry"), ("cell_start", "cell"), ("count_start", "count")):
            found[name] = np.append(found[name], self.length[of])
        found["first_context"] = np.array(self.first_context, np.int64)
        return found | {name: np.array(values, np.int64) for name, values in self.numbers.items()}
