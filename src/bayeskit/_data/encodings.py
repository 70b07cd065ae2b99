"""Detects the encoding of a text file by reading all of it, and converts it to UTF-8 as a stream."""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import os
import tempfile
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bayeskit._messages import Joined, Message, Term
from bayeskit.errors import DataError, EncodingError, SettingError, SourceNote

BLOCK = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
# UTF-32 before UTF-16: the little-endian mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class _BadByte(Exception):
    """The first invalid byte, counted from the beginning of the stream."""

    def __init__(self, offset: int, byte: int, reason: str) -> None:
        self.message = Message(
            "byte 0x{byte:02x} at offset {offset:,} ({reason})", byte=byte, offset=offset, reason=Term(reason)
        )
        super().__init__(str(self.message))


def detect(source: str | os.PathLike[str] | bytes, *, block_size: int = BLOCK) -> str:
    """Detect the encoding of a text file, or of the first bytes of one.

    A byte-order mark decides. Without one, the *whole* file is tried as strict UTF-8, then as strict GB18030
    (which includes GBK and GB2312): the first pages of a table are often plain ASCII, which decides nothing.
    Memory is bounded by `block_size`. Bytes are treated as the beginning of something longer: a character cut
    at their end is no error.

    Returns
    -------
    str
        ``utf-8``, ``utf-8-sig``, ``utf-16-le``, ``utf-16-be``, ``utf-32-le``, ``utf-32-be`` or ``gb18030``.

    Examples
    --------
    >>> detect("色泽,好瓜".encode("gbk")), detect("色泽,好瓜".encode())
    ('gb18030', 'utf-8')
    """
    head_only = isinstance(source, bytes)
    name = "the head given" if isinstance(source, bytes) else repr(os.fspath(source))

    def pieces() -> Iterator[bytes]:
        if isinstance(source, bytes):
            return (source[i : i + block_size] for i in range(0, len(source), block_size))
        return blocks(source, block_size)

    head = b""
    for piece in pieces():
        head += piece
        if len(head) >= 4:
            break
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    failures = []
    for encoding in ("utf-8", "gb18030"):
        try:
            for _ in _strict(_without_nul(pieces(), name), encoding, final=not head_only):
                pass
            return encoding
        except _BadByte as error:
            failures.append(Message("not {encoding}: {error}", encoding=encoding, error=error))
    way_out = Message('Name the encoding it has, such as encoding="cp1252" or encoding="big5".')
    raise EncodingError(
        "The encoding of {name} is not known: {names}. {way_out}",
        name=name,
        names=Joined(failures, "; "),
        way_out=way_out,
    )


def resolve(path: str | os.PathLike[str], encoding: str | None = None) -> str:
    """Check the name of the given encoding, or detect it, with a `SourceNote` if it is not UTF-8."""
    if encoding is None:
        found = detect(path)
        if not is_utf8(found):
            note = SourceNote(
                '{path!r} is not UTF-8: it is read as {found}. Pass encoding="..." if that is wrong.',
                path=os.fspath(path),
                found=found,
            )
            warnings.warn(note, stacklevel=4)
        return found
    try:
        # Not codecs.lookup alone: it also knows codecs from bytes to bytes, such as base64.
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except LookupError:
        way_out = Message(
            'Use the name of a Python codec, such as "utf-8", "gb18030" or "utf-16", or None to find it.'
        )
        raise SettingError(
            "encoding={encoding!r} is not a text encoding. {way_out}", encoding=encoding, way_out=way_out
        ) from None


def is_utf8(encoding: str) -> bool:
    """Whether text in this encoding can be read as UTF-8."""
    return codecs.lookup(encoding).name in {"utf-8", "utf-8-sig", "ascii"}


def decoded(path: str | os.PathLike[str], encoding: str, *, block_size: int = BLOCK) -> Iterator[str]:
    """Decode a file strictly, block by block, without its byte-order mark.

    A character cut at the end of a block is completed by the next one. The first invalid byte raises an
    `EncodingError` that names its offset.
    """
    try:
        started = False
        for text in _strict(blocks(path, block_size), encoding):
            yield text if started else text.removeprefix("\ufeff")
            started = started or bool(text)
    except _BadByte as error:
        way_out = Message(
            'Give the encoding of the file (encoding="..."), leave it out to have it found, or correct the file.'
        )
        raise EncodingError(
            "{path!r} is not {encoding}: {error}. {way_out}",
            path=os.fspath(path),
            encoding=encoding,
            error=error,
            way_out=way_out,
        ) from None


