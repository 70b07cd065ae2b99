"""How far must a reader go: the files that one row passes, the classes behind an estimator, the size of the source?

A walk is what a user does, made a second time, with imports done: a frame of 20 rows with one column of words and one
of numbers is fitted and answered. Every Python call into the package is noted. *Files* are the source files that were
entered, *changes* how often two consecutive calls lie in different top-level packages. Kernels are compiled for it, so
that a loop is one step; ``--scale`` has no meaning here.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bayeskit
from harness import Report, options

QUESTION = "The house: files a row passes, classes behind an estimator, size of the source"
SOURCE = Path(bayeskit.__file__).parent
# What the walks may come to: files and changes of package.
TARGETS = {
    "NaiveBayes": (30, 60),
    "TAN": (28, 134),
    "network query": (20, 93),
    "learn_network": (27, 143),
    "compare": (38, 436),
}
SHORT, ONE_IDEA = 60, 400
# Where each file is an entry of a list: a command, a format, a page, a counter, a search, a kernel.
REGISTERED = (
    *("kernels", "cli.commands", "cli.demos", "cli.textbook", "report.textbook", "io.networks"),
    *("structure.search", "counting.count_", "inference.sampling"),
)


def package(path: str) -> str:
    """Return the top-level package of a source file, or the file itself where it lies at the top."""
    return Path(path).relative_to(SOURCE).parts[0]


def walk(run: Callable[[], object]) -> tuple[set[str], int]:
    """Return the files that a second call of ``run`` enters, and its changes of package."""
    run()
    files: set[str] = set()
    last, changes = "", 0
    root = str(SOURCE) + "/"

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal last, changes
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(root):
            files.add(path)
            here = package(path)
            changes += bool(last) and here != last
            last = here

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return files, changes


def walks() -> dict[str, Callable[[], object]]:
    """Return what users do, each as one call."""
    import pandas as pd

    from bayeskit import TAN, NaiveBayes, learn_network
    from bayeskit.networks import asia

    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"] * 10)
    frame = pd.DataFrame({"word": rng.choice(["u", "v", "w"], 20), "number": rng.normal(size=20)})
    return {
        "NaiveBayes": lambda: NaiveBayes().fit(frame, y).predict_proba(frame),
        "TAN": lambda: TAN().fit(frame, y).predict_proba(frame),
        "network query": lambda: asia().query("dysp", evidence={"asia": "yes"}),
        "learn_network": lambda: learn_network(frame),
        "compare": lambda: compare(frame.assign(answer=y)),
    }


def compare(frame: Any) -> None:
    """Compare one model from a file, as the command does."""
    from bayeskit._cli.main import app

    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        path = f"{folder}/rows.csv"
        frame.to_csv(path, index=False)
        arguments = ["compare", path, "--target", "answer", "--models", "nb", "--no-baselines", "--json"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            app(arguments, standalone_mode=False)


def modules() -> dict[str, Path]:
    """Return the source files by the names of their modules."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("bayeskit", *path.relative_to(SOURCE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def registered(name: str) -> bool:
    """Return whether a module is an entry of a list; packages may begin with an underscore."""
    plain = name.replace("._", ".")
    return any(f".{kind}" in plain if kind.endswith("_") else f".{kind}." in plain for kind in REGISTERED)


def imported_by(tree: ast.Module, name: str, is_package: bool) -> set[str]:
    """Return the modules and the names in them that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = name.split(".")[: len(name.split(".")) - node.level + is_package]
                base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def bare_any(tree: ast.Module) -> int:
    """Count the parameters that are annotated with ``Any`` alone, outside kernels and what generates their code."""
    count = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if any(
            ast.unparse(decorator).startswith(("kernel", "intrinsic")) for decorator in node.decorator_list
        ):
            continue
        given = node.args
        for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            count += one is not None and isinstance(one.annotation, ast.Name) and one.annotation.id == "Any"
    return count


def own_bases(cls: type) -> list[str]:
    """Return the classes of ours that a class inherits from, itself apart."""
    return [base.__name__ for base in cls.__mro__[1:] if base.__module__.startswith("bayeskit")]


def estimators() -> dict[str, type]:
    """Return the public classes."""
    public = {name: getattr(bayeskit, name) for name in bayeskit.__all__}
    return {name: value for name, value in public.items() if inspect.isclass(value)}


def measure_walks(report: Report) -> None:
    print(f"\n{'a walk':<24}{'files':>8}{'changes':>10}")
    kept = {}
    for name, run in walks().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            files, changes = walk(run)
        most_files, most_changes = TARGETS[name]
        print(f"{name:<24}{len(files):>8}{changes:>10}")
        report.claim(f"{name}: files", len(files), at_most=most_files)
        report.claim(f"{name}: changes of package", changes, at_most=most_changes)
        kept[name] = sorted(str(Path(path).relative_to(SOURCE)) for path in files)
    report.content["walks"] = kept


def measure_source(report: Report) -> None:
    paths = modules()
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in paths.items()}
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in paths.items()}
    importers: Counter[str] = Counter()
    for name, tree in trees.items():
        of = imported_by(tree, name, paths[name].stem == "__init__")
        importers.update(other for other in of if other in paths and other != name)
    named = [path.stem for path in paths.values() if path.stem != "__init__"]
    alone = [name for name, path in paths.items() if importers[name] == 1 and path.stem != "__init__"]
    of_one_only = [name for name in alone if not registered(name)]
    public = {value.__module__ for value in estimators().values()}
    any_count = sum(bare_any(tree) for name, tree in trees.items() if ".kernels" not in name)
    report.claim("source files", len(paths), at_most=480)
    report.claim("lines", sum(lines.values()))
    report.claim("modules that exactly one other imports", len(alone))
    report.claim(
        "the same, registered ones and homes of public classes apart",
        len(set(of_one_only) - public),
        at_most=60,
    )
    report.claim(f"files under {SHORT} lines", sum(n < SHORT for n in lines.values()))
    report.claim(f"files over {ONE_IDEA} lines", sum(n > ONE_IDEA for n in lines.values()))
    repeated = sum(n > 1 for n in Counter(named).values())
    report.claim("names of modules that occur more than once", repeated, at_most=10)
    report.claim("parameters that are Any, kernels apart", any_count, at_most=300)
    bases = {name: own_bases(cls) for name, cls in estimators().items()}
    most = max(bases, key=lambda name: len(bases[name]))
    report.claim(f"own classes behind a public class, at most ({most})", len(bases[most]), at_most=4)
    report.content["bases"] = bases


def main() -> None:
    given = options(QUESTION)
    report = Report(QUESTION, given)
    measure_walks(report)
    print("\nthe source")
    measure_source(report)
    report.finish()


if __name__ == "__main__":
    main()
