"""Docstrings of four libraries: three kinds of naive Bayes against ridge, neighbours, a forest and a linear SVM."""

from time import process_time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from _charts import Column, bars
from _story import Story
from bayeskit import BernoulliNB, ComplementNB, MultinomialNB, datasets
from bayeskit._display_table import padded

say = Story("docstrings")
data = datasets.load_dataset("docstrings")
texts, library = data.columns["text"], data.y
learn, judge = slice(0, 800), slice(800, None)

vectorizer = TfidfVectorizer(stop_words="english", max_df=0.5, sublinear_tf=True)
words = vectorizer.fit_transform(texts[learn])
chosen = SelectKBest(chi2, k=1000).fit(words, library[learn])
X, X_test = chosen.transform(words), chosen.transform(vectorizer.transform(texts[judge]))
say(
    f"{X.shape[0]} training docstrings and {X_test.shape[0]} test docstrings. Of {words.shape[1]:,} words, the"
    f" {X.shape[1]:,} with the highest chi² statistic are used.\n",
    f"训练集 {X.shape[0]} 篇，测试集 {X_test.shape[0]} 篇；{words.shape[1]:,} 个词中取卡方统计量"
    f"最大的 {X.shape[1]:,} 个。\n",
)

alpha = {"alpha": np.logspace(-3, 1, 9)}
contenders = {
    "multinomial NB": (MultinomialNB(), alpha),
    "complement NB": (ComplementNB(), alpha),
    "Bernoulli NB": (BernoulliNB(), alpha),
    "ridge": (RidgeClassifier(), {"alpha": np.logspace(-2, 2, 5)}),
    "linear SVM": (LinearSVC(), {"C": np.logspace(-2, 1, 4)}),
    "random forest": (RandomForestClassifier(200, random_state=0), {}),
    "k neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 9, 15, 25]}),
}
in_chinese = {
    "ridge": "岭回归",
    "linear SVM": "线性 SVM",
    "random forest": "随机森林",
    "k neighbours": "k 近邻",
}
in_chinese |= {"multinomial NB": "多项式 NB", "complement NB": "补集 NB", "Bernoulli NB": "伯努利 NB"}

MultinomialNB().fit(X, library[learn])  # compiles the counting loops before time is measured
BernoulliNB().fit(X, library[learn])
found = []
for name, (model, grid) in contenders.items():
    settings = GridSearchCV(model, grid, cv=5).fit(X, library[learn]).best_params_ if grid else {}
    model.set_params(**settings)
    start = process_time()
    wrong = 1 - model.fit(X, library[learn]).score(X_test, library[judge])
    found.append((say.text(name, in_chinese[name]), wrong, 1000 * (process_time() - start)))
    taken = ", ".join(f"{key} = {value:.3g}" for key, value in settings.items())
    print(f"  {padded(found[-1][0], 15)}{wrong:6.1%} {found[-1][2]:9.1f} ms   {taken}".rstrip())

told = contenders["multinomial NB"][0].predict(X_test)
wrong, alike = told != library[judge], ["NumPy", "SciPy"]
between = wrong & np.isin(told, alike) & np.isin(library[judge], alike)
say(
    f"\nOf the {wrong.sum()} errors of multinomial naive Bayes, {between.sum()} confuse NumPy and SciPy: both"
    "\ndescribe functions of arrays in the same words. The linear models take longer to train. When comparing,"
    "\nremember that the standard error of an error rate of 20% on 520 texts is 1.8 points.",
    f"\n多项式朴素贝叶斯的 {wrong.sum()} 个错误中，有 {between.sum()} 个出在 NumPy 与 SciPy 之间："
    "\n两者用相同的词描述数组的函数。"
    "\n线性模型训练更慢。比较时要记得：在 520 篇文本上，20% 的错误率本身的标准误差就有 1.8 个百分点。",
)

title = say.text("Four libraries: error and time", "四个库：错误率与用时")
note = say.text(
    "CPU time to train on 800 texts and predict 520, with the settings already chosen; logarithmic scale.",
    "用时：选定参数后，训练 800 篇并预测 520 篇的 CPU 时间，对数刻度。",
)
columns = [
    Column(say.text("error", "错误率"), lambda share: f"{share:.1%}"),
    Column(
        say.text("CPU time", "CPU 时间"),
        lambda ms: f"{ms:,.0f} ms" if ms >= 100 else f"{ms:.3g} ms",
        logarithmic=True,
    ),
]
say.end(bars(title, [note], [("bayeskit", found[:3]), ("scikit-learn", found[3:])], columns))
