r"""Back-off smoothing: the counts of families as tries with every level, and the choice of the constants from counts.

For each family and level l, every cell (x, context, y) of weight n predicts its own class after d = min(n, 1) of its
weight is removed at all levels:

.. math:: P(y' \mid x, u) \propto \bigl(N_l(u, y') - d\,[y' = y] + P(y')\bigr)\; p_l(x \mid u, y'),
          \qquad P(y') = \frac{n(y') - d\,[y' = y] + 1/K}{N - d + 1}

The loss is −n·log P(y | x, u), summed over cells and families. One constant c is chosen per level, from level 0 up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.kernels.trie_scores import find_cell, left_over
from bayeskit._intrinsics import fibonacci_hash
from bayeskit._numba import kernel
from bayeskit._schema import Schema
from bayeskit._statistics.families import Cells, Families
from bayeskit._statistics.tables import Pairs
from bayeskit.typing import Floats


class Trie(NamedTuple):
    """Level l of a family holds, for each context (values of the first l parents) that was seen, N_l(context, c)
    and the n_l(context, x, c) of the child's states x that were seen in it; both sparse over the classes.

    The level l of family f has the number g = first_parent[f] + f + l. Contexts of all families and levels are
    numbered consecutively, and so are cells (a context and a state of the child).

    Attributes
    ----------
    sizes, is_state : arrays over the categorical attributes
        r, and whether the code r (missing) is one more state.
    child, first_parent, parents : arrays over the families
        ``parents[first_parent[f]:first_parent[f + 1]]`` are those of family f.
    first_context : array over the levels
        The contexts of level g are numbered from first_context[g] to first_context[g + 1].
    shift, key_start, node_start : arrays over the levels
        Where the look-up table of the level begins. A shift of −1 means that the key itself is the address.
    hash_keys, node_of : arrays
        An open hash from the key of a context to its number, −1 where there is none.
    up : array over the contexts
        The context without the last parent.
    entry_start, entry_class, entry_weight, entry_states : arrays
        c, N_l(context, c) and the number of states with n_l > 0, classes ascending.
    cell_start, cell_state : arrays
        The child's states seen in a context, ascending.
    count_start, count_class, count_weight : arrays
        c and n_l of a cell, classes ascending.
    """

    sizes: Any
    is_state: Any
    child: Any
    first_parent: Any
    parents: Any
    first_context: Any
    shift: Any
    key_start: Any
    node_start: Any
    hash_keys: Any
    node_of: Any
    up: Any
    entry_start: Any
    entry_class: Any
    entry_weight: Any
    entry_states: Any
    cell_start: Any
    cell_state: Any
    count_start: Any
    count_class: Any
    count_weight: Any


@kernel
def sum_contexts(
    cell_start: Any, count_start: Any, classes: Any, weights: Any, sums: Any, states: Any, out: Any
) -> Any:
    """Write N(context, c) and the number of states with weight, classes ascending. Return the number of entries.

    ``sums`` and ``states`` are K zeros before and after. ``out`` is (start of the entries of each context, their
    classes, weights and numbers of states).
    """
    begins, out_class, out_weight, out_states = out
    n = 0
    for node in range(cell_start.shape[0] - 1):
        begins[node] = n
        first = n
        for j in range(count_start[cell_start[node]], count_start[cell_start[node + 1]]):
            c = classes[j]
            if states[c] == 0.0:
                place = n
                while place > first and out_class[place - 1] > c:
                    out_class[place] = out_class[place - 1]
                    place -= 1
                out_class[place] = c
                n += 1
            sums[c] += weights[j]
            states[c] += 1.0
        for e in range(first, n):
            c = out_class[e]
            out_weight[e] = sums[c]
            out_states[e] = states[c]
            sums[c] = 0.0
            states[c] = 0.0
    begins[cell_start.shape[0] - 1] = n
    return n


@kernel
def fill_hash(keys: Any, first: Any, shift: Any, hash_keys: Any, node_of: Any) -> None:
    """Put the keys of contexts, numbered from ``first``, into an empty table (−1 everywhere)."""
    mask = np.uint64(hash_keys.shape[0] - 1)
    for i in range(keys.shape[0]):
        slot = fibonacci_hash(np.uint64(keys[i])) >> np.uint64(shift)
        while hash_keys[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        hash_keys[slot] = keys[i]
        node_of[slot] = first + i


Ints = NDArray[np.int64]

# A table of all possible contexts is used if it is small, or has at most this many slots for each context that occurs.
# Otherwise a hash table with at least twice as many slots as contexts is used.
_SMALL_TABLE, _PLACES_A_CONTEXT = 256, 8


def lay_tries(
    families: Families, schema: Schema, missing: str = "ignore", is_state: NDArray[np.bool_] | None = None
) -> Trie:
    """Return the counts of all levels of all families as tries.

    Parameters
    ----------
    families : Families
    schema : Schema
    missing : "ignore" or "state"
        With "state", missing is an additional state of every attribute with missing values.
    is_state : bool array over the categorical attributes, optional
        Which attributes these are, if this depends on other families, too.

    Examples
    --------
    >>> from bayeskit.statistics import Variable
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
    """Return which attributes were ever missing, for attributes in some family."""
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
    """Collects levels, each after the one with one parent fewer, into the flat arrays of a trie."""

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


