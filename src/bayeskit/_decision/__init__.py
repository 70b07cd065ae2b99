"""Bayes decision theory: from posteriors and losses to actions."""
