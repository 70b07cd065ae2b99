"""doctor: check the installation, and show where compiled kernels are cached; warmup: compile the kernels now."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import typer

from bayeskit._cli.options import Common
from bayeskit._messages import WordList

WORDS = WordList(
    {
        "needed": "needed",
        "extra": "extra",
        "absent": "not installed",
        "threads": "threads",
        "cache": "compiled loops",
        "cache_told": "{n} files, {size:.1f} MB in {folder}",
        "read_only": "{folder} cannot be written: set NUMBA_CACHE_DIR",
        "open_to_others": "others may write to {folder}, and so make you run their code: set NUMBA_CACHE_DIR "
        "to a folder of your own",
        "good": "All is well.",
        "bad": "Problems found: {list}.",
    }
)
EXTRAS = ("pandas", "polars", "pyarrow", "matplotlib", "networkx", "dask", "pyspark", "rjieba", "uvicorn")
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def doctor(common: Common) -> None:
    """Check versions, extras, threads and the cache.

    The exit code is 1 if there is a problem.
    """
    from bayeskit._cli.output import console, print_json, show, table

    found = examined()
    if common.as_json:
        print_json(found)
    else:
        absent = common.say(WORDS["absent"])
        needed, extra = common.say(WORDS["needed"]), common.say(WORDS["extra"])
        rows = [("bayeskit", found["bayeskit"], ""), ("Python", found["python"], "")]
        rows += [(name, version or absent, needed) for name, version in found["needed"].items()]
        rows += [(name, version or absent, extra) for name, version in found["extras"].items()]
        cache = found["cache"]
        text = common.say(
            WORDS["cache_told"], n=cache["files"], size=cache["bytes"] / 1e6, folder=cache["folder"]
        )
        if not cache["writable"]:
            text = common.say(WORDS["read_only"], folder=cache["folder"])
        if cache["open_to_others"] is not None:
            text = common.say(WORDS["open_to_others"], folder=cache["open_to_others"])
        rows += [
            (common.say(WORDS["threads"]), str(found["threads"]), ""),
            (common.say(WORDS["cache"]), text, ""),
        ]
        rows += [(name, value, "") for name, value in found["settings"].items()]
        console().print(table(["", "", ""], rows, 3))
        good = not found["amiss"]
        show(common.say(WORDS["good" if good else "bad"], list=common.listed(found["amiss"])))
    if found["amiss"]:
        raise typer.Exit(1)


def unfit(version: str, requirement: str) -> str:
    """Return the bound that a release violates, or an empty text.

    Examples
    --------
    >>> unfit("1.4.0", "duckdb<3,>=1.4"), unfit("1.3.2", "duckdb<3,>=1.4"), unfit("3.0", "duckdb<3,>=1.4")
    ('', '< 1.4', '≥ 3')
    """
    import re

    def release(text: str) -> list[int]:
        numbers = [int(part) for part in re.findall(r"\d+", (re.match(r"[\d.]+", text) or [""])[0])]
        while numbers and numbers[-1] == 0:
            numbers.pop()
        return numbers

    for sign, bound in re.findall(r"(>=|<)\s*([\d.]+)", requirement):
        if (release(version) < release(bound)) is (sign == ">="):
            return f"{'<' if sign == '>=' else '≥'} {bound}"
    return ""


def examined() -> dict[str, Any]:
    """Return all results as plain values. Versions come from package metadata, so nothing large is imported."""
    import os
    import platform
    import re
    from importlib.metadata import PackageNotFoundError, requires, version

    from bayeskit._version import __version__

    def version_of(name: str) -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    try:
        declared = [text for text in requires("bayeskit") or [] if "extra ==" not in text]
    except PackageNotFoundError:  # run from its sources, not installed
        declared = [
            "numpy",
            "scipy",
            "scikit-learn",
            "numba",
            "narwhals",
            "duckdb",
            "safetensors",
            "typer",
            "rich",
        ]
    needed = {re.split(r"[^\w.-]", text)[0]: text for text in declared}
    folder = cache_folder()
    files, size = cache_size(folder)
    versions = {name: version_of(name) for name in needed}
    writable = is_writable(folder)
    opened = strangers_access(folder)
    amiss = [
        name if found is None else f"{name} {found} {unfit(found, needed[name])}"
        for name, found in versions.items()
        if found is None or unfit(found, needed[name])
    ]
    amiss += [] if writable else ["the cache cannot be written"]
    amiss += [] if opened is None else ["others may write to the cache"]
    return {
        "bayeskit": __version__,
        "python": platform.python_version(),
        "needed": versions,
        "extras": {name: version_of(name) for name in EXTRAS},
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "settings": {name: os.environ[name] for name in THREAD_SETTINGS if name in os.environ},
        "cache": {"folder": str(folder), "writable": writable, "open_to_others": opened}
        | {"files": files, "bytes": size},
        "amiss": amiss,
    }


def cache_folder() -> Path:
    """Return the folder of Numba's compiled loops: the one that NUMBA_CACHE_DIR names, or beside the sources."""
    import bayeskit

    folder = os.environ.get("NUMBA_CACHE_DIR")
    return Path(folder) if folder else Path(bayeskit.__file__).parent


