"""Loops of inference."""
