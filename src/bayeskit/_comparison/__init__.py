"""Comparison of models on the same folds, and selection of one."""
