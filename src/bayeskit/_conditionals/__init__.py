"""Conditional distributions estimated from statistics and priors: tables, densities, families."""
