"""Fitting of models to rows: model forms, specifications, choices from rows, leave-one-out, EM."""
