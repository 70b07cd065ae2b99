"""A network as a file, and as text: methods of Bayesian and Markov networks, which take them by name."""

from __future__ import annotations

from bayeskit.io.networks.native import native_text
from bayeskit.io.networks.registry import write_model
from bayeskit.networks.exact_door import Keeping
from bayeskit.typing import PathLike


def write(self: Keeping, path: PathLike, format: str | None = None) -> None:
    """Write the network to a file; what the format cannot hold is refused before the file is touched.

    Parameters
    ----------
    path : str or path
        The suffix tells the format: ``.bif``, ``.bifxml`` or ``.xml``, ``.net``, ``.xdsl``, ``.uai``, ``.json``
        (native: everything, exactly). Ending it in ``.gz`` packs the file.
    format : ``"bif"``, ``"xmlbif"``, ``"net"``, ``"xdsl"``, ``"uai"`` or ``"json"``, whatever the suffix says

    Numbers are written so that they come back bit for bit; a file that is read and written again is the same.
    UAI has no names: there variables and states become 0, 1, 2, …
    """
    write_model(path, self._network, format)


def to_json(self: Keeping) -> str:
    """Return the network as the text of its native JSON file.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> '"kind": "bayesian"' in BayesianNetwork().to_json()
    True
    """
    return native_text(self._network)
