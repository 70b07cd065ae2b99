"""Data that a clone does not carry: networks and numbers of other software, in the folder that BAYESKIT_DATA names.

Tests that need them skip where the variable is not set.
"""

from __future__ import annotations

import os
from pathlib import Path

DATA = Path(os.environ.get("BAYESKIT_DATA") or "BAYESKIT_DATA is not set").resolve()
