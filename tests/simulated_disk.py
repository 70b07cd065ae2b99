"""A disk in memory that can lose its power, or fail, at every request."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path


class PowerCut(BaseException):
    """The machine is gone: nothing may catch this."""


class File:
    """The bytes of a file: what programs see, and what was synced."""

    def __init__(self) -> None:
        self.seen = b""
        self.synced = b""


class SimulatedDisk:
    """Files as ``_io/replacing.py: Files`` describes them.

    Names that were made, changed or removed are on disk once their directory was synced, data once their file was.
    ``fail`` is called before each request with its number and its name, and may raise.
    """

    def __init__(self, files: dict[Path, File | None] | None = None) -> None:
        self.seen: dict[Path, File | None] = dict(files or {Path("/"): None})  # None is a directory
        self.synced = dict(self.seen)
        self.pending: list[tuple[Path, dict[Path, File | None]]] = []
        self.handles: dict[int, File | Path] = {}
        self.fail: Callable[[int, str], None] = lambda number, name: None
        self.calls: list[str] = []

    # -- requests ------------------------------------------------------------------------------

    def make_directory(self, path: Path) -> None:
        self._enter("make_directory")
        if path not in self.seen:
            self._rename(path.parent, {path: None})

    def names(self, directory: Path) -> list[str]:
        self._enter("names")
        return [path.name for path in self.seen if path.parent == directory and path != directory]

    def read(self, path: Path) -> bytes:
        self._enter("read")
        return self._file(path).seen

    def create(self, path: Path) -> int:
        self._enter("create")
        if path in self.seen:
            self._file(path).seen = b""
        else:
            self._rename(path.parent, {path: File()})
        return self._open(self._file(path))

    def write(self, handle: int, data: bytes) -> None:
        file = self.handles[handle]
        assert isinstance(file, File)
        file.seen += data[: len(data) // 2]  # whoever fails here has written a part
        self._enter("write")
        file.seen += data[len(data) // 2 :]

    def sync(self, handle: int) -> None:
        self._enter("sync")
        file = self.handles[handle]
        assert isinstance(file, File)
        file.synced = file.seen

    def close(self, handle: int) -> None:
        del self.handles[handle]  # as Linux does, also when it then fails
        self._enter("close")

    def rename(self, old: Path, new: Path) -> None:
        self._enter("rename")
        self._rename(new.parent, {new: self._file(old), old: _GONE})

    def remove(self, path: Path) -> None:
        self._enter("remove")
        self._file(path)
        self._rename(path.parent, {path: _GONE})

    def sync_directory(self, path: Path) -> None:
        self._enter("sync_directory")
        for place, names in self.pending:
            if place == path:
                _put(self.synced, names)
        self.pending = [(place, names) for place, names in self.pending if place != path]

    def lock(self, path: Path) -> int:
        self._enter("lock")
        if path in self.handles.values():
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(path))
        if path not in self.seen:
            self._rename(path.parent, {path: File()})
        return self._open(path)

    # -- after the power failed ----------------------------------------------------------------

    def after_power_cut(self) -> Iterator[SimulatedDisk]:
        """Yield every disk that may be found: each name that was not synced is there or not, and so are data."""
        for kept in product([False, True], repeat=len(self.pending)):
            names = dict(self.synced)
            for (_, change), keep in zip(self.pending, kept, strict=True):
                if keep:
                    _put(names, change)
            yield _found(names, lost=True)
            if any(file is not None and file.seen != file.synced for file in names.values()):
                yield _found(names, lost=False)

    def _enter(self, name: str) -> None:
        self.calls.append(name)
        self.fail(len(self.calls) - 1, name)

    def _rename(self, place: Path, names: dict[Path, File | None]) -> None:
        self.pending.append((place, names))
        _put(self.seen, names)

    def _file(self, path: Path) -> File:
        file = self.seen.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return file

    def _open(self, what: File | Path) -> int:
        handle = max(self.handles, default=2) + 1
        self.handles[handle] = what
        return handle


_GONE = File()


def _put(names: dict[Path, File | None], change: dict[Path, File | None]) -> None:
    for path, file in change.items():
        if file is _GONE:
            names.pop(path, None)
        else:
            names[path] = file


def _found(names: dict[Path, File | None], *, lost: bool) -> SimulatedDisk:
    """Return a disk with what was synced of each file or, by chance, with all that was written."""
    copies: dict[Path, File | None] = {}
    for path, file in names.items():
        copies[path] = None if file is None else File()
        copy = copies[path]
        if file is not None and copy is not None:
            copy.seen = copy.synced = file.synced if lost else file.seen
    return SimulatedDisk({path: file for path, file in copies.items() if _has_parents(path, copies)})


def _has_parents(path: Path, names: dict[Path, File | None]) -> bool:
    return all(parent in names for parent in path.parents)
