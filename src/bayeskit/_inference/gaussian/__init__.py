"""Exact answers about networks with continuous nodes: every potential is a regression, so no variance is divided by."""
