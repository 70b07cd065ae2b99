"""Warnings: what was understood, and answers that should be looked at."""

MESSAGES = {
    "Numbers of {file} are written {hint} ({list}).": "{file} 中有些数字{hint}（{list}）。",
    "Column {place} of {file} has no name; it is called {name}. If it numbers the rows, pass --drop {name}.": (
        "{file} 的第 {place} 列没有列名，称作 {name}。如果它只是行号，请加 --drop {name}。"
    ),
    "The first line of {file} is taken as the names of the columns, yet {name} is a number. If the file has "
    "no header, "
    "write one above its first row.": (
        "{file} 的第一行当作列名，但其中 {name} 是数字。如果文件没有列名，请在第一行之上加一行。"
    ),
    "{file} is not UTF-8: it is read as {encoding}. Pass --encoding ... if that is wrong.": (
        "{file} 不是 UTF-8，按 {encoding} 读取。如果不对，请用 --encoding ... 指明。"
    ),
    "The lines of {file} end in different ways (CR LF, LF, CR): all are read as line ends.": (
        "{file} 的换行方式不一致（CR LF、LF、CR），一律当作换行。"
    ),
    "{file} was written by pyAgrum, which lets the first variable of a table vary fastest where {format} lets the "
    "last: it was read in pyAgrum's order. If its numbers have been put right since, take the comments out of it.": (
        "{file} 由 pyAgrum 写出：概率表中第一个变量变化最快，而 {format} 规定最后一个变化最快。"
        "已按 pyAgrum 的次序读取。如果其中的数后来已改正，请去掉文件中的注释。"
    ),
    "Column {name} looks like an identifier: it holds {hint}. Leave it out with --drop {name}.": (
        "{name} 列像是编号：{hint}。可用 --drop {name} 去掉。"
    ),
    "{name} was never {value} when the model learned. {hint}": "模型学习时，{name} 从未取过 {value}。{hint}",
    "{n} row{_are} impossible under every class (a probability of zero in each); the class prior was given. "
    "Smoothing "
    "(alpha above 0) avoids this.": (
        "有 {n} 个样本在每一类下的概率都是零，因此给出的是类先验概率。平滑（alpha 大于 0）可避免这种情况。"
    ),
    "{k} of {n} rows have probability zero and were answered with the prior of {name}: {list} (the first row is 0). "
    'impossible="error" raises instead.': (
        "{n} 个样本中有 {k} 个概率为零，给出的是 {name} 的先验概率：{list}（从 0 数起）。"
    ),
    'With numeric="gaussian" a numeric attribute is nobody\'s parent, and there is no other: this {model} is naive '
    'Bayes. Use numeric="mdl" to cut the attributes into intervals.': (
        '设了 numeric="gaussian"，数值属性不能作父结点，又没有别的属性：这个 {model} 就是朴素贝叶斯。'
        '用 numeric="mdl" 可把属性切成区间。'
    ),
    "The time limit passed: this is the best network found so far.": "时间已到：这是目前找到的最好的网络。",
    "The search was interrupted: this is the best network found so far.": "搜索被中断：这是目前找到的最好的网络。",
    "Structural EM was interrupted: this is the best network found so far.": (
        "结构 EM 被中断：这是目前找到的最好的网络。"
    ),
    "Exact answers about a better graph would take more memory than set_max_memory allows: this is the best network "
    "found so far.": "再好的网络要精确求解，内存会超出上限：这是目前找到的最好的网络。",
    'The arcs are found, but EM was still changing the tables after {n} steps. Go on with fit(..., method="em", '
    "warm_start=True).": '边已找到，但 {n} 步之后 EM 仍在改变概率表。可在 Python 中继续：fit(..., method="em", '
    "warm_start=True)。",
    "{name} holds whole numbers and gaps, and is read as continuous, as data frames read such a file. Pass "
    "states={{name}: [...]} to make states of them, or states={{name}: float} to say so.": (
        "{name} 列是带缺失的整数，按连续数值读取。要当作状态，请用 --categorical {name}。"
    ),
    "The shares of the unlabelled rows were still moving after {n} steps (see history_). The model is that "
    "of the best "
    "step; a smaller unlabelled_weight often settles sooner.": (
        "{n} 步之后，无标记样本的归属仍在变化。所得是最好的一步的模型；减小 unlabelled_weight 往往收敛更快。"
    ),
    "--param semi_supervised=true, and no row (of any weight) is without a label. None and NaN are missing labels, "
    "−1 is where "
    "all labels are whole numbers; name another value with missing_label=.": (
        "用了 --param semi_supervised=true，但没有一个样本缺类别。空值表示缺类别；类别全是整数时 −1 也是；"
        "其他写法请用 --param missing_label=… 指明。"
    ),
    "The network is drawn without bars (bars=False draws it so without a word). {hint}": (
        "图中没有画概率条。{hint}"
    ),
    "Component{_s} {k} collapsed: without rows, or without spread in some direction, {_its} likelihood has "
    "no bound, and "
    "only what is added to variances keeps it finite.{hint} Ask for fewer components, a simpler covariance_type, a "
    "larger reg_covar or more starts (n_init), or leave out columns that are constant or determined by others.": (
        "分量 {k} 已塌缩：没有样本，或在某个方向上没有展布，似然无界，仅靠加在方差上的数才有限。{hint}"
        "请减少分量，用更简单的 covariance_type、更大的 reg_covar 或更多的起点（n_init），"
        "或去掉常数列和由其他列决定的列。"
    ),
}
