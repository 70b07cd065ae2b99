"""Serving a fitted model over HTTP."""
