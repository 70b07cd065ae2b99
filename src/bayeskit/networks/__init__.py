"""Bayesian networks and Markov networks: the public objects."""
