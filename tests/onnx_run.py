"""Runs an ONNX model on a frame with onnxruntime."""

from __future__ import annotations

import numpy as np


def feed(session, X):
    """Return the inputs of a session: missing is "" in text and NaN elsewhere."""
    found = {}
    for wanted in session.get_inputs():
        column = X[wanted.name]
        if wanted.type == "tensor(string)":
            values = np.array(
                [["" if value is None or value != value else value] for value in column], dtype=object
            )
        else:
            values = column.astype(float).to_numpy()[:, None]
        found[wanted.name] = values
    return found


def run(model, X, batch=20_000):
    """Return labels and probabilities of all rows, some at a time."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    parts = [session.run(None, feed(session, X[start : start + batch])) for start in range(0, len(X), batch)]
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
