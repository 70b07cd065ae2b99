"""The scikit-learn estimators: each defines how it reads rows and what its model is; the rest is shared."""

# The classifiers of counts, and their modules: public names, and all that a saved model may name. A file is data, never
# code, so no other name is accepted.
HOMES = {
    "NaiveBayes": "bayeskit._classifiers.naive_bayes",
    "GaussianBayes": "bayeskit._classifiers.gaussian_bayes",
    "GaussianNB": "bayeskit._classifiers.gaussian_bayes",
    "BernoulliNB": "bayeskit._classifiers.discrete_nb",
    "MultinomialNB": "bayeskit._classifiers.discrete_nb",
    "ComplementNB": "bayeskit._classifiers.discrete_nb",
    "CategoricalNB": "bayeskit._classifiers.discrete_nb",
    "SPODE": "bayeskit._classifiers.one_dependence",
    "TAN": "bayeskit._classifiers.one_dependence",
    "AODE": "bayeskit._classifiers.aode",
    "AnDE": "bayeskit._classifiers.aode",
    "KDB": "bayeskit._classifiers.kdb",
    "SelectiveKDB": "bayeskit._classifiers.kdb",
    "AutoBayes": "bayeskit._classifiers.auto_bayes",
    "CountForest": "bayeskit._classifiers.count_forest",
    "WeightedNB": "bayeskit._classifiers.weighted_nb",
    "LogLinearBayes": "bayeskit._classifiers.log_linear_bayes",
    "TextBayes": "bayeskit._classifiers.text_bayes",
    "BayesNetClassifier": "bayeskit._classifiers.bayes_net",
}
