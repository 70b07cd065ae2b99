"""What a place of counting must be able to do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Protocol

from bayeskit._data.reading import Reading
from bayeskit._data.source import Source
from bayeskit._schema import Name, Schema, Variable
from bayeskit._statistics.statistics import Statistics
from bayeskit._statistics.term import Plan


class Backend(Protocol):
    """Counts a source in place. Rows never leave the source and are never all held in memory.

    All backends follow the same rules (``tests/conformance/test_backends.py``): missing cells are counted
    under the code after the last state, a row without a class is an error, a row of weight 0 is ignored, and
    integer weights give bit-identical counts to those of the kernels.

    A backend must implement three methods: ``takes``, ``schema`` and ``count``. The others have a default that is
    correct for any backend; override them if yours has a faster way.
    """

    takes: Callable[[Source], bool]
    """Returns whether this backend can count a source: a method, or a function of the source."""

    @abstractmethod
    def schema(self, source: Source, reading: Reading, target: Variable) -> Schema:
        """Find the attributes, their states and the classes, in one pass.

        Declared states stay and keep their order. The others are those of rows with positive weight, sorted.
        Schemas of parts can therefore be united, in any order, to the schema of the whole. Without
        ``source.target``, every row has the one class that the target declares.
        """

    @abstractmethod
    def count(self, source: Source, schema: Schema, plan: Plan) -> Statistics:
        """Count the terms of a plan (:meth:`~bayeskit.statistics.Plan.terms`) by the codes of a schema.

        Columns that the schema does not name are ignored. A term that the backend cannot count raises
        :class:`~bayeskit.errors.CannotCount` before anything is counted. Values of a block above
        ``source.threshold`` are read as 1, the others as 0.
        """

    def sample(self, source: Source) -> Source | None:
        """Return a source that is still counted as a whole, and gives a sample of its rows if iterated.

        None if no rows can be read: then nothing can be chosen from them.
        """
        return None

    def skeleton(self, source: Source, reading: Reading, target: Variable) -> Schema:
        """Find the columns and their kinds; states need not be known yet."""
        return self.schema(source, reading, target)

    def found_and_counted(
        self,
        source: Source,
        reading: Reading,
        target: Variable,
        names: Iterable[Name],
        plan_of: Callable[[Schema], Plan],
    ) -> Statistics:
        """Find the states of some attributes, and count what a plan asks for: here, in two looks at the source."""
        schema = self.schema(source, reading, target).restricted(names)
        return self.count(source, schema, plan_of(schema))
