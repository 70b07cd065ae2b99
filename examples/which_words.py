"""Docstrings of four libraries: how certain TextBayes is, and the words for and against its least certain answer."""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from _charts import Column, bars
from _story import Story, aligned
from bayeskit import ComplementNB, TextBayes, datasets

say = Story("which_words")
data = datasets.load_dataset("docstrings")
texts, library = data.columns["text"], data.y
learn, judge = slice(0, 800), slice(800, None)

model = TextBayes().fit(texts[learn], library[learn])
peer = make_pipeline(TfidfVectorizer(), ComplementNB()).fit(texts[learn], library[learn])
say(
    f"TextBayes was trained on {len(texts[learn])} docstrings. Its vocabulary has {len(model.vocabulary_):,} words and"
    " pairs of words.\n",
    f"TextBayes 用 {len(texts[learn])} 篇文档字符串训练，词表含 {len(model.vocabulary_):,} 个词与相邻词对。\n",
)
table = [tuple(say.text(*pair) for pair in (("", ""), ("error", "错误率"), ("log-loss", "对数损失")))]
for name, answers in (
    ("TextBayes", model.predict_proba(texts[judge])),
    (say.text("complement NB of tf-idf", "补集 NB（tf-idf）"), peer.predict_proba(texts[judge])),
):
    wrong = (model.classes_[answers.argmax(axis=1)] != library[judge]).mean()
    table.append((name, f"{wrong:.1%}", f"{log_loss(library[judge], answers):.3f}"))
print("\n".join(f"  {line}" for line in aligned(table)))

posterior = model.predict_proba(texts[judge])
doubtful = int(posterior.max(axis=1).argmin())
page = model.explain(texts[judge][doubtful])
first, second = page.ranking[:2]
a, b = page.classes[first], page.classes[second]
say(
    f"\nThe least certain prediction, for a docstring of {library[judge][doubtful]}: {a} {page.posterior[first]:.1%},"
    f" {b} {page.posterior[second]:.1%}.",
    f"\n最不确定的一次预测，该篇属于 {library[judge][doubtful]}：{a} {page.posterior[first]:.1%}，"
    f"{b} {page.posterior[second]:.1%}。",
)
odds = [(word.name, word.factors[first].log - word.factors[second].log) for word in page.attributes[:-1]]
found = [
    (a, [(name, float(np.exp(odd))) for name, odd in odds if odd > 0][:6]),
    (b, [(name, float(np.exp(-odd))) for name, odd in odds if odd < 0][:6]),
]
total = sum(word.factors[first].log - word.factors[second].log for word in page.attributes)
say(
    f"All its words together multiply the odds of {a} by {np.exp(total):.3g}.",
    f"全部词合起来使 {a} 的几率变为 {np.exp(total):.3g} 倍。",
)

# The model is a sum over texts: forgetting one is exact, as long as vocabulary and weights stay the same.
again = model.forget(texts[:1], library[:1]).partial_fit(texts[:1], library[:1]).predict_proba(texts[judge])
say(
    f"Forgetting a text and learning it again changes no posterior by more than {abs(again - posterior).max():.1g}.",
    f"忘掉一篇再学回来，后验概率的变化不超过 {abs(again - posterior).max():.1g}。",
)

title = say.text("Words for and against", "支持与反对的词")
note = say.text(
    "The factor by which a word multiplies the odds; logarithmic scale.", "一个词使几率变为多少倍，对数刻度。"
)
column = Column(say.text("times the odds", "倍数"), lambda ratio: f"{ratio:.2f}", logarithmic=True)
say.end(bars(title, [note], found, [column]))
