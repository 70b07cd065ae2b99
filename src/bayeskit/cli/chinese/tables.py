"""Tables that cannot be read, and rows that are not there."""

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
}
