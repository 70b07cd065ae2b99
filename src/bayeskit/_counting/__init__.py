"""Counts the statistics of a plan over rows, with kernels on threads or in DuckDB."""
