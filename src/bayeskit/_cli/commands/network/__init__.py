"""The commands about networks: ``bayeskit network ...``."""
