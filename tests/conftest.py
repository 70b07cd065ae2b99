"""Settings of all suites: hypothesis without deadlines, repeatable where a machine runs it; one cache of one kind."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from bounds import use_own_cache

# Suites run side by side, and threads of BLAS in each of them would only wait for one another. NumPy reads it when it
# is imported, which is later.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The first example may compile a kernel, so a time limit for each would only measure the compiler.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

try:
    use_own_cache(os.environ)
except ValueError as error:
    raise pytest.UsageError(str(error)) from None
