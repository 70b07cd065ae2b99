"""Determines the format of a file, and its reader and writer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bayeskit._graphs.network import FactorGraph, Network
from bayeskit._io.networks.assembly import Budget
from bayeskit._io.networks.bif import bif_text, read_bif, read_dsc
from bayeskit._io.networks.dsl import read_dsl
from bayeskit._io.networks.native_json import native_text, read_native
from bayeskit._io.networks.net import net_text, read_net
from bayeskit._io.networks.normal_nodes import read_gaussian_json
from bayeskit._io.networks.raw import read_stored, unpacked, write_atomically
from bayeskit._io.networks.uai import read_fg, read_uai, uai_text
from bayeskit._io.networks.xdsl import read_xdsl, xdsl_text
from bayeskit._io.networks.xmlbif import read_xmlbif, xmlbif_text
from bayeskit._io.saved import as_path
from bayeskit._messages import Joined, Message
from bayeskit.errors import ModelFormatError, SettingError
from bayeskit.typing import PathLike


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    suffixes : of its files
    looks : how its text begins, after blanks and comments
    read, write : bytes → network within a budget of cells, network → text; None if it is read only
    holds_fields : whether it can represent Markov networks
    """

    title: str
    suffixes: tuple[str, ...]
    looks: str
    read: Callable[[bytes, object, bool, Budget | None], Network | FactorGraph]
    write: Callable[[Any], str] | None = None
    holds_fields: bool = False


FORMATS: dict[str, Format] = {
    "json": Format(
        "native JSON", (".json",), r'\{\s*"format"\s*:\s*"bayeskit', read_native, native_text, True
    ),
    "bif": Format("BIF", (".bif",), r"network\b", read_bif, bif_text),
    "xmlbif": Format("XMLBIF", (".bifxml", ".xmlbif", ".xml"), r"<BIF\b", read_xmlbif, xmlbif_text),
    "xdsl": Format("GeNIe XDSL", (".xdsl",), r"<smile\b", read_xdsl, xdsl_text),
    "net": Format("Hugin NET", (".net",), r"net\s*\{|class\b", read_net, net_text),
    "uai": Format("UAI", (".uai",), r"(?:BAYES|MARKOV)\s", read_uai, uai_text, True),
    "dsl": Format("GeNIe DSL", (".dsl",), r"net\s+\w+\s*\{", read_dsl),
    "dsc": Format("DSC", (".dsc",), r"belief\s+network\b", read_dsc),
    "fg": Format("libDAI factor graph", (".fg",), r"\d+\s+\d+\s", read_fg),
    "gaussian-json": Format(
        "linear-Gaussian JSON", (), r'\{\s*"(?:nodes|arcs|cpds)"\s*:', read_gaussian_json
    ),
}

# Several formats share these suffixes: the content decides.
_AMBIGUOUS = (".xml", ".net", ".json")
# Blanks and the comments of any format; an XML prolog; a DOCTYPE with the content of its brackets.
_SKIPPED = re.compile(
    r"(?:\s|//[^\n]*+|/\*.*?\*/|[%#][^\n]*+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*+(?:\[[^\]]*+\])?\s*+>)*+",
    re.DOTALL,
)
_HEAD = 2**16
# Text compresses about 1:4. Better compression is mostly padding, which does not increase the budget.
_PACKED = 4


def sniffed(data: bytes) -> str | None:
    """Return the name of the format that a file seems to have.

    >>> sniffed(b"% by hand\\nnet\\n{ }"), sniffed(b'<?xml version="1.0"?><smile/>'), sniffed(b"no network")
    ('net', 'xdsl', None)
    """
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    head = data[:_HEAD].decode("utf-16" if wide else "utf-8-sig", "ignore")
    skipped = _SKIPPED.match(head)
    start = skipped.end() if skipped else 0
    return next((name for name, f in FORMATS.items() if re.compile(f.looks).match(head, start)), None)


def read_model(
    path: PathLike, format: str | None = None, normalize: bool = False, max_memory: float | None = None
) -> Network | FactorGraph:
    """Read a network file.

    Parameters
    ----------
    path : the file; it may be compressed by gzip
    format : a name in ``FORMATS``; by default, from the suffix, or from the content if the suffix is ambiguous
    normalize : divide every row of a table by its sum, whatever it is
    max_memory : the limit in bytes for its tables; by default, from the size of the file
    """
    if format is not None:
        _known(format)
    path = as_path(path)
    stored = read_stored(path)
    data = unpacked(stored, path)
    name = format or _format_of(path.name, data)
    if name is None:
        raise ModelFormatError(
            Message(
                "its format is clear neither from its name nor from its content. Pass format=, one of {listing}.",
                listing=_listing(FORMATS),
            ),
            path=path,
        )
    budget = Budget(min(len(data), _PACKED * len(stored)), max_memory)
    return FORMATS[name].read(data, path, normalize, budget)


def write_model(path: PathLike, network: Network | FactorGraph, format: str | None = None) -> None:
    """Write a network file, completely or not at all; compressed if the path ends in ``.gz``.

    The file is touched only after the network has been converted to text.
    """
    path = as_path(path)
    suffix = _suffix(path.name)
    writers = {name: f for name, f in FORMATS.items() if f.write is not None}
    if format is None:
        format = next((name for name, f in FORMATS.items() if suffix in f.suffixes), None)
        if format is None:
            raise SettingError(
                "{name!r} does not say in which format to write. End it in {listing}, or pass format=.",
                name=path.name,
                listing=_listing(f.suffixes[0] for f in writers.values()),
            )
    write = _known(format).write
    if write is None:
        raise SettingError(
            "{title} is only read, not written. Formats to write are {listing}.",
            title=FORMATS[format].title,
            listing=_listing(writers),
        )
    if isinstance(network, FactorGraph) and not FORMATS[format].holds_fields:
        raise SettingError(
            "{title} cannot hold a Markov network. Write {listing} instead.",
            title=FORMATS[format].title,
            listing=_listing(_for_fields()),
        )
    write_atomically(path, write(network).encode("utf-8"))


def _for_fields() -> list[str]:
    return [f.suffixes[0] for f in FORMATS.values() if f.holds_fields]


def _known(format: str) -> Format:
    if not isinstance(format, str) or format not in FORMATS:
        raise SettingError(
            "There is no format {format!r}. There are {listing}.", format=format, listing=_listing(FORMATS)
        )
    return FORMATS[format]


def _suffix(name: str) -> str:
    name = name.lower().removesuffix(".gz")
    return "." + name.rpartition(".")[2] if "." in name else ""


def _format_of(name: str, data: bytes) -> str | None:
    suffix = _suffix(name)
    owner = next((name for name, f in FORMATS.items() if suffix in f.suffixes), None)
    if owner is None or suffix in _AMBIGUOUS:
        return sniffed(data) or owner
    return owner


def _listing(names: Iterable[object]) -> Joined:
    return Joined(map(str, names))
