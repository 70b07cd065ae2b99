"""A model as ONNX: standard operators on doubles, one input for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
from bayeskit._export.onnx_writer import OnnxWriter
from bayeskit._export.scorer import IMPOSSIBLE, Scorer, kind_of
from bayeskit._fitting.calibration import Curve
from bayeskit._version import __version__
from bayeskit._visible import json_text

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
