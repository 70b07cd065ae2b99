"""Short Chinese texts, composed at random: headlines of four kinds, and reviews of take-away meals.

They replace corpora that may be used but not redistributed. Kinds share words and turns of phrase, and reviewers
praise and complain in one sentence, so no model can be right about all of them.
"""


def _words(text):
    return text.split()


TOPICS = {
    "体育": _words("主队 国足 女排 湖人 中锋 主帅 联赛 决赛 客场 金牌 世锦赛 前锋 球迷 转会"),
    "财经": _words("股市 央行 基金 楼市 银行 油价 利率 外资 债券 人民币 年报 券商 股民 上市"),
    "科技": _words("手机 芯片 卫星 机器人 网友 软件 新机 浏览器 科学家 实验室 电池 黑客 程序员 发布会"),
    "娱乐": _words("导演 影后 新片 票房 歌手 综艺 演唱会 粉丝 主演 专辑 电视剧 红毯 经纪人 首映"),
}
# These occur in headlines of every kind.
DEEDS = _words("再创新高 遭遇滑铁卢 引发热议 宣布退出 强势反弹 迎来转机 首度回应 惊险过关 夺得冠军 跌出前十")
OPENERS = ["", "", "独家：", "今日", "昨晚", "盘点：", "图文：", "专家称", "传"]

PRAISE = _words("""味道不错 很好吃 送得很快 分量足 包装很好 态度很好 挺新鲜 还会再来 不难吃 不油 值得推荐 不差
                   准时送到 热乎乎的 老板很热情 不咸不淡""")
BLAME = _words("""味道不好 很难吃 送得太慢 分量太少 包装破了 态度很差 不新鲜 不会再来 不好吃 太油了 不值 不推荐
                  等了两个小时 都凉了 老板不热情 咸得要命""")
NEUTRAL = _words("点了一份盖饭 米饭一般 第一次点这家 中午点的 朋友推荐的 离公司近 汤还行")


def headlines(n, rng):
    """Return n headlines and their kinds; one word in five comes from any kind."""
    kinds = rng.choice(list(TOPICS), n)
    return [_headline(kind, rng) for kind in kinds], kinds


def _headline(kind, rng):
    def word():
        return rng.choice(TOPICS[kind if rng.random() < 0.8 else rng.choice(list(TOPICS))])

    forms = [
        f"{word()}{rng.choice(DEEDS)} {word()}受关注",
        f"{word()}与{word()}{rng.choice(DEEDS)}",
        f"{word()}{rng.choice(DEEDS)}",
    ]
    return f"{rng.choice(OPENERS)}{rng.choice(forms)}"


def reviews(n, rng):
    """Return n reviews and their verdicts; five clauses in six agree with the verdict."""
    verdicts = rng.choice(["好评", "差评"], n)
    return [_review(verdict, rng) for verdict in verdicts], verdicts


def _review(verdict, rng):
    own, other = (PRAISE, BLAME) if verdict == "好评" else (BLAME, PRAISE)
    clauses = [rng.choice(own if rng.random() < 5 / 6 else other) for _ in range(rng.integers(1, 4))]
    if rng.random() < 0.5:
        clauses.insert(int(rng.integers(len(clauses) + 1)), rng.choice(NEUTRAL))
    return "，".join(dict.fromkeys(map(str, clauses))) + str(rng.choice(["", "。", "！"]))
