"""Reads frames, arrays, sparse matrices, batches and files, and encodes them as codes and numbers."""
