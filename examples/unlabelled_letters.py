"""Mushrooms told by letters: a few are labelled edible or poisonous, thousands are not. What do the others teach?"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from bayeskit import NaiveBayes, datasets
from bayeskit.report.curve_picture import curve_picture

mushrooms = datasets.load("mushroom")
X, truth = mushrooms.X, np.asarray(mushrooms.y)
print(f"{len(truth):,} mushrooms, {X.shape[1]} letters each; labels 'e' and 'p', most of them hidden.\n")


def hidden(n_labelled, seed):
    """Return labels of which all but a few, drawn at random, are None."""
    order = np.random.default_rng(seed).permutation(len(truth))
    labels = np.full(len(truth), None, dtype=object)
    # Half of each class, so that even four labels know both.
    for label in ("e", "p"):
        chosen = order[truth[order] == label][: n_labelled // 2]
        labels[chosen] = label
    return labels


labels = hidden(8, seed=0)
model = NaiveBayes(semi_supervised=True).fit(X, labels)
print("With eight labels, what is climbed is log P(c, x) of these + log P(x) of the others:")
for step in (0, 1, 2, 4, 8):
    print(f"  after {step} steps {model.history_[step]:.1f}")
print(f"  after {model.n_iter_} steps {model.history_[-1]:.1f}, and still\n")

weights = {"labelled rows alone": 0.0, "all rows alike": 1.0, "weight by loo": "loo"}
sizes, drawings = (4, 8, 16, 32, 64, 128), 3
found = {name: [] for name in weights}
print("Share of the unlabelled mushrooms that are told right, three drawings of labels each:")
print(f"  {'labels':>6}" + "".join(f"{name:>22}" for name in weights) + "   λ that loo took")
for size in sizes:
    right, taken = {name: [] for name in weights}, []
    for seed in range(drawings):
        labels = hidden(size, seed)
        asked = np.array([label is None for label in labels])
        for name, weight in weights.items():
            model = NaiveBayes(semi_supervised=True, unlabelled_weight=weight).fit(X, labels)
            right[name].append(float((model.predict(X) == truth)[asked].mean()))
        taken.append(model.unlabelled_weight_)
    for name in weights:
        found[name].append((np.log2(size), float(np.mean(right[name]))))
    print(f"  {size:6}" + "".join(f"{found[name][-1][1]:22.1%}" for name in weights), end="   ")
    print(", ".join(f"{weight:g}" for weight in taken))

print(
    "\nUnlabelled rows help while labels are few. Later they hurt: the two largest groups that naive Bayes sees in"
)
print(
    "the letters are not quite the edible and the poisonous ones. 'loo' may say 0, and then nothing is lost."
)

place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "unlabelled_letters.svg"
title = "Mushrooms told right, by the number of labels"
picture = curve_picture(found, "labelled rows, as a power of two", "told right", title)
picture.save(place)
print(f"\n{picture!r} was saved to {place}")
