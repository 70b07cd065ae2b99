"""Write the speed table of the READMEs, and how time and memory grow in the guide, from the results that are kept.

Run it after the other benchmarks: ``python benchmarks/speed_table.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- speed table: filled from benchmarks/results -->"
GROWTH = "<!-- growth: filled from benchmarks/results/files.json -->", "<!-- end of growth -->"
# Rows and workers; what the last lines are is computed from what the first measured.
SIZES = [("10⁷", 1e7, 1), ("10⁹", 1e9, 1), ("10⁹", 1e9, 16), ("10¹²", 1e12, 1000)]
COLUMNS, STATES, CLASSES = 12, 16, 3
Stage = tuple[str, str, str, str]
# English, Chinese, then for each half: file, stage, ours, theirs.
ROWS: list[tuple[str, str, list[Stage]]] = [
    (
        "Gaussian 1e6 × 30, 5 classes: fit / predict_proba (scikit-learn, as below)",
        "高斯 1e6 × 30，5 类：fit / predict_proba（对照为 scikit-learn，下同）",
        [("gaussian", s, "bayeskit GaussianNB", "scikit-learn GaussianNB") for s in ("fit", "predict_proba")],
    ),
    (
        "categorical 1e6 × 30, 8 states: fit / predict_proba",
        "离散 1e6 × 30，8 个取值：fit / predict_proba",
        [
            ("categorical", s, "bayeskit NaiveBayes", "scikit-learn CategoricalNB")
            for s in ("fit uint8", "predict_proba uint8")
        ],
    ),
    (
        "sparse 1e5 × 1e5, 20 classes: fit / predict",
        "稀疏 1e5 × 1e5，20 类：fit / predict",
        [
            ("sparse", s, "bayeskit MultinomialNB", "scikit-learn MultinomialNB")
            for s in ("fit MultinomialNB", "predict MultinomialNB")
        ],
    ),
    (
        "partial_fit: a stream in batches of 1,000 rows",
        "partial_fit：每批 1,000 行的数据流",
        [
            (
                "incremental",
                "partial_fit, float64 batches of 1000",
                "bayeskit GaussianNB",
                "scikit-learn GaussianNB",
            )
        ],
    ),
    (
        "predict of one row",
        "预测一行",
        [("incremental", "predict 1 row, float64", "bayeskit GaussianNB", "scikit-learn GaussianNB")],
    ),
    (
        "iris: fit and predict",
        "iris：训练并预测",
        [("incremental", "iris, fit + predict", "bayeskit GaussianNB", "scikit-learn GaussianNB")],
    ),
    (
        "AODE 1e5 × 20, 6 states: fit / predict_proba of 1e4 (Weka)",
        "AODE 1e5 × 20，6 个取值：fit / 预测 1e4 行（对照为 Weka）",
        [
            (
                "semi_naive",
                f"AODE 100000 × 20, 6 states: {s}",
                "bayeskit AODE, uint8",
                "Weka 3.6 AODE (3.6.14)",
            )
            for s in ("fit", "predict_proba 10000")
        ],
    ),
    (
        "TAN 1e5 × 30, 5 states: fit / predict_proba of 1e4 (pyAgrum)",
        "TAN 1e5 × 30，5 个取值：fit / 预测 1e4 行（对照为 pyAgrum）",
        [
            ("semi_naive", f"TAN 100000 × 30, 5 states: {s}", "bayeskit TAN, uint8", "pyAgrum TAN (3.3.1)")
            for s in ("fit", "predict_proba 10000")
        ],
    ),
    (
        "networks: all marginals given 5 fresh nodes, alarm / pigs (pyAgrum's best engine, as below)",
        "网络：给定 5 个新观测结点，求全部边缘分布，alarm / pigs（对照为 pyAgrum 最快的引擎，下同）",
        [
            ("networks", f"{s} fresh sets a round", "bayeskit", "pyAgrum")
            for s in ("alarm: all marginals, 100", "pigs: all marginals, 20")
        ],
    ),
    (
        "alarm, 10,000 rows of text: half the cells missing / complete",
        "alarm，1 万行文本：缺失一半 / 完整",
        [
            ("networks", f"alarm: 10,000 rows, {s}, as text", "bayeskit", "pyAgrum")
            for s in ("half the cells missing", "complete")
        ],
    ),
    (
        "learn alarm by hill climbing, BIC: 1e4 / 1e5 rows (PyBNesian)",
        "爬山法学习 alarm 的结构，BIC：1e4 / 1e5 行（对照为 PyBNesian）",
        [
            (
                "structure_learning",
                f"alarm {n} rows, seed 11, order 4: hill-climbing",
                'bayeskit method="hill-climbing"',
                "PyBNesian",
            )
            for n in ("10,000", "100,000")
        ],
    ),
    (
        "Gaussian mixture 1e5 × 10, 8 components, a step of EM: full (pomegranate, float32) / diag (scikit-learn)",
        "高斯混合 1e5 × 10，8 个分量，EM 一步：full（对照为 pomegranate，单精度）/ diag（对照为 scikit-learn）",
        [
            ("em", f"Gaussian mixture 100000 × 10, 8 components, {kind}: a step", "bayeskit", theirs)
            for kind, theirs in (("full", "pomegranate"), ("diag", "scikit-learn"))
        ],
    ),
    (
        "latent classes 1e4 × 20, 4 components, a step of EM (StepMix)",
        "隐类别 1e4 × 20，4 个分量，EM 一步（对照为 StepMix）",
        [("em", "latent class 10000 × 20, 4 components: a step", "bayeskit", "StepMix")],
    ),
    (
        "alarm, 5,000 rows, a fifth of the cells missing, a step of EM (pyAgrum, from 500 rows)",
        "alarm，5,000 行，缺失五分之一，EM 一步（对照为 pyAgrum，由 500 行推算）",
        [("em", "alarm 5000 rows, a fifth of the cells missing: a step", "bayeskit", "pyAgrum")],
    ),
]


def shown(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def cpu(file: str, stage: str, run: str) -> float:
    timings = json.loads((HERE / "results" / f"{file}.json").read_text(encoding="utf-8"))["timings"]
    # A peer with several engines is named by its first word: its best is taken.
    exact = [t["cpu"] for t in timings if t["stage"] == stage and t["run"] == run]
    return float(
        min(exact or [t["cpu"] for t in timings if t["stage"] == stage and t["run"].startswith(run)])
    )


def table(chinese: bool) -> str:
    head = "| 任务 | 对照 | bayeskit | 倍数 |" if chinese else "| work | peer | bayeskit | ratio |"
    lines = [head, "|---|--:|--:|--:|"]
    for english, other, stages in ROWS:
        pairs = [(cpu(f, s, theirs), cpu(f, s, ours)) for f, s, ours, theirs in stages]
        cells = [" / ".join(shown(pair[side]) for pair in pairs) for side in (0, 1)]
        ratios = [theirs / ours for theirs, ours in pairs]
        ratio = " / ".join(f"{r:,.0f}×" if r >= 1000 else f"{r:.3g}×" for r in ratios)
        lines.append(f"| {other if chinese else english} | {cells[0]} | {cells[1]} | {ratio} |")
    return "\n".join(lines)


def growth(chinese: bool) -> str:
    """Return what files.py measured, what follows for any size, and some sizes."""
    content = json.loads((HERE / "results" / "files.json").read_text(encoding="utf-8"))
    claims = {claim["what"]: claim["value"] for claim in content["claims"]}
    n = 1e7 * content["scale"]
    whole = [cpu("files", kind, f"NaiveBayes, {kind}") for kind in ("parquet", "csv")]
    cell, pair = whole[0] / n / 12, cpu("files", "AODE", "file") / n / 20**2
    memory = [
        [f"{claims[f'{kind}: MB above imports, {times}']:.0f} MB" for kind in ("parquet", "csv")]
        for times in ("once", "listed ten times")
    ]
    measured = [
        ("1000 万行，CPU 秒" if chinese else "10 million rows, CPU seconds", *(f"{t:.1f}" for t in whole)),
        ("每个单元格" if chinese else "per cell", *(f"{t / n / 12 * 1e9:.0f} ns" for t in whole)),
        (
            "比导入后的进程多用的内存，1000 万行"
            if chinese
            else "memory above the imported process, 10 million rows",
            *memory[0],
        ),
        ("同上，1 亿行" if chinese else "the same, 100 million rows", *memory[1]),
    ]
    table_bytes = 8 * CLASSES * COLUMNS * (STATES + 1)
    pair_bytes = 8 * CLASSES * COLUMNS**2 * (STATES + 1) ** 2 / 2
    sizes = [
        (
            text,
            f"{workers:,}",
            span(rows * COLUMNS * cell / workers, chinese),
            span(rows * COLUMNS**2 * pair / workers, chinese),
            f"{size(table_bytes * workers)}{'；' if chinese else '; '}{size(pair_bytes * workers)}",
        )
        for text, rows, workers in SIZES
    ]
    texts = CHINESE_GROWTH if chinese else ENGLISH_GROWTH
    ns = {"cell": f"{cell * 1e9:.0f}", "pair": f"{pair * 1e9:.1f}", "row": f"{pair * 20**2 * 1e6:.2f}"}
    return "\n\n".join(
        [
            "| | Parquet | CSV |\n|---|--:|--:|\n" + "\n".join(map(line, measured)),
            texts[0].format(**ns),
            texts[1] + "\n" + "\n".join(map(line, sizes)),
        ]
    )


ENGLISH_GROWTH = (
    """The time includes 0.1 to 0.2 s to screen the columns. This part does not grow with the number of rows, unless a \
