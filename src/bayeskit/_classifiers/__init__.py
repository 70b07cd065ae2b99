"""The scikit-learn estimators: each defines how it reads rows and what its model is; the rest is shared."""
