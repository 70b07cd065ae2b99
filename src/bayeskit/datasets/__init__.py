"""Small data sets that are part of the library: textbook examples and a few real ones."""

from __future__ import annotations

import csv
import gzip
import io
from difflib import get_close_matches
from importlib.resources import files

import numpy as np

from bayeskit._messages import Joined, Message
from bayeskit.datasets._dataset import REGISTRY, Dataset, as_array
from bayeskit.errors import DataError

__all__ = ["Dataset", "dataset_names", "load_dataset"]


def dataset_names() -> tuple[str, ...]:
    """Return the names that :func:`load_dataset` accepts.

    Examples
    --------
    >>> "melon3" in dataset_names()
    True
    """
    return tuple(REGISTRY)


def load_dataset(name: str) -> Dataset:
    """Load a bundled data set.

    Parameters
    ----------
    name : str
        One of :func:`dataset_names`.

    Returns
    -------
    Dataset
        A new object at every call, so its arrays may be modified.

    Examples
    --------
    >>> melon = load_dataset("melon3")
    >>> melon.attributes[-2:], melon.y[0], len(melon)
    (('密度', '含糖率'), '是', 17)
    """
    entry = REGISTRY.get(name)
    if entry is None:
        near = get_close_matches(str(name), REGISTRY, n=3, cutoff=0.4)
        meant = Message("Did you mean {names}? ", names=Joined(map(repr, near), " or ")) if near else ""
        raise DataError(
            "There is no data set {name!r}. {meant}There are: {names}.",
            name=name,
            meant=meant,
            names=Joined(REGISTRY),
        )
    header, *rows = csv.reader(io.StringIO(_text(name), newline=""))
    columns = {
        column: as_array(list(cells)) for column, cells in zip(header, zip(*rows, strict=True), strict=True)
    }
    index = np.arange(len(rows)) if entry.index is None else columns.pop(entry.index)
    return Dataset(
        name=name,
        title=entry.title,
        source=entry.source,
        licence=entry.licence,
        target=entry.target,
        columns=columns,
        index=index,
        index_name=entry.index,
        states=dict(entry.states),
    )


def _text(name: str) -> str:
    tables = files(__name__) / "tables"
    plain = tables / f"{name}.csv"
    data = (
        plain.read_bytes() if plain.is_file() else gzip.decompress((tables / f"{name}.csv.gz").read_bytes())
    )
    return data.decode("utf-8")
