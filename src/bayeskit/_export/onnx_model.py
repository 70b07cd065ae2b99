"""A model as ONNX: standard operators on doubles, one input for each column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit._conditionals.scoring import (
    Average,
    Distance,
    Family,
    IfPresent,
    Log,
    LookUp,
    Marginal,
    Normals,
    Number,
    Product,
    Step,
    Sum,
)
from bayeskit._export.onnx_graph import (
    BOOL,
    DOUBLE,
    INT64,
    IR_VERSION,
    LABEL,
    ML_OPSET,
    OPSET,
    PROBABILITY,
    STRING,
    Columns,
    Graph,
)
from bayeskit._export.scorer import IMPOSSIBLE, LOG_ZERO, Scorer, kind_of
from bayeskit._fitting.calibration import Curve
from bayeskit._version import __version__
from bayeskit._visible import json_text
from bayeskit.typing import Floats

_KINDS: dict[str, tuple[int, Any]] = {
    "text": (STRING, object),
    "truth": (BOOL, np.bool_),
    "whole": (INT64, np.int64),
    "number": (DOUBLE, np.float64),
}


def onnx_of(scorer: Scorer) -> Any:
    """Return a model as an ``onnx.ModelProto``."""
    scorer.need_no_error("ONNX")
    graph = Graph(scorer.columns)
    columns = Columns(graph, scorer)
    scores = scorer.score.write(OnnxWriter(graph, columns, scorer.n_classes))
    outputs = _Answer(graph, scorer, scores).outputs()
    helper = graph.onnx.helper
    body = helper.make_graph(
        graph.nodes, scorer.model, columns.inputs(), outputs, initializer=graph.constants,
        doc_string="P(c | x) of each row, and the most probable class.",
    )  # fmt: skip
    sets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    model = helper.make_model(
        body, opset_imports=sets, producer_name="bayeskit", producer_version=__version__
    )
    model.ir_version = IR_VERSION
    helper.set_model_props(model, _metadata(scorer))
    graph.onnx.checker.check_model(model)
    return model


def _metadata(scorer: Scorer) -> dict[str, str]:
    return {
        "model": scorer.model,
        "target": str(scorer.target.name),
        "classes": json_text(list(scorer.target.states)),
        "missing": 'NaN in a column of numbers or truth values, "" in a column of text',
        "unseen": scorer.unseen,
    }


class _Answer:
    """Turns scores into posteriors and the most probable class, and implements the calibrations."""

    def __init__(self, graph: Graph, scorer: Scorer, scores: str) -> None:
        self.graph, self.scorer = graph, scorer
        prior = graph.constant(scorer.log_zero(scorer.log_prior)[None, :])
        impossible = graph.node("Less", graph.largest(scores, 1), graph.constant([[IMPOSSIBLE]]))
        self.scores = graph.node("Where", impossible, prior, scores)

    def outputs(self) -> list[Any]:
        calibration, target, graph = self.scorer.calibration, self.scorer.target, self.graph
        ranked, shares = self.temper(1.0) if calibration is None else calibration.write(self, target.states)
        total = graph.sum_over(shares, 1, keep=True)
        graph.node("Div", shares, total, to_name=PROBABILITY)
        kind = kind_of(target, "ONNX")
        whole = kind == "number" and all(isinstance(label, int) for label in target.states)
        of, dtype = _KINDS["whole" if whole else kind]
        labels = graph.constant(np.array(target.states, dtype=dtype), dtype)
        best = graph.node("ArgMax", ranked, axis=1, keepdims=0)
        graph.node("Gather", labels, best, to_name=LABEL, axis=0)
        make = graph.onnx.helper.make_tensor_value_info
        return [make(LABEL, of, [None]), make(PROBABILITY, DOUBLE, [None, self.scorer.n_classes])]

    def temper(self, t: float) -> tuple[str, str]:
        """Return the scores whose maximum is the best class, and the shares to normalise."""
        away = self.graph.node("Sub", self.scores, self.graph.largest(self.scores, 1))
        powered = away if t == 1.0 else self.graph.node("Div", away, self.graph.constant([[t]]))
        return self.scores, self.graph.node("Exp", powered)

    def bend(self, curves: Sequence[Curve | None], least: float) -> tuple[str, str]:
        graph, shares = self.graph, self.temper(1.0)[1]
        posterior = graph.node("Div", shares, graph.sum_over(shares, 1, keep=True))
        bent = []
        for c, curve in enumerate(curves):
            p = graph.gather(posterior, graph.whole([c]), axis=1)
            bent.append(p if curve is None else self._bent(p, curve))
        low, high = graph.constant([[least]]), graph.constant([[1.0 - least]])
        joined = graph.node("Concat", *bent, axis=1)
        held = graph.node("Min", graph.node("Max", joined, low), high)
        return held, held

    def _bent(self, p: str, curve: Curve) -> str:
        """Return a piecewise linear curve, constant at both ends: slope·(p − x) + y of the piece that contains p."""
        graph, (x, y) = self.graph, (np.array(curve[0]), np.array(curve[1]))
        piece = graph.sum_over(graph.node("Cast", graph.node("Greater", p, graph.constant([x])), to=INT64), 1)
        slope = np.concatenate([[0.0], np.diff(y) / np.diff(x), [0.0]])
        begin, level = np.concatenate([x[:1], x]), np.concatenate([y[:1], y])
        pieces = (
            graph.unsqueeze(graph.gather(graph.constant(part), piece), 1) for part in (slope, begin, level)
        )
        steep, start, height = pieces
        return graph.node("Add", graph.node("Mul", steep, graph.node("Sub", p, start)), height)


# Lower than any score, so that its exponential is 0.
_NEVER = -1.7e308


class OnnxWriter:
    """Writes each kind of score as a tensor of shape (n, K), or (1, K) if it is the same for all rows."""

    def __init__(self, graph: Graph, columns: Columns, n_classes: int) -> None:
        self.graph, self.columns, self.n_classes = graph, columns, n_classes

    # -- scores --------------------------------------------------------------------------------

    def _row(self, values: Floats) -> str:
        return self.graph.constant(np.maximum(values, LOG_ZERO)[None, :])

    def look_up(self, score: LookUp) -> str:
        if not score.columns:
            return self._row(score.table)
        return self._cells(score.table, [self.columns.code(j) for j in score.columns])

    def _cells(self, table: Floats, codes: list[str]) -> str:
        """Look the codes of each row up in a table, whose last axis is that of the classes."""
        place = codes[0]
        for code, size in zip(codes[1:], table.shape[1 : len(codes)], strict=True):
            place = self.graph.node("Add", self.graph.node("Mul", place, self.graph.whole([size])), code)
        flat = np.maximum(table, LOG_ZERO).reshape(-1, *table.shape[len(codes) :])
        return self.graph.gather(self.graph.constant(flat), place)

    def number(self, score: Number) -> str:
        return self.columns.number(score.column)

    def sum(self, score: Sum) -> str:
        return self.graph.total([term.write(self) for term in score.flat()])

    def product(self, score: Product) -> str:
        first, *others = (factor.write(self) for factor in score.factors)
        for other in others:
            first = self.graph.node("Mul", first, other)
        return first

    def log(self, score: Log) -> str:
        return self.graph.node("Log", score.of.write(self))

    def distance(self, score: Distance) -> str:
        graph, x = self.graph, self.columns.number(score.column)
        away = graph.node("Sub", graph.node("Sub", x, score.mean.write(self)), score.low.write(self))
        return graph.node("Mul", away, score.scale.write(self))

    def step(self, score: Step) -> str:
        above = self.graph.node(
            "Greater", self.columns.number(score.column), self.graph.constant([[score.at]])
        )
        return self.graph.node("Where", above, self._row(score.above), self._row(score.below))

    def if_present(self, score: IfPresent) -> str:
        missing, there = score.missing.write(self), score.there.write(self)
        return self.graph.node("Where", self.columns.is_missing(score.column), missing, there)

    def marginal(self, score: Marginal) -> str:
        return self._forest(score) if score.is_forest else self._expansion(score)

    # -- sums over a forest --------------------------------------------------------------------

    def _hole(self, score: Marginal, j: int) -> str:
        return self.graph.node("Equal", self.columns.code(j), self.graph.whole([score.sizes[j]]))

    def _forest(self, score: Marginal) -> str:
        """Pass messages from children to parents; work[j] holds the messages to each value of attribute j."""
        graph, terms = self.graph, []
        work: dict[int, list[str]] = {}
        for family in score.families:
            j = family.child
            terms.append(self.look_up(score.direct(family)))
            weights = None
            if j in score.values and j in score.children:
                said = graph.total(work[j])
                best = graph.largest(said, 1)
                weights = best, graph.node("Exp", graph.node("Sub", said, best))
                terms.append(self._to_present(score, family, weights))
            if family.parents and family.parents[0] in score.values:
                work.setdefault(family.parents[0], []).append(self._to_missing(score, family, weights))
        return graph.total(terms)

    def _mixed(self, shares: str, best: str, each: str, axis: int) -> str:
        """Return best + log Σ P·e over an axis, with a finite number instead of log 0."""
        total = self.graph.sum_over(self.graph.node("Mul", shares, each), axis)
        log = self.graph.node("Max", self.graph.node("Log", total), self.graph.constant([LOG_ZERO]))
        return self.graph.node("Add", best, log)

    def _to_present(self, score: Marginal, family: Family, weights: tuple[str, str]) -> str:
        """Return the message of a missing attribute without a parent, or with a present one: shape (n, K)."""
        graph, best = self.graph, self.graph.node("Squeeze", weights[0], self.graph.whole([1]))
        shares = np.exp(family.table[..., list(score.values[family.child]), :])
        asked = self._hole(score, family.child)
        if not family.parents:
            mixed = self._mixed(graph.constant(shares[None]), best, weights[1], 1)
        else:
            parent = family.parents[0]
            found = graph.gather(graph.constant(shares), self.columns.code(parent))
            mixed = self._mixed(found, best, weights[1], 1)
            if parent in score.values:
                asked = graph.node("And", asked, graph.node("Not", self._hole(score, parent)))
        return graph.node("Where", graph.unsqueeze(asked, 1), mixed, graph.constant([[0.0]]))

    def _to_missing(self, score: Marginal, family: Family, weights: tuple[str, str] | None) -> str:
        """Return the message of an attribute to each value of its missing parent: shape (n, values, K)."""
        graph, j = self.graph, family.child
        table = family.table[list(score.values[family.parents[0]])]
        present = self._cells(np.swapaxes(table, 0, 1), [self.columns.code(j)])
        if weights is None:
            return present
        shares = graph.constant(np.exp(table[:, list(score.values[j])])[None])
        mixed = self._mixed(shares, weights[0], graph.unsqueeze(weights[1], 1), 2)
        return graph.node("Where", graph.unsqueeze(self._hole(score, j), 1, 2), mixed, present)

    # -- sums over joint states ----------------------------------------------------------------

    def _expansion(self, score: Marginal) -> str:
        """Sum over the joint states of the needed attributes. A row is repeated for each joint state."""
        graph = self.graph
        members = sorted({j for family in score.families for j in (*family.parents, family.child)})
        codes = {j: self.columns.code(j) for j in members}
        summed = self._summed(score)
        one = graph.whole([1])
        radices = {
            j: graph.node("Where", flag, graph.whole([max(len(score.values[j]), 1)]), one)
            for j, flag in summed.items()
        }
        n_states = graph.node("Add", graph.node("Mul", codes[members[0]], graph.whole([0])), one)
        for radix in radices.values():
            n_states = graph.node("Mul", n_states, radix)
        row, place = self._repeated(n_states)
        spread = {j: graph.gather(code, row) for j, code in codes.items()}
        for j, radix in radices.items():
            here = graph.gather(radix, row)
            values = graph.whole(list(score.values[j]) or [0])
            value = graph.gather(values, graph.node("Mod", place, here))
            place = graph.node("Div", place, here)
            spread[j] = graph.node("Where", graph.gather(summed[j], row), value, spread[j])
        logs = [self._cells(f.table, [spread[i] for i in (*f.parents, f.child)]) for f in score.families]
        return self._log_sum_by(graph.total(logs), row, n_states)

    def _summed(self, score: Marginal) -> dict[int, str]:
        """Return for each attribute with children whether it is missing and must be summed over: shape (n,)."""
        graph, needed = self.graph, dict[int, str]()
        # Children before parents, then attributes that are not a child.
        for j in (*(family.child for family in score.families), *score.children):
            if j in needed or j not in score.values or j not in score.children:
                continue
            asked = []
            for family in score.children[j]:
                child = family.child
                if child not in score.values:
                    asked.append(graph.constant([True], np.bool_))
                    continue
                asked.append(graph.node("Not", self._hole(score, child)))
                asked += [needed[child]] if child in needed else []
            found = asked[0]
            for other in asked[1:]:
                found = graph.node("Or", found, other)
            needed[j] = graph.node("And", self._hole(score, j), found)
        if not needed or score.most is None:
            return needed
        logs = []
        for j, flag in needed.items():
            size = math.log(len(score.values[j])) if score.values[j] else 1e6
            logs.append(graph.node("Mul", graph.node("Cast", flag, to=DOUBLE), graph.constant([size])))
        fits = graph.node("LessOrEqual", graph.total(logs), graph.constant([math.log(score.most) + 1e-9]))
        return {j: graph.node("And", flag, fits) for j, flag in needed.items()}

    def _repeated(self, times: str) -> tuple[str, str]:
        """Repeat each row this many times. Return the row of each copy, and the index of the copy within its row."""
        graph, axis = self.graph, self.graph.whole(0)
        ends = graph.node("CumSum", times, axis)
        starts = graph.node("Sub", ends, times)
        total = graph.node("ReduceSum", times, keepdims=1)
        # Mark the start of each row except the first. The running sum is the index of the row.
        zeros = graph.node("Expand", graph.whole([0]), total)
        later = graph.node("Slice", starts, graph.whole([1]), graph.whole([2**62]), graph.whole([0]))
        ones = graph.node("Expand", graph.whole([1]), graph.node("Shape", later))
        marks = graph.node("ScatterElements", zeros, later, ones, axis=0)
        row = graph.node("CumSum", marks, axis)
        end = graph.node("Squeeze", total, graph.whole([0]))
        number = graph.node("Range", graph.whole(0), end, graph.whole(1))
        return row, graph.node("Sub", number, graph.gather(starts, row))

    def _log_sum_by(self, scores: str, row: str, like: str) -> str:
        """Return log Σ exp of the scores of the same row: shape (n, K)."""
        graph, k = self.graph, self.n_classes
        n = graph.node("Shape", like)
        shape = graph.node("Concat", n, graph.whole([k]), axis=0)
        index = graph.node("Expand", graph.unsqueeze(row, 1), graph.node("Shape", scores))
        lowest = graph.node("Expand", graph.constant([[_NEVER]]), shape)
        best = graph.node("ScatterElements", lowest, index, scores, axis=0, reduction="max")
        shares = graph.node("Exp", graph.node("Sub", scores, graph.gather(best, row)))
        zeros = graph.node("Expand", graph.constant([[0.0]]), shape)
        total = graph.node("ScatterElements", zeros, index, shares, axis=0, reduction="add")
        return graph.node("Add", best, graph.node("Log", total))

    # -- averages ------------------------------------------------------------------------------

    def average(self, score: Average) -> str:
        graph, n_contexts = self.graph, len(score.contexts)
        width = int(score.offsets[-1])
        codes = [graph.unsqueeze(self.columns.code(j), 1) for j in range(len(score.offsets) - 1)]
        cells = graph.node("Add", graph.node("Concat", *codes, axis=1), graph.whole(score.offsets[None, :-1]))
        context = self._contexts(score, cells, width)
        logs = np.concatenate([np.maximum(score.logs, LOG_ZERO), np.zeros((1, *score.logs.shape[1:]))])
        start = graph.node("Mul", graph.unsqueeze(context, 2), graph.whole([width]))
        place = graph.node("Add", start, graph.unsqueeze(cells, 1))
        found = graph.gather(graph.constant(logs.reshape(-1, logs.shape[2])), place)
        scores = graph.sum_over(found, 2)
        if score.normals is not None:
            scores = graph.node("Add", scores, self._normals(score.normals, context))
        holds = graph.node("Less", context, graph.whole([n_contexts]))
        heard = graph.node("Where", graph.unsqueeze(holds, 2), scores, graph.constant([_NEVER]))
        some = graph.largest(graph.node("Cast", holds, to=INT64), 1)
        known = graph.node("Greater", some, graph.whole([0]))
        return graph.node("Where", known, graph.log_sum(heard, 1), score.otherwise.write(self))

    def _contexts(self, score: Average, cells: str, width: int) -> str:
        """Return the context index of each attribute or pair, or the last index if there is none: shape (n, m)."""
        graph, n = self.graph, len(score.contexts)
        if score.order == 1:
            of_cell = np.full(width, n)
            of_cell[score.contexts[:, 0]] = np.arange(n)
            return graph.gather(graph.whole(of_cell), cells)
        owner = np.repeat(np.arange(len(score.offsets) - 1), np.diff(score.offsets))
        pairs = np.unique(owner[score.contexts], axis=0)
        of_cells = np.full((width, width), n)
        of_cells[score.contexts[:, 0], score.contexts[:, 1]] = np.arange(n)
        first, second = (graph.gather(cells, graph.whole(side), axis=1) for side in pairs.T)
        place = graph.node("Add", graph.node("Mul", first, graph.whole([width])), second)
        return graph.gather(graph.whole(of_cells.ravel()), place)

    def _normals(self, normals: Normals, context: str) -> str:
        """Return the sum of the log-densities of the present numbers in each context: shape (n, m, K)."""
        graph = self.graph
        # The last context ("none") has no densities.
        parts = (np.concatenate([part, np.zeros((1, *part.shape[1:]))]) for part in
                 (normals.norm, normals.mean, normals.low, normals.scale))  # fmt: skip
        norm, mean, low, scale = (graph.gather(graph.constant(part), context) for part in parts)
        columns = normals.columns.tolist()
        x = graph.unsqueeze(graph.node("Concat", *map(self.columns.number, columns), axis=1), 1, 3)
        away = graph.node("Sub", graph.node("Sub", x, mean), low)
        z = graph.node("Mul", away, scale)
        density = graph.node("Sub", norm, graph.node("Mul", z, z))
        absent = graph.node("Concat", *map(self.columns.is_missing, columns), axis=1)
        there = graph.node("Where", graph.unsqueeze(absent, 1, 3), graph.constant([0.0]), density)
        return graph.sum_over(there, 2)
