"""Saves plain values and arrays in one safetensors file with a JSON manifest as metadata.

The file contains data, never code: reading one imports and calls nothing that the file names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bayeskit._io.replacing import replace_file
from bayeskit._messages import Message
from bayeskit._version import __version__
from bayeskit.errors import BayeskitError, DataTypeError, ModelFormatError, UsageError
from bayeskit.typing import PathLike

FORMAT = "bayeskit"
FORMAT_VERSION = 1
# The limit of safetensors itself. It is checked before any byte of the header is parsed.
LARGEST_HEADER = 100_000_000

_MANIFEST = {"format", "format_version", "bayeskit_version", "checksum", "kind", "content"}
# Who reads which kind; what else there is, lies in the directory of a store.
_READERS = {"model": "bayeskit.load", "statistics": "bayeskit.statistics.load_statistics"}
_DAMAGED = (
    "It was damaged or cut short in transfer. Copy it again from the original, or save the model again."
)
_FOREIGN = "It was not written by bayeskit. Give the path of a file made by save()."

# The errors that values of a wrong type or size may cause when they are used.
_SENSELESS = (
    BayeskitError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class SavedContent:
    """The content of a file.

    Attributes
    ----------
    kind : str
        "model", "statistics", or a part of a store: "store" or "change".
    content : dict
        Plain JSON values.
    arrays : mapping from name to array
    """

    kind: str
    content: dict[str, Any]
    arrays: Arrays


def as_path(path: PathLike) -> Path:
    """Return a path that was given as a string or a path.

    >>> as_path("西瓜.bayes").name
    '西瓜.bayes'
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        text = ""
    if not text or "\0" in text:
        raise DataTypeError("{path!r} is not a path. Give a string or a pathlib.Path.", path=path)
    return Path(text)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn any error that a file causes into one that names the file; errors of the system pass."""
    try:
        yield
    except ModelFormatError as error:
        raise ModelFormatError(error.message, path=path) from error.__cause__
    except _SENSELESS as error:
        raise ModelFormatError(
            Message(
                "this version of bayeskit cannot interpret its content ({kind}: {error}). Save the model again, "
                "with this version.",
                kind=type(error).__name__,
                error=error,
            ),
            path=path,
        ) from error


# -- writing ---------------------------------------------------------------------------------------


def to_bytes(saved: SavedContent) -> bytes:
    """Return the file as bytes; the same content always gives the same bytes."""
    from safetensors.numpy import save

    arrays = {name: _little(array) for name, array in saved.arrays.items()}
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "bayeskit_version": __version__,
        "checksum": "",
        "kind": saved.kind,
        "content": saved.content,
    }
    manifest["checksum"] = _checksum(manifest, arrays)
    data = save(arrays, metadata={FORMAT: _text(manifest)})
    header = int.from_bytes(data[:8], "little")
    if header > LARGEST_HEADER:
        raise UsageError(
            "The names and states of this {kind} take {header:.0f} MB as text, and a file "
            "holds {largest_header:.0f} MB of it at most. Leave out columns that number the rows.",
            kind=saved.kind,
            header=header / 1e6,
            largest_header=LARGEST_HEADER / 1e6,
        )
    return data


def write_saved(saved: SavedContent, path: Path) -> None:
    """Write a file completely or not at all: to a temporary file next to it, synced, renamed."""
    replace_file(path, to_bytes(saved))


# -- reading ---------------------------------------------------------------------------------------


def read_saved(path: Path, kind: str) -> SavedContent:
    """Read a file of one kind. Call it inside :func:`naming`: its errors do not name the file."""
    if path.is_dir():
        raise ModelFormatError("this is a directory, not a saved file. Give the path of the file in it.")
    with open(path, "rb") as file:
        return read_stream(file, os.fstat(file.fileno()).st_size, kind)


def read_stream(file: BinaryIO, size: int, kind: str) -> SavedContent:
    """Read what :func:`to_bytes` made, of this many bytes; no more than its header while that may be another's."""
    head = file.read(8)
    length = int.from_bytes(head, "little")
    if not head:
        raise ModelFormatError(Message("it is empty. {damaged}", damaged=Message(_DAMAGED)))
    if len(head) < 8 or not 2 <= length <= min(size - 8, LARGEST_HEADER):
        raise ModelFormatError(
            Message(
                "it is not a saved model, or only a piece of one: it has {size} bytes and announces a header "
                "of {length}. Give the path of a file made by save(), or copy it again from the original.",
                size=size,
                length=length,
            )
        )
    header = file.read(length)
    text = _manifest_text(header)
    return from_bytes(head + header + file.read(), text, kind)


