"""Networks ↔ files and text: `read_network`, and methods of networks, which take them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit._graphs.network import FactorGraph
from bayeskit._inference.exact import allowed
from bayeskit._io.networks.native_json import native_text
from bayeskit._io.networks.registry import read_model, write_model
from bayeskit._networks.arguments import switch
from bayeskit._networks.discrete_adapter import CachingNetwork
from bayeskit.typing import PathLike

if TYPE_CHECKING:
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.markov_network import MarkovNetwork


def write(self: CachingNetwork, path: PathLike, format: str | None = None) -> None:
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


def to_json(self: CachingNetwork) -> str:
    """Return the network as the text of its native JSON file.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> '"kind": "bayesian"' in BayesianNetwork().to_json()
    True
    """
    return native_text(self._network)


def read_network(
    path: PathLike, format: str | None = None, normalize: bool = False, max_memory: float | None = None
) -> BayesianNetwork | MarkovNetwork:
    """Read a network from a file.

    Parameters
    ----------
    path : str or path
        BIF, XMLBIF, Hugin NET, GeNIe XDSL or DSL, DSC, UAI, libDAI ``.fg``, native or linear-Gaussian JSON; also
        packed by gzip.
    format : str, optional
        ``"bif"``, ``"xmlbif"``, ``"net"``, ``"xdsl"``, ``"dsl"``, ``"dsc"``, ``"uai"``, ``"fg"``, ``"json"`` or
        ``"gaussian-json"``. Without it the suffix tells, or the content where several formats share a suffix.
    normalize : bool
        Rows of a table that sum to one within 1e-12 are kept bit for bit, within 1e-3 they are divided by their
        sum; others are refused unless this is True.
    max_memory : number, optional
        How many bytes the tables of the file may take. Without it they may have 2**22 cells of 8 bytes, or 64 for each
        byte of the file where that is more: a few words (a ``default`` row and many parents) can ask for any memory.

    Returns
    -------
    BayesianNetwork, or MarkovNetwork for factor graphs (``.fg``, UAI files that say MARKOV)

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "rain.uai")
    >>> with open(path, "w") as file:
    ...     _ = file.write("BAYES\\n1\\n2\\n1\\n1 0\\n\\n2\\n0.8 0.2\\n")
    >>> read_network(path).states(0)
    (0, 1)
    >>> folder.cleanup()
    """
    # The classes import this package's io; importing them here keeps reading.py free for either of them to use.
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.markov_network import MarkovNetwork

    most = None if max_memory is None else allowed(max_memory)
    network = read_model(path, format, switch(normalize, "normalize"), most)
    return MarkovNetwork._of(network) if isinstance(network, FactorGraph) else BayesianNetwork._of(network)
