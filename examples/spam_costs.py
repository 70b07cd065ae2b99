"""Spam: losing a message costs twenty times as much as keeping an advertisement. A loss, calibration, rejection."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from _charts import lines, shares
from _story import Story, aligned
from bayeskit import MultinomialNB, datasets
from bayeskit.decision import bayes_rule, decide

say = Story("spam_costs")
LOSS = {"delete": {"ham": 20, "spam": 0}, "keep": {"ham": 0, "spam": 1}}
EQUAL = {"delete": {"ham": 1, "spam": 0}, "keep": {"ham": 0, "spam": 1}}
ASK = 0.1  # the cost of asking a person
ACTIONS = {"delete": "删除", "keep": "留下", "ask": "询问"}
say(
    f"Deleting a real message (ham) costs 20, keeping an advertisement (spam) 1, asking a person {ASK}.",
    f"误删一封正常短信（ham）的代价为 20，留下一条广告（spam）为 1，请人看一眼为 {ASK}。",
)

# 1. By hand: one word, Bayes' rule, and the action with the least risk. A posterior above 1/2 is not enough.
say(
    "\n1. By hand: seven messages in ten are spam, and one word is observed\n",
    "\n1. 手算：十条里有七条是垃圾短信，只看一个词\n",
)
seen = {  # P(word | class)
    "free": {"spam": 0.90, "ham": 0.01},
    "offer": {"spam": 0.30, "ham": 0.02},
    "meeting": {"spam": 0.01, "ham": 0.40},
}
risk = say.text("risk", "风险")
table = [
    ("", "P(spam)", *(f"{risk}: {say.text(a, ACTIONS[a])}" for a in ACTIONS), say.text("decision", "决策"))
]
for word, likelihood in seen.items():
    posterior = bayes_rule({"spam": 0.7, "ham": 0.3}, likelihood)
    choice = decide(posterior, LOSS, reject=ASK, actions=list(ACTIONS))
    risks = (f"{number:.3f}" for number in (*choice.risks, ASK))
    told = say.text(choice.actions, ACTIONS[choice.actions])
    table.append((word, f"{float(posterior['spam']):.4f}", *risks, told))
print("\n".join(f"  {line}" for line in aligned(table)))
say(
    "\nThe second is spam with probability 97%, but deleting it is still too risky.",
    "\n第二条是垃圾短信的概率为 97%，但删除的风险仍然太大。",
)

# 2. Messages. Copies would be in training and test data: one of each is enough.
messages = datasets.load_dataset("sms")
label_of = dict(zip(messages.columns["text"], messages.y, strict=True))
texts, labels = np.array(list(label_of), dtype=object), np.array(list(label_of.values()))
order = np.random.default_rng(0).permutation(len(texts))
learn, judge = np.array_split(order, 2)
words = CountVectorizer(token_pattern=r"\w+|[£$!]")
X, X_test = words.fit_transform(texts[learn]), words.transform(texts[judge])
truth = labels[judge]
spam = (truth == "spam").mean()
say(
    f"\n2. {len(learn):,} training messages and {len(judge):,} test messages, {spam:.0%} of them spam\n",
    f"\n2. 用 {len(learn):,} 条短信训练，用 {len(judge):,} 条测试，其中 {spam:.0%} 是垃圾短信\n",
)


def outcome(actions):
    """Return what each action cost, given what the message was."""
    return np.array([ASK if a == "ask" else LOSS[a][c] for a, c in zip(actions, truth, strict=True)])


def tell(en, zh, actions):
    """Return a line of the table."""
    lost = sum(a == "delete" and c == "ham" for a, c in zip(actions, truth, strict=True))
    kept = sum(a == "keep" and c == "spam" for a, c in zip(actions, truth, strict=True))
    asked = sum(a == "ask" for a in actions)
    return (say.text(en, zh), str(lost), str(kept), str(asked), f"{outcome(actions).sum():.1f}")


def posterior_of(calibration):
    """Return P(ham), P(spam) of the test messages."""
    return MultinomialNB(alpha=0.1, calibration=calibration).fit(X, labels[learn]).predict_proba(X_test)


plain, calibrated = posterior_of(None), posterior_of("temperature")
table = [
    (
        say.text("rule", "规则"),
        *(
            say.text(*pair)
            for pair in (("lost", "误删"), ("let in", "漏网"), ("asked", "询问"), ("cost", "总代价"))
        ),
    ),
    tell("keep everything", "全部留下", ["keep"] * len(truth)),
    tell("the more probable class", "取概率较大的类", decide(plain, EQUAL).actions),
    tell("least risk", "风险最小", decide(plain, LOSS).actions),
    tell("least risk, calibrated", "风险最小，先校准", decide(calibrated, LOSS).actions),
    tell(
        "the same, or ask",
        "同上，可询问",
        decide(calibrated, LOSS, reject=ASK, actions=list(ACTIONS)).actions,
    ),
]
print("\n".join(f"  {line}" for line in aligned(table)))
say(
    "\nWith the loss, a message is deleted only if P(spam) > 20/21. Naive Bayes is overconfident (every word counts as"
    "\nindependent evidence), so this alone does not save all real messages. After calibration by leave-one-out on the"
    "\ntraining rows, it does.",
    "\n按损失矩阵，P(spam) > 20/21 才删除。朴素贝叶斯过于自信（每个词都被当作独立的证据），所以仅用损失矩阵"
    "\n还不能保住全部正常短信；用训练样本的留一法校准之后就可以。",
)


def curve(posterior):
    """Return the mean cost of unchecked messages for each share that is checked, the riskiest first."""
    chosen = decide(posterior, LOSS)
    risky_first = np.argsort(-chosen.risk, kind="stable")
    cost = outcome(chosen.actions)[risky_first]
    left = cost[::-1].cumsum()[::-1] / len(cost)
    most = int(0.1 * len(cost))
    return [(i / len(cost), float(left[i])) for i in range(0, most, 4)]


curves = {
    say.text("as naive Bayes says", "朴素贝叶斯原样"): curve(plain),
    say.text("calibrated", "校准后"): curve(calibrated),
}
top = max(cost for points in curves.values() for _, cost in points)
ticks = [(round(0.01 * k, 2), f"{0.01 * k:.2f}") for k in range(int(top / 0.01) + 2)]
title = say.text(
    "The cost of mistakes when a person checks the riskiest messages",
    "把风险最大的短信交给人看，其余的错误代价多少",
)
note = say.text(
    "A lost message costs 20, an advertisement 1.", "误删一封正常短信代价 20，放过一条广告代价 1。"
)
across = say.text("share of messages checked", "交给人看的比例")
up = say.text("cost of the others per message", "其余短信的代价（平均到每条）")
say.end(lines(title, [note], curves, across, up, shares(0.1, 0.02), ticks))
