"""The demonstration drawn as a page of Rich tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayeskit.cli.output import console, table
from bayeskit.cli.words import words_of
from bayeskit.estimation.density import family_of
from bayeskit.report.fractions import number, share
from bayeskit.report.page import page_of
from bayeskit.report.page_text import as_rich

if TYPE_CHECKING:
    from rich.console import Console

    from bayeskit.cli.demo import Demo, Score

Words = Mapping[str, str]


def print_demo(demo: Demo) -> None:
    """Print all sections."""
    words, screen = words_of(demo.lang), console()
    data, separator = demo.data, words_separator(demo.lang)
    screen.print(data.title_zh if demo.lang == "zh" else data.title, style="bold")
    screen.print(words["rows"].format(n=len(data), d=len(data.attributes), target=data.target))
    if demo.rows_used < len(data):
        screen.print(words["sampled"].format(used=demo.rows_used, n=len(data)))
    if demo.story.exclude:
        why = demo.story.why_left_out[demo.lang]
        screen.print(words["not_used"].format(names=separator.join(demo.story.exclude), why=why))
    _section(screen, words["columns"])
    screen.print(_columns(demo, words))
    _section(screen, words["compare"].format(k=demo.folds))
    screen.print(_scores(demo, words))
    screen.print(winner(demo.scores, words, separator))
    _section(screen, words["explain"].format(row=demo.row, truth=demo.truth))
    screen.print(as_rich(page_of(demo.explanation)))
    _section(screen, words["decide"])
    _print_verdict(screen, demo, words)
    screen.print(f"\n{words['next']}", style="bold")
    for line in demo.next_lines:
        screen.print(f"  {line}", soft_wrap=True)  # never broken, so that it can be copied


def words_separator(lang: str) -> str:
    """What stands between the items of a list."""
    return "、" if lang == "zh" else ", "


def _section(screen: Console, title: str) -> None:
    screen.print(f"\n{title}", style="bold cyan")


def _family(family: str, words: Words, lang: str) -> str:
    """A family of numbers brings its own words."""
    return words[family] if family in words else family_of(family).words[lang].read_as


def _columns(demo: Demo, words: Words) -> Any:
    rows = []
    for column in demo.columns:
        states = words["states"].format(n=column.states)
        read_as = _family(column.family, words, demo.lang) + (
            f"{words_separator(demo.lang)}{states}" if column.states else ""
        )
        suggestion = _family(column.suggestion, words, demo.lang) if column.suggestion else ""
        rows.append((column.name, read_as, suggestion, str(column.missing or "")))
    headers = [words[key] for key in ("column", "read_as", "suggestion", "missing")]
    kept = [j for j in range(4) if j < 2 or any(row[j] for row in rows)]
    return table([headers[j] for j in kept], [[row[j] for j in kept] for row in rows], 3 if 2 in kept else 2)


def _scores(demo: Demo, words: Words) -> Any:
    rows = [
        (_name(s, words), f"{s.error:.1%}", f"{s.log_loss:.3f}", f"{s.brier:.3f}", f"{s.cpu_seconds:.2f}")
        for s in demo.scores
    ]
    return table([words[key] for key in ("model", "error", "log_loss", "brier", "cpu")], rows, 1)


def _name(score: Score, words: Words) -> str:
    return words.get(score.model, score.model)


def winner(scores: Sequence[Score], words: Words, separator: str = ", ") -> str:
    """Say which models err least, which has the best probabilities, and where ours stands."""
    least = min(s.error for s in scores)
    best = sorted((s for s in scores if s.error == least), key=lambda s: s.log_loss)
    names = [_name(s, words) for s in best]
    key = "winner" if len(best) == 1 else "winners"
    said = words[key].format(model=names[0], models=separator.join(names), error=f"{least:.1%}")
    sharp = min(scores, key=lambda s: s.log_loss)
    end = "winner_other" if sharp not in best else "winner_same" if len(best) > 1 else "winner_too"
    said += words[end].format(model=_name(sharp, words), loss=sharp.log_loss)
    ours = min((s for s in scores if s.model.startswith("NaiveBayes")), key=lambda s: (s.error, s.log_loss))
    ratio = best[0].cpu_seconds / max(ours.cpu_seconds, 1e-9)
    if ours not in best and ratio >= 2.0:
        error = f"{ours.error:.1%}"
        said += words["ours"].format(model=ours.model, error=error, ratio=ratio, best=names[0])
    know_nothing = next(s for s in scores if s.model == "majority class")
    if ours.log_loss > know_nothing.log_loss:
        said += words["too_sure"].format(model=ours.model)
    return said[0].upper() + said[1:]


def _print_verdict(screen: Console, demo: Demo, words: Words) -> None:
    verdict, e = demo.verdict, demo.explanation
    names = demo.story.actions.get(demo.lang, {})
    shown = [share(p, sum(q for j, q in enumerate(e.posterior) if j != k)) for k, p in enumerate(e.posterior)]
    rows = []
    for action, costs, risk in zip(verdict.actions, verdict.costs, verdict.risks):
        terms = " + ".join(f"{number(cost)} · {_bracketed(p)}" for cost, p in zip(costs, shown) if cost)
        rows.append((names.get(action, str(action)), f"{terms or '0'} = {risk:.4g}"))
    screen.print(demo.story.stake[demo.lang])
    screen.print(table([words["action"], words["risk"]], rows, 2))
    if verdict.reject is not None and min(verdict.risks) > verdict.reject:
        text = words["rejected"].format(label=e.prediction, risk=min(verdict.risks), reject=verdict.reject)
    else:
        taken = names.get(verdict.taken, str(verdict.taken))
        text = words["most_probable"].format(label=e.prediction, action=taken)
    screen.print(text)


def _bracketed(probability: str) -> str:
    return f"({probability})" if " " in probability else probability