@contextmanager
def utf8_copy(
    path: str | os.PathLike[str], encoding: str, *, newlines: bool = False, block_size: int = BLOCK
) -> Iterator[Path]:
    """Provide a UTF-8 copy of a text file during a ``with`` block; it is always removed afterwards.

    Parameters
    ----------
    newlines : bool, default False
        Also convert every line end (CR LF or CR) to LF, for files with mixed line ends.

    Examples
    --------
    >>> original = Path(tempfile.mkdtemp(), "melons.csv")
    >>> _ = original.write_bytes("色泽,好瓜".encode("gbk"))
    >>> with utf8_copy(original, "gbk") as copy:
    ...     copy.read_text("utf-8")
    '色泽,好瓜'
    """
    # With None, this decoder takes text; it handles a CR at the end of a block.
    even = io.IncrementalNewlineDecoder(None, translate=True)
    handle, name = tempfile.mkstemp(prefix="bayeskit-", suffix=".csv")
    try:
        try:
            with os.fdopen(handle, "wb") as out:
                for text in decoded(path, encoding, block_size=block_size):
                    out.write((even.decode(text) if newlines else text).encode())
                out.write(even.decode("", final=True).encode())
        except OSError as error:
            if not lacks_room(error):
                raise
            raise no_room(repr(os.fspath(path)), error) from error
        yield Path(name)
    finally:
        os.unlink(name)


def blocks(path: str | os.PathLike[str], block_size: int = BLOCK) -> Iterator[bytes]:
    """Read a file in blocks of bytes; a gzip file, recognised by its first two bytes, is decompressed."""
    with open(path, "rb") as raw:
        packed = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        stream: io.BufferedReader | gzip.GzipFile = gzip.GzipFile(fileobj=raw) if packed else raw
        try:
            while block := stream.read(block_size):
                yield block
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise damaged(os.fspath(path), error) from error


def damaged(path: str, error: Exception) -> DataError:
    """Return the error for a gzip file that ends too soon or was changed."""
    return DataError(
        "{path!r} is a damaged gzip file: {error}. {way_out}",
        path=path,
        error=error,
        way_out=Message("Get the file again, or unpack what can be saved of it."),
    )


# A full disk, a full quota, a file that may not grow: as the system and as DuckDB and PyArrow pass it on.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def lacks_room(error: Exception) -> bool:
    """Tell whether a file could not be written because there is no room for it."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _FULL
    return any(os.strerror(number) in str(error) for number in _FULL)


def no_room(shown: str, error: Exception) -> DataError:
    """Return the error for a copy that the disk has no room for."""
    return DataError(
        "{shown} is read from a converted copy, and {folder!r} has no room for it ({reason}). Free some space, or name "
        "another folder by the environment variable TMPDIR.",
        shown=shown,
        folder=tempfile.gettempdir(),
        reason=Term(
            next(
                os.strerror(n)
                for n in _FULL
                if n == getattr(error, "errno", 0) or os.strerror(n) in str(error)
            )
        ),
    )


def _strict(pieces: Iterable[bytes], encoding: str, *, final: bool = True) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    offset = 0

    def step(piece: bytes, last: bool) -> str:
        pending = len(decoder.getstate()[0])
        try:
            return decoder.decode(piece, last)
        except UnicodeDecodeError as error:
            # The offset counts from the bytes that the decoder had held back from earlier pieces.
            at = offset - pending + error.start
            raise _BadByte(at, error.object[error.start], error.reason) from None

    for piece in pieces:
        yield step(piece, False)
        offset += len(piece)
    yield step(b"", final)


def _without_nul(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    offset = 0
    for piece in pieces:
        at = piece.find(0)
        if at >= 0:
            found = Message(
                "{name} is not text: it has a zero byte at offset {offset:,}", name=name, offset=offset + at
            )
            way_out = Message('If it is UTF-16 without a mark, pass encoding="utf-16-le" or "utf-16-be".')
            raise EncodingError(
                "{found} (a spreadsheet or a program, perhaps). {way_out}", found=found, way_out=way_out
            )
        offset += len(piece)
        yield piece
