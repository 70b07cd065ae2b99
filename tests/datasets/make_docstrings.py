"""Makes the table `docstrings`: what NumPy, pandas, scikit-learn and SciPy say about their functions.

    pip install numpy==2.4.6 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1
    python tests/datasets/make_docstrings.py src/bayeskit/datasets/tables/docstrings.csv.gz

The four libraries are under the BSD 3-Clause licence. Of each docstring the prose is kept: summary, description and
notes, without parameters, examples, references, formulas and names of the libraries. Of texts that share many runs of
words one is kept, so that no text of the test rows is nearly one of the training rows; of those that two libraries
share, none.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import inspect
import io
import pkgutil
import random
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

LIBRARIES = {"numpy": "NumPy", "pandas": "pandas", "sklearn": "scikit-learn", "scipy": "SciPy"}
TRAINING, TEST, LEAST_WORDS, MOST_WORDS = 200, 130, 25, 160
PRIVATE = re.compile(
    r"(^|\.)_|\.tests?\b|conftest|\.testing|\.f2py|\.distutils|\.setup|\.externals|array_api"
)
# Sections whose text is prose about the function.
KEPT = ("", "Notes")
# Sentences that say which library it is and nothing else.
BOILERPLATE = r"(Read more in the User Guide|See the User Guide for more)\S*|Array API Standard Support .*"


def modules(library: str) -> Iterator[ModuleType]:
    top = importlib.import_module(library)
    yield top
    for found in pkgutil.walk_packages(top.__path__, f"{library}.", onerror=lambda name: None):
        if not PRIVATE.search(found.name):
            try:
                yield importlib.import_module(found.name)
            except Exception:
                continue


def text_of(thing: object) -> str:
    found = getattr(thing, "__doc__", None)
    return found if isinstance(found, str) else ""


def docstrings(library: str) -> Iterator[str]:
    for module in modules(library):
        for name in getattr(module, "__all__", None) or dir(module):
            thing = getattr(module, name, None)
            if name.startswith("_") or inspect.ismodule(thing) or not callable(thing):
                continue
            origin = (getattr(thing, "__module__", None) or module.__name__).split(".")[0]
            if origin != library:
                continue
            yield text_of(thing)
            if inspect.isclass(thing):
                for key, member in sorted(vars(thing).items()):
                    if not key.startswith("_"):
                        yield text_of(member)


def prose(docstring: str) -> str:
    """Return the sentences of a docstring."""
    section, kept = "", []
    lines = inspect.cleandoc(docstring).splitlines()
    skipping = False
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if re.fullmatch(r"[-=]{3,}\s*", line):
            continue
        if re.fullmatch(r"[-=]{3,}\s*", below):
            section, skipping = line.strip(), False
            continue
        if line.strip() and not line.startswith(" "):
            skipping = line.lstrip().startswith((".. ", ">>>"))
        if section in KEPT and not skipping and not line.startswith("    ") and "(" not in line[:2]:
            kept.append(line)
    text = "\n".join(kept)
    text = re.sub(r"^\s*\S+\(.*\)\s*(->.*)?$|^[ =-]{4,}$", "", text, flags=re.MULTILINE)  # signatures, rules
    text = re.sub(r":math:`[^`]*`|\[\w*\]_|\|\w+\|", " ", text)
    text = re.sub(
        r"(:\w+)*:?`+~?([^`<]*?)\s*(<[^`]*>)?`+_*", r" \2 ", text
    )  # marked names, without the marks
    text = re.sub(rf"(?i)https?://\S+|\b({'|'.join(LIBRARIES)})\.([\w.]*\.)?(?=\w)", "", text)
    text = re.sub(
        r"(?i)\b(num|sci)py\b|\bpandas\b|\bscikit\b(-\w+)?|\bsklearn\b|\bnp\.|\bpd\.|[*#]", " ", text
    )
    for pattern, by in ((r"\s+", " "), (r"\( ", "("), (r" ([.,;:)])", r"\1"), ("::", ":")):
        text = re.sub(pattern, by, text)
    return re.sub(BOILERPLATE, "", text).strip()


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def triples(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return set(zip(found, found[1:], found[2:], strict=False))


def alike(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> bool:
    """Return whether two texts share a third of the runs of three words."""
    return 3 * len(one & other) >= min(len(one), len(other))


def distinct(texts: list[str]) -> list[str]:
    """Return the texts that are not like an earlier one."""
    kept: dict[str, set[tuple[str, ...]]] = {}
    for text in texts:
        mine = triples(text)
        if not any(alike(mine, other) for other in kept.values()):
            kept[text] = mine
    return list(kept)


def of_one_library(texts: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the texts that are like none of another library: some libraries quote others."""
    runs = {title: [triples(text) for text in found] for title, found in texts.items()}
    return {
        title: [
            text
            for text, mine in zip(found, runs[title], strict=True)
            if not any(alike(mine, run) for other in runs if other != title for run in runs[other])
        ]
        for title, found in texts.items()
    }


def shortened(text: str) -> str:
    """Return a text without the sentences beyond the largest number of words."""
    kept: list[str] = []
    for sentence in re.split(r"(?<=[.!?]) ", text):
        if kept and len(words(" ".join([*kept, sentence]))) > MOST_WORDS:
            break
        kept.append(sentence)
    return " ".join(kept)


def main(path: Path) -> None:
    warnings.simplefilter("ignore")
    rng = random.Random(0)
    texts: dict[str, list[str]] = {}
    for library, title in LIBRARIES.items():
        found = sorted({shortened(prose(doc)) for doc in docstrings(library)})
        found = [text for text in found if text.isascii() and len(words(text)) >= LEAST_WORDS]
        rng.shuffle(found)
        texts[title] = distinct(found)
    texts = of_one_library(texts)
    print({title: len(found) for title, found in texts.items()})
    chosen = [[(text, title) for text in found[: TRAINING + TEST]] for title, found in texts.items()]
    rows = []
    for part in (slice(0, TRAINING), slice(TRAINING, None)):
        mixed = [row for some in chosen for row in some[part]]
        rng.shuffle(mixed)
        rows += mixed
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("text", "library"), *rows])
    path.write_bytes(gzip.compress(table.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
