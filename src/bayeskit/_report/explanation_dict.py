"""An explanation as plain values."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bayeskit._report.explanation import Attribute, Explanation, PageFactor
from bayeskit._report.factors.average import LazyAttributes
from bayeskit._schema import Name
from bayeskit._visible import plain


def explanation_to_dict(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as a dictionary of plain values."""
    with _uncollected():
        return _to_dict(explanation)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable garbage collection: an average creates tens of thousands of small values, none of which is garbage."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _to_dict(e: Explanation) -> dict[str, Any]:
    return {
        "target": plain(e.target),
        "classes": plain(e.classes),
        "prediction": plain(e.prediction),
        "runner_up": plain(e.runner_up),
        "prior": _factors(e.prior),
        "prior_source": e.prior_source,
        "prior_given": given_to_dicts(e.prior_given),
        "prior_log_odds": plain(e.prior_log_odds),
        "form": e.form,
        "attributes": [attribute_of(a, e.ranking) for a in e.attributes],
        "average": [_super_parent(e, i) for i in range(len(e.average.super_parents))] if e.average else None,
        "rest": _factors(e.rest) if e.rest is not None else None,
        "left_out": [
            {"name": plain(o.name), "value": plain(o.value), "reason": o.reason} for o in e.left_out
        ],
        "log_joint": plain(e.log_joint),
        "joint": plain(e.joint),
        "log_evidence": plain(e.log_evidence),
        "evidence": plain(e.evidence),
        "log_odds": plain(e.log_odds),
        "posterior": plain(e.posterior),
        "calibrated": plain(e.calibrated),
        "impossible": e.impossible,
        "risks": e.risks.to_dict() if e.risks is not None else None,
    }


def attribute_of(a: Attribute, ranking: Sequence[int]) -> dict[str, Any]:
    """Return one attribute as plain values."""
    odds = odds_of_logs([f.log for f in a.factors], ranking)
    content = (a.name, a.value, a.family, a.as_missing, given_to_dicts(a.given), plain(a.summed))
    return attribute_to_dict(*content, _factors(a.factors), odds)


def given_to_dicts(given: Iterable[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """Return parents and their values."""
    return [{"name": plain(name), "value": plain(value)} for name, value in given]


def attribute_to_dict(
    name: Name,
    value: object,
    family: str,
    as_missing: bool,
    given: list[dict[str, Any]],
    summed: list[Any],
    factors: list[dict[str, Any]],
    odds: object,
) -> dict[str, Any]:
    """Return one attribute as plain values, except for its name and value."""
    return {
        "name": plain(name),
        "value": plain(value),
        "family": family,
        "as_missing": as_missing,
        "given": given,
        "summed": summed,
        "factors": factors,
        "log_odds": odds,
    }


def odds_of_logs(logs: Sequence[float], ranking: Sequence[int]) -> Any:
    """Return the contribution of factors to the log-odds of the first class against the second, as a plain value.

    >>> odds_of_logs([0.5, -1.0, -math.inf], [0, 1]), odds_of_logs([0.5, -1.0, -math.inf], [1, 2])
    (1.5, 'inf')
    """
    if len(ranking) < 2:
        return None
    a, b = logs[ranking[0]], logs[ranking[1]]
    return None if a == b == -math.inf else plain(a - b)


def _super_parent(e: Explanation, i: int) -> dict[str, Any]:
    assert e.average is not None
    parent = e.average.super_parents[i]
    children = parent.attributes
    content = (
        children.plainly(e.ranking) if isinstance(children, LazyAttributes) and children.plainly else None
    )
    return {
        "name": plain(parent.name),
        "value": plain(parent.value),
        "weight": parent.weight,
        "shares": [e.average.shares(k)[i] for k in range(len(e.classes))],
        "first": _factors(parent.first),
        "attributes": [attribute_of(a, e.ranking) for a in children] if content is None else content,
        "log_products": plain(parent.log_products),
    }


def _factors(factors: Iterable[PageFactor]) -> list[dict[str, Any]]:
    logs, workings = zip(*factors, strict=True)
    return factors_to_dicts(logs, workings)


def factors_to_dicts(logs: Sequence[float], workings: Sequence[str]) -> list[dict[str, Any]]:
    """Return factors, one for each class.

    >>> factors_to_dicts([-math.inf], ["0/2"])
    [{'probability': 0.0, 'log': '-inf', 'working': '0/2'}]
    """
    if -math.inf not in logs and max(logs) < 700.0:  # then no number needs a separate check
        exp = math.exp
        return [
            {"probability": exp(log), "log": log, "working": w} for log, w in zip(logs, workings, strict=True)
        ]
    return [
        {"probability": plain(PageFactor(log).probability), "log": plain(log), "working": w}
        for log, w in zip(logs, workings, strict=True)
    ]
