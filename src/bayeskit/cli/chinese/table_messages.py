"""Tables that cannot be read, rows that are not there, columns that cannot be used."""

MESSAGES = {
    "The first line of {file} is {line}, a word to Excel alone. Remove that line.": (
        "{file} 的首行是 {line}，只有 Excel 认得。请删去这一行。"
    ),
    "{file} cannot be read as {hint_form}: CSV Error on Line: {line} | Original Line: {text} | Expected Number of "
    "Columns: {n} Found: {m}. Mend the file there{hint}": (
        "{file} 无法读作{hint_form}：第 {line} 行（{text}）应有 {n} 列，却有 {m} 列。请修正该处{hint}"
    ),
    "{file} is empty. Give a file with a line of names and at least one row.": (
        "{file} 是空文件。文件应有一行列名和至少一行数据。"
    ),
    "{file} has the names of columns and no rows. Give a file with at least one row.": (
        "{file} 只有列名，没有数据。文件至少要有一行数据。"
    ),
    "{file} is a zip archive or an Excel workbook. Save the sheet as CSV and give that.": (
        "{file} 是 zip 压缩包或 Excel 工作簿。请把工作表另存为 CSV。"
    ),
    "{file} is not Parquet: it begins with {head}. If it is text, name it .csv.": (
        "{file} 不是 Parquet 文件：开头是 {head}。如果是文本，请改名为 .csv。"
    ),
    "--encoding and --sep are for text, and {file} is Parquet: leave them out.": (
        "--encoding 和 --sep 只用于文本，而 {file} 是 Parquet 文件：请去掉这两个选项。"
    ),
    "--sep {value} must be one character, such as {list}.": "--sep 的值 {value} 应为一个字符，例如 {list}。",
    "--encoding {value} is not a text encoding. Use the name of a Python codec, such as {list}, or None to "
    "find it.": (
        "--encoding 的值 {value} 不是文本编码。请用 Python 编解码器的名称，例如 {list}；不写则自动识别。"
    ),
    "The encoding of {file} is not known: {hint_a}; {hint_b}. Name the encoding it has, such as --encoding cp1252 or "
    "--encoding big5.": (
        "无法识别 {file} 的编码：{hint_a}，{hint_b}。请指明编码，例如 --encoding cp1252 或 --encoding big5。"
    ),
    "{file} is not {encoding}: {hint}. Name the encoding it has (--encoding ...), leave it out to have it found, "
    "or mend the file.": (
        "{file} 不是 {encoding} 编码：{hint}。请指明实际的编码（--encoding ...），或不写以自动识别，或修正文件。"
    ),
    "{file} is not text: it has a zero byte at offset {at} (a spreadsheet or a program, perhaps). If it is UTF-16 "
    'without a mark, pass --encoding utf-16-le or "utf-16-be".': (
        "{file} 不是文本：偏移 {at} 处有零字节（也许是电子表格或程序）。如果是没有标记的 UTF-16，"
        '请用 --encoding utf-16-le 或 "utf-16-be"。'
    ),
    "{file} is a damaged gzip file: {why}. Get the file again, or unpack what can be saved of it.": (
        "{file} 是损坏的 gzip 文件：{why}。请重新获取，或解压出尚可用的部分。"
    ),
    "The first line of {file} is blank. The first line must hold the names of the columns: remove the blank lines "
    "above it.": "{file} 的第一行是空行。第一行应是列名：请删去上面的空行。",
    "The first line of {file} cannot be read: {why}. A quotation mark that is never closed is the usual reason.": (
        "{file} 的第一行无法读取：{why}。常见的原因是引号没有闭合。"
    ),
    "{file} has more than one column called {list}. Rename all but one of them in the file.": (
        "{file} 有多列同名：{list}。请在文件中改名，只留一列。"
    ),
    "{file} has {n} columns, and {most} at most are read. Make a file of the columns that matter.": (
        "{file} 有 {n} 列，而最多只读 {most} 列。请只留下有用的列，另存一个文件。"
    ),
    "{file} cannot be read as {hint_form}: {why}. Mend the file there{hint}": (
        "{file} 无法读作{hint_form}：{why}。请修正该处{hint}"
    ),
    "Column {name} of {file} holds dates or times. Leave it out with --drop {name}, or cast what matters to "
    "numbers or "
    "text.": "{file} 的 {name} 列是日期或时间。请用 --drop {name} 去掉，或把有用的部分转成数字或文字。",
    "Column {name} of {file} is of type {kind}. Leave it out with --drop {name}, or cast what matters to numbers or "
    "text.": "{file} 的 {name} 列是 {kind} 类型。请用 --drop {name} 去掉，或把有用的部分转成数字或文字。",
    "{file} has {n} rows, so there is no row {row}. They count from 1.": (
        "{file} 有 {n} 行，没有第 {row} 行。行号从 1 数起。"
    ),
    "{file}: the first column must name each action once. Its header may be anything.": (
        "{file}：第一列应给出各个行动的名称，每个一次；列名可以任意。"
    ),
    "{file}: there is {hint_what}. {hint} Its first column names the actions.": (
        "{file}：{hint_what}。{hint}第一列是行动的名称。"
    ),
    "loss[{i}, {j}]: is {value}. Give finite costs; a large one forbids as well.": (
        "代价表中第 {i} 行、第 {j} 列（从 0 数起）是 {value}。代价应是有限的数；要禁止某个行动，给一个很大的数即可。"
    ),
    "reject: {value} is no cost. Give a number, or None never to reject.": (
        "--reject 的值 {value} 不是代价。请给一个数；不写则从不拒绝。"
    ),
    "reject: {name} names an action already. Put another name at the end of `actions`.": (
        "已有名为 {name} 的行动，与“拒绝”重名。请在代价文件中给它改名。"
    ),
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
