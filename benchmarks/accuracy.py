"""How accurate is every model here, against scikit-learn's, boosted trees and scikit-bayes', over many tables?

Every set (``NAME.parquet``, last column the class) of a folder is split into five stratified folds with a fixed seed.
Each (set, model) runs in its own process with one thread, and with a limit on memory and on CPU seconds per fold. Every
fold adds a line of JSON, and a rerun computes only what is missing. A set larger than ``--limit-rows`` is sampled with
a fixed seed. ``accuracy_models.py`` describes the input of each model, and ``--table`` writes ``results/accuracy.md``.
LightGBM, CatBoost and interpret's EBM are included if they are installed. A long run can be split: ``--stop-after``
starts nothing new after this many minutes, and the next run continues from there.

    python benchmarks/accuracy.py --data FOLDER --peers-python PEERS/bin/python
    python benchmarks/accuracy.py --sets iris,car --models NaiveBayes,RandomForest
    python benchmarks/accuracy.py --stop-after 60
    python benchmarks/accuracy.py --table
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import accuracy_table
from accuracy_fold import FOLDS
from accuracy_models import OURS, YARDSTICKS, installed, models
from harness import RESULTS, _cpu_model, _versions

Record = dict[str, Any]
DATA = Path(os.environ.get("BENCH_DATA", Path(__file__).with_name("data")))
# A process that waits uses no CPU time, so it is ended after this many times the limit in wall time.
PATIENCE = 10
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of sets; $BENCH_DATA by default")
    parser.add_argument("--results", type=Path, default=RESULTS / "accuracy.jsonl", help="file of lines")
    parser.add_argument("--sets", help="names with commas; all by default, small ones first")
    parser.add_argument("--models", help="names with commas; all by default")
    parser.add_argument("--limit-rows", type=int, default=50_000, help="sample larger sets down to this")
    parser.add_argument("--limit-seconds", type=float, default=600, help="CPU seconds of one fold")
    parser.add_argument("--memory", type=float, default=10, help="GB of address space for one process")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--peers-python", type=Path, help="interpreter with scikit-bayes; left out otherwise")
    parser.add_argument(
        "--stop-after", type=float, default=float("inf"), help="minutes; then start nothing new"
    )
    parser.add_argument("--again", choices=("notes", "all"), help="redo folds with a note, or all asked for")
    parser.add_argument("--table", action="store_true", help="write the table of what is there; run nothing")
    parser.add_argument("--output", type=Path, default=RESULTS / "accuracy.md", help="file of the table")
    return parser.parse_args()


def chosen(asked: str | None, known: list[str], what: str) -> list[str]:
    """Return the requested names, in the order of the known ones."""
    names = known if asked is None else asked.split(",")
    for name in set(names) - set(known):
        raise SystemExit(f"There is no {what} {name!r}. There are: {', '.join(known)}.")
    return [name for name in known if name in names]


def sets_of(folder: Path) -> list[str]:
    files = sorted(folder.glob("*.parquet"), key=lambda path: (path.stat().st_size, path.name))
    if not files:
        raise SystemExit(f"{folder} has no *.parquet. Pass --data or set BENCH_DATA.")
    return [path.stem for path in files]


def folds_of(work: Record) -> Iterator[Record]:
    """Run one (set, model) in a process, and yield a record for every fold, even if the process fails.

    After a fold that takes too long the later ones are not tried.
    """
    command = [sys.executable, str(Path(__file__).with_name("accuracy_fold.py")), json.dumps(work)]
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD},
        start_new_session=True,  # so that a peer's own process ends with it
    )
    lines: queue.Queue[str | None] = queue.Queue()
    errors: list[str] = []

    def listen() -> None:
        for line in child.stdout or ():
            lines.put(line)
        lines.put(None)

    threading.Thread(target=listen, daemon=True).start()
    drain = threading.Thread(target=lambda: errors.extend(child.stderr or ()), daemon=True)
    drain.start()
    left, note = list(work["folds"]), ""
    try:
        while (line := lines.get(timeout=PATIENCE * work["limit_seconds"])) is not None:
            record = json.loads(line)
            left.remove(record["fold"])
            yield record
        drain.join()
        told = errors[-1].strip()[:200] if errors else f"exit status {child.wait()}"
        note = "timeout" if child.wait() == -signal.SIGXCPU else f"died: {told}"
    except queue.Empty:
        note = "timeout"
    finally:
        if left and child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    for fold in left:
        yield {"set": work["set"], "model": work["model"], "fold": fold, "note": note}


def missing(
    given: argparse.Namespace, names: list[str], wanted: list[str]
) -> list[tuple[str, str, list[int]]]:
    """Return what is missing: (set, model, folds)."""
    there: set[tuple[str, str, int]] = set()
    if given.again != "all":
        for record in accuracy_table.read(given.results, given.limit_rows).records:
            if not (given.again == "notes" and "note" in record):
                there.add((record["set"], record["model"], record["fold"]))
    work = [(s, m, [f for f in range(FOLDS) if (s, m, f) not in there]) for s in names for m in wanted]
    return [(s, m, folds) for s, m, folds in work if folds]


def measure(given: argparse.Namespace, wanted: list[str]) -> None:
    names = chosen(given.sets, sets_of(given.data), "set")
    work = missing(given, names, wanted)
    given.results.parent.mkdir(parents=True, exist_ok=True)
    about = {"date": datetime.now(UTC).date().isoformat(), "cpu": _cpu_model(), "models": wanted}
    about |= {"limit_seconds": given.limit_seconds, "memory_gb": given.memory}
    yardsticks = [YARDSTICKS[name][2] for name in installed() if name in wanted]
    about["versions"] = _versions("numpy", "scikit-learn", "pandas", *yardsticks)
    if given.peers_python:
        about["versions"]["scikit-bayes"] = _version_there(given.peers_python, "scikit-bayes")
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = [TextColumn(c) if isinstance(c, str) else c for c in columns]
    lock, end = threading.Lock(), time.monotonic() + 60 * given.stop_after
    with given.results.open("a", encoding="utf-8") as file, Progress(*shown) as progress:
        file.write(json.dumps({"run": about}) + "\n")
        bar = progress.add_task("", total=sum(len(folds) for *_, folds in work))

        def one(item: tuple[str, str, list[int]]) -> None:
            name, model, folds = item
            if time.monotonic() > end:
                return
            progress.update(bar, description=f"{name} · {model}")
            told = {"set": name, "model": model, "folds": folds, "data": str(given.data)}
            told |= {"limit_rows": given.limit_rows, "memory": given.memory}
            told["limit_seconds"] = given.limit_seconds
            told["peers_python"] = given.peers_python and str(given.peers_python)
            for record in folds_of(told):
                with lock:
                    file.write(json.dumps({**record, "limit_rows": given.limit_rows}) + "\n")
                    file.flush()
                    progress.advance(bar)

        if given.jobs == 1:
            for item in work:
                one(item)
            return
        pool = ThreadPoolExecutor(given.jobs)
        try:
            list(pool.map(one, work))
        finally:  # an interrupt leaves the rest for the next run
            pool.shutdown(cancel_futures=True)


def _version_there(python: Path, distribution: str) -> str:
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True).stdout.strip()


def main() -> None:
    given = options()
    if given.table:
        kept = accuracy_table.read(given.results, given.limit_rows)
        text = accuracy_table.table(kept, given.models and given.models.split(","))
        given.output.write_text(text, encoding="utf-8")
        print(f"Written to {given.output}.")
        return
    known = list(models())
    if absent := [name for name in OURS if name not in known]:
        print(f"Left out, not in this version: {', '.join(absent)}.")
    if absent := [name for name in YARDSTICKS if name not in known]:
        print(f"Left out, not installed: {', '.join(absent)}. README.md says how.")
    wanted = chosen(given.models, known, "model")
    if not given.peers_python:
        wanted = [name for name in wanted if not name.startswith("skbayes")]
    measure(given, wanted)
    print(f"Kept in {given.results}. Pass --table for the table.")


if __name__ == "__main__":
    main()
