"""Immutable values (graphs, factors, distributions, networks) and graph algorithms."""
