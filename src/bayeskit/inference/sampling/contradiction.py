"""The signal that evidence and tables leave no state at all."""

from __future__ import annotations


class Contradiction(Exception):
    """The evidence has probability zero. The door that knows the names tells the user (ImpossibleEvidence)."""
