"""Reads the bytes of a network file with size limits, writes files atomically, and parses strict JSON."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from typing import Any

from bayeskit._io.replacing import replace_file
from bayeskit._io.saved import as_path
from bayeskit._messages import Message
from bayeskit.errors import ModelFormatError
from bayeskit.typing import PathLike

# The largest networks of the public repositories decompress to a few MiB.
LARGEST_FILE = 256 * 2**20
# Tables of zeros and ones compress about 1:60; a file made to fill the memory compresses 1:1000.
LARGEST_RATIO = 200
# Below this size, the ratio does not matter.
HARMLESS = 2**20

_BLOCK = 2**20
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


def read_bytes(path: PathLike) -> bytes:
    """Return the content of a file, decompressed if it is a gzip file (by its first bytes, not by its name).

    Raises
    ------
    ModelFormatError
        If the file is larger than 256 MiB, decompresses to more than that or to over 200 times its size, or
        is a damaged or truncated gzip file.
    """
    return unpacked(read_stored(path), path)


def read_stored(path: PathLike) -> bytes:
    """Return the bytes of a file as stored, compressed or not."""
    path = as_path(path)
    with open(path, "rb") as file:
        data = _at_most(LARGEST_FILE, file)
    if data is None:
        raise _too_large(path)
    return data


def _at_most(most: int, stream: io.BufferedIOBase) -> bytes | None:
    """Return the content of a stream, read block by block; None if it has more than ``most`` bytes."""
    blocks: list[bytes] = []
    while block := stream.read(_BLOCK):
        blocks.append(block)
        most -= len(block)
        if most < 0:
            return None
    return b"".join(blocks)


def unpacked(data: bytes, path: object = None) -> bytes:
    """Decompress a gzip file block by block, so that a small file cannot fill the memory; others are unchanged.

    >>> unpacked(gzip.compress(b"network grass {}"))
    b'network grass {}'
    """
    if not data.startswith(_GZIP):
        return data
    allowed = min(LARGEST_FILE, max(HARMLESS, LARGEST_RATIO * len(data)))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            found = _at_most(allowed, stream)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ModelFormatError(
            Message(
                "it is a gzip file that was damaged or cut short ({error}). Copy it again from the original.",
                error=error,
            ),
            path=path,
        ) from error
    if found is None:
        raise _too_large(path, f" ({len(data)} bytes packed)")
    return found


def decode(data: bytes | str, path: object = None, encoding: str | None = None) -> str:
    """Return the text of bytes, without a byte-order mark; every kind of line end becomes a newline.

    Parameters
    ----------
    encoding : str, optional
        The encoding declared by the file or given by the user. By default, UTF-8, or Latin-1 if the text is
        not valid UTF-8.

    Examples
    --------
    >>> decode("湿".encode()), decode(b"caf\\xe9"), decode("湿".encode("gb18030"), encoding="gb18030")
    ('湿', 'café', '湿')
    """
    if isinstance(data, str):
        text = data.removeprefix("\ufeff")
    elif encoding is None:
        data = data.removeprefix(_BOM)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    else:
        text = _decoded(data, path, encoding)
    if "\0" in text:
        line, column = place_in(text, text.index("\0"))
        raise ModelFormatError(
            "there is a NUL character: this is not text, or text in UTF-16. Save it as UTF-8.",
            path=path,
            line=line,
            column=column,
        )
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _decoded(data: bytes, path: object, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        head = data[: error.start].decode(encoding, "replace")
        line, column = place_in(head, len(head))
        raise ModelFormatError(
            Message(
                "it is said to be {encoding} and is not: byte {start} makes no sense ({reason}). "
                "Name the right encoding, or save the file as UTF-8.",
                encoding=encoding,
                start=error.start,
                reason=error.reason,
            ),
            path=path,
            line=line,
            column=column,
        ) from error
    except (LookupError, ValueError, TypeError) as error:
        raise ModelFormatError(
            Message(
                "its header names the encoding {encoding!r}, which is unknown. Save the file as UTF-8.",
                encoding=encoding,
            ),
            path=path,
        ) from error


def place_in(text: str, offset: int) -> tuple[int, int]:
    """Return the line and column of a position in a text, both from 1.

    >>> place_in("one\\ntwo", 5)
    (2, 2)
    """
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def write_atomically(path: PathLike, data: bytes) -> None:
    """Write bytes to a path, completely or not at all; compressed if the path ends in ``.gz``.

    The same bytes always give the same file: a compressed one contains no time.
    """
    path = as_path(path)
    if path.name.lower().endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    replace_file(path, data)


def _too_large(path: object, packed: str = "") -> ModelFormatError:
    return ModelFormatError(
        Message(
            "it is too large{packed}: a network file may hold {largest_file} MiB, and unpack to "
            "{largest_ratio} times its size at most. If you trust it, unpack it first.",
            packed=packed,
            largest_file=LARGEST_FILE // 2**20,
            largest_ratio=LARGEST_RATIO,
        ),
        path=path,
    )


def parse_json(text: bytes | str, path: object = None) -> Any:
    """Return the content of a JSON text.

    >>> parse_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse_json('{"a": NaN}')
    Traceback (most recent call last):
    ...
    bayeskit.errors.ModelFormatError: it contains NaN, which is not a JSON number. Correct the file.
    """

    def refuse(word: str) -> Any:
        raise ModelFormatError(
            Message("it contains {word}, which is not a JSON number. Correct the file.", word=word), path=path
        )

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise ModelFormatError(
                Message("an object in it has the key {twice!r} twice. Keep one.", twice=twice), path=path
            )
        return found

    try:
        return json.loads(decode(text, path), parse_constant=refuse, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ModelFormatError(
            Message("this is not JSON: {msg}. The file may be cut short; copy it again.", msg=error.msg),
            path=path,
            line=error.lineno,
            column=error.colno,
        ) from None
    except RecursionError:
        raise ModelFormatError("its lists and objects are nested too deeply.", path=path) from None
    except ModelFormatError:
        raise
    except ValueError as error:  # an integer with thousands of digits
        raise ModelFormatError(
            Message("it contains something that cannot be read ({error}).", error=error), path=path
        ) from None
