"""Textbook exercises as pages: the question, the working in exact fractions, the answer, errata."""
