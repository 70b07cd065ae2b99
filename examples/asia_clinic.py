"""The chest clinic: one finding after the other, what to ask next, and impossible evidence."""

import math

from _networks import CLINIC, Names, stacked
from _story import Story, aligned
from bayeskit.errors import ImpossibleEvidence
from bayeskit.networks import asia

say = Story("asia_clinic")
names, clinic = Names(say, CLINIC), asia()
say(
    "The chest clinic of Lauritzen and Spiegelhalter (1988). Tuberculosis (tub), lung cancer (lung) and bronchitis\n"
    "(bronc) cause shortness of breath (dysp); the first two look alike on an X-ray.",
    "Lauritzen 与 Spiegelhalter（1988）的胸科诊所。肺结核、肺癌和支气管炎都会使人呼吸困难；"
    "\n前两种病在 X 光片上看不出分别。",
)

# 1. A diagnosis moves as findings come in, and not always in the direction of the last one.
diseases, seen = ("tub", "lung", "bronc"), {}
table = [("", *map(names, diseases), say.text("P(findings)", "P(所见)"))]
for node, state in ((None, None), ("xray", "yes"), ("asia", "yes"), ("dysp", "no"), ("smoke", "no")):
    finding = {node: state} if node else {}
    seen |= finding
    found = clinic.posteriors(seen)
    told = f"+ {names.seen(finding)}" if node else say.text("a patient comes in", "病人刚来")
    likely = math.exp(clinic.log_probability(seen))
    table.append((told, *(f"{found[name][0]:.1%}" for name in diseases), f"{likely:.3g}"))
say("\n1. One finding after the other\n", "\n1. 检查结果逐一得知\n")
print("\n".join(f"  {line}" for line in aligned(table)))
say(
    "\nThe visit to Asia makes cancer less probable, although it does not prevent it: it is evidence for"
    "\ntuberculosis, which explains the X-ray.",
    "\n去过亚洲并不能防癌，肺癌的概率却下降了：它使肺结核更可能，而肺结核已经解释了 X 光片。",
)

# 2. What to ask next. 'either' is more informative, but it is the truth about two diseases, not a question.
known = {"xray": "yes", "asia": "yes"}
told = names.network(clinic)
say(
    "\n2. Given the X-ray and the visit, what should be asked next about lung cancer?\n",
    "\n2. 已知 X 光异常、去过亚洲，关于肺癌接下来该问什么？\n",
)
askable = [names(node) for node in ("smoke", "dysp", "bronc")]
print(told.ask_next(names("lung"), names.known(known), candidates=askable, lang=say.lang))

# 3. The most probable configuration, and an impossible one.
both = {"xray": "yes", "dysp": "yes"}
best = clinic.mpe(both)
likely = say.text(", ", "、").join(names(node) for node, state in best.items() if state == "yes")
say(
    f"\n3. An abnormal X-ray and shortness of breath. In the most probable configuration, these are yes: {likely};"
    f"\n   its probability is {math.exp(best.log_probability):.4f}.",
    f"\n3. X 光异常，又呼吸困难。最可能的完整情形中，为“是”的有：{likely}；"
    f"\n   其概率为 {math.exp(best.log_probability):.4f}。",
)
try:
    clinic.query("lung", evidence={"smoke": "yes", "tub": "yes", "either": "no"})
except ImpossibleEvidence as error:
    say(
        f"   Some configurations are impossible. {error}",
        "   有些情形不可能出现：得了肺结核，就不能说“结核或肺癌”为否。此时不给出概率，而是报错并指出矛盾所在。",
    )

say.end(
    stacked(
        say.text("The chest clinic: an X-ray, and a journey", "胸科诊所：一张 X 光片，一次旅行"),
        [
            say.text(
                "Tuberculosis gains what lung cancer loses.",
                "肺结核的概率上升，肺癌的概率随之下降。",
            )
        ],
        [
            (say.text("The X-ray is abnormal", "X 光异常"), names.drawn(clinic, {"xray": "yes"})),
            (say.text("The patient has been to Asia, too", "又得知去过亚洲"), names.drawn(clinic, known)),
        ],
    )
)