def is_writable(folder: Path) -> bool:
    """Return whether a file can be created there. Permissions are not enough: a disk may be mounted read-only.

    Numba creates a missing folder, so the nearest existing parent decides.
    """
    folder = next((place for place in (folder, *folder.absolute().parents) if place.exists()), folder)
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def strangers_access(folder: Path) -> str | None:
    """Return the cache folder through which other users could make us run their code; None if there is none.

    Compiled loops are machine code, and Numba unpickles the files next to them. A folder that belongs to root is as
    safe as the system itself.
    """
    if os.name != "posix" or not folder.is_dir():
        return None
    is_set = "NUMBA_CACHE_DIR" in os.environ
    for place in (folder, *(Path(top) / name for top, names, _ in os.walk(folder) for name in names)):
        with contextlib.suppress(OSError):  # it has gone meanwhile
            found = place.stat()
            # Next to the sources they have the owner of the installation, and so does the code itself.
            foreign = is_set and found.st_uid not in (0, os.geteuid())
            if foreign or found.st_mode & stat.S_IWOTH:
                return str(place)
    return None


def cache_size(folder: Path) -> tuple[int, int]:
    """Return how many compiled files there are, and their bytes."""
    sizes = [file.stat().st_size for file in folder.rglob("*.nbc")] if folder.is_dir() else []
    return len(sizes), sum(sizes)


WARMUP_WORDS = WordList(
    {
        "step": "{name}: {seconds:.1f} s",
        "done": "All loops are compiled ({seconds:.1f} s of CPU time) and kept in {folder}.",
    }
)


def warmup(common: Common) -> None:
    "Compile all loops now and cache them for later processes."
    import time

    from bayeskit._cli.output import note, print_json, show
    from bayeskit._numba import compiling

    took: dict[str, float] = {}
    for name, run in steps():
        begin = time.process_time()
        with compiling():
            run()
        took[name] = time.process_time() - begin
        note(common.say(WARMUP_WORDS["step"], name=name, seconds=took[name]))
    total, folder = sum(took.values()), str(cache_folder())
    if common.as_json:
        print_json({"cpu_seconds": total, "steps": took, "cache": folder})
    else:
        show(common.say(WARMUP_WORDS["done"], seconds=total, folder=folder))


def steps() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield tasks that use the kernels: every model on a small table, and queries to a network."""
    from bayeskit import datasets, learn_network
    from bayeskit._comparison.candidates import MODELS, make_model
    from bayeskit._networks.examples import wet_grass

    table = datasets.load_dataset("melon3")
    columns = {name: table.columns[name] for name in table.attributes}

    def model(name: str) -> None:
        # No column of the table looks like free text, so name one.
        settings: dict[str, Any] = {"text": table.attributes[0]} if name == "text" else {}
        fitted = make_model(name, settings).fit({**columns, table.target: table.y}, target=table.target)
        fitted.predict_proba(columns)
        fitted.explain({name: column[0] for name, column in columns.items()})
        if name != "net":
            fitted.partial_fit({**columns, table.target: table.y}, target=table.target)
            fitted.forget({**columns, table.target: table.y}, target=table.target)
            fitted.predict(columns)

    def network() -> None:
        grass = wet_grass()
        seen: dict[Any, Any] = {"wet": "yes"}
        grass.query("rain", evidence=seen)
        grass.posteriors(seen)
        grass.mpe(seen)
        rows = grass.sample(200, random_state=0, evidence=seen, as_codes=True)
        grass.predict_proba(rows, "rain")
        learn_network({name: rows[:, j].astype(str) for j, name in enumerate(grass.nodes)})

    for name in MODELS:
        yield name, partial(model, name)
    yield "network", network
