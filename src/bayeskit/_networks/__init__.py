"""Bayesian and Markov networks: the public classes, which translate names and states into codes and back."""
