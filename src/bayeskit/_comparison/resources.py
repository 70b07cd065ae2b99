"""What a comparison takes: which attributes a model looks at where the counts of all do not fit into memory, and how
long each model works, with the time to compile what is not yet on disk."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bayeskit._comparison.trials import SMALL, Contender
from bayeskit._numba import compile_seconds, deferred_kernel, is_cached
from bayeskit._schema import Label, Name

# The counts of all pairs or triples of values may take this share of the memory there is, and no more bytes than these:
# beyond that they take minutes. At 216 MB, TAN took six seconds for 2,400 rows.
MEMORY_SHARE = 1 / 16
MOST_PAIRS, MOST_TRIPLES = 200e6, 100e6
# Where they do not fit, a model looks at the attributes that tell most about the class, at most so many.
MOST_LOOKED_AT = 30
# The assumed number of intervals of a numeric attribute.
INTERVALS = 10
# Where a system does not say how much memory it has.
ASSUMED_MEMORY = 4e9


def free_memory() -> float:
    """Return how many bytes this process may still take: what the system has left, or its container."""
    found = [_available(), _left_in_container()]
    known = [size for size in found if size is not None]
    return min(known) if known else ASSUMED_MEMORY


def _available() -> float | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:  # of other systems only the whole is known, of which some is taken
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_in_container(folder: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return what the limit of a container leaves; None without one."""
    try:
        limit, used = (
            (folder / name).read_text(encoding="ascii") for name in ("memory.max", "memory.current")
        )
        return max(float(limit) - float(used), 0.0)  # "max" is no limit
    except (OSError, ValueError):
        return None


def counts_budget(order: int) -> float:
    """Return how many bytes the counts of all pairs (2) or triples (3) of values may take."""
    return min(MOST_PAIRS if order == 2 else MOST_TRIPLES, MEMORY_SHARE * free_memory())


def bytes_of_counts(values: float, classes: int, order: int) -> float:
    """Return the approximate size in bytes of the counts of all pairs (2) or triples (3) of so many values.

    >>> bytes_of_counts(100, 2, 2)
    160000.0
    """
    return 8.0 * classes * float(values) ** order / (1 if order == 2 else 6)


def most_telling(
    columns: Mapping[Name, NDArray[Any]],
    y: NDArray[Any],
    order: int,
    states: Mapping[Name, Sequence[Label]] | None = None,
) -> tuple[Name, ...]:
    """Return the attributes that tell most about the class and whose counts fit, in the order of the table.

    They are chosen by the rows given, so a fold must choose by the rows it learns from: attributes chosen by the test
    rows, too, would make a model look better than it is.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array(["a", "b"] * 50)
    >>> noise = {f"x{j}": np.random.default_rng(j).choice(["u", "v"], 100) for j in range(40)}
    >>> names = most_telling({**noise, "told": y}, y, 2)
    >>> len(names), names[-1]
    (30, 'told')
    """
    from bayeskit import NaiveBayes
    from bayeskit._report.information_table import information_beyond_chance

    model = NaiveBayes(states=dict(states) if states else None).fit(dict(columns), y)
    sizes = {v.name: INTERVALS if v.kind == "numeric" else v.size for v in model.schema_.attributes}
    room, classes, taken, values = counts_budget(order), len(model.classes_), set[Name](), 0
    for row in information_beyond_chance(model).rows:
        more = values + sizes[row.name]
        if len(taken) < MOST_LOOKED_AT and bytes_of_counts(more, classes, order) <= room:
            taken.add(row.name)
            values = more
    return tuple(name for name in columns if name in taken)


# Nanoseconds for each cell of the table (rows × attributes), for each pair of cells of a row, and for each triple:
# compiled, and in plain Python. Measured with 16 tables of 60 to 30,000 rows, on one core of 2.5 GHz.
_PER_CELL = {"majority": 1, "nb": 40, "kernel": 100, "weighted": 175, "logistic": 200, "text": 5_000, "trees": 3_000,
    "loglinear": 3_000}  # fmt: skip
_PER_PAIR = {"tan": 6, "aode": 7, "kdb": 10, "skdb": 40, "spode": 100, "net": 500}
_PER_TRIPLE = {"a2de": 6}
_PLAIN = {"nb": 4_000, "kernel": 17_000, "weighted": 36_000, "tan": 3_300, "aode": 2_500, "kdb": 6_000, "skdb": 26_000,
    "a2de": 2_300, "auto": 1_300_000}  # fmt: skip
