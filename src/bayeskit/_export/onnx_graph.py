"""A graph of ONNX operators under construction, and the columns of a table as its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit._export.scorer import LARGEST, Scorer, kind_of, need
from bayeskit._schema import Variable
from bayeskit.errors import ColumnError, NotSupported

# The output names of sklearn-onnx.
LABEL, PROBABILITY = "output_label", "output_probability"
# Supported by onnxruntime since 1.18. The reductions of ScatterElements need operator set 18.
OPSET, ML_OPSET, IR_VERSION = 18, 3, 9
INT64, DOUBLE, BOOL, STRING = 7, 11, 9, 8


class Graph:
    """Nodes and constants, each with a unique name; ``t`` is always the name of a tensor."""

    def __init__(self, taken: tuple[str, ...]) -> None:
        self.onnx = need("onnx", "onnx", "to_onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._taken, self._count = {*taken, LABEL, PROBABILITY}, 0
        self._known: dict[tuple[Any, ...], str] = {}

    def name(self) -> str:
        while True:
            self._count += 1
            name = f"t{self._count}"
            if name not in self._taken:
                return name

    def node(
        self, operator: str, *inputs: str, domain: str = "", to_name: str | None = None, **options: Any
    ) -> str:
        """Add an operator and return the name of its result."""
        name = self.name() if to_name is None else to_name
        self.nodes.append(
            self.onnx.helper.make_node(operator, list(inputs), [name], domain=domain, **options)
        )
        return name

    def constant(self, values: ArrayLike, dtype: Any = np.float64) -> str:
        """Add a constant, unless it exists already, and return its name."""
        array = np.asarray(values, dtype=dtype)
        content: Any = array.tobytes() if array.dtype != object else tuple(array.ravel().tolist())
        key = (str(array.dtype), array.shape, content)
        if key not in self._known:
            self._known[key] = self.name()
            self.constants.append(self.onnx.numpy_helper.from_array(array, self._known[key]))
        return self._known[key]

    def whole(self, values: ArrayLike) -> str:
        return self.constant(values, np.int64)

    def total(self, parts: list[str]) -> str:
        """Add tensors up, as a balanced tree."""
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        return self.node("Add", self.total(parts[:half]), self.total(parts[half:]))

    def sum_over(self, t: str, axis: int, *, keep: bool = False) -> str:
        return self.node("ReduceSum", t, self.whole([axis]), keepdims=int(keep))

    def largest(self, t: str, axis: int) -> str:
        return self.node("ReduceMax", t, self.whole([axis]), keepdims=1)

    def unsqueeze(self, t: str, *axes: int) -> str:
        return self.node("Unsqueeze", t, self.whole(list(axes)))

    def gather(self, table: str, index: str, axis: int = 0) -> str:
        return self.node("Gather", table, index, axis=axis)

    def log_sum(self, scores: str, axis: int) -> str:
        """Return log Σ exp over an axis, which is dropped."""
        best = self.largest(scores, axis)
        shares = self.node("Exp", self.node("Sub", scores, best))
        log = self.node("Log", self.sum_over(shares, axis, keep=True))
        return self.node("Squeeze", self.node("Add", best, log), self.whole([axis]))


class Columns:
    """The inputs of a graph: one for each column, of shape (n, 1)."""

    def __init__(self, graph: Graph, scorer: Scorer) -> None:
        self.graph, self.scorer = graph, scorer
        for name in scorer.columns:
            if name in (LABEL, PROBABILITY, ""):
                raise ColumnError(
                    "A column is called {name!r}, which an input of ONNX cannot be. Rename it, and fit again.",
                    name=name,
                )
        self.kinds = [kind_of(v, "ONNX") if v.cuts is None else "number" for v in scorer.categorical]
        self._made: dict[tuple[str, int], str] = {}

    def inputs(self) -> list[Any]:
        """Return the declarations of all columns: strings for text, doubles for all others."""
        kinds = [*self.kinds, *["number"] * len(self.scorer.numbers)]
        make = self.graph.onnx.helper.make_tensor_value_info
        types = [STRING if kind == "text" else DOUBLE for kind in kinds]
        return [make(name, of, [None, 1]) for name, of in zip(self.scorer.columns, types, strict=True)]

    def _once(self, what: str, j: int, make: Callable[[], str]) -> str:
        if (what, j) not in self._made:
            self._made[what, j] = make()
        return self._made[what, j]

    def is_missing(self, column: int) -> str:
        """Whether a number is missing: shape (n, 1)."""
        name = self.scorer.numbers[column]
        return self._once("missing", column, lambda: self.graph.node("IsNaN", name))

    def number(self, column: int) -> str:
        """Return a number, clipped so that it can be squared, or 0 if it is missing: shape (n, 1)."""

        def make() -> str:
            graph, name = self.graph, self.scorer.numbers[column]
            there = graph.node("Where", self.is_missing(column), graph.constant([[0.0]]), name)
            least, most = graph.constant([[-LARGEST]]), graph.constant([[LARGEST]])
            return graph.node("Min", graph.node("Max", there, least), most)

        return self._once("number", column, make)

    def code(self, j: int) -> str:
        """The code of a categorical attribute: shape (n,)."""
        return self._once("code", j, lambda: self._code(self.scorer.categorical[j], self.kinds[j]))

    def _code(self, variable: Variable, kind: str) -> str:
        graph, size, name = self.graph, variable.size, str(variable.name)
        other = size + (self.scorer.unseen == "smooth")
        if kind == "text":
            code = self._text_code(variable, other)
        else:
            missing = graph.node("IsNaN", name)
            known = self._interval(name, variable.cuts) if variable.cuts is not None else None
            known = known or self._number_code(variable, missing, other)
            code = graph.node("Where", missing, graph.whole([[size]]), known)
        return graph.node("Squeeze", code, graph.whole([1]))

    def _text_code(self, variable: Variable, other: int) -> str:
        if "" in variable.states:
            raise NotSupported(
                "{name!r} has the empty text for a state, which means missing in ONNX. Give it another name, and "
                "fit again.",
                name=variable.name,
            )
        return self.graph.node(
            "LabelEncoder", str(variable.name), domain="ai.onnx.ml",
            keys_strings=[*variable.states, ""], values_int64s=list(range(variable.size + 1)),
            default_int64=other,
        )  # fmt: skip

    def _interval(self, name: str, cuts: tuple[float, ...]) -> str:
        graph = self.graph
        above = graph.node("Greater", name, graph.constant([cuts]))
        return graph.sum_over(graph.node("Cast", above, to=INT64), 1, keep=True)

    def _number_code(self, variable: Variable, missing: str, other: int) -> str:
        graph, x = self.graph, str(variable.name)
        if variable.dense:
            there = graph.node("Where", missing, graph.constant([[-1.0]]), x)
            x = graph.node("Cast", graph.node("Cast", there, to=INT64), to=DOUBLE)
        states = np.array([variable.states], np.float64)
        same = graph.node("Cast", graph.node("Equal", x, graph.constant(states)), to=INT64)
        away = graph.node("Mul", same, graph.whole([[v - other for v in range(variable.size)]]))
        return graph.node("Add", graph.sum_over(away, 1, keep=True), graph.whole([[other]]))
