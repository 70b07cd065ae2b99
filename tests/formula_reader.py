"""Answers from the JSON of a model with nothing but the guide's description: the slow twin of every writer."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np

ZERO = -math.inf


class Formula:
    def __init__(self, text):
        self.content = json.loads(text)
        self.columns = {column["name"]: column for column in self.content["columns"]}

    def posterior(self, row):
        """P(c | x) of one row, a dictionary in which None is missing."""
        content = self.content
        row = {name: _value(self.columns[name], row[name]) for name in self.columns}
        self.codes = {name: self._code(name, value) for name, value in row.items()}
        self.row = row
        score = self.score(content["score"])
        if max(score) == ZERO:
            score = _logs(content["log_prior"])
        share = _normalised(score)
        calibration = content["calibration"]
        if calibration is None:
            return share
        if calibration["method"] == "temperature":
            with np.errstate(divide="ignore"):
                return _normalised(np.log(share) / calibration["t"])
        least = calibration["least"]
        bent = [
            p if curve is None else np.interp(p, curve["at"], curve["share"])
            for p, curve in zip(share, calibration["curves"], strict=True)
        ]
        held = np.clip(bent, least, 1.0 - least)
        return held / held.sum()

    def _code(self, name, value):
        column = self.columns[name]
        if column["kind"] == "numeric":
            return None
        if column["kind"] == "intervals":
            cuts = column["cuts"]
            return len(cuts) + 1 if value is None else sum(value > cut for cut in cuts)
        states = column["states"]
        if value is None:
            return len(states)
        if column["kind"] == "codes":
            value = math.trunc(value)
        if value in states:
            return states.index(value)
        return len(states) + (self.content["unseen"] == "smooth")

    def score(self, node):
        return getattr(self, node["kind"].replace("-", "_"))(node)

    def look_up(self, node):
        table = node["table"]
        for name in node["columns"]:
            table = table[self.codes[name]]
        return _logs(table)

    def number(self, node):
        return np.full(len(self.content["classes"]), self.row[node["column"]])

    def sum(self, node):
        return sum((self.score(term) for term in node["terms"]), np.zeros(len(self.content["classes"])))

    def product(self, node):
        return math.prod(self.score(factor) for factor in node["factors"])

    def log(self, node):
        return np.log(self.score(node["of"]))

    def distance(self, node):
        x = self.row[node["column"]]
        mean, low, scale = (self.score(node[part]) for part in ("mean", "low", "scale"))
        return ((x - mean) - low) * scale

    def step(self, node):
        return _logs(node["above"] if self.row[node["column"]] > node["at"] else node["below"])

    def if_present(self, node):
        return self.score(node["missing"] if self.row[node["column"]] is None else node["there"])

    def marginal(self, node):
        states = {name: len(self.columns[name].get("states") or [*self.columns[name].get("cuts", ()), 0])
                  for name in self.codes if self.codes[name] is not None}  # fmt: skip
        for name in states:
            if "states" in self.columns[name]:
                states[name] = len(self.columns[name]["states"])
        holes = {name for name in node["values"] if self.codes[name] == states[name]}
        needed = set()
        for family in node["families"]:
            if family["child"] not in holes or family["child"] in needed:
                needed |= holes & set(family["parents"])
        configurations = math.prod(len(node["values"][name]) for name in needed)
        if node["most"] is not None and not 0 < configurations <= node["most"]:
            needed = set()
        order, found = sorted(needed), []
        for values in itertools.product(*(node["values"][name] for name in order)):
            codes = {**self.codes, **dict(zip(order, values, strict=True))}
            total = np.zeros(len(self.content["classes"]))
            for family in node["families"]:
                table = family["table"]
                for name in (*family["parents"], family["child"]):
                    table = table[codes[name]]
                total = total + _logs(table)
            found.append(total)
        return _log_sum(found)

    def average(self, node):
        own = {offset + self.codes[name] for name, offset in
               zip(node["columns"], node["offsets"][:-1], strict=True)}  # fmt: skip
        found = []
        for number, context in enumerate(node["contexts"]):
            if own.issuperset(context):
                logs = node["logs"][number]
                total = sum(_logs(logs[code]) for code in own)
                if node["normals"] is not None:
                    total = total + self._normals(node["normals"], number)
                found.append(total)
        return _log_sum(found) if found else self.score(node["otherwise"])

    def _normals(self, normals, number):
        total = 0.0
        for m, name in enumerate(normals["columns"]):
            if self.row[name] is not None:
                parts = (np.array(normals[part][number][m]) for part in ("norm", "mean", "low", "scale"))
                norm, mean, low, scale = parts
                total = total + norm - (((self.row[name] - mean) - low) * scale) ** 2
        return total


def _value(column, value):
    if value is None or value != value:
        return None
    return value.item() if isinstance(value, np.generic) else value


def _logs(values):
    return np.array([ZERO if value is None else value for value in values], dtype=float)


def _log_sum(found):
    stacked = np.array(found)
    best = np.maximum(stacked.max(axis=0), -1e308)
    with np.errstate(divide="ignore"):
        return best + np.log(np.exp(stacked - best).sum(axis=0))


def _normalised(logs):
    share = np.exp(np.asarray(logs) - max(logs))
    return share / share.sum()