# Models that learn weights repeat their work for each class beyond two.
_BY_CLASS = {"logistic", "weighted", "loglinear"}
# A user's own model is taken for one of the slower ones.
_OWN = 1_500
# Seconds for each fold, for each attribute of it, and for each attribute to choose the most telling ones.
_LEAST, _PER_COLUMN, _PER_SCREENED = 0.01, 1e-4, 2.5e-4
# AutoBayes chooses among its models on a sample of large tables. It repeats more of its work on small ones.
_AUTO_ROWS, _AUTO_FEW_ROWS = 25_000, 1_500
# A kernel in plain Python is given up, and compiled, after half of what compiling takes.
_GIVEN_UP = 1.5
# Seconds to load one kernel from disk, and to import Numba.
_LOAD, _IMPORT = 0.015, 0.4

# The loops that the models run, to know which of them are still to be compiled.
_COUNTS = ("_counting.count_tables:count_classes", "_conditionals.class_prior:normalise")
_WORDS = ("_counting.count_tables:count_column",)
_MOMENTS = ("_counting.count_moments:find_pivots", "_counting.count_moments:sum_plain",
    "_statistics.double:describe_cells")  # fmt: skip
_CUTS = ("_fitting.cut_points:fill_information", "_fitting.cut_points:cut", "_data.encode:find_intervals")
_PAIRS = (*_WORDS, "_counting.bit_planes:order_by_class", "_counting.bit_planes:lay_own_codes",
    "_counting.bit_planes:pack_planes", "_counting.bit_planes:count_planes", "_counting.count_tables:mirror",
)  # fmt: skip
_FAMILIES = (*_PAIRS, "_conditionals.back_off:add_losses", "_conditionals.back_off:sum_contexts",
    "_conditionals.kernels.trie_scores:find_holes", "_conditionals.kernels.trie_scores:family",
    "_counting.count_families:count_by_address")  # fmt: skip
_LOOPS: Mapping[str, Sequence[str]] = {
    "nb": (*_COUNTS,),
    "kernel": (*_COUNTS,),
    "weighted": (*_COUNTS, *_WORDS, "_conditionals.categorical:add_fours", "_fitting.weighting:add_loss"),
    "tan": (*_COUNTS, *_PAIRS, "_conditionals.back_off:add_losses", "_conditionals.back_off:sum_contexts",
        "_conditionals.pair_cells:fill_children", "_conditionals.one_parent:add_children"),
    "aode": (*_COUNTS, *_PAIRS, "_conditionals.pair_cells:fill_averaged",
        "_conditionals.kernels.averaged_scores:score_parents", "_conditionals.kernels.averaged_scores:sum_parents"),
    "a2de": (*_COUNTS, *_PAIRS, "_counting.count_tables:count_codes_by_triples",
        "_counting.count_tables:mirror_triples", "_conditionals.two_parents:add_two_parents"),
    "kdb": (*_COUNTS, *_FAMILIES),
    "skdb": (*_COUNTS, *_FAMILIES, "_counting.count_families:count_by_hash", "_fitting.selective:add_losses",
        "_fitting.selective:number_kinds"),
    "auto": (*_COUNTS, "_conditionals.class_prior:log_normalise", "_conditionals.interaction_terms:add_rows",
        "_conditionals.interaction_terms:take_logs", "_conditionals.log_linear:add_scores",
        "_conditionals.tree_posteriors:add_back_off", "_conditionals.tree_posteriors:sum_subtrees",
        "_counting.count_interactions:count_tables_of_axes", "_counting.count_trees:route",
        "_fitting.grow_trees:grow", "_statistics.regressions:sum_products", "_statistics.tree_counts:link_nodes"),
}  # fmt: skip
_LOOPS_OF_NUMBERS: Mapping[str, Sequence[str]] = {
    "nb": (*_MOMENTS, "_conditionals.gaussian:add_log_density"),
    "kernel": ("_counting.count_grids:find_largest", "_counting.count_grids:fill_grid",
        "_conditionals.kernel_density:spread_cells", "_conditionals.kernel_density:add_log_density"),
    "auto": _MOMENTS,
}  # fmt: skip
_LOOPS_OF_WORDS: Mapping[str, Sequence[str]] = {
    "nb": (*_WORDS, "_conditionals.categorical:add_fours"),
    "kernel": (*_WORDS, "_conditionals.categorical:add_fours"),
    "auto": (*_WORDS, "_counting.count_tables:count_codes"),
}


