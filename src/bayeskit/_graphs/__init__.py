"""Values: graphs, factors, distributions, networks, and what follows from graphs alone."""
