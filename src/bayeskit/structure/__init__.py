"""Structures: which graph some counts or scores speak for (``learners``, ``search``). It asks; it never sees a row."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # Scoring a table needs rows, which this folder never sees; only the name is here, where it is looked for.
    if name == "score":
        return import_module("bayeskit.learning.networks.network_score").score
    raise AttributeError(f"module 'bayeskit.structure' has no attribute {name!r}")
