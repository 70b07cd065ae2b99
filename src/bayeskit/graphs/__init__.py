"""Values: directed acyclic graphs."""
