"""Explanations of attributes with one parent besides the class: P(x_j | c, x_parent) and its counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._conditionals.cell_gaussian import ChildGaussians
from bayeskit._conditionals.one_parent import OneParent
from bayeskit._conditionals.pair_cells import IMAGINARY
from bayeskit._report.explanation import Attribute, OmittedAttribute, PageFactor
from bayeskit._report.factors.cell_shares import pair_workings
from bayeskit._report.fractions import centre, number, short
from bayeskit._report.row import CodedRow

Floats = NDArray[np.float64]
Item = Attribute | OmittedAttribute


def dependent_items(conditional: OneParent, row: CodedRow) -> dict[Any, Item]:
    """Return a factor for each attribute whose parent is known, and one for each group around unknown ones.

    A missing attribute is summed over, so its children share one factor: a sum over its states.
    """
    parents = conditional.parents.tolist()
    absent = {j for j in range(len(parents)) if _is_hole(conditional, row, j)}
    items: dict[Any, Item] = {}
    for j in range(len(parents)):
        name = row.schema.categorical[j].name
        top = j in absent and parents[j] not in absent
        if j not in absent and parents[j] not in absent:
            logs = _block(conditional, j)[_height(row, parents[j]), row.code(j)]
            if row.code(j) > row.schema.categorical[j].size and not logs.any():
                items[name] = row.left_out(j)  # an unseen value has no factor
            else:
                items[name] = _single(conditional, row, j, logs)
        elif top:
            items |= _group(conditional, row, j, absent)
    explained = {
        part for name in items for part in (name if isinstance(name, tuple) else (name,))
    } | items.keys()
    for j, variable in enumerate(row.schema.categorical):
        if variable.name not in explained:  # its parent never had a value
            items[variable.name] = OmittedAttribute(variable.name, row.value(j), "unused")
    return items


def _is_hole(conditional: OneParent, row: CodedRow, j: int) -> bool:
    return row.is_unknown(j) and int(conditional.cells.sizes[j]) == row.code(j)


def _height(row: CodedRow, parent: int) -> int:
    return row.code(parent) if parent >= 0 else 0


def _block(conditional: OneParent, j: int) -> Floats:
    """log P(x_j | c, x_parent): shape (codes of the parent or 1, codes of the child, K)."""
    start, stop = int(conditional.starts[j]), int(conditional.starts[j + 1])
    width = int(conditional.cells.real[j]) + 2
    return conditional.table[start:stop].reshape(-1, width, conditional.table.shape[1])


def _single(conditional: OneParent, row: CodedRow, j: int, logs: Floats) -> Attribute:
    parent, cells = int(conditional.parents[j]), conditional.cells
    above = _height(row, parent)
    workings = pair_workings(cells, j, row.code(j), parent, above)
    family = "table" if cells.mode[j] == IMAGINARY else "back-off"
    factors = tuple(map(PageFactor, logs.tolist(), workings))
    name = row.schema.categorical[j].name
    return Attribute(name, row.value(j), family, factors, row.is_unknown(j), row.given([parent]))


def _group(conditional: OneParent, row: CodedRow, top: int, absent: set[int]) -> dict[Any, Item]:
    """Return the joint factor of all attributes below a missing one, and the attributes that were summed over."""
    variables, parents = row.schema.categorical, conditional.parents.tolist()
    nodes = _under(top, parents, {j for j in absent if conditional.cells.sizes[j]})
    heard: dict[int, Floats] = {}  # log of the messages from the children of a missing x_j to its codes
    logs: Floats | None = None
    for j in reversed(nodes):
        block = _block(conditional, j)
        if j not in absent:
            logs = block[:, row.code(j)]
        elif j in heard:
            logs = _log_sum(block, heard[j], conditional.codes(j))
        else:
            logs = None  # no present attribute depends on it, so its states sum to 1
            continue
        heard[parents[j]] = heard.get(parents[j], 0.0) + logs
    summed = sorted(j for j in nodes if j in absent and j in heard)
    items: dict[Any, Item] = {
        variables[j].name: row.left_out(j, "summed" if j in summed else None) for j in nodes if j in absent
    }
    if logs is not None:
        present = sorted(j for j in nodes if j not in absent)
        names, values = tuple(variables[j].name for j in present), tuple(row.value(j) for j in present)
        alone = len(present) == 1
        name = names[0] if alone else names
        items[name] = Attribute(
            name,
            values[0] if alone else values,
            "sum",
            tuple(map(PageFactor, logs[_height(row, parents[top])].tolist())),
            given=row.given([parents[top]]),
            summed=tuple(variables[j].name for j in summed),
        )
    return items


def _under(top: int, parents: list[int], inner: set[int]) -> list[int]:
    """Return an attribute and its descendants as far as they are inner ones, parents first."""
    children: dict[int, list[int]] = {}
    for j, parent in enumerate(parents):
        children.setdefault(parent, []).append(j)
    found = [top]
    for j in found:
        found += children.get(j, []) if j in inner else []
    return found


def _log_sum(block: Floats, heard: Floats, codes: list[int]) -> Floats:
    """Sum over the codes that a child may have: log Σ_v P(v | c, parent) · exp(heard of v)."""
    terms = block[:, codes] + heard[None, codes]
    best = np.maximum(terms.max(axis=1), -1e308)
    with np.errstate(divide="ignore"):
        found = best + np.log(np.exp(terms - best[:, None]).sum(axis=1))
    # If the message is 0 for every state, the sum over all codes, including unseen, is 1.
    return np.where(heard[codes].any(axis=0), found, 0.0)


def child_densities(conditional: ChildGaussians, row: CodedRow) -> list[tuple[int, int, Floats, list[str]]]:
    """Return (index, parent or −1, logs, workings) of every numeric attribute that is a factor."""
    gaussian, values = conditional.cell_gaussian, row.chunk.values
    found = []
    for place, parent in enumerate(conditional.parents.tolist()):
        if gaussian.used[place] and not np.isnan(values[0, place]):
            found.append((place, *cell_density(gaussian, row, place, parent)))
    return found


def cell_density(gaussian: Any, row: CodedRow, place: int, parent: int) -> tuple[int, Floats, list[str]]:
    """Return the parent that is used (−1: only the class), the logs, and the text of each density."""
    out = np.zeros((1, gaussian.mean.shape[1]))
    gaussian.add_given(row.chunk, parent, [place], out)
    known = parent >= 0 and row.code(parent) < int(gaussian.limits[parent])
    g = int(gaussian.offsets[parent]) + row.code(parent) if known else len(gaussian.mean) - 1
    unit = int(gaussian.exponent[place])
    x = float(row.chunk.values[0, place])
    workings = []
    for c in range(out.shape[1]):
        mean = float(np.ldexp(gaussian.mean[g, c, place] + gaussian.mean_low[g, c, place], unit))
        deviation = float(np.ldexp(gaussian.deviation[g, c, place], unit))
        # Plain floats: a square beyond the range is infinite without a warning.
        workings.append(f"N({number(x)}; μ={centre(mean, deviation)}, σ²={short(deviation * deviation)})")
    return (parent if known else -1), out[0], workings
