"""Which attributes a model looks at where the counts of all of them do not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

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
