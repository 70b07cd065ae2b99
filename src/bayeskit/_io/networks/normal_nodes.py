"""Linear-Gaussian nodes in files: ``normal(a + b * x, v)`` of Hugin NET, and the JSON of the R package bnlearn.

Expressions of NET are converted to distributions and back; nested lists. JSON is only read:

``{"nodes": [...], "arcs": [[from, to], ...], "cpds": {node: {"coefficients": {"(Intercept)": [a], parent: [b]},
"variance": [v], "parents": [...]}}}``
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from bayeskit._graphs.distributions import LinearGaussian
from bayeskit._graphs.network import Network, Node, continuous
from bayeskit._io.networks.assembly import Budget, assembled
from bayeskit._io.networks.raw import parse_json
from bayeskit._io.networks.tokens import Tokens, is_number, shown
from bayeskit._messages import Message
from bayeskit.errors import ModelFormatError

_NORMAL = re.compile(r"normal\s*\(([^(),]*),([^(),]*)\)")
_PART = re.compile(r"\s*+([+-]|\*|(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+|[A-Za-z_]\w*+)\s*+")


def read_normals(
    tokens: Tokens, start: int, end: int, name: str, sizes: Sequence[int], numeric: Sequence[str]
) -> LinearGaussian:
    """Read one ``normal`` for each configuration of the discrete parents (their ``sizes``).

    Parameters
    ----------
    start, end : the range of tokens
    name : the node
    numeric : identifiers of the numeric parents, in order
    """
    text = " ".join(tokens.words[start:end])
    found = _NORMAL.findall(text)
    brackets = re.sub(r"\s", "", _NORMAL.sub("#", text))
    count = math.prod(sizes)
    if len(found) != count or not fits(brackets, sizes):
        raise tokens.error(
            Message(
                "the data of {name!r} must be {count} times normal(mean, variance), nested as its discrete parents; a "
                "mean is a + b * x + …, without parentheses.",
                name=name,
                count=count,
            ),
            start,
        )
    intercepts, coefficients, variances = [], [], []
    for mean, variance in found:
        line = _line(mean, numeric)
        if line is None:
            raise tokens.error(
                Message(
                    "{mean} is not a mean of {name!r}: write a + b * x + …, where each x is a continuous parent.",
                    mean=shown(mean.strip()),
                    name=name,
                ),
                start,
            )
        variance = variance.strip()
        if not is_number(variance) or not 0 <= float(variance) < math.inf:
            raise tokens.error(
                Message("{variance} is not a variance of {name!r}.", variance=shown(variance), name=name),
                start,
            )
        intercepts.append(line[0])
        coefficients.append(line[1])
        variances.append(float(variance))
    shape = tuple(sizes)
    return LinearGaussian(
        np.reshape(intercepts, shape),
        np.reshape(coefficients, (*shape, len(numeric))),
        np.reshape(variances, shape),
    )


def fits(brackets: str, sizes: Sequence[int]) -> bool:
    """Whether lists are nested like a table of these sizes, or form one flat list.

    >>> fits("((##)(##)(##))", [3, 2]), fits("(######)", [3, 2]), fits("((###)(###))", [3, 2])
    (True, True, False)
    """
    if brackets == f"({'#' * brackets.count('#')})":
        return True
    nested = "#"
    for size in reversed(sizes):
        nested = f"({nested * size})"
    return brackets == nested


def _line(text: str, numeric: Sequence[str]) -> tuple[float, list[float]] | None:
    """Read ``a + b * x - y``; None for anything else.

    >>> _line("1.5 - 2 * x + y", ["x", "y", "z"])
    (1.5, [-2.0, 1.0, 0.0])
    """
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text):
        return None
    constant: float | None = None
    slopes: dict[str, float] = {}
    terms = _terms(parts)
    if terms is None:
        return None
    for sign, factors in terms:
        names = [factor for factor in factors if not is_number(factor)]
        numbers = [float(factor) for factor in factors if is_number(factor)]
        value = sign * math.prod(numbers[1:], start=numbers[0]) if numbers else sign
        if len(names) > 1 or any(name not in numeric for name in names) or not math.isfinite(value):
            return None
        if names:
            slopes[names[0]] = slopes[names[0]] + value if names[0] in slopes else value
        else:
            constant = value if constant is None else constant + value
    values = [slopes.get(name, 0.0) for name in numeric]
    finite = all(map(math.isfinite, (*values, constant or 0.0)))
    return (0.0 if constant is None else constant, values) if finite else None


def _terms(parts: Sequence[str]) -> list[tuple[float, list[str]]] | None:
    """Split at the signs into (sign, factors); None if an operator is missing."""
    terms: list[tuple[float, list[str]]] = []
    sign, factors, wanted = 1.0, list[str](), True
    for place, part in enumerate(parts):
        if part in "+-" and (not wanted or place == 0):
            if factors:
                terms.append((sign, factors))
            sign, factors, wanted = (-1.0 if part == "-" else 1.0), [], True
        elif part == "*" and not wanted:
            wanted = True
        elif part not in "+-*" and wanted:
            factors = [*factors, part]
            wanted = False
        else:
            return None
    return None if wanted else [*terms, (sign, factors)]


def written_normal(
    intercept: float, coefficients: Sequence[float], variance: float, names: Sequence[str]
) -> str:
    """Return ``normal(…)`` that is read back to the same numbers.

    >>> written_normal(1.5, [-2.0, 1.0], 0.25, ["x", "y"])
    'normal ( 1.5 - 2.0 * x + 1.0 * y, 0.25 )'
    """
    terms = "".join(
        f" {'-' if math.copysign(1, b) < 0 else '+'} {abs(b)!r} * {name}"
        for b, name in zip(coefficients, names, strict=True)
    )
    return f"normal ( {intercept!r}{terms}, {variance!r} )"


_INTERCEPT = "(Intercept)"


def read_gaussian_json(
    text: bytes | str, path: object = None, normalize: bool = False, budget: Budget | None = None
) -> Network:
    """Return the network of a linear-Gaussian JSON file. It has no rows, so ``normalize`` has no effect.

    Examples
    --------
    >>> network = read_gaussian_json(
    ...     '{"nodes": ["x"], "arcs": [], "cpds": {"x": {"coefficients": {"(Intercept)": [2]}, "variance": [4],'
    ...     ' "parents": []}}}'
    ... )
    >>> network["x"].distribution.variance
    array(4.)
    """

    def check(is_right: object, what: str | Message) -> None:
        if not is_right:
            raise ModelFormatError(what, path=path)

    budget = budget or Budget(len(text))
    root = parse_json(text, path)
    parts = root if isinstance(root, dict) else {}
    names, arcs, cpds = (parts.get(key) for key in ("nodes", "arcs", "cpds"))
    check(
        isinstance(names, list) and isinstance(arcs, list) and isinstance(cpds, dict),
        'it needs "nodes" and "arcs", which are lists, and "cpds", which has an entry for each node.',
    )
    assert isinstance(names, list) and isinstance(arcs, list) and isinstance(cpds, dict)
    check(all(isinstance(name, str) for name in names), "the name of a node is not text.")
    check(set(cpds) == set(names), 'the "cpds" must have an entry for each node and no other.')
    nodes, families = [], set()
    for name in names:
        cpd = cpds[name] if isinstance(cpds[name], dict) else {}
        parents, coefficients = cpd.get("parents"), cpd.get("coefficients")
        check(
            isinstance(parents, list)
            and all(isinstance(parent, str) and parent in cpds for parent in parents)
            and isinstance(coefficients, dict)
            and set(coefficients) == {_INTERCEPT, *parents},
            Message(
                "the entry of {name!r} needs parents that are nodes, and coefficients for {intercept} and each parent.",
                name=name,
                intercept=_INTERCEPT,
            ),
        )
        assert isinstance(parents, list) and isinstance(coefficients, dict)
        numbers = {key: _single(value) for key, value in coefficients.items()}
        variance = _single(cpd.get("variance"))
        check(
            None not in numbers.values(),
            Message("a coefficient of {name!r} is no list of one finite number.", name=name),
        )
        check(
            variance is not None and variance >= 0,
            Message("the variance of {name!r} is no list of one number from 0.", name=name),
        )
        budget.take([len(parents) + 2], name, lambda what: ModelFormatError(what, path=path))
        values = [numbers[parent] for parent in parents]
        distribution = LinearGaussian(numbers[_INTERCEPT], values, variance)  # type: ignore[arg-type]
        nodes.append(Node(continuous(name), tuple(parents), distribution))
        families |= {(parent, name) for parent in parents}
    pairs = {tuple(arc) for arc in arcs if isinstance(arc, list) and all(isinstance(end, str) for end in arc)}
    check(
        len(pairs) == len(arcs) and pairs == families,
        'the "arcs" and the parents of the "cpds" do not name the same arcs.',
    )
    return assembled(nodes, path=path)


def _single(value: object) -> float | None:
    """Return the number in a list of one, None for anything else."""
    if not isinstance(value, list) or len(value) != 1 or type(value[0]) not in (int, float):
        return None
    try:
        number = float(value[0])
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
