"""Answers from samples: forward, conditional, weighted, rejected, and Gibbs'."""
