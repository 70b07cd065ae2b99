"""Three ways to use one classifier: all rows at once, batch by batch, and not trained at all."""

import numpy as np

from bayeskit import NaiveBayes, datasets

mushrooms = datasets.load("mushroom")
X, y = mushrooms.X, mushrooms.y
question = X[:5]

table = NaiveBayes().fit(X, y)  # counted once, then looked up
print("table look-up:", table.predict_proba(question)[:, 1].round(6))

stream = NaiveBayes()  # batch by batch, as rows arrive
for start in range(0, len(y), 1000):
    stream.partial_fit(X[start : start + 1000], y[start : start + 1000])
print("incremental:  ", stream.predict_proba(question)[:, 1].round(6))

lazy = NaiveBayes().lazy(X, y)  # nothing is counted until a question comes
print("lazy:         ", lazy.predict_proba(question)[:, 1].round(6))

# One algebra of counts, so the answers are the same, and rows can be taken away again.
assert np.allclose(table.predict_proba(X), stream.predict_proba(X), atol=1e-12)
assert np.allclose(table.predict_proba(X), lazy.predict_proba(X), atol=1e-12)
without = table.forget(X[:1000], y[:1000])
afresh = NaiveBayes().fit(X[1000:], y[1000:])
assert np.allclose(without.predict_proba(X), afresh.predict_proba(X), atol=1e-12)
print("a thousand rows forgotten: as if they had never been learned")
