"""Inference in networks, exact and by sampling."""
