"""What is said about answers: pages of arithmetic, tables, charts, pictures."""
