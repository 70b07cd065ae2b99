"""Plain values ↔ bytes: saved models and statistics, network files."""
