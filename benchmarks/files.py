"""What does it cost to learn from files, against SQL written by hand for the same counts in DuckDB?

Six texts of 4 to 30 states and six numbers, a class of three, as Parquet and as CSV. The peer of naive Bayes is what
one would write: for Parquet a GROUP BY for each text and one for each number, for CSV one pass with GROUPING SETS, on
one thread. AODE and TAN count all pairs of 20 texts; they are held against the same fit in memory plus one scan of the
file. Memory is that of a process of its own, above what it has after its imports.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bayeskit
from harness import Report, Run, options

QUESTION = (
    "Files, 1e7 × 12 mixed columns (pairs: 1e7 × 20 texts): our fit against SQL by hand, and its memory"
)
N_STATES = (4, 8, 16, 5, 30, 12)
TEXTS, NUMBERS = [f"t{j}" for j in range(6)], [f"x{j}" for j in range(6)]
CHILD = """
import json, sys
import duckdb, numba, numpy, pyarrow.parquet, sklearn
import bayeskit
from bayeskit import NaiveBayes
NaiveBayes().fit(sys.argv[2], target="class")
def held():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) // 1024
before = held()
NaiveBayes().fit([sys.argv[1]] * int(sys.argv[3]), target="class", max_memory="512MB")
print(json.dumps([held() - before, held()]))
"""


def mixed(n: int) -> pa.Table:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    columns: dict[str, Any] = {}
    for name, size in zip(TEXTS, N_STATES, strict=True):
        codes = (rng.integers(0, size, n) + y) % size
        columns[name] = _texts(codes, [f"state {v}" for v in range(size)])
    for j, name in enumerate(NUMBERS):
        columns[name] = np.round(rng.normal(10 * j + y, 1 + j), 4)
    return pa.table({**columns, "class": _texts(y, ["no", "yes", "perhaps"])})


def texts(n: int) -> pa.Table:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    states = [f"state {v}" for v in range(8)]
    columns = {f"a{j}": _coded((rng.integers(0, 8, n) + y * (j % 2)) % 8, states) for j in range(20)}
    return pa.table({**columns, "class": _coded(y, ["no", "yes"])})


def _coded(codes: Any, states: list[str]) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), pa.array(states))


def _texts(codes: Any, states: list[str]) -> Any:
    return _coded(codes, states).cast(pa.string())


def by_column(path: Path) -> int:
    """One GROUP BY a column."""
    with duckdb.connect(config={"threads": 1, "memory_limit": "512MB"}) as connection:
        queries = [f"SELECT class, {name}, count(*) FROM '{path}' GROUP BY ALL" for name in TEXTS]
        queries += [
            f"SELECT class, count({x}), sum({x}), sum({x} * {x}) FROM '{path}' GROUP BY ALL" for x in NUMBERS
        ]
        return sum(len(connection.execute(query).fetchall()) for query in queries)


def grouping_sets(path: Path) -> int:
    """One pass."""
    sums = ", ".join(f"count({x}), sum({x}), sum({x} * {x})" for x in NUMBERS)
    sets = ", ".join(f"(class, {name})" for name in TEXTS)
    listed = ", ".join(TEXTS)
    with duckdb.connect(config={"threads": 1, "memory_limit": "512MB"}) as connection:
        query = f"SELECT grouping({listed}), class, {listed}, count(*), {sums} FROM '{path}' "
        return len(connection.execute(f"{query} GROUP BY GROUPING SETS ({sets}, (class))").fetchall())


def fit(make: Any, path: Any) -> Any:
    return make().fit(path, target="class", max_memory="512MB")


def scan(path: Path) -> int:
    with pq.ParquetFile(path, read_dictionary=[f"a{j}" for j in range(20)]) as file:
        return sum(batch.num_rows for batch in file.iter_batches(122_880, use_threads=False))


def memory(path: Path, small: Path, times: int) -> tuple[float, float]:
    """Megabytes at the highest: above the imported process, and in all."""
    command = [sys.executable, "-c", CHILD, str(path), str(small), str(times)]
    above, whole = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return float(above), float(whole)


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given, "duckdb", "pyarrow")
    n = int(1e7 * given.scale)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = mixed(n)
        for rows, stem in (table, "rows"), (table.slice(0, 5_000), "few"):
            pq.write_table(rows, folder / f"{stem}.parquet", row_group_size=122_880)
            duckdb.sql(f"COPY (FROM '{folder / stem}.parquet') TO '{folder / stem}.csv'")
        del table
        for ending, peer in ("parquet", by_column), ("csv", grouping_sets):
            path = folder / f"rows.{ending}"
            ours, theirs = f"NaiveBayes, {ending}", f"SQL by hand, {ending}"
            runs: dict[str, Run] = {
                ours: partial(fit, bayeskit.NaiveBayes, path),
                theirs: partial(peer, path),
            }
            report.race(ending, runs)
            rate = n / report.cpu(ending, ours) / 1e6
            report.claim(f"{ending}: million rows a CPU second", rate, "M")
            ratio = report.cpu(ending, theirs) / report.cpu(ending, ours)
            report.claim(f"{ending}: speed ÷ SQL by hand", ratio, "×", at_least=0.85)
            # The lower of two processes: of a process that runs once, the peak varies by 5 MB.
            once, ten = (
                min(memory(path, folder / f"few.{ending}", times) for _ in range(2)) for times in (1, 10)
            )
            report.claim(f"{ending}: MB above imports, once", once[0], "MB", at_most=200)
            report.claim(f"{ending}: MB above imports, listed ten times", ten[0], "MB", at_most=200)
            report.claim(f"{ending}: RSS, ten times ÷ once", ten[1] / once[1], "×", at_most=1.1)
            report.claim(f"{ending}: RSS above imports, ten times ÷ once", ten[0] / once[0], "×", at_most=1.1)
            path.unlink()
        coded = texts(n)
        # As texts, without the note that they were in codes.
        pq.write_table(coded, folder / "pairs.parquet", row_group_size=122_880, store_schema=False)
        for make in bayeskit.AODE, bayeskit.TAN:
            stage = make.__name__
            runs = {
                "file": partial(fit, make, folder / "pairs.parquet"),
                "memory": partial(fit, make, coded),
                "scan": partial(scan, folder / "pairs.parquet"),
            }
            report.race(stage, runs)
            whole = report.cpu(stage, "memory") + report.cpu(stage, "scan")
            ratio = report.cpu(stage, "file") / whole
            report.claim(f"{stage}: file ÷ (memory + scan)", ratio, "×", at_most=1.5)
    report.finish()


if __name__ == "__main__":
    main()
