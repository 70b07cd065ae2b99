"""Reports on predictions: explanations, tables, charts, pictures."""
