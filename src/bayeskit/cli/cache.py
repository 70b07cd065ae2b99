"""Where compiled loops are kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder that Numba keeps compiled loops in: the one it is told, or beside the sources."""
    import bayeskit

    told = os.environ.get("NUMBA_CACHE_DIR")
    return Path(told) if told else Path(bayeskit.__file__).parent


def is_writable(folder: Path) -> bool:
    """Whether a file can be made there: rights alone do not tell, a disk may be mounted for reading only."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def kept(folder: Path) -> tuple[int, int]:
    """Return how many compiled files there are, and their bytes."""
    sizes = [file.stat().st_size for file in folder.rglob("*.nbc")] if folder.is_dir() else []
    return len(sizes), sum(sizes)
