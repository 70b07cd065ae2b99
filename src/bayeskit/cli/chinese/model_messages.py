"""Models: what they cannot do, rows that do not fit, parameters that cannot be, models that cannot be merged."""

MESSAGES = {
    "There is no model {name}. {hint}": "没有模型 {name}。{hint}",
    "--models: there is no model {name}. {hint}": "--models：没有模型 {name}。{hint}",
    "--models names no model. There are {list}.": "--models 没有给出模型。可选：{list}。",
    "{model} has no parameter {name}. {hint}": "{model} 没有参数 {name}。{hint}",
    "--param {text} is not NAME=VALUE, such as --param k=3.": (
        "--param {text} 不是“名称=值”的形式，例如 --param k=3。"
    ),
    "The parameter {name} is given twice. Give it once.": "参数 {name} 给了两次。请只给一次。",
    "{file} is a network, not a model saved by 'bayeskit fit'. Ask it with 'bayeskit network query'.": (
        "{file} 是网络，不是 'bayeskit fit' 保存的模型。请用 'bayeskit network query' 查询。"
    ),
    "{file} holds a {model}, which predicts no class. Use it from Python.": (
        "{file} 中是 {model}，它不预测类别。请在 Python 中使用。"
    ),
    "{file} is a network: say which node to predict with --target NODE.": (
        "{file} 是网络：请用 --target NODE 指明要预测哪个结点。"
    ),
    "{file} predicts {name}. Leave --target out.": "{file} 预测的是 {name}。请去掉 --target。",
    "{file} is the name of a network's file, and this is a model. Write it to {model}; then 'bayeskit "
    "network convert "
    "{bare} {path}' writes its network.": (
        "{file} 是网络文件的名字，而这里保存的是模型。请写到 {model}，"
        "再用 'bayeskit network convert {bare} {path}' 写出其中的网络。"
    ),
    "This model was learned from columns without names, so none can be set by name.": (
        "这个模型学习时各列没有名称，因此不能按名称给值。"
    ),
    "Give a row of a table (DATA --row 17), or one by hand (--set COL=VALUE ...).": (
        "请给出表中的一行（DATA --row 17），或直接给出各列的值（--set COL=VALUE ...）。"
    ),
    "{option} {text} is not NAME=VALUE.": "{option} {text} 不是“名称=值”的形式。",
    "{option}: there is no {name}. {hint}": "{option}：没有 {name}。{hint}",
    "{option}: {name} is a number, and {text} is none.": "{option}：{name} 应为数字，而 {text} 不是。",
    "--set {text}: a row has values. Use {name}=VALUE.": "--set {text}：一行只有确定的值。请写 {name}=VALUE。",
    "--cost {text} is not COL=NUMBER.": "--cost {text} 不是“列名=数字”的形式。",
    "The cost of asking for {name} is {value}; give a finite number.": (
        "询问 {name} 的代价是 {value}；请给一个有限的数。"
    ),
    "--cost is what a question costs. Add --ask, or leave it out.": (
        "--cost 是询问的代价。请加上 --ask，或去掉它。"
    ),
    "--ask weighs answers by --loss alone. Leave --reject out.": "--ask 只按 --loss 衡量。请去掉 --reject。",
    "--spreadsheet guards the cells of CSV, and this is JSON. Leave it out.": (
        "--spreadsheet 只用于 CSV，而这里输出的是 JSON。请去掉该选项。"
    ),
    "--ask is written as text, html or json. Choose one of these for --format.": (
        "--ask 的结果可写成 text、html 或 json。请在 --format 中选一个。"
    ),
    "--loss says what knowing saves. Add --ask, or leave it out.": (
        "--loss 用来衡量得知答案能省下多少。请加上 --ask，或去掉它。"
    ),
    'With missing="state" a missing value is itself an answer, so there is nothing to ask for. Fit the model with '
    'missing="ignore".': (
        '模型用了 missing="state"，缺失本身就是一种答案，没有什么可问。请用 missing="ignore" 重新学习。'
    ),
    "{who} scores classes without a distribution of rows, and {what} needs one. Use NaiveBayes, TAN, KDB or AODE.": (
        "{who} 只给类别打分，没有样本的分布，而 {what} 需要它。请用 NaiveBayes、TAN、KDB 或 AODE。"
    ),
    "One model alone cannot be merged. Give two or more, then -o FILE.": (
        "只有一个模型，无法合并。请给出两个以上，再加 -o FILE。"
    ),
    "A {model} cannot take in a {other}.": "{model} 与 {other} 不能合并。",
    "The two models were made with different {name}: {a} and {b}.": "两个模型的 {name} 不同：{a} 与 {b}。",
    "The two models were learned from different columns: {list_a} and {list_b}.": (
        "两个模型学习时所用的列不同：{list_a} 与 {list_b}。"
    ),
    "The two models hold different {key}, chosen from different rows: {a} and {b}. Fit one, and let the "
    "other take over "
    "what it holds (cut_points=, structure=, …), or learn from the rows of both.": (
        "两个模型由不同的样本选定了不同的 {key}：{a} 与 {b}。请先学习一个，再让另一个沿用它的选择"
        "（cut_points=、structure= 等），或用两边的样本一起学习。"
    ),
    "{name} is cut at {a} here and at {b} there.": "两边对 {name} 的分割点不同：{a} 与 {b}。",
    "{name} is {a} here and {b} there": "{name} 的类型两边不同：{a} 与 {b}。",
    "The two have different columns and cannot be added.": "两者的列不同，不能相加。",
    "These rows were never counted: some cell would hold {n}. Forget only rows that were learned, with the "
    "weights they "
    "were learned with.": (
        "这些样本没有学习过：某个计数会变成 {n}。只能遗忘学习过的样本，权重也要与当时相同。"
    ),
    "Nothing is left of what was learned: every row was forgotten. Learn some rows first.": (
        "学到的内容已全部遗忘。请先学习一些样本。"
    ),
    "The names and states of this {kind} take {n} MB as text, and a file holds {most} MB of it at most. Leave out "
    "columns that number the rows.": (
        "其中的名称和取值（{kind}）写成文字有 {n} MB，而一个文件最多容纳 {most} MB。请去掉给样本编号的列。"
    ),
    "There is no table {name}. {hint} All are: {list}.": "没有数据 {name}。{hint}全部：{list}。",
    "There is no page {name}. {hint}": "没有 {name} 这一页。{hint}",
    "Which page? Name one: {list}.": "要哪一页？请指明：{list}。",
    "--latex and --json are two forms of one page. Give one of them.": (
        "--latex 和 --json 是同一页的两种写法。请只用一个。"
    ),
    "--check prints no page, so --hide and --latex mean nothing with it. Leave them out.": (
        "--check 不打印页面，--hide 和 --latex 对它没有意义。请去掉。"
    ),
    "--prior sums to {total}, not to 1. Correct it, or divide each number by the sum.": (
        "--prior 之和是 {total}，不是 1。请改正，或把每个数除以总和。"
    ),
    "P(x) is 0: no class can produce what was observed, so there is no posterior.": (
        "P(x) 为 0：没有一个类别能产生所观测到的结果，因此没有后验概率。"
    ),
    "{option} has no {name}. {hint} Name the same classes twice.": (
        "{option} 中没有 {name}。{hint}两个选项中的类别应相同。"
    ),
    "{option}: {part} is not CLASS=NUMBER, such as spam=0.7.": (
        "{option}：{part} 不是“类别=数字”的形式，例如 spam=0.7。"
    ),
    "{option} names {name} twice. Name each class once.": "{option} 中 {name} 出现了两次。每个类别只写一次。",
    "{option}: {name} has {number}, and no probability is negative.": (
        "{option}：{name} 是 {number}，而概率不能为负。"
    ),
    "{option}: {number} is no number. Write 0.7 or 7/10.": "{option}：{number} 不是数字。请写成 0.7 或 7/10。",
    "--method mdl cuts where the class changes: say which column that is, --target COL.": (
        "--method mdl 在类别变化处切分：请用 --target COL 指明类别是哪一列。"
    ),
    "{name} is {value}; choose from {list}.": "{name} 的值 {value} 不可用，可选：{list}。",
    "{name} is {value}; choose from None, {list}.": "{name} 的值 {value} 不可用，可选：null、{list}。",
    "{name} is {value}; it may be {list}.": "{name} 的值 {value} 不可用，可选：{list}。",
    "{name} is {value}; it may be True or False.": "{name} 的值 {value} 不可用，应为 true 或 false。",
    "{name} is {value}; it is True or False.": "{name} 的值 {value} 不可用，应为 true 或 false。",
    "{name} is {value}; use one of {list}.": "{name} 的值 {value} 不可用，可选：{list}。",
    "{name} is {value}; it must be a finite number of at least 0.": (
        "{name} 的值 {value} 不可用，应为有限的数，且不小于 0。"
    ),
    "{name} is {value}; it must be a finite number from {least} to {largest}.": (
        "{name} 的值 {value} 不可用，应为 {least} 到 {largest} 之间的有限的数。"
    ),
    "{name} is {value}; it must be a finite number above 0.": "{name} 的值 {value} 不可用，应为大于 0 的有限的数。",
    "{name} is {value}; it must be a number of {of}, 0 or more.": (
        "{name} 的值 {value} 不可用，应为 0 或正数（{of}）。"
    ),
    "{name} is {value}; it must be a whole number from 0 to 64.": (
        "{name} 的值 {value} 不可用，应为 0 到 64 的整数。"
    ),
    "{name} is {value}; give a whole number, {least} or more.": (
        "{name} 的值 {value} 不可用，应为整数，且不小于 {least}。"
    ),
    "{name} is {value}; give a number, 0 or more{hint}.": "{name} 的值 {value} 不可用，应为 0 或正数{hint}。",
    "n is {value}; choose 0 (naive Bayes), 1 (AODE) or 2 (A2DE).": (
        "n 的值 {value} 不可用，可选：0（朴素贝叶斯）、1（AODE）、2（A2DE）。"
    ),
    "--bins is {value}; a whole number of intervals, at least 1, is needed.": (
        "--bins 的值 {value} 不可用，区间个数应为整数，至少 1。"
    ),
    "members is {value}; give some of {list}.": "members 的值 {value} 不可用，可选：{list}。",
    "members is {value}; give each of {list} at most once.": (
        "members 的值 {value} 不可用：{list} 每个最多一次。"
    ),
    "n_jobs is {value}; use a number of threads, or −1 for all.": (
        "n_jobs 的值 {value} 不可用，应为线程数，或 −1（全部）。"
    ),
    "There is no prior named {name}. Choose from {list}.": "没有名为 {name} 的先验。可选：{list}。",
    "{value} is not a prior. Use one of bayeskit.priors, a name, or a number for Lidstone.": (
        "{value} 不是先验。请给名称，或给一个数（Lidstone）。"
    ),
    "BackOff and WittenBell back off from an attribute's parents, and here it has none but the class. Use "
    "them with TAN, "
    "KDB, SPODE or AODE, or take MEstimate(...).": (
        "BackOff 和 WittenBell 要由属性的父结点回退，而这里除类别外没有父结点。"
        "请用于 TAN、KDB、SPODE 或 AODE，或改用 MEstimate(...)。"
    ),
    "Give smoothing= or alpha=, not both: alpha is short for smoothing=Lidstone(alpha).": (
        "smoothing= 和 alpha= 只给一个：alpha 是 smoothing=Lidstone(alpha) 的简写。"
    ),
    "Give super_parent= or structure=, not both.": "super_parent= 和 structure= 只给一个。",
    'class_prior is {value}; use numbers, {label: number} or "uniform".': (
        'class_prior 的值 {value} 不可用，应为一组数、{类别: 数} 或 "uniform"。'
    ),
    "class_prior names the classes {names}, but the classes are {list}.": (
        "class_prior 中的类别是 {names}，而实际的类别是 {list}。"
    ),
    "The sum of the priors should be 1; it is {total}. Divide them by their sum.": (
        "先验之和应为 1，现为 {total}。请各除以总和。"
    ),
    "Number of priors must match number of classes: {n} priors for {k} classes ({list}).": (
        "先验的个数应与类别数相同：{n} 个先验，{k} 个类别（{list}）。"
    ),
    'class_weight is {value}; use None, "balanced" or {label: weight}.': (
        'class_weight 的值 {value} 不可用，应为 null、"balanced" 或 {类别: 权重}。'
    ),
    "class_weight names {name}, which is no class (they are {list}).": (
        "class_weight 中的 {name} 不是类别（类别有 {list}）。"
    ),
    "{setting} is {name}, which is no discrete attribute. {hint}": "{setting} 的值 {name} 不是离散属性。{hint}",
    'families is {value}; use "auto" or a mapping from attribute to family.': (
        'families 的值 {value} 不可用，应为 "auto"，或从属性到分布族的映射。'
    ),
    "smoothing names {name}, which is no attribute. There are {list}, and the kinds 'categorical' and 'numeric'.": (
        "smoothing 中的 {name} 不是属性。属性有 {list}，另有 'categorical' 和 'numeric' 两类。"
    ),
    "weights names {name}, which is no attribute. There are {list}.": "weights 中的 {name} 不是属性。属性有 {list}。",
    "{setting} names {name}, which is {kind}: only numbers can be cut into intervals.": (
        "{setting} 中的 {name} 是 {kind}，只有数字才能切分成区间。"
    ),
    "{setting} is {value}; give a number of intervals of at least 2.": (
        "{setting} 的值 {value} 不可用：区间至少要有 2 个。"
    ),
    'method={method} has its own arcs and cannot keep {known}. Use "auto" or "hill-climbing".': (
        "method={method} 的边是固定的，不能遵守 {known}。请用 auto 或 hill-climbing。"
    ),
    "class_prior is given, and in this graph the class has the parents {list}: there is no P(c) to put it in the "
    "place of. Leave class_prior out, or turn these arcs round.": (
        "给定了 class_prior，而在这个图中类别有父结点 {list}，没有可以代替的 P(c)。"
        "请去掉 class_prior，或把这些边反过来。"
    ),
    "Every row has weight 0, so there is no row to learn a network from.": (
        "每一行的权重都是 0，没有可以用来学习网络的样本。"
    ),
    "{setting} names {name}, which is no column. The columns are {list}.": (
        "{setting} 中的 {name} 不是列名。各列是 {list}。"
    ),
    "categorical_features names {name}, which is no column. The columns are {list}.": (
        "categorical_features 中的 {name} 不是列名。各列是 {list}。"
    ),
    "{name} is {value} in row {row} (from 0), which is no count: a value of {family} lies between 0 and 2**53. "
    "Choose another family for it.": (
        "{name} 在第 {row} 行（从 0 数起）的值是 {value}，不是计数："
        "{family} 的取值在 0 与 2**53 之间。请为它另选分布族。"
    ),
    "{name} has a mean below 0 or above 2**53 in some class, so it does not hold counts. Choose another "
    "family for it.": ("{name} 在某一类中的均值小于 0 或大于 2**53，不是计数。请为它另选分布族。"),
    "Counting all pairs of {d} attributes with {states} states together in {k} classes takes {size} GiB, "
    "and {most} GiB "
    "are allowed. Leave attributes out, join rare states, treat numbers as numbers (--param "
    "numeric=gaussian), or use "
    "a model without pairs.": (
        "{d} 个属性共 {states} 个取值，在 {k} 个类别中两两计数需要 {size} GiB，而上限是 {most} GiB。"
        "请去掉一些属性，合并少见的取值，把数字当作数值（--param numeric=gaussian），或改用不计成对取值的模型。"
    ),
    "An average over {d} attributes with {states} states together in {k} classes takes {size} GiB, and "
    "{most} GiB are "
    "allowed. Leave attributes out, join rare states, treat numbers as numbers (--param numeric=gaussian), or use "
    "NaiveBayes or WeightedNB.": (
        "对 {d} 个属性、共 {states} 个取值、{k} 个类别求平均需要 {size} GiB，而上限是 {most} GiB。"
        "请去掉一些属性，合并少见的取值，把数字当作数值（--param numeric=gaussian），或改用 NaiveBayes 或 "
        "WeightedNB。"
    ),
}
