"""What a notebook shows of an estimator: what was learned, in place of scikit-learn's diagram of parameters.

An estimator with a ``_card()`` takes the two functions for its own::

    _html_repr = html_repr
    _repr_mimebundle_ = mimebundle

scikit-learn's hooks are kept, so ``set_config(display="text")`` still asks for plain text. Its diagram is 30 kB and
brings a script of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from bayeskit.visible import escape


def html_repr(estimator: BaseEstimator) -> str:
    """Return the ``_card()`` of an estimator once it is fitted, its parameters before."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return f"<pre>{escape(repr(estimator))}</pre>"
    card: str = estimator._card()
    return card


def mimebundle(estimator: BaseEstimator, **kwargs: Any) -> dict[str, str]:
    """Return an estimator as Jupyter wants to be shown it: as text, and as HTML unless that is turned off."""
    bundle = {"text/plain": repr(estimator)}
    if get_config()["display"] == "diagram":
        bundle["text/html"] = estimator._html_repr()
    return bundle


def told(title: str, lines: Iterable[str]) -> str:
    """Return a title and lines under it, escaped.

    >>> told("TAN()", ["a < b"])
    '<p><b>TAN()</b></p><p>a &lt; b</p>'
    """
    return f"<p><b>{escape(title)}</b></p>" + "".join(f"<p>{escape(line.strip())}</p>" for line in lines)
