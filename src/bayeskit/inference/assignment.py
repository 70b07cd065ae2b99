"""A state for each of some variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Assignment:
    """Codes of states, and the log of their probability together with the evidence (−inf: impossible)."""

    codes: NDArray[np.int64]
    log_probability: float
