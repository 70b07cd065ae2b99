"""Write the speed table of the READMEs from the results that are kept.

Run it after the other benchmarks: ``python benchmarks/speed_table.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- speed table: filled from benchmarks/results -->"
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


def main() -> None:
    for name, chinese in (("README.md", False), ("README.zh-CN.md", True)):
        path = HERE.parent / name
        before, _, after = path.read_text(encoding="utf-8").partition(MARK)
        rest = after.lstrip("\n").split("\n\n", 1)[1]
        path.write_text(f"{before}{MARK}\n\n{table(chinese)}\n\n{rest}", encoding="utf-8")
        print(table(chinese))


if __name__ == "__main__":
    main()
