"""Chinese texts without a dictionary: characters and pairs of them, multinomial naive Bayes, the best pairs.

Pass ``--rows FILE.csv``, with columns ``text`` and ``class``, to use your own texts.
"""

import csv

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from _charts import Column, bars
from _chinese_rows import headlines, reviews
from _story import Story, aligned
from bayeskit import MultinomialNB

say = Story("chinese_text", rows="a CSV file with columns text and class, instead of the artificial texts")


def read(file):
    """Return the texts and classes of a file."""
    with open(file, encoding="utf-8-sig", newline="") as rows:
        pairs = [(row["text"], row["class"]) for row in csv.DictReader(rows)]
    return [text for text, _ in pairs], np.array([label for _, label in pairs])


def cuts():
    """Return the ways to cut a text, by name: characters, pairs, both; words where rjieba is installed."""
    ways = {
        say.text("characters", "单字"): CountVectorizer(analyzer="char"),
        say.text("pairs", "双字"): CountVectorizer(analyzer="char", ngram_range=(2, 2)),
        say.text("both", "单字加双字"): CountVectorizer(analyzer="char", ngram_range=(1, 2)),
    }
    try:
        import rjieba
    except ImportError:
        return ways
    return {**ways, say.text("words (rjieba)", "分词（rjieba）"): CountVectorizer(analyzer=rjieba.cut)}


def judge(texts, labels):
    """Train on one half, evaluate on the other; print the accuracy of each way of cutting, and return the models."""
    half, models = len(texts) // 2, []
    table = [
        tuple(say.text(*pair) for pair in (("cut into", "切分"), ("columns", "列数"), ("right", "正确率")))
    ]
    for name, counts in cuts().items():
        models.append(make_pipeline(counts, MultinomialNB(alpha=0.3)).fit(texts[:half], labels[:half]))
        right = models[-1].score(texts[half:], labels[half:])
        table.append((name, f"{len(counts.vocabulary_):,}", f"{right:.1%}"))
    print("\n".join(f"  {line}" for line in aligned(table)))
    return models


def telling(model, most):
    """Return the most informative pairs of each class, and how much more frequent they are there than elsewhere."""
    found, pairs, counts = [], model[0].get_feature_names_out(), model[1].feature_count_
    for label, inside in zip(model.classes_, counts, strict=True):
        outside = counts.sum(axis=0) - inside
        share, other = ((n + 1) / (n.sum() + len(n)) for n in (inside, outside))
        # The mean contribution of a pair: a rare pair may be strong evidence, but it is rarely there.
        worth = share * np.log(share / other)
        kept = []
        for i in np.argsort(-worth, kind="stable"):
            # Of 演唱 and 唱会 one is enough; punctuation means nothing to a reader.
            if pairs[i].isalpha() and not any(set(pairs[i]) & set(pairs[j]) for j in kept):
                kept.append(i)
            if len(kept) == most:
                break
        found.append((str(label), [(pairs[i], float(share[i] / other[i])) for i in kept]))
    return found


if say.asked.rows:
    texts, labels = read(say.asked.rows)
    order = np.random.default_rng(0).permutation(len(texts))
    say(f"{len(texts):,} texts of {say.asked.rows}:", f"{say.asked.rows} 中的 {len(texts):,} 条文本：")
    found = telling(judge([texts[i] for i in order], labels[order])[1], most=4)
else:
    rng = np.random.default_rng(0)
    titles, kinds = headlines(2000, rng)
    first, second = titles[:2]
    say(
        f"Artificial headlines, such as “{first}” and “{second}”:", f"人工生成的标题，如“{first}”“{second}”："
    )
    found = telling(judge(titles, kinds)[1], most=4)
    meals, verdicts = reviews(2000, rng)
    first, second = meals[:2]
    say(
        f"\nArtificial reviews, such as “{first}” and “{second}”:",
        f"\n人工生成的外卖评价，如“{first}”“{second}”：",
    )
    models = judge(meals, verdicts)
    found += telling(models[1], most=4)
    say("\nP(好评) from characters, and from both:", "\nP(好评)：只用单字，与单字加双字：")
    asked = ["好吃", "不好吃", "难吃", "不难吃"]
    shares = [
        model.predict_proba(asked)[:, model.classes_.tolist().index("好评")]
        for model in (models[0], models[2])
    ]
    print(
        "\n".join(
            f"  {line}"
            for line in aligned([(a, f"{p:.2f}", f"{q:.2f}") for a, p, q in zip(asked, *shares, strict=True)])
        )
    )
    say(
        "\nA pair of characters includes its context, a single character does not; neither needs a dictionary. On real"
        "\ntexts, both together raise the accuracy from 80% to 85% on 20,000 headlines of ten classes (THUCNews), and"
        "\nfrom 85% to 88% on 12,000 reviews of meals (waimai_10k). These texts are not included: download them, and"
        "\npass them with --rows.",
        "\n双字带有上下文，单字没有；两者都不需要词典分词。在真实文本上，THUCNews 的两万条十类标题，正确率由单字的 80%"
        "\n升到 85%；waimai_10k 的一万二千条外卖评价，由 85% 升到 88%。这些语料不便随库分发，下载后可用 --rows 指定。",
    )

title = say.text("The most informative pairs of each class", "最能说明各类的双字")
note = say.text(
    "How many times as frequent as in the other classes; logarithmic scale.",
    "频率是其他类的多少倍，对数刻度。",
)
column = Column(say.text("times as frequent", "倍数"), lambda ratio: f"{ratio:.1f}", logarithmic=True)
say.end(bars(title, [note], found, [column]))
