"""The words of a table of questions, in English and Chinese."""

QUESTION_WORDS = {
    "en": {
        "title": "Ask for {name} next: it tells most about {target}",
        "nothing": "No question is worth its cost",
        "attribute": "ask for",
        "bits_head": "bits",
        "risk_head": "risk saved",
        "cost": "cost",
        "net": "net",
        "answer": "likeliest answer → then",
        "bits": "Bits: the expected fall of the entropy of the class. Costs are in bits, too.",
        "risk": "Risk saved: the least risk now, less the least risk to be expected after the answer.",
        "now": "Now: {beliefs}.",
        "left_out": "Not weighed, since they have no states: {names}.",
    },
    "zh": {
        "title": "下一步问 {name}：它最能说明 {target}",
        "nothing": "没有值得花代价去问的问题",
        "attribute": "询问",
        "bits_head": "比特",
        "risk_head": "可省风险",
        "cost": "代价",
        "net": "净值",
        "answer": "最可能的回答 → 其后",
        "bits": "比特：得到回答后类别的熵预计下降多少；代价也以比特计。",
        "risk": "可省风险：现在的最小风险，减去得到回答后最小风险的期望。",
        "now": "当前：{beliefs}。",
        "left_out": "未予衡量（没有离散取值）：{names}。",
    },
}
