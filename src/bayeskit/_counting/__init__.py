"""Chunk × plan → statistics: one counter for each pattern, threads, DuckDB."""
