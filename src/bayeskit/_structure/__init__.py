"""Structure learning from counts or scores (``learners``, ``search``), without access to rows."""
