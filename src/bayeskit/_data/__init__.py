"""Frames, arrays, sparse matrices, batches and files → codes and numbers."""