@kernel
def add_losses(
    trie: Any,
    f: Any,
    level: Any,
    base: Any,
    below: Any,
    grid: Any,
    margin: Any,
    path: Any,
    contexts: Any,
    cells: Any,
    p: Any,
    others: Any,
    shares: Any,
    losses: Any,
) -> None:
    """Add the leave-one-out loss of all cells of one level of family f to ``losses``, for each c of the grid.

    Parameters
    ----------
    below : array of shape (level,)
        The constants of the levels below.
    path, contexts, cells : arrays of shape (level + 1,), and (level + 1, K)
        Scratch: the context of each level (initially −1), and N and n in it.
    p, others, shares : arrays of shape (K,), (K,) and (grid, K)
        Scratch: p_{l−1}; N_l + P of the classes of a context, and their p_l for each constant.
    """
    entry_start, entry_class, entry_weight = trie.entry_start, trie.entry_class, trie.entry_weight
    count_start, count_class, count_weight = trie.count_start, trie.count_class, trie.count_weight
    cell_start, cell_state, up = trie.cell_start, trie.cell_state, trie.up
    k, n_all = margin.shape[0], 0.0
    for c in range(k):
        n_all += margin[c]
    g = trie.first_parent[f] + f + level
    for node in range(trie.first_context[g], trie.first_context[g + 1]):
        context = np.int64(node)
        for depth in range(level, -1, -1):
            if path[depth] != context:
                path[depth] = context
                for c in range(k):
                    contexts[depth, c] = 0.0
                for e in range(entry_start[context], entry_start[context + 1]):
                    contexts[depth, entry_class[e]] = entry_weight[e]
            context = np.int64(up[context])
        for cell in range(cell_start[node], cell_start[node + 1]):
            for depth in range(level + 1):
                for c in range(k):
                    cells[depth, c] = 0.0
                held = find_cell(cell_start, cell_state, path[depth], np.int64(cell_state[cell]))
                for e in range(count_start[held], count_start[held + 1]):
                    cells[depth, count_class[e]] = count_weight[e]
            outside = 0.0  # the share of the classes without counts in the context, times N − d + 1
            for c in range(k):
                p[c] = base
                for depth in range(level):
                    if contexts[depth, c] > 0.0:
                        p[c] = (cells[depth, c] + below[depth] * p[c]) / (contexts[depth, c] + below[depth])
                if contexts[level, c] <= 0.0:
                    outside += (margin[c] + 1.0 / k) * p[c]
            first, n_inside = entry_start[node], entry_start[node + 1] - entry_start[node]
            for e in range(n_inside):
                c = entry_class[first + e]
                for at in range(grid.shape[0]):
                    shares[at, e] = (cells[level, c] + grid[at] * p[c]) / (contexts[level, c] + grid[at])
            for j in range(count_start[cell], count_start[cell + 1]):
                y, n = count_class[j], count_weight[j]
                d = min(n, 1.0)
                all_left = n_all - d + 1.0
                own = base  # p_{l−1} of class y without d
                for depth in range(level):
                    in_context = left_over(contexts[depth, y], d)
                    if in_context > 0.0:
                        in_cell = left_over(cells[depth, y], d)
                        own = (in_cell + below[depth] * own) / (in_context + below[depth])
                in_context, in_cell = left_over(contexts[level, y], d), left_over(cells[level, y], d)
                weight = in_context + (margin[y] - d + 1.0 / k) / all_left
                for e in range(n_inside):
                    c = entry_class[first + e]
                    others[e] = contexts[level, c] + (margin[c] + 1.0 / k) / all_left if c != y else 0.0
                for at in range(grid.shape[0]):
                    share = own
                    if in_context > 0.0:
                        share = (in_cell + grid[at] * own) / (in_context + grid[at])
                    total = outside / all_left + weight * share
                    for e in range(n_inside):
                        total += others[e] * shares[at, e]
                    losses[at] -= n * np.log(weight * share / total)


