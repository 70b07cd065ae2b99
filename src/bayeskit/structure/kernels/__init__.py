"""Loops of structure search."""
