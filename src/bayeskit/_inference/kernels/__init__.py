"""Compiled kernels for inference."""
