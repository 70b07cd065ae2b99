"""Rows → moments of numeric attributes in each class and state of the categorical ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayeskit.counting.moments import count_moments
from bayeskit.data.encoded import Chunk
from bayeskit.errors import DataError
from bayeskit.schema import Name, Schema, Variable
from bayeskit.statistics.cell_moments import CellMoments

# Cells of one attribute above which the packed loop, which gives each of them 32 columns, takes too much room.
LARGEST_PACKED = 2**15


def count_cell_moments(chunk: Chunk, schema: Schema, attributes: tuple[Name, ...]) -> CellMoments:
    """Sum the values of these attributes in each class and state, one categorical attribute after the other.

    For one categorical attribute the pair (state, class) is just a class of more kinds, so the loops are
    those of the moments in each class.

    Examples
    --------
    >>> two = Variable("a", "categorical", (0, 1)), Variable("u", "numeric")
    >>> schema = Schema(two, Variable("y", "categorical", ("no", "yes")))
    >>> chunk = Chunk(3, np.array([[0], [0], [1]], np.uint8), np.array([[1.0], [3.0], [7.0]]),
    ...               target=np.array([1, 1, 1], np.uint32))
    >>> count_cell_moments(chunk, schema, ("u",)).mean()[0][:, 1, 0]
    array([2., 7., 0.])
    """
    if chunk.target is None:
        raise DataError("Rows without a class cannot be counted. Give the class of every row.")
    zero = CellMoments.zero(schema, attributes)
    if not schema.categorical or not attributes or not chunk.n_rows:
        return zero
    # What is missing is met once here, and not by every attribute in vain.
    careful = not np.isfinite(chunk.values).all()
    found = []
    for j, variable in enumerate(schema.categorical):
        codes = chunk.codes[j][:] if isinstance(chunk.codes, tuple) else chunk.codes[:, j]
        n_cells = (variable.size + 1) * schema.n_classes
        cell = codes.astype(np.uint32) * np.uint32(schema.n_classes) + chunk.target
        weights = chunk.row_weights if careful or n_cells > LARGEST_PACKED else chunk.weights
        target = Variable(schema.target.name, "categorical", tuple(range(n_cells)))
        rows = replace(chunk, target=cell, weights=weights)
        found.append(count_moments(rows, Schema(schema.attributes, target), attributes))
    # An exponent depends on the column alone, but only an attribute whose sums left the range has asked for it.
    exponents = np.stack([moments.exponent for moments in found])
    exponent = np.take_along_axis(exponents, np.abs(exponents).argmax(axis=0)[None], axis=0)[0]
    for moments, begin, end in zip(found, schema.offsets, schema.offsets[1:]):
        cells = zero.cells[:, int(begin) : int(end)]
        cells[:] = moments.rescaled(exponent).cells.reshape(cells.shape)
    return CellMoments(zero.cells, exponent)
