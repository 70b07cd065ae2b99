"""Display of fitted estimators in notebooks: a card that describes the fitted model.

The card replaces scikit-learn's parameter diagram.

An estimator with a ``_card()`` uses these two functions as its methods::

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

scikit-learn's hooks are kept, so ``set_config(display="text")`` still gives plain text. Its diagram is 30 kB
and includes a script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bayeskit._fitting.model import ModelSpec
from bayeskit._markup import Html, framed, join, paragraphs, tag
from bayeskit._schema import Schema
from bayeskit._statistics.statistics import statistics_html
from bayeskit._visible import escape, shorter

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from bayeskit._classifiers.base_classifier import BaseClassifier


def html_repr(estimator: BaseEstimator) -> str:
    """Return the ``_card()`` of a fitted estimator, or the parameters of an unfitted one."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return framed(tag("pre", Html(escape(repr(estimator)))))
    return framed(Html(estimator._card()))


def mimebundle(estimator: BaseEstimator, **kwargs: Any) -> dict[str, str]:
    """Return the MIME bundle of an estimator for Jupyter: text, and HTML unless it is turned off."""
    from sklearn import get_config

    bundle = {"text/plain": repr(estimator)}
    if get_config()["display"] == "diagram":
        bundle["text/html"] = estimator._html_repr()
    return bundle


def titled_lines(title: str, lines: Iterable[str]) -> str:
    """Return a title and lines under it, escaped.

    >>> titled_lines("TAN()", ["a < b"])
    '<p><b>TAN()</b></p><p>a &lt; b</p>'
    """
    return join([tag("p", tag("b", title)), paragraphs(line.strip() for line in lines)])


# The maximum number of characters in a line of the card.
LONGEST = 400


def card(model: BaseClassifier) -> str:
    """Return the card of a fitted classifier as HTML.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> html = card(NaiveBayes().fit([["sun"], ["rain"]], ["go", "<stay>"]))
    >>> html[: html.index("<p>Smoothing")]
    '<p><b>NaiveBayes()</b></p><p>Predicts y (&lt;stay&gt;, go) from 1 attribute.</p>'
    """
    if model._lazy is not None:
        # Anything more needs counts, and displaying a lazy model must not count rows.
        return titled_lines(repr(model), ["Lazy: the counts for a prediction are computed on demand."])
    fitted = model._require("show")
    schema, spec = fitted.schema, fitted.spec
    assert spec is not None
    lines = [_predicts(schema), *_smoothing(schema, spec), *_families(schema, spec), *_arcs(model)]
    lines += _held_lines(model)
    return titled_lines(repr(model), (shorter(line, LONGEST) for line in lines)) + statistics_html(
        fitted.statistics
    )


def _predicts(schema: Schema) -> str:
    block = schema.block
    n = len(schema.attributes) if block is None else block.width
    what = "attribute" if block is None else "column"
    return (
        f"Predicts {schema.target.name} ({schema.target.listing()}) from {n:,} {what}{'' if n == 1 else 's'}."
    )


def _smoothing(schema: Schema, spec: ModelSpec) -> Iterator[str]:
    if schema.block is not None:
        yield f"Smoothing: alpha={_value(spec.block_alpha)}."
    elif schema.categorical:
        others = "".join(f", {name}: {prior!r}" for name, prior in spec.smoothing.by_name.items())
        yield f"Smoothing: {spec.smoothing.default!r}{others}."


def _families(schema: Schema, spec: ModelSpec) -> Iterator[str]:
    if schema.numeric and spec.covariance is not None:
        kind = "shared" if spec.covariance.shared else "full"
        yield f"Numbers: one {'Student t' if spec.covariance.student else 'Gaussian'} a class, {kind} covariances."
    elif schema.numeric:
        families = [spec.family(v.name) for v in schema.numeric]
        same = len(set(families)) == 1
        pairs = (f"{v.name} {family}" for v, family in zip(schema.numeric, families, strict=True))
        yield f"Numbers: {families[0] if same else ', '.join(pairs)}."


def _arcs(model: BaseClassifier) -> Iterator[str]:
    structure = getattr(model, "structure_", None)
    if structure is not None:
        arcs = [f"{parent} → {child}" for child, parents in structure.items() for parent in parents]
        which = "Arcs" if hasattr(model, "target_") else "Arcs beside those of the class"
        yield f"{which}: {', '.join(arcs) or 'none'}."
        if hasattr(model, "markov_blanket_"):
            yield f"Markov blanket of the class: {', '.join(map(str, model.markov_blanket_)) or 'nothing'}."


def _held_lines(model: BaseClassifier) -> Iterator[str]:
    """Yield a line for each held choice, except for the structure, which ``_arcs`` shows, and for ``_not_choices``."""
    for name, value in model.held_.items():
        if value and name != "structure" and name not in model._not_choices:
            yield f"Held {name.replace('_', ' ')}: {_value(value)}."


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        # What a member of an ensemble holds is its own: only its name is shown.
        parts = (
            str(key) if isinstance(part, Mapping) else f"{key} {_value(part)}" for key, part in value.items()
        )
        return ", ".join(parts)
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_value, value))})"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
