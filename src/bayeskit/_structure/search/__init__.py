"""Searches over networks: each asks for scores or tests of independence and answers with a graph."""
