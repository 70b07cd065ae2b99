"""What a notebook shows of an estimator: what was learned, in place of scikit-learn's diagram of parameters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from sklearn import get_config
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from bayeskit.visible import escape


class Notebook:
    """Shows ``_card()`` once fitted, the parameters before.

    scikit-learn's hooks are kept, so ``set_config(display="text")`` still asks for plain text. Its diagram is 30 kB
    and brings a script of its own.
    """

    @abstractmethod
    def _card(self) -> str:
        """Return HTML about what was learned."""

    def _html_repr(self) -> str:
        try:
            check_is_fitted(self)
        except NotFittedError:
            return f"<pre>{escape(repr(self))}</pre>"
        return self._card()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html_repr()
        return bundle


def told(title: str, lines: Iterable[str]) -> str:
    """Return a title and lines under it, escaped.

    >>> told("TAN()", ["a < b"])
    '<p><b>TAN()</b></p><p>a &lt; b</p>'
    """
    return f"<p><b>{escape(title)}</b></p>" + "".join(f"<p>{escape(line.strip())}</p>" for line in lines)
