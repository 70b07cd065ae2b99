"""Where compiled loops are kept."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder that Numba keeps compiled loops in: the one it is told, or beside the sources."""
    import bayeskit

    told = os.environ.get("NUMBA_CACHE_DIR")
    return Path(told) if told else Path(bayeskit.__file__).parent


def is_writable(folder: Path) -> bool:
    """Whether a file can be made there: rights alone do not tell, a disk may be mounted for reading only.

    Numba makes a folder that is not there yet, so the one above that is there tells.
    """
    folder = next((place for place in (folder, *folder.absolute().parents) if place.exists()), folder)
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def strangers_access(folder: Path) -> str | None:
    """Say by which folder of the cache somebody else could make us run their code; None where nobody could.

    Compiled loops are machine code, and Numba unpickles what it finds beside them. A folder that belongs to root is as
    safe as the system itself.
    """
    if os.name != "posix" or not folder.is_dir():
        return None
    told = "NUMBA_CACHE_DIR" in os.environ
    for place in (folder, *(Path(top) / name for top, names, _ in os.walk(folder) for name in names)):
        with contextlib.suppress(OSError):  # it has gone meanwhile
            found = place.stat()
            # Beside the sources they belong to whoever installed them, and so does the code itself.
            foreign = told and found.st_uid not in (0, os.geteuid())
            if foreign or found.st_mode & stat.S_IWOTH:
                return str(place)
    return None


def kept(folder: Path) -> tuple[int, int]:
    """Return how many compiled files there are, and their bytes."""
    sizes = [file.stat().st_size for file in folder.rglob("*.nbc")] if folder.is_dir() else []
    return len(sizes), sum(sizes)
