"""Charts, described once and drawn by two renderers."""
