"""Mixture models for unlabelled rows: Gaussian mixtures and latent class models."""
