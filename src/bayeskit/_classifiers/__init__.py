"""The scikit-learn estimators: each says how it reads and what its model is; the rest is shared."""
