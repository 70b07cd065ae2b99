"""Eight melons by hand: the fractions behind one prediction, and what a change of prior does to them."""

from bayeskit import NaiveBayes, datasets

melons = datasets.load("melon8")
print(melons.frame, "\n")

# The texture 稍糊 is declared but never seen: it still counts in Laplace's denominator.
model = NaiveBayes(states=melons.states).fit(melons.frame, target="标签")
melon = {"色泽": "青绿", "纹理": "清晰", "密度": 0.6}
print(model.explain(melon), "\n")
print(model.explain(melon, lang="zh"), "\n")

print("The same melon, other priors:")
for smoothing in ("mle", "laplace", "m-estimate", "bdeu"):
    other = NaiveBayes(states=melons.states, smoothing=smoothing).fit(melons.frame, target="标签")
    page = other.explain(melon)
    texture = page.attributes[1].factors[1]
    print(f"{smoothing:>10}: P(清晰 | 是) = {texture.working}, P(是 | x) = {page.posterior[1]:.4f}")
