"""Files that outlive a crash: durable writing, atomic replacement, and removal of leftovers of killed processes."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Protocol

# On most systems a name may have 255 bytes, and the temporary name is about 50 longer.
LONGEST_NAME = 190
# Leftovers of processes on other machines are removed at this age, when they cannot be in use any more.
OLD = 7 * 24 * 3600.0
# At most this many entries of a folder are checked, so that saving stays fast in a folder with a million files.
MOST_ENTRIES = 20_000

# The temporary files that this process is writing.
_WRITING: set[str] = set()


@contextmanager
def replacing(path: str | os.PathLike[str], before: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Provide the path of a temporary file, which replaces the file when the block ends without an error.

    If the block ends in any other way, including Ctrl-C, the file is unchanged. A link stays a link: the file
    it points to is replaced. Anything but a file (a device, a pipe) is written to, not replaced. Temporary
    files of this path whose process no longer exists are removed.

    Parameters
    ----------
    path : the path of the file
    before : called immediately before the file is replaced; an exception prevents it

    Examples
    --------
    >>> folder = tempfile.TemporaryDirectory()
    >>> with replacing(folder.name + "/a.txt") as temporary:
    ...     _ = temporary.write_text("melon")
    >>> os.listdir(folder.name)
    ['a.txt']
    >>> folder.cleanup()
    """
    if str(path) in _WRITING:  # a temporary file of ours needs no other
        yield Path(path)
        return
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    special = place.exists() and not place.is_file()
    folder = Path(tempfile.gettempdir()) if special else place.parent
    # The suffix stays: it may determine the format.
    temporary = folder / f"{_beginning()}{os.getpid()}-{secrets.token_hex(4)}-{_short(Path(path).name)}"
    sweep(folder, Path(path).name)
    _WRITING.add(str(temporary))
    try:
        with _naming(path, temporary):
            temporary.touch(exist_ok=False)  # fails at once if nothing can be written there
            yield temporary
            if special:
                before()
                with open(temporary, "rb") as source, open(place, "wb") as sink:
                    shutil.copyfileobj(source, sink)
            else:
                _put(temporary, place, before)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
        _WRITING.discard(str(temporary))


def replace_file(path: Path, data: bytes) -> None:
    """Write these bytes to a path; concurrent readers find the old file or the new one."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(data)


def sweep(folder: Path, name: str) -> None:
    """Remove the temporary files of ended processes for a file of this name.

    Whether a process has ended is known only on its own machine and in its own container; of others, old
    files are removed.
    """
    pattern = re.compile(rf"\.bayeskit-([0-9a-f]{{8}})-(\d+)-[0-9a-f]{{8}}-{re.escape(_short(name))}")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, MOST_ENTRIES):
            found = pattern.fullmatch(entry.name)
            if found is None or entry.path in _WRITING:
                continue
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False) and _is_left(entry, found[1], int(found[2])):
                    os.unlink(entry.path)


def _is_left(entry: os.DirEntry[str], home: str, process: int) -> bool:
    if home == _home():
        # A file with our own process number that is not being written belongs to an earlier process with that
        # number.
        return process == os.getpid() or not _is_alive(process)
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > OLD


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # on Windows, os.kill would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists, but belongs to another user
        return True
    return True


def _beginning() -> str:
    return f".bayeskit-{_home()}-"


@cache
def _home() -> str:
    """Return an identifier of the running machine or container, within which process numbers are unique."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:8]


def _short(name: str) -> str:
    if len(os.fsencode(name)) <= LONGEST_NAME:
        return name
    ends = "".join(Path(name).suffixes[-2:])
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return digest + (ends if len(os.fsencode(ends)) < 64 else "")


def _put(temporary: Path, place: Path, before: Callable[[], None]) -> None:
    with open(temporary, "rb+") as file:
        DiskFiles().sync(file.fileno())
    with contextlib.suppress(OSError):  # the new file has the permissions of the old one
        os.chmod(temporary, stat.S_IMODE(os.stat(place).st_mode))
    before()
    os.replace(temporary, place)
    with contextlib.suppress(OSError):  # not every system can, and the file is complete either way
        DiskFiles().sync_directory(place.parent)


@contextmanager
def _naming(path: str | os.PathLike[str], temporary: Path) -> Iterator[None]:
    """Let errors name the requested file instead of the temporary one."""
    try:
        yield
    except OSError as error:
        if error.filename in (None, str(temporary)) and error.errno != errno.EPIPE:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


# Behind the names of files that are not yet complete.
NEW = ".new"


class Files(Protocol):
    """Operations on files, each one request to the system.

    A store uses no other, so tests can cut the power, or fail, at every one of them. A write lasts once its file was
    synced. A file that was created, renamed or removed lasts as such once its directory was synced.
    """

    def make_directory(self, path: Path) -> None:
        """Make a directory, unless it is there."""
        ...

    def names(self, directory: Path) -> list[str]: ...

    def read(self, path: Path) -> bytes: ...

    def create(self, path: Path) -> int:
        """Open a file for writing, empty, and return its handle."""
        ...

    def write(self, handle: int, data: bytes) -> None: ...

    def sync(self, handle: int) -> None: ...

    def close(self, handle: int) -> None: ...

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name; a file that has it is replaced in the same instant."""
        ...

    def remove(self, path: Path) -> None: ...

    def sync_directory(self, path: Path) -> None: ...

    def lock(self, path: Path) -> int:
        """Open a file and lock it until it is closed, also by the end of the process.

        A file that is locked raises BlockingIOError.
        """
        ...


class DiskFiles:
    """The files of the system (:class:`Files`)."""

    def make_directory(self, path: Path) -> None:
        path.mkdir(exist_ok=True)

    def names(self, directory: Path) -> list[str]:
        return os.listdir(directory)

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def create(self, path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o666)

    def write(self, handle: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]

    def sync(self, handle: int) -> None:
        if sys.platform == "darwin":  # where fsync leaves the data in the disk's own memory
            import fcntl

            with contextlib.suppress(OSError):  # not every file system has it
                fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
                return
        os.fsync(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def sync_directory(self, path: Path) -> None:
        if sys.platform == "win32":  # no directory can be opened there, and NTFS keeps a journal of them
            return
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def lock(self, path: Path) -> int:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except OSError as error:
            os.close(handle)
            if isinstance(error, (BlockingIOError, PermissionError)):
                raise BlockingIOError(error.errno, error.strerror, os.fspath(path)) from None
            raise
        return handle


_BINARY = getattr(os, "O_BINARY", 0)


def _lock(handle: int) -> None:
    """Lock an open file. The lock belongs to it, so it ends with the process however that ends."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def put(files: Files, path: Path, data: bytes) -> None:
    """Put a file in place so that it is there whole or not at all, and lasts once this has returned.

    After an error it is open whether the file is there: it may have been the last sync that failed.
    """
    temporary = path.with_name(path.name + NEW)
    try:
        handle = files.create(temporary)
        try:
            files.write(handle, data)
            # Before the renaming: a name that lasts may otherwise be that of a file without its data.
            files.sync(handle)
        finally:
            files.close(handle)
        files.rename(temporary, path)
        files.sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # what it takes up may be what the disk lacks
            files.remove(temporary)
        if error.filename in (None, os.fspath(temporary)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise
