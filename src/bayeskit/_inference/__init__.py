"""Graphs × evidence → posteriors: exact and sampled."""
