"""Reads and writes network files: a reader and a writer per format, and shared code."""