GRID = 2.0 ** np.arange(-2, 9)
GRID.flags.writeable = False
# The largest constant of level 0, which backs off to 1/r. The fewer rows a class has, the nearer its tables come to
# that, so a large constant favours the other classes a little in every column, and in hundreds of columns a lot.
_LARGEST_FIRST = 16.0


def level_losses(
    trie: Trie, base: Floats, margin: Floats, families: Iterable[int], level: int, below: Floats
) -> Floats:
    """Return the leave-one-out loss of each constant of the grid at one level, over families that have it.

    Parameters
    ----------
    trie : Trie
    base : array over the families
        1 / (number of states of the child).
    margin : array of shape (K,)
        n(c).
    families : ints
    level : int
    below : array of shape (level,)
        The constants of the levels below.
    """
    losses, k = np.zeros(len(GRID)), len(margin)
    scratch = (*np.empty((2, level + 1, k)), *np.empty((2, k)), np.empty((len(GRID), k)))
    path = np.full(level + 1, -1, np.int64)
    for f in families:
        if level <= trie.first_parent[f + 1] - trie.first_parent[f]:
            add_losses(trie, f, level, base[f], below, GRID, margin, path, *scratch, losses)
    return losses


def best_constant(losses: Floats, level: int) -> float:
    """Return the constant of least loss at a level; in a tie, the smaller.

    >>> falling = -np.arange(len(GRID))
    >>> best_constant(falling, 0), best_constant(falling, 1)
    (16.0, 256.0)
    """
    allowed = GRID <= _LARGEST_FIRST if level == 0 else GRID > 0.0
    return float(GRID[np.argmin(losses[allowed])])


def choose_constants(
    trie: Trie, base: Floats, margin: Floats, families: Sequence[int] | None = None
) -> Floats:
    """Choose c of every level from 2⁻² … 2⁸ (2⁴ at level 0), greedily from level 0 up. In a tie, take the smaller.

    Returns
    -------
    array over the levels of the deepest family

    Examples
    --------
    >>> from bayeskit.statistics import Variable
    >>> schema = Schema((Variable("a", "categorical", (0, 1)),), Variable("y", "categorical", ("no", "yes")))
    >>> zero = Families.zero(schema, (("a",),))
    >>> counted = zero.with_cells([(np.array([0, 3]), np.array([9.0, 9.0]))], np.array([9.0, 9.0]))
    >>> choose_constants(lay_tries(counted, schema), np.array([0.5]), counted.margin)
    array([0.25])
    """
    chosen = list(range(len(trie.child))) if families is None else list(families)
    n_parents = np.diff(trie.first_parent)
    constants = np.empty(0)
    for level in range(int(max((n_parents[f] for f in chosen), default=-1)) + 1):
        losses = level_losses(trie, base, margin, chosen, level, constants)
        constants = np.append(constants, best_constant(losses, level))
    return constants


def choose_pair_constants(
    pairs: Pairs,
    schema: Schema,
    families: Sequence[tuple[int, int]],
    *,
    missing: str = "ignore",
    unseen: str = "ignore",
) -> Floats:
    """Choose the constants of families (child, parent) from the counts of pairs. A parent of −1 means no parent.

    The result equals that of :func:`choose_constants` for the same counts, because a block of pairs is a family.
    """
    counted = families_of_pairs(pairs, schema, families)
    trie = lay_tries(counted, schema, missing)
    states = trie.sizes[trie.child] + trie.is_state[trie.child] + (unseen == "smooth")
    return choose_constants(trie, 1.0 / np.maximum(states, 1), pairs.margin)


def families_of_pairs(pairs: Pairs, schema: Schema, families: Sequence[tuple[int, int]]) -> Families:
    """Return the sparse counts of families with at most one parent."""
    names = [v.name for v in schema.categorical]
    zero = Families.zero(schema, tuple((names[x],) if u < 0 else (names[x], names[u]) for x, u in families))
    return zero.with_cells((_cells_of(pairs, x, u) for x, u in families), pairs.margin)


def _cells_of(pairs: Pairs, x: int, u: int) -> Cells:
    child = np.arange(pairs.offsets[x], pairs.offsets[x + 1])
    parent = np.arange(pairs.offsets[u], pairs.offsets[u + 1])
    block = pairs.counts[child, child] if u < 0 else pairs.counts[np.ix_(parent, child)]
    keys = np.flatnonzero(block)
    return keys.astype(np.int64), block.ravel()[keys]
