"""Bayesian networks and Markov networks: from names and states to codes and back."""
