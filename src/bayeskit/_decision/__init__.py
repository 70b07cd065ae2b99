"""Bayes decision theory: posterior × loss → action."""
