"""Parameters of models with a value that means nothing."""

MESSAGES = {
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
