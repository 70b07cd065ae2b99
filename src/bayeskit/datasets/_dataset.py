"""The bundled data sets with their sources and licences, and the class that holds one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._messages import text_in

State = str | int
_ZHOU = "Zhou Zhihua (周志华), Machine Learning (《机器学习》), Tsinghua University Press 2016"
_BOOK = "Facts printed in a textbook, quoted as such; no licence is stated."
_UCI = "CC BY 4.0 (UCI Machine Learning Repository)"


@dataclass(frozen=True)
class Entry:
    """The description of one data set; `index` names the column that only labels the rows."""

    title: str
    source: str
    licence: str
    target: str
    index: str | None = None
    states: Mapping[str, tuple[State, ...]] = field(default_factory=dict)


REGISTRY: Mapping[str, Entry] = {
    "melon8": Entry(
        title="Eight melons (八个西瓜) by colour, texture and density; the texture 稍糊 is never seen",
        source="An exercise with attributes of Zhou's watermelon tables; its first place is not known",
        licence=_BOOK,
        target="标签",
        states={"纹理": ("清晰", "稍糊", "模糊")},
    ),
    "melon2": Entry(
        title="Watermelon data set 2.0 (西瓜数据集 2.0): 17 melons, six categorical attributes",
        source=f"{_ZHOU}, table 4.1",
        licence=_BOOK,
        target="好瓜",
        index="编号",
    ),
    "melon2-missing": Entry(
        title="Watermelon data set 2.0α (西瓜数据集 2.0α): the 17 melons of 2.0 with blanks",
        source=f"{_ZHOU}, table 4.4",
        licence=_BOOK,
        target="好瓜",
        index="编号",
    ),
    "melon3": Entry(
        title="Watermelon data set 3.0 (西瓜数据集 3.0): those of 2.0 with two numeric attributes",
        source=f"{_ZHOU}, table 4.3",
        licence=_BOOK,
        target="好瓜",
        index="编号",
    ),
    "lihang": Entry(
        title="Fifteen rows for naive Bayes by hand: A1 = {1, 2, 3}, A2 = {S, M, L}",
        source="Li Hang (李航), Statistical Learning Methods (《统计学习方法》), example 4.1",
        licence=_BOOK,
        target="y",
        states={"x1": (1, 2, 3), "x2": ("S", "M", "L")},
    ),
    "iris": Entry(
        title="Iris: 150 flowers, three species, four measurements in centimetres",
        source="R. A. Fisher 1936, in the UCI version (rows 35 and 38 differ from Fisher's paper)",
        licence=_UCI,
        target="class",
    ),
    "height-weight": Entry(
        title="Simulated height and weight of 114 students (0 female, 1 male)",
        source="Drawn for this library from one normal distribution of each sex (tests/datasets/test_datasets.py)",
        licence="CC0 1.0: no rights reserved",
        target="Sex",
    ),
    "mushroom": Entry(
        title="Mushroom: 8,124 mushrooms, 22 categorical attributes, edible (e) or poisonous (p)",
        source="J. Schlimmer 1987, UCI Machine Learning Repository (agaricus-lepiota)",
        licence=_UCI,
        target="class",
    ),
    "adult": Entry(
        title="Adult (census income): 48,842 people, 14 attributes; the first 32,561 are for training",
        source="B. Becker and R. Kohavi 1996, UCI Machine Learning Repository (adult.data, then adult.test)",
        licence=_UCI,
        target="class",
    ),
    "credit": Entry(
        title="Credit approval: 690 applications, 15 attributes with meaningless names, granted (+) or not (-)",
        source="J. R. Quinlan 1987, UCI Machine Learning Repository (crx.data)",
        licence=_UCI,
        target="class",
    ),
    "sms": Entry(
        title="SMS Spam Collection: 5,574 short messages in English, ham or spam; 414 are copies of others",
        source="T. A. Almeida and J. M. Gómez Hidalgo 2011, UCI Machine Learning Repository",
        licence=_UCI,
        target="class",
    ),
    "docstrings": Entry(
        title="Docstrings of NumPy, pandas, scikit-learn and SciPy: 1,320 texts; the first 800 are for training",
        source="The developers of NumPy 2.4, pandas 3.1, scikit-learn 1.9 and SciPy 1.17: a sample of their prose, "
        "without the names of the libraries (tests/datasets/make_docstrings.py)",
        licence="BSD 3-Clause; the copyright notices are in datasets/tables/LICENSES.txt",
        target="library",
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set: its columns, its target, its source, and what is known about its attributes.

    Attributes
    ----------
    title, title_zh : str
        The title in English and in Chinese.
    columns : dict of str to array
        The attributes and the target, in the order of the file: ``int64`` or ``float64`` (NaN where missing),
        text as objects (None where missing).
    target : str
        The name of the column to predict.
    states : dict of str to tuple
        The states that the source declares for an attribute, including any that no row has. They are not
        applied automatically; pass them to a model as ``states`` if they matter.
    index : array
        The labels of the rows, which are not an attribute; 0, 1, 2, … if the table has none.
    """

    name: str
    title: str
    source: str
    licence: str
    target: str
    columns: dict[str, NDArray[Any]]
    index: NDArray[Any]
    index_name: str | None
    states: Mapping[str, tuple[State, ...]]

    @property
    def title_zh(self) -> str:
        """The title in Chinese."""
        return text_in("zh", self.title)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the columns without the target."""
        return tuple(name for name in self.columns if name != self.target)

    @cached_property
    def frame(self) -> Any:
        """All columns as a data frame: pandas if installed (with the index), otherwise polars or pyarrow."""
        return self._frame(tuple(self.columns))

    @cached_property
    def X(self) -> Any:
        """The attributes as a data frame."""
        return self._frame(self.attributes)

    @property
    def y(self) -> NDArray[Any]:
        """The target as an array."""
        return self.columns[self.target]

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        shape = f"{len(self):,} rows, {len(self.attributes)} attributes"
        return f"Dataset({self.name!r}: {shape} -> {self.target!r})"

    def _frame(self, names: tuple[str, ...]) -> Any:
        from bayeskit._data.frames import to_native

        chosen = {name: self.columns[name] for name in names}
        if self.index_name is not None:
            chosen = {self.index_name: self.index, **chosen}
        return to_native(chosen, index=self.index_name)


def as_array(cells: list[str]) -> NDArray[Any]:
    """Convert text cells to an array: integers, otherwise numbers, otherwise text. An empty cell is missing.

    Examples
    --------
    >>> as_array(["1", "2"]), as_array(["1", ""]), as_array(["x", ""])
    (array([1, 2]), array([ 1., nan]), array(['x', None], dtype=object))
    """
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except ValueError:
        pass
    if any(cells):
        try:
            return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
        except ValueError:
            pass
    return np.array([cell or None for cell in cells], dtype=object)
