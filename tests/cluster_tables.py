"""Tables for frames in partitions: what every cluster must count as the kernels count it in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayeskit._counting import partitions
from bayeskit._counting.backend import Threads, backend_of
from bayeskit._data.source import Source
from bayeskit.extending import Reading
from bayeskit.statistics import Pattern, Plan, Statistics, Variable


def mixed(n: int = 240, seed: int = 0) -> pd.DataFrame:
    """Text, numbers far from 0, truth values, missing cells, weights; names that need quoting."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            'se"lect `x`.y': rng.choice(["u", "v", "'w'; --", None], n),
            "色泽": rng.choice(["青绿", "乌黑"], n),
            "flag": rng.choice([True, False], n),
            "x": 1e8 + rng.normal(size=n),
            "count": rng.integers(0, 5, n),
            "class": rng.choice(["no", "yes"], n),
            "w": rng.integers(0, 4, n),
        }
    )
    frame.loc[rng.choice(n, n // 8, replace=False), "x"] = np.nan
    return frame


def last_class(n: int = 120) -> pd.DataFrame:
    """A class and a state that only the last rows have; a column without any value in the first half."""
    frame = mixed(n).drop(columns="w")
    frame.loc[frame.index[-5:], "class"] = "perhaps"
    frame.loc[frame.index[-5:], "色泽"] = "浅白"
    frame.loc[frame.index[: n // 2], 'se"lect `x`.y'] = None
    return frame


def one_class(n: int = 40) -> pd.DataFrame:
    return mixed(n).drop(columns="w").assign(**{"class": "yes"})


CASES = {
    "mixed": (mixed(), None),
    "weighted": (mixed(), "w"),
    "the first rows without weight": (mixed().assign(w=[0] * 130 + [3] * 110), "w"),
    "a class in the last partition": (last_class(), None),
    "one class": (one_class(), None),
}


def counted(data: Any, weights: str | None) -> Statistics:
    """Count all pairs, and the moments of numbers, where the rows are or in memory."""
    source = Source(data, target="class", weights=weights)
    backend = backend_of(source) or Threads()
    schema = backend.schema(source, Reading(), Variable("class", "categorical"))
    names = tuple(v.name for v in schema.categorical)
    pairs = Plan((*Plan.pairs(schema).patterns, Pattern("triples", names[:3])))
    return backend.count(source, schema, pairs)


def same_statistics(found: Statistics, wanted: Statistics) -> None:
    """Counts equal to the bit; centred moments to 1e-12."""
    assert found.schema == wanted.schema and found.plan == wanted.plan
    for kind in ("tables", "pairs", "triples"):
        others = wanted.parts[kind].arrays()
        for name, array in found.parts[kind].arrays().items():
            np.testing.assert_array_equal(array, others[name], err_msg=f"{kind}/{name}")
    a: Any = found.moments
    b: Any = wanted.moments
    np.testing.assert_array_equal(a.weight, b.weight)
    np.testing.assert_allclose(a.mean()[0], b.mean()[0], rtol=1e-15)
    np.testing.assert_allclose(a.centred(), b.centred(), rtol=1e-12)


class ReducedBytes:
    """The bytes of what arrives from the workers, by the order of the questions."""

    def __init__(self, monkeypatch: Any) -> None:
        self.sizes: list[int] = []
        found = partitions.Partitions._found

        def measured(backend: Any, *given: Any) -> Any:
            import pickle

            value = found(backend, *given)
            self.sizes.append(len(pickle.dumps(value)))
            return value

        monkeypatch.setattr(partitions.Partitions, "_found", measured)
