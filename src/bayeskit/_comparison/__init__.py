"""Models tried on the same folds, judged, and picked."""
