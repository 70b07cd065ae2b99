"""Parts of messages: what they say in several ways, and the ways out that end many of them."""

MESSAGES = {
    # What is wrong with a table.
    "byte 0x{byte} at offset {at} ({reason})": "偏移 {at} 处的字节 0x{byte} {reason}",
    "not {encoding}: byte 0x{byte} at offset {at} ({reason})": (
        "不是 {encoding}（偏移 {at} 处的字节 0x{byte} {reason}）"
    ),
    "text in {encoding}, separated by {sep}": " {encoding} 编码、以 {sep} 分隔的文本",
    "Parquet": " Parquet 文件",
    ", or check --sep and --encoding.": "，或检查 --sep 和 --encoding。",
    ".": "。",
    "only one value, {value}": "只有一个取值 {value}",
    "no value": "没有取值",
    "no column for the class {name}": "没有类别 {name} 的一列",
    "a column {name}": "多出了 {name} 列",
    "with a decimal comma: 3,5 is read as 3.5": "用逗号作小数点，3,5 读作 3.5",
    "with commas between thousands: 1,234 is read as 1234": "用逗号分隔千位，1,234 读作 1234",
    "in per cent: 3.5% is read as 3.5": "是百分数，3.5% 读作 3.5",
    "with a sign of currency: {sign}1,234 is read as 1234": "带货币符号，{sign}1,234 读作 1234",
    "with a sign of currency: 3,50 € is read as 3.5": "带货币符号，3,50 € 读作 3.5",
    "a different value in every row": "每一行的值都不同",
    "the row numbers": "它就是行号",
    "Constant columns: {list}.": "常数列：{list}。",
    "and below {most}": "，且小于 {most}",
    "it is forbidden": "又禁止有（--forbidden）",
    "{a} is continuous and {b} is not": " {a} 是连续的而 {b} 不是",
    # The names that may have been meant, and other ways out.
    "Did you mean {list}?": "是不是 {list}？",
    "There is {list}.": "只有 {list}。",
    "There are {list}.": "现有：{list}。",
    "Check the path.": "请检查路径。",
    "If you trust the file, raise the limit: read_network(path, max_memory={bytes}).": (
        "如果信得过文件，可在 Python 中提高上限：read_network(path, max_memory={bytes})。"
    ),
    "Observe some of these.": "请观测其中一些结点。",
    "Take fewer parents (max_parents=), columns of fewer states, or fewer intervals.": (
        "请减少父结点（max_parents=）、列的取值或区间的个数。"
    ),
    "Raise it with bayeskit.networks.set_max_memory, leave columns out, or take a part of the rows.": (
        "请用 bayeskit.networks.set_max_memory 提高上限，或去掉一些列，或只取一部分样本。"
    ),
    'Raise max_memory=, leave columns out, or use method="auto".': (
        "请用 --drop 去掉一些列，或改用 --method auto。"
    ),
    "Lower max_parents=, or join states.": "请减小 --max-parents，或合并取值。",
    "Give nodes fewer parents (max_parents= where they are learned), or see set_max_memory.": (
        "请减少结点的父结点（学习时用 --max-parents）。"
    ),
    # Where a sign is missing in a network's file.
    "a number": "数字",
    "a name": "名称",
    "an attribute": "属性",
    "the name of a variable": "变量名",
    "the name of a node": "结点名",
    "the name of the network": "网络名",
    **{f"at the beginning of a {form} file": f" {form} 文件的开头" for form in ("BIF", "DSC", "DSL", "NET")},
    "after the name of the network": "网络名之后",
    "after the states of the parents": "父结点的状态之后",
    "after the parents of {name}": " {name} 的父结点之后",
    "before the probabilities of {name}": " {name} 的概率之前",
    "before the states of {name}": " {name} 的状态之前",
    "after the states of {name}": " {name} 的状态之后",
    "in the type of {name}": " {name} 的类型中",
    "after {word}": " {word} 之后",
}
