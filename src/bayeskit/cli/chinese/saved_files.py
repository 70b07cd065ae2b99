"""What may be wrong with a saved model; the path stands before it."""

_DAMAGED = "It was damaged or cut short on its way. Copy it again from the original, or save the model again."
_FOREIGN = "It was not written by bayeskit. Give the path of a file made by 'bayeskit fit'."
_COPY = "文件已损坏或不完整。请重新复制，或重新保存模型。"
_OTHER = "它不是 bayeskit 写的。请给出 'bayeskit fit' 保存的文件。"

MESSAGES = {
    "this is a directory, not a saved file. Give the path of the file in it.": "这是一个目录，不是保存的文件。",
    f"it is empty. {_DAMAGED}": f"文件是空的。{_COPY}",
    "it is no saved model, or only a piece of one: it has {size} bytes and announces a header of {length}. "
    "Give the path "
    "of a file made by 'bayeskit fit', or copy it again from the original.": (
        "不是保存的模型，或只是其中一段：文件有 {size} 字节，而头部自称 {length} 字节。"
        "请给出 'bayeskit fit' 保存的文件，或重新复制。"
    ),
    f"its checksum does not match what it holds. {_DAMAGED}": f"校验和与内容不符。{_COPY}",
    f"its arrays cannot be read ({{why}}). {_DAMAGED}": f"其中的数组无法读取（{{why}}）。{_COPY}",
    f"its header cannot be read ({{why}}). {_DAMAGED}": f"头部无法读取（{{why}}）。{_COPY}",
    f"its manifest cannot be read ({{why}}). {_DAMAGED}": f"说明部分无法读取（{{why}}）。{_COPY}",
    f"its manifest is not bayeskit's. {_DAMAGED}": f"说明部分不是 bayeskit 写的。{_COPY}",
    f"its manifest is incomplete. {_DAMAGED}": f"说明部分不完整。{_COPY}",
    f"its format version is {{version}}. {_DAMAGED}": f"格式版本是 {{version}}。{_COPY}",
    f"its manifest is no text. {_FOREIGN}": f"说明部分不是文字。{_OTHER}",
    f"it is a safetensors file without a bayeskit manifest. {_FOREIGN}": (
        f"这是 safetensors 文件，但没有 bayeskit 的说明部分。{_OTHER}"
    ),
    "it has format {version}, written by bayeskit {writer}; this one reads formats up to {most}. Install a newer "
    "bayeskit.": (
        "格式版本是 {version}，由 bayeskit {writer} 写成；当前版本只能读到 {most}。请安装更新的 bayeskit。"
    ),
    "it holds {kind} where {wanted} is wanted. Read it with {way}.": (
        "其中是 {kind}，而需要的是 {wanted}。请用 {way} 读取。"
    ),
    "it holds a {name}, which this version does not know (it knows {list}). Install a newer bayeskit or, if it "
    "is a class of your own, pass that: load(path, classes=[{own}]).": (
        "其中是 {name}，当前版本不认识（认识的有 {list}）。请安装更新的 bayeskit；如果是自己的类，"
        "请传入它：load(path, classes=[{own}])。"
    ),
    "it gives {model} the parameters {names}, which this version does not have. Install a newer bayeskit.": (
        "其中 {model} 的参数 {names} 是当前版本没有的。请安装更新的 bayeskit。"
    ),
    "its numbers give no probabilities. It was not written by bayeskit, or by a version with a fault: save it again.": (
        "其中的数算不出概率。它不是 bayeskit 写的，或写它的版本有错：请重新保存模型。"
    ),
    "it holds {value} for {key}, which cannot be for its columns. Save it again.": (
        "其中的 {key} 是 {value}，与它的列不符。请重新保存模型。"
    ),
    "what it holds makes no sense to this version of bayeskit ({why}). Save the model again, with this version.": (
        "当前版本的 bayeskit 看不懂其中的内容（{why}）。请用当前版本重新保存模型。"
    ),
}
