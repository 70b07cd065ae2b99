"""Inference by sampling: forward, conditional, likelihood weighting, rejection, and Gibbs."""
