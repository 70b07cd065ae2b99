"""Networks in the worked cases: their names in the language of the story, and drawings under one heading."""

from bayeskit._report.charts.axis import LEFT, WIDTH, heading, moved
from bayeskit._report.charts.chart import ChartPicture
from bayeskit._report.scene import Group, Scene, Words

LAWN = {"rain": "下雨", "sprinkler": "洒水器", "joe": "邻家草地湿", "wet": "自家草地湿"}
CLINIC = {"asia": "去过亚洲", "tub": "肺结核", "smoke": "吸烟", "lung": "肺癌", "bronc": "支气管炎"}
CLINIC |= {"either": "结核或肺癌", "xray": "X 光异常", "dysp": "呼吸困难"}
YES = {"yes": "是", "no": "否"}


class Names:
    """The nodes and states of a network in the words of the story; in English, their own names."""

    def __init__(self, say, nodes, states=YES):
        self._nodes, self._states = (nodes, states) if say.lang == "zh" else ({}, {})

    def __call__(self, node):
        """Return the name of a node."""
        return self._nodes.get(node, node)

    def state(self, state):
        """Return the name of a state; a number stays as it is."""
        return self._states.get(state, state)

    def seen(self, evidence):
        """Write evidence on one line."""
        return ", ".join(f"{node} = {state}" for node, state in self.known(evidence).items())

    def known(self, evidence):
        """Return evidence in the words of the story."""
        return {self(node): self.state(state) for node, state in evidence.items()}

    def network(self, network):
        """Return a copy of a network in the words of the story."""
        told = network.copy()
        for node in network.nodes:
            if not network.is_continuous(node):
                told.set_states(node, [self.state(state) for state in network.states(node)])
        told.rename({node: self(node) for node in network.nodes})
        return told

    def drawn(self, network, evidence=None):
        """Draw a network, and what follows from evidence."""
        return self.network(network).plot(self.known(evidence or {}))


def stacked(title, notes, parts):
    """Put drawings under one heading.

    Parameters
    ----------
    parts : list of (caption, picture)
    """
    marks, top = heading(title, notes)
    groups = [Group(title, tuple(marks))]
    width = max(WIDTH, *(picture.scene.width for _, picture in parts))
    for caption, picture in parts:
        if caption:
            groups.append(Group(caption, (Words(LEFT, top + 20, caption, "chart-name"),)))
            top += 22
        left = (width - picture.scene.width) / 2
        groups += [
            Group(group.title, tuple(moved(mark, left, top) for mark in group.marks))
            for group in picture.scene.groups
        ]
        top += picture.scene.height
    told = " ".join([*notes, *(f"{caption} {picture.scene.description}" for caption, picture in parts)])
    return ChartPicture(Scene(width, top, title, told, tuple(groups)))