@dataclass(frozen=True)
class Work:
    """The amount of work of a comparison.

    Attributes
    ----------
    train, test : rows in a fold
    folds : int
    words, numbers : how many attributes are categories, and how many are numbers
    classes : int
    """

    train: int
    test: int
    folds: int
    words: int
    numbers: int
    classes: int

    @property
    def rows(self) -> int:
        """The rows of a fold."""
        return self.train + self.test

    def estimates(self, contenders: Iterable[Contender]) -> list[Estimate]:
        """Return the CPU seconds of models that are tried one after the other; each kernel is compiled once."""
        found, known = [], set[str]()
        for contender in contenders:
            names = [name for name in self._loops(contender.key) if name not in known]
            loops = [_function(name) for name in names]
            lacking = [loop for loop in loops if not is_cached(loop.py_func)]
            needed = sum(map(compile_seconds, lacking))
            work = self.seconds(contender)
            loading = _LOAD * (len(loops) - len(lacking)) + (_IMPORT if loops and not known else 0.0)
            if self._compiles(contender):
                known.update(names)
                warm = replace(self, train=min(self.train, 500), test=min(self.test, 500), folds=1)
                extra = 0.0 if self._is_small else warm.seconds(contender)
                found.append(Estimate(work + extra + loading, needed))
                continue
            # A small table: a kernel runs in plain Python until compiling it would have been quicker.
            plain = self.folds * 1e-9 * _PLAIN[contender.key] * self._units(contender)
            if lacking and plain < _GIVEN_UP * needed:
                found.append(Estimate(work + plain, 0.0))
            else:
                known.update(names)
                found.append(Estimate(work + loading, _GIVEN_UP * needed))
        return found

    @property
    def _is_small(self) -> bool:
        return self.train * (self.words + self.numbers) <= SMALL

    def _compiles(self, contender: Contender) -> bool:
        return contender.key not in _PLAIN or not self._is_small

    def _loops(self, key: str) -> tuple[str, ...]:
        """List the kernels that a model runs on such a table, as far as they are known."""
        if key not in _LOOPS:
            return ()
        numbers = _LOOPS_OF_NUMBERS.get(key, _CUTS) if self.numbers else ()
        words = _LOOPS_OF_WORDS.get(key, ()) if self.words else ()
        return tuple(dict.fromkeys((*_LOOPS[key], *numbers, *words)))

    def _attributes(self, contender: Contender) -> int:
        d = max(self.words + self.numbers, 1)
        return d if contender.looked_at is None else min(d, MOST_LOOKED_AT)

    def _units(self, contender: Contender) -> float:
        """Return how many cells, pairs of cells or triples of cells a model counts in a fold."""
        d = self._attributes(contender)
        if contender.key in _PER_TRIPLE:
            return self.rows * d**3 / 6
        return self.rows * d**2 / 2 if contender.key in _PER_PAIR else self.rows * d

    def seconds(self, contender: Contender) -> float:
        """Return the CPU seconds that a model will take, by estimate, once its loops are compiled.

        Examples
        --------
        >>> work = Work(16_000, 4_000, 5, 20, 20, 2)
        >>> nb = Contender("NaiveBayes()", dict, key="nb")
        >>> tan = Contender("TAN()", dict, key="tan")
        >>> round(work.seconds(nb), 2), round(work.seconds(tan), 2)
        (0.23, 0.55)
        """
        key, every = contender.key, self.words + self.numbers
        fixed = _LEAST + _PER_COLUMN * every
        if contender.looked_at is not None:
            fixed += _PER_SCREENED * every
        if key == "auto":
            return self.folds * self._auto()
        if key == "forest":
            return self.folds * (0.1 + 3e-5 * self.rows * math.sqrt(every))
        if key == "boosting":
            trees = self.classes if self.classes > 2 else 1
            return self.folds * trees * (0.05 + 0.03 * math.sqrt(every) + 1e-6 * self.rows * every)
        a_unit = {**_PER_CELL, **_PER_PAIR, **_PER_TRIPLE}.get(key, _OWN)
        repeated = max(1.0, self.classes / 2) if key in _BY_CLASS else 1.0
        return self.folds * (fixed + 1e-9 * a_unit * repeated * self._units(contender))

    def _auto(self) -> float:
        every, rows = self.words + self.numbers, min(self.rows, _AUTO_ROWS)
        of_numbers = (
            0.045
            * math.pow(self.numbers, 0.75)
            * self.classes
            * (1.6 if self.train < _AUTO_FEW_ROWS else 1.0)
        )
        return 0.3 + 6.5e-5 * rows * math.sqrt(every) + 0.005 * every + of_numbers


@dataclass(frozen=True)
class Estimate:
    """The CPU seconds that something takes, by estimate: its own work, and compiling its loops the first time.

    >>> Estimate(2.0, 20.0) + Estimate(1.0, 0.0)
    Estimate(work=3.0, compiling=20.0)
    """

    work: float
    compiling: float

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.work + self.compiling

    @property
    def range(self) -> tuple[float, float]:
        """The limits between which it is expected. Machines differ, and so do tables of one size.

        >>> Estimate(20.0, 10.0).range
        (20.0, 45.0)
        """
        return self.seconds / 1.5, self.seconds * 1.5

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.work + other.work, self.compiling + other.compiling)


def _function(name: str) -> Any:
    """Return the kernel of a name such as "_counting.count_tables:mirror"."""
    module, _, function = name.partition(":")
    return deferred_kernel(getattr(import_module(f"bayeskit.{module}"), function))
