"""Linear-Gaussian networks as JSON, as in the repository of the R package bnlearn. Read only.

``{"nodes": [...], "arcs": [[from, to], ...], "cpds": {node: {"coefficients": {"(Intercept)": [a], parent: [b]},
"variance": [v], "parents": [...]}}}``
"""

from __future__ import annotations

import math

from bayeskit._graphs.distributions import LinearGaussian
from bayeskit._graphs.network import Network, Node, continuous
from bayeskit._io.networks.assembly import Budget, assembled
from bayeskit._io.networks.raw import parse_json
from bayeskit.errors import ModelFormatError

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

    def check(is_right: object, what: str) -> None:
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
    check(all(isinstance(name, str) for name in names), "a node has a name that is no text.")
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
            f"the entry of {name!r} needs parents that are nodes, and coefficients for {_INTERCEPT} and each parent.",
        )
        assert isinstance(parents, list) and isinstance(coefficients, dict)
        numbers = {key: _single(value) for key, value in coefficients.items()}
        variance = _single(cpd.get("variance"))
        check(None not in numbers.values(), f"a coefficient of {name!r} is no list of one finite number.")
        check(
            variance is not None and variance >= 0,
            f"the variance of {name!r} is no list of one number from 0.",
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
