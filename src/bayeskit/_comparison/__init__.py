"""Compares models on the same folds and selects one."""