def from_bytes(data: bytes, text: str, kind: str) -> SavedContent:
    """Check the manifest and the checksum, then return the content of the file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    manifest = _manifest(text)
    try:
        arrays = load(data)
    except (SafetensorError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFormatError(
            Message("its arrays cannot be read ({error}). {damaged}", error=error, damaged=Message(_DAMAGED))
        ) from error
    if _checksum({**manifest, "checksum": ""}, arrays) != manifest["checksum"]:
        raise ModelFormatError(
            Message("its checksum does not match what it holds. {damaged}", damaged=Message(_DAMAGED))
        )
    if manifest["kind"] != kind:
        way = _READERS.get(manifest["kind"], "bayeskit.TallyStore")
        raise ModelFormatError(
            Message(
                "it holds {manifest!r} where {kind!r} is wanted. Read it with {way}.",
                manifest=manifest["kind"],
                kind=kind,
                way=way,
            )
        )
    # Kernels are compiled for writable arrays in native byte order.
    held = {
        name: np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
        for name, array in arrays.items()
    }
    return SavedContent(kind, manifest["content"], held)


def _manifest_text(header: bytes) -> str:
    try:
        metadata = json.loads(header)["__metadata__"]
        text = metadata[FORMAT]
    except (KeyError, TypeError) as error:
        raise ModelFormatError(
            Message(
                "it is a safetensors file without a bayeskit manifest. {foreign}", foreign=Message(_FOREIGN)
            )
        ) from error
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(
            Message("its header cannot be read ({error}). {damaged}", error=error, damaged=Message(_DAMAGED))
        ) from error
    if not isinstance(text, str):
        raise ModelFormatError(Message("its manifest is not text. {foreign}", foreign=Message(_FOREIGN)))
    return text


def _manifest(text: str) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(text, parse_constant=_no_constant)
        # We write one form only, so nothing can be hidden in another (for example a repeated key).
        canonical = isinstance(manifest, dict) and _text(manifest) == text
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(
            Message(
                "its manifest cannot be read ({error}). {damaged}", error=error, damaged=Message(_DAMAGED)
            )
        ) from error
    if not canonical or manifest.get("format") != FORMAT:
        raise ModelFormatError(
            Message("its manifest is not bayeskit's. {damaged}", damaged=Message(_DAMAGED))
        )
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFormatError(
            Message(
                "its format version is {version!r}. {damaged}", version=version, damaged=Message(_DAMAGED)
            )
        )
    if version > FORMAT_VERSION:
        raise ModelFormatError(
            Message(
                "it has format {version}, written by bayeskit {writer}; this one "
                "reads formats up to {format_version}. Install a newer bayeskit.",
                version=version,
                writer=manifest.get("bayeskit_version"),
                format_version=FORMAT_VERSION,
            )
        )
    if set(manifest) != _MANIFEST or not isinstance(manifest["content"], dict):
        raise ModelFormatError(Message("its manifest is incomplete. {damaged}", damaged=Message(_DAMAGED)))
    return manifest


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _text(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _little(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the layout of the file: safetensors takes the bytes as they are in memory."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


def _checksum(manifest: Mapping[str, Any], arrays: Arrays) -> str:
    """SHA-256 over the manifest and over name, dtype, shape and bytes of every array."""
    digest = hashlib.sha256(_text(manifest).encode())
    for name in sorted(arrays):
        array = _little(arrays[name])
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
