"""From a word in a letter to what to do with it: Bayes' rule, a loss, and the right to ask."""

from bayeskit.decision import bayes_rule, decide

prior = {"spam": 0.7, "ham": 0.3}
loss = {  # to lose a real letter is as bad as to read twenty pieces of spam
    "delete": {"spam": 0, "ham": 20},
    "keep": {"spam": 1, "ham": 0},
}
words = {  # P(word | class)
    "free": {"spam": 0.90, "ham": 0.01},
    "offer": {"spam": 0.30, "ham": 0.02},
    "meeting": {"spam": 0.05, "ham": 0.40},
}
for word, likelihood in words.items():
    posterior = bayes_rule(prior, likelihood)
    choice = decide(posterior, loss)
    careful = decide(posterior, loss, reject=0.5, actions=["delete", "keep", "ask"])
    risks = ", ".join(f"{name} {risk:.3f}" for name, risk in zip(choice.names, choice.risks))
    print(f"{word:>8}: P(spam) = {float(posterior['spam']):.4f}; risks: {risks} -> {choice.actions}", end="")
    print(f"; if asking costs 0.5 -> {careful.actions}")
