"""What it takes to count somewhere: find the schema of a source, and count a plan's terms over it."""

from __future__ import annotations

from typing import Protocol

from bayeskit.counting.backends.duckdb import DuckDB
from bayeskit.data.reading import Reading
from bayeskit.data.source import Source
from bayeskit.schema import Schema, Variable
from bayeskit.statistics import Plan, Statistics


class Backend(Protocol):
    """Counts a source where it is. Rows never have to leave it, and are never all held.

    Every backend obeys the same list (``tests/conformance/test_backends.py``): missing cells are counted under the code
    after the last state, a row without a class is refused, a row of weight 0 is absent, and whole weights are counted
    to the bit as the kernels count them.
    """

    def takes(self, source: Source) -> bool:
        """Say whether the rows of a source are for this backend."""
        ...

    def schema(self, source: Source, reading: Reading, target: Variable) -> Schema:
        """Find the attributes, their states and the classes, in one pass.

        States that were declared stay and keep their order; the others are those of rows with weight, sorted. So
        schemas of pieces can be united, in any order, to that of the whole. Without ``source.target`` every row is of
        the one class that the target declares.
        """
        ...

    def count(self, source: Source, schema: Schema, plan: Plan) -> Statistics:
        """Count the terms of a plan (:meth:`~bayeskit.statistics.Plan.terms`) by the codes of a schema.

        Columns that the schema does not name are left out. A term that the backend cannot count is refused, with
        :class:`~bayeskit.errors.CannotCount`, before anything is counted.
        """
        ...


def backend_of(source: Source) -> Backend | None:
    """Return the backend that counts a source where it is; None where its rows are read and counted here."""
    return next((backend for backend in BACKENDS if backend.takes(source)), None)


# One line for each. That of threads is not among them: it counts the rows that no other takes.
BACKENDS: list[Backend] = [DuckDB()]
