"""Structure search: each method uses scores or independence tests and returns a graph."""
