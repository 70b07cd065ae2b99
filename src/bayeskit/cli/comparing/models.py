"""The models that ``compare`` knows, and which of them suit a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayeskit.cli.comparing.tried import Contender
from bayeskit.cli.names import did_you_mean
from bayeskit.errors import SettingError

# Key → model of 'fit', and its parameters.
OURS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nb": ("nb", {}),
    "kernel": ("nb", {"numeric": "kernel"}),
    "tan": ("tan", {}),
    "aode": ("aode", {}),
    "a2de": ("a2de", {}),
    "kdb": ("kdb", {}),
    "skdb": ("skdb", {}),
    "weighted": ("weighted", {}),
    "auto": ("auto", {}),
    "spode": ("spode", {}),
    "net": ("net", {}),
}
# One super-parent is never much better than the average over all of them, and takes long to choose; so does the
# search for a network where there are many columns.
ONLY_BY_NAME = ("spode", "net")
YARDSTICKS = ("majority", "logistic", "forest", "boosting")
# Counts of all pairs, or triples, of values may take so many bytes: at 216 MB TAN took six seconds for 2,400 rows.
MOST_PAIRS, MOST_TRIPLES = 100e6, 100e6
# Models that are one graph over their attributes, and the network, in which the class is one of them.
STRUCTURED = ("spode", "tan", "kdb", "skdb")
NETWORK = "net"
_COUNT_PAIRS = ("tan", "aode", "a2de", "kdb", "skdb", "auto")
# Where a number is cut into intervals, there are about so many.
INTERVALS = 10


@dataclass(frozen=True)
class Shape:
    """What of a table decides which models suit it.

    Attributes
    ----------
    numeric, categorical : places of the attributes in the matrix of the yardsticks
    states : how many values each categorical attribute has
    classes : how many classes there are
    """

    numeric: tuple[int, ...]
    categorical: tuple[int, ...]
    states: tuple[int, ...]
    classes: int

    def bytes_of(self, order: int) -> float:
        """Return about how many bytes the counts of all pairs (2) or triples (3) of values take."""
        values = float(sum(self.states) + INTERVALS * len(self.numeric))
        return 8.0 * self.classes * values**order / (1 if order == 2 else 6)

    @property
    def pairs_fit(self) -> bool:
        """Whether the counts of all pairs are few enough to be taken without being asked for."""
        return self.bytes_of(2) <= MOST_PAIRS

    def uncounted_pairs(self, pick: str) -> int | None:
        """Return the bytes of the counts of all pairs, where they are too many to look for arcs that a model has not.

        Examples
        --------
        >>> wide = Shape((), (0,), (4_000,), 2)
        >>> wide.uncounted_pairs("nb"), wide.uncounted_pairs("tan")
        (256000000, None)
        """
        return None if pick in (*STRUCTURED, NETWORK) or self.pairs_fit else int(self.bytes_of(2))


def chosen(named: str | None, shape: Shape) -> tuple[list[str], dict[str, str]]:
    """Return the keys of our models to try, and why others are not tried.

    Examples
    --------
    >>> keys, left = chosen(None, Shape((0,), (1,), (40_000,), 2))
    >>> keys, sorted(left) == sorted(_COUNT_PAIRS)
    (['nb', 'kernel', 'weighted'], True)
    """
    if named is not None:
        keys = list(dict.fromkeys(key.strip() for key in named.split(",") if key.strip()))
        for key in keys:
            if key not in OURS:
                raise SettingError(f"--models: there is no model {key!r}. {did_you_mean(key, OURS)}")
        if not keys:
            raise SettingError(f"--models names no model. There are {', '.join(OURS)}.")
        return keys, {}
    keys, left = [], {}
    for key in OURS:
        order = 3 if key == "a2de" else 2
        size = shape.bytes_of(order) if key in _COUNT_PAIRS else 0.0
        if key in ONLY_BY_NAME or (key == "kernel" and not shape.numeric):
            continue
        if size > (MOST_PAIRS if order == 2 else MOST_TRIPLES):
            left[key] = f"{size / 1e6:,.0f} MB"
        else:
            keys.append(key)
    return keys, left


def ours(key: str) -> Contender:
    """Return one of our models.

    Examples
    --------
    >>> ours("kernel").name, ours("a2de").name
    ('kernel NaiveBayes', 'AnDE(n=2)')
    """
    from bayeskit.cli.estimators import made

    model, parameters = OURS[key]
    # The one name that would be too long for a line of the table.
    name = "kernel NaiveBayes" if key == "kernel" else repr(made(model, parameters))
    return Contender(name, lambda: made(model, parameters), True)


def yardstick(key: str, shape: Shape, seed: int) -> Contender:
    """Return one of the yardsticks."""
    from bayeskit.cli.comparing import yardsticks as sticks

    make = {
        "majority": sticks.majority,
        "logistic": lambda: sticks.logistic(shape.numeric, shape.categorical),
        "forest": lambda: sticks.forest(seed),
        "boosting": lambda: sticks.boosting(shape.categorical, shape.states, seed),
    }[key]
    return Contender(key, make, False)


def fit_flags(key: str) -> Sequence[str]:
    """Return how ``fit`` is asked for a model.

    Examples
    --------
    >>> fit_flags("kernel")
    ['--model', 'nb', '--param', 'numeric=kernel']
    """
    model, parameters = OURS[key]
    more = [text for name, value in parameters.items() for text in ("--param", f"{name}={value}")]
    return ["--model", model, *more]
