"""Files that outlive a crash: the few operations that are needed, and writing a file durably with them."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Protocol

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
