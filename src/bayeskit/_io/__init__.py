"""Reads and writes saved models, statistics and network files."""
