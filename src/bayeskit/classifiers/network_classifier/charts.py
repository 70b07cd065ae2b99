"""From a network classifier to the numbers of its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.classifiers.network_classifier.cells import NodeCells, read_cells, sizes_of
from bayeskit.classifiers.network_classifier.joint import log_joint
from bayeskit.classifiers.region_data import Reader, View, regions_of
from bayeskit.errors import UsageError
from bayeskit.report.charts.class_profile import ClassProfile, class_profile
from bayeskit.report.charts.nomogram import Nomogram, nomogram
from bayeskit.report.charts.regions import Regions
from bayeskit.report.charts.terms import GRID, Terms
from bayeskit.report.row import one_row
from bayeskit.schema import Label, Name

Floats = NDArray[np.float64]


def network_nomogram(
    model: Any, label: Label | None, against: Label | None, row: Any, most: int, lang: str
) -> Nomogram:
    """Make the nomogram of a network in which no two columns around the class depend on each other, given it."""
    value, target = model.network_._network, model.target_
    told = model.markov_blanket_
    # One parent of the class is as good as a child: the arc can be turned round.
    children = [name for name in told if target in value[name].parents]
    together = [value[target].parents, *((name, *value[name].parents) for name in children)]
    for family in together:
        names = [name for name in family if name != target]
        if len(names) > 1:
            raise UsageError(
                f"What {names[0]!r} says of the class depends on {names[1]!r} in this network, so its values have no "
                'points of their own. A nomogram is for method="naive"; explain(row) and contributions(rows) take rows '
                "of any network apart."
            )
    prior, terms = _terms(model, told)
    readings = []
    if row is not None:
        cells = read_cells(model, one_row(row))
        for name in told:
            logs = log_joint(model.network_, cells.only([name]))[0] - prior
            readings.append((name, _shown(cells, name), logs))
    labels = model.classes_.tolist()
    return nomogram(
        terms, prior, labels, target=target, label=label, against=against, row=readings, most=most, lang=lang
    )


def network_profile(model: Any, attributes: Sequence[Name] | None, most: int, lang: str) -> ClassProfile:
    """Make the class profile: P(x | c) of every node by the network, whatever depends on what in it."""
    nodes = model.network_._network.dag.position
    prior, terms = _terms(model, [name for name in model.schema_.position if name in nodes])
    labels, target = model.classes_.tolist(), model.target_
    return class_profile(
        terms, np.exp(prior), labels, target=target, attributes=attributes, most=most, lang=lang
    )


def network_regions(model: Any, view: View) -> Regions:
    """Ask a network classifier for the posterior over two of its columns."""
    for name in (view.x, view.y, *(view.given or ())):
        if name in model.schema_.position and name not in model.network_._network.dag.position:
            raise UsageError(
                f"{name!r} tells nothing of the class: it is no node of network_. Choose another."
            )

    def span(name: Name, n: int) -> Floats:
        return span_of_node(model.network_, model.target_, name, n)

    names = tuple(model.schema_.position)
    reader = Reader(names, model._named, type(model).__name__)
    return regions_of(model, reader, span, view)


def _terms(model: Any, names: Sequence[Name]) -> tuple[Floats, list[Terms]]:
    """Return log P(c), and log P(x | c) of all states of nodes, of numbers on a grid."""
    network, target = model.network_, model.target_
    value = network._network
    prior = log_joint(network, _blank(value, target, 1))[0]
    found = []
    for name in names:
        numeric, j = not value[name].is_discrete, value.dag.position[name]
        values: Any = span_of_node(network, target, name) if numeric else np.arange(value[name].variable.size)
        cells = _blank(value, target, len(values))
        (cells.numbers if numeric else cells.codes)[:, j] = values
        with np.errstate(invalid="ignore"):
            logs = log_joint(network, cells) - prior
        shown = tuple(values.tolist()) if numeric else value[name].variable.states
        found.append(Terms(name, numeric, shown, np.where(np.isnan(logs), -np.inf, logs)))
    return prior, found


def span_of_node(network: Any, target: Name, name: Name, n: int = GRID) -> Floats:
    """Return numbers from the lowest to the highest that the classes have: means ± 2.5 deviations."""
    found = [
        network.query(name, evidence={target: state})
        for state, p in zip(network.states(target), network.query(target).values)
        if p > 0.0
    ]
    low = min(float(d.mean - 2.5 * d.sd) for d in found)
    high = max(float(d.mean + 2.5 * d.sd) for d in found)
    return np.linspace(low, high, n) if high > low else np.array([high])


def _blank(network: Any, target: Name, n: int) -> NodeCells:
    codes = np.tile(sizes_of(network), (n, 1))
    return NodeCells(network, target, codes, np.full(codes.shape, np.nan))


def _shown(cells: NodeCells, name: Name) -> Any:
    j, variable = cells.network.dag.position[name], cells.network[name].variable
    if variable.kind == "numeric":
        x = float(cells.numbers[0, j])
        return None if np.isnan(x) else x
    return variable.states[cells.codes[0, j]] if cells.codes[0, j] < variable.size else None
