"""The algebra of sufficient statistics. It never sees a row."""
