"""Questions to a network that cannot be answered."""

MESSAGES = {
    "There is no node {name}. {hint}": "没有结点 {name}。{hint}",
    "There is no node {name} ({where}). {hint}": "没有结点 {name}（{where}）。{hint}",
    "{file} has no node {name}. {hint}": "{file} 没有结点 {name}。{hint}",
    "{file} holds a {model}, which is no one network. Use TAN or NB.": (
        "{file} 中是 {model}，它不是单个的网络。请用 TAN 或 NB。"
    ),
    "{file} is a Markov network: it has no arrows to follow. Give a Bayesian network.": (
        "{file} 是马尔可夫网，没有方向可循。请给贝叶斯网。"
    ),
    "{file} is a Markov network, which is not drawn. Leave --svg out.": (
        "{file} 是马尔可夫网，不能画图。请去掉 --svg。"
    ),
    "--given {text}: {name} is a number, and no number is excluded. Use =.": (
        "--given {text}：{name} 是数值，不能排除某个数。请用 =。"
    ),
    "--given names {name} twice. Give it once.": "--given 中 {name} 出现了两次。请只给一次。",
    "--given changes the bars of a picture: say where to draw it, --svg FILE.": (
        "--given 改变的是图中的概率条：请用 --svg FILE 指明画到哪里。"
    ),
    "--joint: name the nodes to ask for together.": "--joint：请列出要一起查询的结点。",
    "The network gives probability zero to {list}. Take one of these away, or give the tables that forbid it a small "
    "probability.": ("按这个网络，{list} 的概率为零。请去掉其中之一，或在概率表中给它一个很小的概率。"),
    "{name} is in the evidence: nothing is left to learn of it. Take it out of one.": (
        "{name} 已在证据中，没有什么可问。请去掉一处。"
    ),
    "{name} is the target and in the evidence. Take it out of one.": (
        "{name} 既是所问，又在证据中。请去掉一处。"
    ),
    "{name} was asked for twice. Name each node once.": "{name} 问了两次。每个结点只写一次。",
    "{name} is in a and in b. A node is not compared with itself: take it out of one.": (
        "A 与 B 都是 {name}。结点不与自己相比：请改掉一个。"
    ),
    "{name} is in given too. What is observed is independent of everything: take it out of one.": (
        "{name} 也在 --given 中。已观测的结点与其他结点都独立：请去掉一处。"
    ),
    "{name} excludes every state of {node}, which nothing can satisfy. Leave one out.": (
        "{name} 排除了 {node} 的全部状态，不可能成立。请留下一个。"
    ),
    "{name} is continuous: {value} cannot be told of it. Observe a number.": (
        "{name} 是连续的，不能观测为 {value}。请给一个数。"
    ),
    "The evidence on {name} is {value}. Observe a finite number.": (
        "{name} 的证据是 {value}。请给一个有限的数。"
    ),
    "{hint} Likelihoods of its states go into soft=.": "{hint}各状态的似然只能在 Python 中用 soft= 给出。",
    "The targets {list} must be all discrete or all continuous. Ask for the continuous ones once for each "
    "state of the "
    "discrete ones, with those states as evidence.": (
        "所问的 {list} 应全是离散的，或全是连续的。请以离散结点的各个状态为证据，分别查询连续的结点。"
    ),
    "{name} is continuous; explain shows tables of states. Ask 'bayeskit network query'.": (
        "{name} 是连续的，而 explain 列出的是状态的表。请用 'bayeskit network query'。"
    ),
    "{name} is continuous and not observed, and explain shows sums, not integrals. Observe it, or ask "
    "'bayeskit network query' for "
    "the numbers alone.": (
        "{name} 是连续的且未观测，而 explain 只列求和，不列积分。请观测它，或用 'bayeskit network query' 只求结果。"
    ),
    "{name} is continuous and has no states to predict. Ask posteriors for its distribution.": (
        "{name} 是连续的，没有可预测的状态。请用 'bayeskit network query' 求它的分布。"
    ),
    "{name} is continuous: it has no states to go through. Take it out of candidates.": (
        "{name} 是连续的，没有可逐一考虑的状态。"
    ),
    "{name} has no table yet. Call set_cpt({name}, ...) or fit.": "{name} 还没有概率表。",
    "This answer sums over {n} variables in tables of {cells} cells together (the largest has {largest}), and "
    "max_cells={most} is what a page shows. Ask 'bayeskit network query' for the numbers alone, observe "
    "more nodes, or raise "
    "max_cells=.": (
        "这个答案要对 {n} 个变量求和，各表共 {cells} 格（最大的有 {largest} 格），而一页只列 {most} 格。"
        "请用 'bayeskit network query' 只求结果，或多观测几个结点。"
    ),
    "{name} would have a table of {cells} cells, and no page shows so many. Observe more of its parents, or ask "
    "'bayeskit network query' for the numbers alone.": (
        "{name} 的表会有 {cells} 格，一页列不下。请多观测几个父结点，或用 'bayeskit network query' 只求结果。"
    ),
    "This needs about {needed}, and max_memory allows {most}. The largest table is over {list} ({cells} "
    "cells). {hint}": (
        "这大约需要 {needed} 内存，而上限是 {most}。最大的表涉及 {list}（{cells} 格）。{hint}"
    ),
    "{n} rows of {nodes} nodes need {size} bytes, which are not to be had. Draw fewer at a time; one "
    "generator passed as "
    "seed= goes on where it stopped.": "{n} 行、{nodes} 个结点需要 {size} 字节内存，无法得到。请一次少抽一些。",
    "{n} nodes were asked for together; a table has at most {most} axes. Ask for fewer.": (
        "一起查询了 {n} 个结点，而一张表最多 {most} 维。请少问几个。"
    ),
}
