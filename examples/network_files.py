"""Networks in files: every format written and read back, what each preserves, and the error for a broken one."""

import math
import tempfile
from pathlib import Path

from _networks import stacked
from _story import Story, aligned
from bayeskit import MarkovNetwork, read_network
from bayeskit.errors import ModelFormatError, SettingError
from bayeskit.networks import asia, melon

say = Story("network_files")
clinic, melons = asia(), melon()
folder = Path(tempfile.mkdtemp())

# 1. There and back. What is read and written again is the same file, byte for byte.
say(
    "1. A clinic in English and melons in Chinese, written and read back\n",
    "1. 英文的胸科诊所网络、中文的西瓜网络：写成文件，再读回来\n",
)
kept = {True: say.text("equal", "完全相同"), False: say.text("without names", "不存名称")}
table = [("", "asia", "", "melon", "")]
for suffix in ("json", "bif", "bifxml", "net", "xdsl", "uai", "bif.gz"):
    told = [f".{suffix}"]
    for network in (clinic, melons):
        path = folder / f"{network.name}.{suffix}"
        network.write(path)
        again, first = read_network(path), path.read_bytes()
        again.write(path)
        assert path.read_bytes() == first, "what is read and written again is the same file"
        told += [kept[again == network], say.text(f"{len(first):,} bytes", f"{len(first):,} 字节")]
    table.append(tuple(told))
print("\n".join(f"  {line}" for line in aligned(table)))

# 2. What a format can hold beyond tables, and what it cannot.
rule = read_network(folder / "asia.xdsl").distribution("either")
numbered = read_network(folder / "asia.uai").query(3, evidence={6: 0})[0]
named = clinic.query("lung", evidence={"xray": "yes"})["yes"]
assert math.isclose(numbered, named)
field = MarkovNetwork.of(clinic)  # the same factors without directions
field.write(folder / "field.uai")
total = read_network(folder / "field.uai").log_partition()
assert math.isclose(total, 0, abs_tol=1e-12)
say(
    f"\n2. GeNIe's .xdsl stores 'either' as a rule, not as a table: {type(rule).__name__}."
    f"\n   .uai stores no names: P(3 = 0 | 6 = 0) = {numbered:.4f} is P(lung = yes | xray = yes) = {named:.4f}."
    f"\n   .uai can also store Markov networks: eight factors with log Z = {abs(total):.1f}, because the product of"
    "\n   probability tables sums to one.",
    f"\n2. GeNIe 的 .xdsl 把 either 存为一条规则，而不是一张表：{type(rule).__name__}。"
    f"\n   .uai 不存名称：P(3 = 0 | 6 = 0) = {numbered:.4f}，即 P(lung = yes | xray = yes) = {named:.4f}。"
    f"\n   .uai 也能存马尔可夫网：八个因子，log Z = {abs(total):.1f}，因为各概率表之积的总和为一。",
)

# 3. Nothing invalid loads; the message says where and what to do.
say("\n3. Damaged files", "\n3. 损坏的文件（报错为英文原文）")
whole = (folder / "asia.bif").read_text()
broken = [
    (say.text("cut short", "被截断"), whole[:700]),
    (say.text("a wrong number", "有个数写错了"), whole.replace("0.99", "0.89", 1)),
]
for told, text in broken:
    path = folder / "broken.bif"
    path.write_text(text)
    try:
        read_network(path)
    except ModelFormatError as error:
        say(
            f"   {told}, line {error.line}: {error.what}",
            f"   {told}，第 {error.line} 行：{error.what}",
        )
try:
    field.write(folder / "field.bif")
except SettingError as error:
    say(f"   no directions: {error}", f"   没有方向的网络：{error}")

drawn = [
    (f"{name}, {(folder / name).stat().st_size:,} {say.text('bytes', '字节')}", read_network(folder / name))
    for name in ("melon.bif", "asia.xdsl")
]
say.end(
    stacked(
        say.text("Two networks, as read from their files", "从文件读回的两个网络"),
        [say.text("Names and states in any script.", "名称和取值可用任何文字。")],
        [(told, network.plot()) for told, network in drawn],
    )
)
