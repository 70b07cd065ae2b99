"""Sufficient statistics that can be added, subtracted and scaled, without access to rows."""
