"""Which attributes a model looks at where the counts of all do not fit into memory, and how long a comparison takes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bayeskit._comparison.trials import Contender
from bayeskit._report.information_table import information_beyond_chance
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
# measured with 20,000 rows of 20 numbers and 20 words, on one core of 2.5 GHz. Boosting, logistic regression and
# models that learn weights repeat their work for each class beyond two.
_PER_CELL = {
    "majority": 1, "nb": 40, "kernel": 100, "weighted": 175, "logistic": 200, "boosting": 1_100, "text": 5_000,
    "trees": 3_000, "loglinear": 3_000, "auto": 16_700, "forest": 7_500,
}  # fmt: skip
_PER_PAIR = {"tan": 6, "aode": 7, "kdb": 10, "skdb": 65, "spode": 100, "net": 500}
_PER_TRIPLE = {"a2de": 3}
_BY_CLASS = {"logistic", "boosting", "weighted", "loglinear", "auto"}
# A user's own model is taken for one of the slower ones.
_OWN = 1_500
# Seconds that a model takes in each fold, however small the table is.
_FIXED = {"auto": 0.3, "forest": 0.15, "boosting": 0.1}
_LEAST = 0.01
# AutoBayes chooses among its models on a sample of large tables.
_MOST_ROWS = {"auto": 25_000}


@dataclass(frozen=True)
class Work:
    """The amount of work of a comparison.

    Attributes
    ----------
    train, test : rows in a fold
    folds : int
    sizes : the number of values of each attribute
    classes : int
    """

    train: int
    test: int
    folds: int
    sizes: tuple[int, ...]
    classes: int

    def seconds(self, contender: Contender) -> float:
        """Return the CPU seconds that a model will take, by estimate.

        Examples
        --------
        >>> work = Work(16_000, 4_000, 5, (10,) * 40, 2)
        >>> nb = Contender("NaiveBayes()", dict, key="nb")
        >>> tan = Contender("TAN()", dict, key="tan")
        >>> round(work.seconds(nb), 2), round(work.seconds(tan), 2)
        (0.21, 0.53)
        """

        key, d = contender.key, max(len(self.sizes), 1)
        if contender.looked_at is not None:
            d = min(d, MOST_LOOKED_AT)
        rows = self.train + self.test
        if key in _PER_TRIPLE:
            work = _PER_TRIPLE[key] * rows * d**3 / 6
        elif key in _PER_PAIR:
            work = _PER_PAIR[key] * rows * d**2 / 2
        else:
            rows = min(rows, _MOST_ROWS.get(key, rows))
            work = _PER_CELL.get(key, _OWN) * rows * d
        if key in _BY_CLASS:
            work *= max(1.0, self.classes / 2)
        return self.folds * (_FIXED.get(key, _LEAST) + 1e-9 * work)
