"""Mixtures: models of rows whose class was never seen."""
