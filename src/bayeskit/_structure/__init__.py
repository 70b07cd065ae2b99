"""Structures: which graph some counts or scores speak for (``learners``, ``search``). It asks; it never sees a row."""
