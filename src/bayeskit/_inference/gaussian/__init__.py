"""Exact inference with continuous nodes, with regressions as potentials to avoid dividing by variances."""