Parquet file is sorted or has columns to leave out. Counting all pairs of 20 columns (AODE, TAN) takes {row} µs per row.

The following formulas hold for n rows, d attributes with r states, K classes and W workers, without the screening:

| | seconds | bytes sent by one worker to the driver |
|---|---|---|
| naive Bayes | n · d · {cell} ns ÷ W | 8 · K · d · (r + 1); 56 · K for a numeric attribute |
| all pairs | n · d² · {pair} ns ÷ W | 8 · K · d² · (r + 1)² ÷ 2 |

What the driver receives does not depend on n. For d = 12, r = 16 and K = 3 (naive Bayes: half of the attributes \
numeric; all pairs: all attributes text):""",
    """| rows | workers | naive Bayes, Parquet | all pairs | received from all workers |
|---|---|---|---|---|""",
)
CHINESE_GROWTH = (
    """时间中包括 0.1 至 0.2 秒的列筛查；除非 Parquet 文件已排序或有应去掉的列，这部分不随样本数增长。20 列的所有属性对\
（AODE、TAN）每行 {row} 微秒。

设有 n 个样本，d 个属性各有 r 个取值，K 个类别，W 个工作进程，不计列筛查的时间：

| | 秒 | 每个工作进程发给主进程的字节数 |
|---|---|---|
| 朴素贝叶斯 | n · d · {cell} ns ÷ W | 8 · K · d · (r + 1)；连续属性为 56 · K |
| 所有属性对 | n · d² · {pair} ns ÷ W | 8 · K · d² · (r + 1)² ÷ 2 |

