"""Exercises of the textbooks as pages: the question, the working in exact fractions, the answer, the errata."""
