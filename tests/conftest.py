"""Settings of all suites: hypothesis without deadlines, and repeatable where a machine runs it."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The first example may compile a kernel, so a time limit for each would only measure the compiler.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