主进程收到的数据量与 n 无关。取 d = 12，r = 16，K = 3（朴素贝叶斯的属性一半为数值，属性对全为文本）：""",
    """| 样本数 | 工作进程 | 朴素贝叶斯（Parquet） | 所有属性对 | 共收到 |
|---|---|---|---|---|""",
)


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def span(seconds: float, chinese: bool) -> str:
    """Return a time in seconds, minutes or hours.

    >>> span(1.56, False), span(156, False), span(7200, True)
    ('1.6 s', '2.6 min', '2 小时')
    """
    for unit, other, length in (("h", "小时", 3600.0), ("min", "分", 60.0), ("s", "秒", 1.0)):
        if seconds >= length or length == 1.0:
            return f"{seconds / length:.2g} {other if chinese else unit}"
    raise AssertionError


def size(n: float) -> str:
    """Return a number of bytes.

    >>> size(4896), size(499_000), size(5e8)
    ('4.9 KB', '0.5 MB', '0.5 GB')
    """
    for unit, length in (("GB", 1e9), ("MB", 1e6)):
        if n >= 0.1 * length:
            return f"{n / length:.2g} {unit}"
    return f"{n / 1e3:.2g} KB"


def main() -> None:
    for folder, chinese in (("docs/guide", False), ("docs/zh-CN/guide", True)):
        path = HERE.parent / folder / "bigger_than_memory.md"
        before, _, after = path.read_text(encoding="utf-8").partition(GROWTH[0])
        rest = after.partition(GROWTH[1])[2]
        path.write_text(f"{before}{GROWTH[0]}\n\n{growth(chinese)}\n\n{GROWTH[1]}{rest}", encoding="utf-8")
    for name, chinese in (("README.md", False), ("README.zh-CN.md", True)):
        path = HERE.parent / name
        before, _, after = path.read_text(encoding="utf-8").partition(MARK)
        rest = after.lstrip("\n").split("\n\n", 1)[1]
        path.write_text(f"{before}{MARK}\n\n{table(chinese)}\n\n{rest}", encoding="utf-8")
        print(table(chinese))


if __name__ == "__main__":
    main()
