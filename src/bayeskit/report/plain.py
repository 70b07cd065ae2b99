"""An explanation as plain values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayeskit.report.explanation import Attribute, Explanation, Factor


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: numbers, texts, truth values and None as they are, others as text.

    Examples
    --------
    >>> import numpy as np
    >>> plain(np.float64(0.5)), plain(float("nan")), plain(-math.inf), plain(("a", 1))
    (0.5, None, '-inf', ['a', 1])
    """
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def explanation_to_dict(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as a dictionary of plain values."""
    e = explanation
    odds = e.attribute_log_odds
    return {
        "target": plain(e.target),
        "classes": plain(e.classes),
        "prediction": plain(e.prediction),
        "runner_up": plain(e.runner_up),
        "prior": [_factor(f) for f in e.prior],
        "prior_source": e.prior_source,
        "prior_given": [{"name": plain(name), "value": plain(value)} for name, value in e.prior_given],
        "prior_log_odds": plain(e.prior_log_odds),
        "form": e.form,
        "attributes": [_attribute(a, plain(odds[i])) for i, a in enumerate(e.attributes)],
        "average": [_super_parent(e, i) for i in range(len(e.average.super_parents))] if e.average else None,
        "rest": [_factor(f) for f in e.rest] if e.rest is not None else None,
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


def _attribute(a: Attribute, odds: Any) -> dict[str, Any]:
    return {
        "name": plain(a.name),
        "value": plain(a.value),
        "family": a.family,
        "as_missing": a.as_missing,
        "given": [{"name": plain(name), "value": plain(value)} for name, value in a.given],
        "summed": plain(a.summed),
        "factors": [_factor(f) for f in a.factors],
        "log_odds": odds,
    }


def _super_parent(e: Explanation, i: int) -> dict[str, Any]:
    assert e.average is not None
    parent = e.average.super_parents[i]
    return {
        "name": plain(parent.name),
        "value": plain(parent.value),
        "weight": parent.weight,
        "shares": [e.average.shares(k)[i] for k in range(len(e.classes))],
        "first": [_factor(f) for f in parent.first],
        "attributes": [_attribute(a, plain(e.odds_of(a.factors))) for a in parent.attributes],
        "log_products": plain(parent.log_products),
    }


def _factor(factor: Factor) -> dict[str, Any]:
    return {"probability": plain(factor.probability), "log": plain(factor.log), "working": factor.working}
