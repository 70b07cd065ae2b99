"""The words on charts, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from bayeskit.errors import SettingError
from bayeskit.messages import Joined

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "reliability_title": "Reliability of P({label})",
        "reliability_top": "Reliability of the class chosen",
        "reliability_note": "On the diagonal, of rows given 70% as many are {label}. Bars: 95% of the share seen.",
        "reliability_note_top": "On the diagonal, of rows given 70% as many are right. Bars: 95% of the share seen.",
        "reliability_gap": "Mean distance from the diagonal (ECE): {gap}; {n} rows.",
        "predicted": "predicted",
        "observed": "share of rows",
        "rows": "rows",
        "reject_title": "Errors where the least sure rows are left to somebody else",
        "reject_note": "{n} rows; with none rejected {error} are wrong. Numbers at dots: the posterior asked for.",
        "rejected": "share of rows rejected",
        "error": "share of wrong answers",
        "cost": "mean cost of a row",
        "cost_title": "What mistakes about {label} cost",
        "cost_note": "A false alarm costs 2c, a miss 2(1 − c), so {label} is said from P ≥ c on. Area under the "
        "curve: the Brier score, {brier}.",
        "cost_model": "this model",
        "cost_always": "always {label}",
        "cost_never": "never {label}",
        "cost_best": "best threshold in hindsight",
        "cost_axis": "c, the part of the cost that a false alarm has",
        "regions_title": "The most probable {target} by {x} and {y}",
        "regions_note": "The stronger the colour, the surer.",
        "regions_given": "Given: {given}.",
        "regions_missing": "All other attributes unknown.",
        "regions_dots": "{n} rows as dots, in the colour of their class.",
        "profile_title": "Each attribute by {target}",
        "profile_note": "The attributes that tell the classes apart most come first.",
        "profile_more": "{n} more attributes are not shown.",
        "profile_classes": "{n} rarer classes are not shown.",
        "others": "{n} others",
        "nomogram_title": "P({target} = {label}), read off points",
        "nomogram_note": "Find the points of each value on the scale, add them up, and read the probability below.",
        "nomogram_rest": "{label} against all other classes, taken as one.",
        "nomogram_pair": "{label} against {against}.",
        "nomogram_more": "{n} more attributes are not shown; unknown ones add nothing to the odds.",
        "nomogram_row": "The dots are one row: {total} points.",
        "points": "points",
        "total": "total points",
        "probability": "P({label})",
        "mixture_title": "{many} over {x} and {y}",
        "component": "1 component",
        "components": "{n} components",
        "mixture_note": "The inner ellipse of a component holds half of it, the outer one 95%.",
        "mixture_component": "component {k}: {share}",
        "mixture_more": "and {n} more",
        "mixture_holes": "Rows with holes, left out: {n}.",
        "mixture_thinned": "Rows drawn: {n} of {whole}.",
        "choice_title": "{criterion} by number of components: least for {best} ({value})",
        "choice_best": "{many}, {kind}",
        "choice_note": "The lower the better.",
        "choice_axis": "components",
    },
    "zh": {
        "reliability_title": "P({label}) 的可靠性",
        "reliability_top": "所选类别的可靠性",
        "reliability_note": "落在对角线上：预测为 70% 的样本中恰有 70% 是 {label}。竖线为实际比例的 95% 区间。",
        "reliability_note_top": "落在对角线上：预测为 70% 的样本中恰有 70% 判对。竖线为实际比例的 95% 区间。",
        "reliability_gap": "与对角线的平均距离（ECE）：{gap}，共 {n} 个样本。",
        "predicted": "预测概率",
        "observed": "实际比例",
        "rows": "样本数",
        "reject_title": "把最没把握的样本交给别人，还剩多少错误",
        "reject_note": "共 {n} 个样本，全部作答时错误率 {error}。圆点旁的数字是所要求的后验概率。",
        "rejected": "拒识的样本比例",
        "error": "错误率",
        "cost": "每个样本的平均代价",
        "cost_title": "判断是否为 {label} 的错误代价",
        "cost_note": "误报代价为 2c，漏报代价为 2(1 − c)，故 P ≥ c 时判为 {label}。曲线下面积即 Brier 得分：{brier}。",
        "cost_model": "本模型",
        "cost_always": "总判 {label}",
        "cost_never": "从不判 {label}",
        "cost_best": "事后最优阈值",
        "cost_axis": "c：误报在总代价中所占的部分",
        "regions_title": "由 {x} 与 {y} 判断 {target}",
        "regions_note": "颜色越深，把握越大。",
        "regions_given": "已知：{given}。",
        "regions_missing": "其余属性未知。",
        "regions_dots": "圆点为 {n} 个样本，颜色表示其类别。",
        "profile_title": "各属性在 {target} 各类中的分布",
        "profile_note": "最能区分类别的属性排在前面。",
        "profile_more": "另有 {n} 个属性未画出。",
        "profile_classes": "另有 {n} 个较少见的类未画出。",
        "others": "其他 {n} 种",
        "nomogram_title": "按分数查 P({target} = {label})",
        "nomogram_note": "在上方标尺读出每个取值的分数，相加得总分，再在下方查出概率。",
        "nomogram_rest": "“{label}”对其余各类（合为一类）。",
        "nomogram_pair": "“{label}”对“{against}”。",
        "nomogram_more": "另有 {n} 个属性未画出；未知的属性不影响几率。",
        "nomogram_row": "红点为一个样本，共 {total} 分。",
        "points": "分数",
        "total": "总分",
        "probability": "P({label})",
        "mixture_title": "{x} 与 {y} 上的 {many}",
        "component": "1 个分量",
        "components": "{n} 个分量",
        "mixture_note": "每个分量的内圈含其一半，外圈含 95%。",
        "mixture_component": "分量 {k}：{share}",
        "mixture_more": "另有 {n} 个",
        "mixture_holes": "{n} 行有缺失值，未画出。",
        "mixture_thinned": "画出了 {whole} 行中的 {n} 行。",
        "choice_title": "分量个数与 {criterion}：{best}时最小（{value}）",
        "choice_best": "{kind}，{many}",
        "choice_note": "越小越好。",
        "choice_axis": "分量个数",
    },
}


def chart_words(lang: str) -> Mapping[str, str]:
    """Return the words of a language.

    >>> chart_words("zh")["total"]
    '总分'
    """
    try:
        return WORDS[lang]
    except (KeyError, TypeError):
        raise SettingError(
            "lang is {lang!r}; choose from {names}.", lang=lang, names=Joined(map(repr, WORDS))
        ) from None
