"""Questions to a network that cannot be answered, and networks that cannot be learned."""

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
    "{file} is to hold a network: let its name end in one of {list}.": (
        "{file} 要保存网络：文件名请以下列之一结尾：{list}。"
    ),
    "{text} is no arc. Give PARENT,CHILD.": "{text} 不是一条边。请写成 PARENT,CHILD（父,子）。",
    "{text}: there is no column {name}. {hint}": "{text}：没有 {name} 这一列。{hint}",
    "--discretize {text}: {number} is no number of intervals.": "--discretize {text}：{number} 不是区间的个数。",
    "discretize is {value}; give a number of intervals of at least 2, or a mapping from column to such a "
    "number or to "
    "cut points.": "--discretize 的值 {value} 不可用：区间至少要有 2 个。",
    "{name} is to be cut into intervals, and does not hold numbers. Leave it out.": (
        "{name} 列要切分成区间，但它不是数字。请从 --discretize 中去掉。"
    ),
    "method is {value}; there are {list}.": "--method 的值 {value} 不可用，可选：{list}。",
    "score is {value}; there are {list}.": "--score 的值 {value} 不可用，可选：{list}。",
    "ess is {value}; give a number of imaginary rows above 0.": (
        "--ess 的值 {value} 不可用，应为大于 0 的虚拟样本数。"
    ),
    "ess is {value}, and score={score} does not look at it. It is for bdeu and bds.": (
        "--ess 的值 {value} 对 --score {score} 没有意义，它只用于 bdeu 和 bds。"
    ),
    "seed is {value}; give a whole number, 0 or more.": "--seed 的值 {value} 不可用，应为 0 或正整数。",
    "max_parents is {value}; give a whole number of at least 0, or None.": (
        "--max-parents 的值 {value} 不可用，应为 0 或正整数。"
    ),
    "{name} is {value}, which method={method} does not take. It is for {list}.": (
        "--method {method} 不用 {name}（现为 {value}）。它用于 {list}。"
    ),
    "{name} is {value}, which method={method} does not take. Its tree is the one of the largest likelihood. "
    "It is for "
    "{list}.": "--method {method} 的树由最大似然决定，不用 {name}（现为 {value}）。它用于 {list}。",
    "{name} is {value}, which method={method} does not take. It tests who are neighbours, not how many of them are "
    "parents; max_given= bounds its tests. It is for {list}.": (
        "--method {method} 检验的是哪些结点相邻，而不是有几个父结点，因此不用 {name}（现为 {value}）。它用于 {list}。"
    ),
    'method="k2" needs order=, the columns in an order in which parents come first.': (
        "--method k2 要求事先排好各列的次序（父在前），命令行中无法给出。请换一种方法，或在 Python 中使用。"
    ),
    'method={method} cannot keep required or forbidden arcs or tiers. Use "auto", "hill-climbing", "tabu", '
    '"order", "exact" or "pc".': (
        "--method {method} 不能遵守 --required 和 --forbidden。"
        "请用 auto、hill-climbing、tabu、order、exact 或 pc。"
    ),
    "method={method} takes discrete columns or continuous ones, not both together: an arc between the two kinds has "
    'only one direction. Use discretize= (numeric= of a classifier), or method="auto".': (
        "--method {method} 要求各列全是离散的，或全是连续的：两者之间的边只能有一个方向。"
        "请用 --discretize（分类器用 numeric=），或改用 --method auto。"
    ),
    "The search over classes of equivalent graphs takes no required or forbidden arcs and no tiers: all graphs of a "
    'class would have to keep them. Use method="auto" or "hill-climbing".': (
        "在等价类上搜索时不能用 --required 和 --forbidden。请改用 --method auto 或 hill-climbing。"
    ),
    "score={score} is for discrete columns only. Continuous ones are scored by loglik, aic or bic.": (
        "--score {score} 只用于离散的列。连续的列请用 loglik、aic 或 bic。"
    ),
    'score="bds" counts the configurations that occur, and with missing cells all are expected to, a little. Use '
    '"bdeu".': "--score bds 只计出现过的组合，而有缺失时所有组合都可能出现。请用 bdeu。",
    "{setting} holds an arc from {name} to itself.": "--{setting} 中有一条从 {name} 到它自己的边。",
    "The arc {a} → {b} is required, but {hint}. Take one away.": (
        "{a} → {b} 这条边要求有（--required），但{hint}。请去掉一个。"
    ),
    "The required arcs make a cycle: {arcs}. Take one of them away.": (
        "--required 给出的边构成环：{arcs}。请去掉其中一条。"
    ),
    "{name} is required to have {n} parents, and max_parents is {most}.": (
        "--required 使 {name} 有 {n} 个父结点，而 --max-parents 是 {most}。"
    ),
    "{name} holds whole numbers with more than {most} values. Pass --discretize '{bare}=5', or --numeric, or "
    "--categorical (a state for each value).": (
        "{name} 是整数，取值超过 {most} 个。请用 --discretize '{bare}=5' 切分，或用 --numeric 当作数值，"
        "或用 --categorical 让每个值成为一个状态。"
    ),
    "{name} has no cell that is there. Leave it out, or declare its states.": (
        "{name} 列没有任何值。请用 --drop 去掉。"
    ),
    "No cell of {name} is there, so its states are not known. Declare them, states={{name}: [...]}, or leave the "
    "column out.": "{name} 列没有任何值，不知道它有哪些状态。请用 --drop 去掉。",
    "Every row has a missing cell, and scores of different rows cannot be compared. Leave out the columns that are "
    "missing most, such as {name}.": (
        "每一行都有缺失，而不同样本上的得分无法比较。请用 --drop 去掉缺失最多的列，例如 {name}；"
        "或用 --method structural-em。"
    ),
    '{name} is continuous, and method="structural-em" learns from columns of states. Whole numbers with gaps are read '
    "as floats: pass states={{name}: [...]}, or discretize=, or make it text.": (
        "{name} 是连续的，而 --method structural-em 只学习离散的列。请用 --discretize 切分，"
        "或用 --categorical 把数字当作名称。"
    ),
    "{name} is continuous, and {format} has only discrete nodes. Write the native format, .json.": (
        "{name} 是连续的，而 {format} 只能有离散的结点。请写成 .json。"
    ),
    "{name} is continuous, and XDSL files here have only discrete nodes. Write the native format, .json.": (
        "{name} 是连续的，而这里的 XDSL 只能有离散的结点。请写成 .json。"
    ),
    "{file} does not say in which format to write. End it in {list}.": (
        "从 {file} 看不出要写成什么格式。文件名请以下列之一结尾：{list}。"
    ),
    "There is no format {name}. There are {list}.": "没有格式 {name}。可选：{list}。",
    "{format} is only read, not written. Formats to write are {list}.": (
        "{format} 只能读，不能写。可写的格式有 {list}。"
    ),
    "{format} cannot hold a Markov network. Write {list} instead.": (
        "{format} 不能表示马尔可夫网。请写成 {list}。"
    ),
    "The {kind} {a} and {b} are written the same way, so a file could not tell them apart. Rename one of them.": (
        "{a} 与 {b}（{kind}）写出来相同，文件中无法区分。请给其中一个改名。"
    ),
    "The discrete parents of {name} have {cells} configurations ({sizes} states in {classes} classes); 2**63 - 1 can "
    "be numbered. Take fewer parents, or join rare states.": (
        "{name} 的离散父结点共有 {cells} 种组合（{classes} 个类别，取值数 {sizes}），而最多只能编号 2**63 - 1 种。"
        "请减少父结点，或合并少见的取值。"
    ),
    "class_prior is given, and in this graph the class has the parents {list}: there is no P(c) to put it in the place "
    "of. Leave class_prior out, or turn these arcs round.": (
        "给定了 class_prior，但图中类别有父结点 {list}，没有可以由它代替的 P(c)。请去掉 class_prior，或把这些边反向。"
    ),
}
