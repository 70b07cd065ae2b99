"""Files that are not there, cannot be read or cannot be written; and the machine."""

_MENDED = {
    "No such file or directory": ("没有这个文件或目录", "Check the path.", "请检查路径。"),
    "Not a directory": ("路径中有一段不是目录", "Check the path.", "请检查路径。"),
    "Is a directory": ("这是一个目录", "Name a file in it.", "请指明其中的一个文件。"),
    "Permission denied": (
        "权限不足",
        "Check your rights to it, or choose another place.",
        "请检查权限，或换一个位置。",
    ),
    "Operation not permitted": (
        "不允许这样做",
        "Check your rights to it, or choose another place.",
        "请检查权限，或换一个位置。",
    ),
    "Read-only file system": ("文件系统是只读的", "Choose another place.", "请换一个位置。"),
    "No space left on device": (
        "磁盘已满",
        "Make room, or choose another place.",
        "请腾出空间，或换一个位置。",
    ),
    "Disk quota exceeded": (
        "超出磁盘配额",
        "Make room, or choose another place.",
        "请腾出空间，或换一个位置。",
    ),
    "File name too long": ("文件名太长", "Check the path and the disk.", "请检查路径和磁盘。"),
    "Input/output error": ("读写出错", "Check the path and the disk.", "请检查路径和磁盘。"),
    "Too many open files": ("打开的文件太多", "Check the path and the disk.", "请检查路径和磁盘。"),
    "Too many levels of symbolic links": (
        "符号链接层数太多",
        "Check the path and the disk.",
        "请检查路径和磁盘。",
    ),
}

MESSAGES = {
    **{f"{{file}}: {en}. {way}": f"{{file}}：{zh}。{out}" for en, (zh, way, out) in _MENDED.items()},
    **{
        f"{{file}} cannot be opened: {en}. Check the path and your rights to it.": (
            f"无法打开 {{file}}：{zh}。请检查路径和权限。"
        )
        for en, (zh, _, _) in _MENDED.items()
    },
    "{file} is a directory. Name a file in it.": "{file} 是一个目录。请指明其中的一个文件。",
    "{file} is a directory. Name one file in it.": "{file} 是一个目录。请指明其中的一个文件。",
    "There is no file {file}.{hint}": "没有文件 {file}。{hint}",
    "There is no file {file}. Write one: the line {line}, then for each action a line with its name and what it costs "
    "where each of these is true.": (
        "没有文件 {file}。请写一个：首行 {line}，其后每种行动一行，写明名称，以及在各真实类别下的代价。"
    ),
    "{file} is a pipe or a device. Save what it holds to a file, and name that.": (
        "{file} 是管道或设备。请先把内容存成文件，再给出文件名。"
    ),
    "There is no file {file} (looked for as {path}).{hint} Check the path.": (
        "没有文件 {file}（完整路径 {path}）。{hint}请检查路径。"
    ),
    "{file} has changed since it was opened. Make a new FileSource of it.": (
        "{file} 打开之后又被改动了。请重新运行命令。"
    ),
    "{file} has a backslash and one of * ? [ in its path; DuckDB cannot name it. Rename it.": (
        "{file} 的路径中既有反斜杠，又有 * ? [ 之一，DuckDB 无法表示。请改名。"
    ),
    "{file} has a name that is no UTF-8; DuckDB cannot name it. Rename it.": (
        "{file} 的文件名不是 UTF-8 编码，DuckDB 无法表示。请改名。"
    ),
    "{file} is the same file as {source}, which would be lost. Name another file.": (
        "{file} 与 {source} 是同一个文件，写入后原有内容将会丢失。请另选一个文件名。"
    ),
    "{one} and {other} are the same file, {file}. Give each a file of its own.": (
        "{one} 与 {other} 是同一个文件 {file}。请各指定一个文件。"
    ),
    "There is not enough memory for this. Use fewer columns (--drop), or fewer rows.": (
        "内存不足。请减少列（--drop）或行。"
    ),
    "There is not enough memory for this. Use fewer columns (--drop), or fewer rows (--limit).": (
        "内存不足。请减少列（--drop）或行（--limit）。"
    ),
    "Interrupted: no file was changed.": "已中断：没有改动任何文件。",
    "Unforeseen {kind}: {what}. Please report it, with what --debug prints.": (
        "意料之外的错误 {kind}：{what}。请报告给我们，并附上 --debug 的输出。"
    ),
    "bayeskit found no writable directory for compiled kernels, so each process compiles anew. "
    "Set NUMBA_CACHE_DIR to a writable directory.": (
        "找不到可写的目录来保存编译结果，因此每次运行都要重新编译。请把 NUMBA_CACHE_DIR 设为一个可写的目录。"
    ),
}
