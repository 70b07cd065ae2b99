"""Columns that are missing, of the wrong kind, or hold what cannot be used."""

MESSAGES = {
    "Column {name} has dtype {dtype}, which is neither number nor category.": (
        "{name} 列的类型 {dtype} 既不是数值，也不是类别。"
    ),
    "Column {name} holds a number at row {row} that is too large for a float. Replace it or make it missing (NaN).": (
        "{name} 列第 {row} 行的数超出浮点数的范围。请更正它，或视为缺失（NaN）。"
    ),
    "Negative values in data passed to the block {_block}: {value} in column {column} of row {row}. Totals are of "
    "counts or weights: shift or clip the column, or declare it numeric (a Gaussian).": (
        "计数不能为负：{column} 列第 {row} 行是 {value}。请平移或截断该列，或改用高斯模型。"
    ),
    "The block {_block} has {value} in column {column} of row {row}. Fill it, drop the row, or declare the column "
    "numeric, where NaN means missing.": (
        "{column} 列第 {row} 行是 {value}。请填补它、去掉这一行，或把该列作为数值列（NaN 表示缺失）。"
    ),
    "{file} has no column {name}. {hint}": "{file} 没有 {name} 这一列。{hint}",
    "{file} has no column beside {name}. Check --sep.": "{file} 除 {name} 外没有别的列。请检查 --sep。",
    "{file} has no column of numbers to cut. Name one with --numeric COL.": (
        "{file} 没有可切分的数值列。请用 --numeric COL 指明。"
    ),
    "{file} has no column that is a node of the network. Check the names.": (
        "{file} 没有一列是网络中的结点。请检查列名。"
    ),
    "No column of {file} is left. Take back a --drop.": "{file} 的列已全部去掉。请少用一个 --drop。",
    "No column is left to learn from: {list}. Name with --keep what should be used.": (
        "没有可供学习的列：{list}。要使用哪一列，请用 --keep 指明。"
    ),
    "No attribute is left beside the target. Check columns= and exclude=.": (
        "除预测目标外没有别的列。请检查 --drop 和 --sep。"
    ),
    "Column {name} of {file} has {hint}: there is nothing to tell apart. Choose another --target.": (
        "{file} 的 {name} 列{hint}，无从区分。请另选 --target。"
    ),
    "Column {name} of {file} holds dates. Choose another --target.": (
        "{file} 的 {name} 列是日期。请另选 --target。"
    ),
    "Column {name} of {file} has {k} different values in {n} rows: it is measured, or names the row, and "
    "these models "
    "predict classes. Choose another --target, or put it into classes first.": (
        "{file} 的 {name} 列在 {n} 行中有 {k} 个不同的值：它是测量值或样本编号，而这些模型预测的是类别。"
        "请另选 --target，或先把它分成几类。"
    ),
    "Every row of {file} has another value of {name}. Choose another --target, or give more rows.": (
        "{file} 每一行的 {name} 都不相同。请另选 --target，或提供更多样本。"
    ),
    "{file} has no row with a value of {name}. Give rows whose class is known.": (
        "{file} 中没有一行有 {name} 的取值。请提供类别已知的样本。"
    ),
    "{name} holds numbers in one of the two tables and words in the other.": (
        "{name} 在一张表中是数字，在另一张表中是文字。"
    ),
    "{name} is given with --drop and with --keep. Take one of them back.": (
        "{name} 同时用在 --drop 和 --keep 中。请去掉一个。"
    ),
    "{name} is the --target: it cannot be dropped. Leave it out of --drop.": (
        "{name} 是 --target，不能去掉。请不要用 --drop 去掉它。"
    ),
    "Column {name} of {file} is to hold numbers, and holds {word}. If that means missing, say --missing "
    "{word}; if it "
    "is a name, leave --numeric out.": (
        "{file} 的 {name} 列应是数字，却有 {word}。如果它表示缺失，请加 --missing {word}；"
        "如果它是名称，请去掉 --numeric。"
    ),
    "Column {name} holds {value} in row {row}. Replace infinite values, or make them NaN, which means "
    "missing.": "{name} 列第 {row} 行是 {value}。请改掉无穷大，或使其缺失（NaN）。",
    "Column {name} holds {value} in row {row}: squares of numbers beyond {most} cannot be summed. Correct it, make it "
    "missing, or divide the column by a constant.": (
        "{name} 列第 {row} 行是 {value}：超过 {most} 的数，其平方无法求和。请更正它，使其缺失，或将该列除以一个常数。"
    ),
    "Column {name} of {file} holds an infinite number in row {row}. Replace it, or make it missing: NaN, or in a "
    "file a text that is named by --missing.": (
        "{file} 的 {name} 列第 {row} 行是无穷大。请改掉，或使其缺失（NaN，文件中可用 --missing 指明表示缺失的文字）。"
    ),
    "Column {name} holds infinity at row {row}. Replace it or make it missing (NaN).": (
        "{name} 列第 {row} 行是无穷大。请改掉，或使其缺失（NaN）。"
    ),
    "Column {name} holds dates or times. Leave it out with --drop {name}, or pass what matters of it "
    "(month, weekday, "
    "days since) as a column of its own.": (
        "{name} 列是日期或时间。请用 --drop {name} 去掉，或把有用的部分（月份、星期、天数）另作一列。"
    ),
    "The columns are not those learned ({list}). Rename them, or leave out extra ones.": (
        "列与模型学习时的不同（{list}）。请改名，或去掉多余的列。"
    ),
    "X has {n} features, but {who} is expecting {width} features as input.": (
        "表中有 {n} 列，而 {who} 学习时有 {width} 列。"
    ),
    "Input y contains NaN: the class of row {row} is missing; leave rows without one out, or let a classifier learn "
    "from them too with --param semi_supervised=true.": (
        "第 {row} 行（从 0 数起）没有类别。请去掉这样的行，或用 --param semi_supervised=true 让模型也从中学习。"
    ),
    "Input y contains NaN or infinity. Every row to be learned needs its class: leave rows without one out, or let a "
    "classifier learn from them too with --param semi_supervised=true.": (
        "有些行没有类别，或类别是无穷大。请去掉这样的行，或用 --param semi_supervised=true 让模型也从中学习。"
    ),
    "Unknown label type: continuous. y holds fractions; a classifier needs class labels (bin the values "
    "first, or use "
    "a regressor).": (
        "预测目标是小数，而分类器预测的是类别。请先把它分成几类（bayeskit discretize），或改用回归模型。"
    ),
    "Row {row}: {name} has no state {value} (it has {list}). Pass --param unseen=ignore to leave such values out.": (
        "第 {row} 行：{name} 没有取值 {value}（它的取值有 {list}）。加上 --param unseen=ignore 可忽略这样的值。"
    ),
    "{name} has no state {value} (it has {list}).": "{name} 没有取值 {value}（它的取值有 {list}）。",
    "{value} is not one of the classes {list}.": "{value} 不是已知的类别（{list}）。",
    "Every cell is missing: there is nothing to learn from.": "所有单元格都缺失，无从学习。",
}
