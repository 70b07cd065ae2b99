"""Reading and writing network files: `read_network`, and the network methods `write` and `to_json`."""

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
    """Write the network to a file. If the format cannot represent it, an error is raised before writing.

    Parameters
    ----------
    path : str or path
        The suffix determines the format: ``.bif``, ``.bifxml`` or ``.xml``, ``.net``, ``.xdsl``, ``.uai``,
        ``.json`` (native: lossless). The suffix ``.gz`` compresses the file.
    format : ``"bif"``, ``"xmlbif"``, ``"net"``, ``"xdsl"``, ``"uai"`` or ``"json"``, overriding the suffix

    Numbers are read back bit for bit, and a file that is read and written again is identical. UAI has no
    names: variables and states become 0, 1, 2, …
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
        BIF, XMLBIF, Hugin NET, GeNIe XDSL or DSL, DSC, UAI, libDAI ``.fg``, native or linear-Gaussian JSON,
        optionally compressed by gzip.
    format : str, optional
        ``"bif"``, ``"xmlbif"``, ``"net"``, ``"xdsl"``, ``"dsl"``, ``"dsc"``, ``"uai"``, ``"fg"``, ``"json"`` or
        ``"gaussian-json"``. By default, determined by the suffix, or by the content if several formats share
        a suffix.
    normalize : bool
        Rows that sum to one within 1e-12 are kept bit for bit. Rows within 1e-3 are divided by their sum.
        Other rows are an error unless this is True.
    max_memory : number, optional
        The memory limit for the tables of the file, in bytes. By default, 2**22 cells of 8 bytes or 64 cells
        per byte of the file, whichever is more. The limit is needed because a short file (a ``default`` row
        and many parents) can define a table of any size.

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
    # The classes import this module, so it cannot import them at the top.
    from bayeskit._networks.bayesian_network import BayesianNetwork
    from bayeskit._networks.markov_network import MarkovNetwork

    most = None if max_memory is None else allowed(max_memory)
    network = read_model(path, format, switch(normalize, "normalize"), most)
    return MarkovNetwork._of(network) if isinstance(network, FactorGraph) else BayesianNetwork._of(network)
