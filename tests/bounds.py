"""Running the suite with bounds checked: compiled code with checks has a cache folder of its own, marked as such.

Numba's cache does not know whether code was compiled with checks. A warm one would serve unchecked code to a run that
asks for checks, and checked code to every run after it.
"""

from __future__ import annotations

from pathlib import Path

MARK = "bounds-checked"


def are_checked(environment):
    return environment.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")


def use_own_cache(environment):
    """Make the cache folder absolute (tests change the working directory) and mark it where bounds are checked.

    Raises ValueError where code with and without checks would meet in one folder.
    """
    told = environment.get("NUMBA_CACHE_DIR")
    if not told:
        if are_checked(environment):
            raise ValueError(
                "NUMBA_BOUNDSCHECK is set and NUMBA_CACHE_DIR is not: the usual cache holds code without checks. Set "
                "NUMBA_CACHE_DIR=.numba-bounds as well."
            )
        return
    folder = Path(told).resolve()
    environment["NUMBA_CACHE_DIR"] = str(folder)
    mark = folder / MARK
    if are_checked(environment):
        if not mark.exists() and any(folder.rglob("*.nbi")):
            raise ValueError(f"{folder} holds code that was compiled without checks. Name another folder.")
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
    elif mark.exists():
        raise ValueError(
            f"{folder} holds code that was compiled with checks, and NUMBA_BOUNDSCHECK is not set. Name another folder."
        )
