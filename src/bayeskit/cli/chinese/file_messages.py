"""What may be wrong with the file of a network or a model; the path, the line and the column stand before it."""

_DAMAGED = "It was damaged or cut short on its way. Copy it again from the original, or save the model again."
_FOREIGN = "It was not written by bayeskit. Give the path of a file made by 'bayeskit fit'."
_COPY = "文件已损坏或不完整。请重新复制，或重新保存模型。"
_OTHER = "它不是 bayeskit 写的。请给出 'bayeskit fit' 保存的文件。"

MESSAGES = {
    "neither its name nor its content tells the format. Convert it: 'bayeskit network convert --from', one "
    "of {list}.": (
        "从文件名和内容都看不出格式。请先转换：'bayeskit network convert --from'，格式可选 {list}。"
    ),
    "there is no node in it. It was cut short, or is another kind of file.": (
        "其中没有结点。文件不完整，或是别的文件。"
    ),
    "two nodes are named {name}. Rename one of them.": "有两个结点都叫 {name}。请给其中一个改名。",
    "The graph has a cycle: {arcs}. Take one of these arcs away.": "图中有环：{arcs}。请去掉其中一条边。",
    "the table of {name} would be over {n} variables; at most {axes} are read. Give it fewer parents.": (
        "{name} 的概率表涉及 {n} 个变量，而最多读 {axes} 个。请减少它的父结点。"
    ),
    "the table of {name} has {cells} cells, and with it the tables of this file would have {total}; {most} are "
    "allowed. Give nodes fewer parents.{hint}": (
        "{name} 的概率表有 {cells} 格，连同它，文件中的概率表共有 {total} 格，而上限是 {most} 格。请减少父结点。{hint}"
    ),
    "the table of {name} has {n} numbers; {shape} are needed.": "{name} 的概率表有 {n} 个数，应有 {shape} 个。",
    "the file ends too early: it was cut short. Copy it again from the original.": (
        "文件中断，不完整。请重新复制。"
    ),
    "there is a NUL character: this is no text, or text in UTF-16. Save it as UTF-8.": (
        "有空字符：这不是文本，或是 UTF-16 文本。请另存为 UTF-8。"
    ),
    "it is said to be {encoding} and is not: byte {at} makes no sense ({why}). Name the right encoding, or "
    "save the file "
    "as UTF-8.": "编码应为 {encoding}，却不是：第 {at} 字节无法理解（{why}）。请另存为 UTF-8。",
    "it is a gzip file that was damaged or cut short ({why}). Copy it again from the original.": (
        "这是损坏或不完整的 gzip 文件（{why}）。请重新复制。"
    ),
    "it is too large{more}: a network file may hold {most} MiB, and unpack to {ratio} times its size at most. If you "
    "trust it, unpack it first.": (
        "文件太大{more}：网络文件最多 {most} MiB，解压后最多为原来的 {ratio} 倍。如果信得过，请先解压。"
    ),
    "the probabilities of {name} given {list} sum to {total}, not to 1. Mend them, or let 'bayeskit network convert "
    "--normalize' divide them by their sum.": (
        "已知 {list} 时，{name} 的概率之和是 {total}，不是 1。请改正，或用 'bayeskit network convert --normalize' "
        "各除以总和。"
    ),
    "the probabilities of {name} sum to {total}, not to 1. Mend them, or let 'bayeskit network convert --normalize' "
    "divide them by their sum.": (
        "{name} 的概率之和是 {total}，不是 1。请改正，或用 'bayeskit network convert --normalize' 各除以总和。"
    ),
    "the probabilities of {name} given {list} hold {value}. A probability is a number from 0 to 1: mend the file.": (
        "已知 {list} 时，{name} 的概率中有 {value}。概率是 0 到 1 的数：请改正。"
    ),
    "the probabilities of {name} hold {value}. A probability is a number from 0 to 1: mend the file.": (
        "{name} 的概率中有 {value}。概率是 0 到 1 的数：请改正。"
    ),
    "the probabilities of {name} are all zero. Give at least one state a probability.": (
        "{name} 的概率全是零。至少要给一个状态以概率。"
    ),
    "the property {key} means nothing here. Move it to where its node is declared, or take it away.": (
        "属性 {key} 在这里没有意义。请移到声明结点的地方，或去掉。"
    ),
    "the property {key} is given twice. Keep one of them.": "属性 {key} 给了两次。请只留一个。",
    "{key} of {name} must give {size} different states, each in quotation marks.": (
        "{name} 的 {key} 须给出 {size} 个不同的状态，各加引号。"
    ),
    "{name} has no states. Give it at least one.": "{name} 没有状态。至少要有一个。",
    "{name} has the state {state} twice.": "{name} 的状态 {state} 出现了两次。",
    "{name} has the state {state} twice. Rename one of them.": "{name} 的状态 {state} 出现了两次。请给其中一个改名。",
    "there is {word} where {sign} must stand, {hint}.": "这里是 {word}，而{hint}应为 {sign}。",
    "there is {word} where {hint} must stand.": "这里是 {word}，而应是{hint}。",
    "there is {word} where a block 'variable' or 'probability' must begin.": (
        "这里是 {word}，而应是 'variable' 或 'probability' 块的开头。"
    ),
    "there is {word} where a block 'node' or 'potential' must begin.": (
        "这里是 {word}，而应是 'node' 或 'potential' 块的开头。"
    ),
    "there is no variable {name}.": "没有变量 {name}。",
    "there is no node {name}.": "没有结点 {name}。",
    "there is a second variable {name}. Rename one of them.": "又有一个变量 {name}。请给其中一个改名。",
    "there is a second node {name}. Rename one of them.": "又有一个结点 {name}。请给其中一个改名。",
    "there is a second block 'probability' for {name}.": "{name} 又有一个 'probability' 块。",
    "{name} has no block 'probability': the file was cut short, or one must be added.": (
        "{name} 没有 'probability' 块：文件不完整，或需要补上。"
    ),
    "{name} has no potential: the file was cut short, or one must be added.": (
        "{name} 没有 potential：文件不完整，或需要补上。"
    ),
    "{name} has no probabilities for ({states}). Give that row, or a 'default'.": (
        "{name} 没有（{states}）时的概率。请补上这一行，或给 'default'。"
    ),
    "{name} has no state {word} (it has {list}).": "{name} 没有状态 {word}（它的状态有 {list}）。",
    "{name} needs {n} numbers here, and there are {found}.": "{name} 这里需要 {n} 个数，却有 {found} 个。",
    "{name} is declared with {n} states and lists {found}. A state with a blank or a comma in its name "
    "needs quotation "
    "marks.": "{name} 声明有 {n} 个状态，却列出 {found} 个。名称中有空格或逗号的状态要加引号。",
    "a comment begins here and has no end: the file was cut short, or */ is missing.": (
        "这里的注释没有结束：文件不完整，或缺少 */。"
    ),
    "a quotation begins here and has no end: the file was cut short, or a quotation mark is missing.": (
        "这里的引号没有闭合：文件不完整，或缺少引号。"
    ),
    "this is no JSON: {why}. The file may be cut; copy it again.": "这不是 JSON：{why}。文件也许不完整，请重新复制。",
    'it has no "format": {name}, so it is no network of bayeskit.': (
        '其中没有 "format": {name}，不是 bayeskit 的网络。'
    ),
    "it has the version {version}, and this bayeskit reads {most}. Install a newer one.": (
        "版本是 {version}，而当前的 bayeskit 只读 {most}。请安装更新的版本。"
    ),
    "this is no well-formed XML: {why}. The file may be cut or edited by hand; mend it there.": (
        "这不是完好的 XML：{why}。文件也许不完整，或曾手工改动；请在该处修正。"
    ),
    "its root is <{root}>; that of XMLBIF is <BIF>.": "根元素是 <{root}>，而 XMLBIF 的是 <BIF>。",
    "its root is <{root}>; that of XDSL is <smile>.": "根元素是 <{root}>，而 XDSL 的是 <smile>。",
    "{name} has no DEFINITION. The file may be cut, or the definition is missing.": (
        "{name} 没有 DEFINITION。文件也许不完整，或缺少定义。"
    ),
    "it was written by pyAgrum, which puts the order of each table into a comment, and its comments do not name the "
    "variables of the scopes. Write it anew, or take all comments out of it if its order is that of UAI.": (
        "文件由 pyAgrum 写出，每个表的次序写在注释里，而注释中的变量与各函数的变量不符。请重新写出；"
        "如果次序就是 UAI 的，请去掉所有注释。"
    ),
    "a UAI file begins with BAYES or MARKOV; this one begins with {word}.": (
        "UAI 文件以 BAYES 或 MARKOV 开头，而这里是 {word}。"
    ),
    "the file ends where {what} should stand ({n} more words are needed). It may be cut.": (
        "文件在 {what} 处中断（还缺 {n} 个词），也许不完整。"
    ),
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
