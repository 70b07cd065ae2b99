"""Naive Bayes and its semi-naive relatives on census data: what each finds, and how well it foretells."""

from bayeskit import AODE, KDB, SPODE, TAN, AnDE, AutoBayes, NaiveBayes, SelectiveKDB, WeightedNB, datasets

melon = datasets.load("melon2")
tree = TAN().fit(melon.X, melon.y)
print("The tree of seventeen melons:")
for parent, child, information in tree.edges_:
    print(f"  {parent} -> {child}  I = {information:.6f}")
posterior = AODE().fit(melon.X, melon.y).predict_proba(melon.X[:1])[0, 1]
print(f"AODE on the first of them: P(是) = {posterior:.6f}\n")

adult = datasets.load("adult")
X, y = adult.X[:8_000], adult.y[:8_000]
others, truth = adult.X[8_000:16_000], adult.y[8_000:16_000]
print("Census income: leave-one-out on 8,000 rows, then the error on 8,000 others")
models = [NaiveBayes(), SPODE(), TAN(), AODE(), AnDE(2), KDB(2), SelectiveKDB(), WeightedNB(), AutoBayes()]
for model in models:
    model.fit(X, y)
    loo = model.loo_score(X, y)
    print(
        f"  {type(model).__name__:12} log-loss left out {loo:.3f}, error {1 - model.score(others, truth):.3f}"
    )

auto = models[-1]
print("\nAutoBayes listens to:", {name: round(weight, 2) for name, weight in auto.weights_.items()})

# What was learned can be taken back: the tree is then that of the other rows.
tree.forget(melon.X[:1], melon.y[:1])
assert tree.structure_ == TAN().fit(melon.X[1:], melon.y[1:]).structure_
