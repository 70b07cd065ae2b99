"""Does a test fail if a line of the statistics, the densities, the decisions or the inference is changed?

A mutant is the library with one small change: a comparison turned round, plus for minus, a number off by one, a
condition negated, a statement left out. Mutants are drawn from all functions of four packages. Each runs in a fork of
a process that has collected the tests: the function gets its changed code, then the tests that run this function
begin, those of its package and the quickest first, and end at the first failure. Kernels that contain the change are
compiled anew and not kept.

A mutant that survives shows a missing test, or is equivalent: no input tells it from the original. Somebody has to
look. What was found is written by hand in the result, as the ``verdict`` of a survivor; later runs keep it.
``--seed 17`` runs mutant 17 against all tests of its package. ``--again tests/networks`` runs the survivors that nobody
has looked at against further tests, and writes those that are noticed there into the counts of the killed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import hashlib
import importlib
import json
import os
import random
import resource
import signal
import sys
import threading
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from campaign import RESULTS, ROOT, finish, options, so_far, use_tests

use_tests()
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings

from bayeskit import _numba

PACKAGES = ("_statistics", "_conditionals", "_decision", "_inference")
# Tests that may kill a mutant: those of its package come first, then the others in the order of their time.
FOLDERS = tuple(
    f"tests/{name}" for name in ("statistics", "conditionals", "decision", "inference", "laws", "worked")
)
FROM_EACH, SHORT = 150, 8
SEED = 0
# CPU seconds for all tests of a mutant, and for one test: its own time many times over, and time to compile.
TOTAL, ONE, TIMES = 15.0, 15.0, 10.0
MEMORY = 4 * 2**30
SOURCE = ROOT / "src" / "bayeskit"
KILLED, SURVIVED, ENDLESS = 1, 0, "endless"
# Arguments whose change cannot be seen: where a warning points to, and a check of lengths that agree.
UNSEEN = ("stacklevel", "strict")

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """A change of one node of a function: ``place`` counts the nodes of the file, ``kind`` is what is done to it."""

    path: Path
    function: str
    first_line: int
    line: int
    place: int
    kind: str
    change: str = field(compare=False)

    @property
    def where(self) -> str:
        return f"{self.path.relative_to(SOURCE)}: {self.function}"


def kinds(node: ast.AST) -> Iterator[str]:
    """Yield the changes that a node allows."""
    match node:
        case ast.Compare(ops=[operator]) | ast.BinOp(op=operator) | ast.AugAssign(op=operator):
            if type(operator) in _OPERATORS:
                yield "operator"
        case ast.BoolOp():
            yield "operator"
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "sign"
        case ast.Constant(value=bool() | int() | float()):
            yield "number"
        case ast.If() | ast.While() | ast.IfExp():
            yield "condition"
    match node:
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Continue() | ast.Break() | ast.AugAssign():
            yield "left out"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "left out"


def changed(node: Any, kind: str) -> ast.AST:
    """Return a node with one change."""
    node = copy.deepcopy(node)
    if kind == "operator" and isinstance(node, ast.Compare):
        node.ops = [_OPERATORS[type(node.ops[0])]()]
    elif kind == "operator":
        node.op = _OPERATORS[type(node.op)]()
    elif kind == "sign":
        return ast.copy_location(node.operand, node)
    elif kind == "number":
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    elif kind == "condition":
        node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    else:
        return ast.copy_location(ast.Pass(), node)
    return node


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int]]:
    """Yield the nodes in functions that may be changed, in order: the node, its function's name and first line."""

    def walk(node: ast.AST, names: list[str], function: tuple[str, int] | None) -> Iterator[Any]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and function is None:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            inside = (".".join([*names, node.name]), first)
            for child in node.body[1:] if ast.get_docstring(node) else node.body:
                yield from walk(child, [], inside)
            return
        if isinstance(node, ast.ClassDef):
            names = [*names, node.name]
        if isinstance(node, ast.Assert) or (isinstance(node, ast.keyword) and node.arg in UNSEEN):
            return
        if function is not None:
            yield node, *function
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, names, function)

    return walk(tree, [], None)


def _text(node: ast.AST) -> str:
    line = ast.unparse(node).splitlines()[0] if not isinstance(node, ast.Pass) else "nothing"
    return line if len(line) <= 100 else line[:97] + "..."


def mutants_of(path: Path) -> list[Mutant]:
    """List all mutants of a file."""
    found = []
    for place, (node, function, first) in enumerate(_nodes(ast.parse(path.read_text("utf-8")))):
        for kind in kinds(node):
            change = f"{_text(node)} → {_text(changed(node, kind))}"
            found.append(Mutant(path, function, first, node.lineno, place, kind, change))
    return found


def drawn(packages: tuple[str, ...], from_each: int) -> list[Mutant]:
    """Draw mutants, equally many from each package, and let the packages take turns."""
    rng = random.Random(SEED)
    samples = []
    for package in packages:
        every = [m for path in sorted((SOURCE / package).glob("*.py")) for m in mutants_of(path)]
        samples.append(rng.sample(every, min(from_each, len(every))))
    return [m for turn in zip(*samples, strict=True) for m in turn]


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def code_of(mutant: Mutant) -> CodeType | None:
    """Return the code of the mutant's function, with the change; None if it cannot be compiled."""
    tree = ast.parse(mutant.path.read_text("utf-8"))
    node = next(node for place, (node, _, _) in enumerate(_nodes(tree)) if place == mutant.place)
    tree = ast.fix_missing_locations(_Replaced(node, changed(node, mutant.kind)).visit(tree))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(tree, str(mutant.path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    wanted = (mutant.function, mutant.first_line)
    return next((c for c in _within(module) if (c.co_qualname, c.co_firstlineno) == wanted), None)


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _within(value)


Key = tuple[str, str, int]


class Functions:
    """The functions of the packages in this process, and which of them a code object belongs to."""

    def __init__(self) -> None:
        for package in PACKAGES:
            for path in sorted((SOURCE / package).glob("*.py")):
                importlib.import_module(f"bayeskit.{package}.{path.stem}".removesuffix(".__init__"))
        files = tuple(str(SOURCE / package) + os.sep for package in PACKAGES)
        self.by_key: dict[Key, list[FunctionType]] = defaultdict(list)
        # By identity: the hash of a code object changes once it has run.
        self.keys: dict[int, set[Key]] = {}
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(files):
                self.by_key[_key(one.__code__)].append(one)
        for key, found in self.by_key.items():
            # A kernel may be compiled into another and then runs unseen: it runs where a function names it.
            named = {_key(kernel.py_func.__code__) for kernel in _kernels_named(found[0])}
            for code in _within(found[0].__code__):
                self.keys[id(code)] = {key, *named}

    def of(self, mutant: Mutant) -> list[FunctionType]:
        return self.by_key.get((str(mutant.path), mutant.function, mutant.first_line), [])


def _key(code: CodeType) -> Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _kernels_named(function: FunctionType) -> set[Any]:
    names = {name for code in _within(function.__code__) for name in code.co_names}
    values = [function.__globals__.get(name) for name in names]
    return {
        called
        for value in values
        if isinstance(value, _numba.DeferredKernel)
        for called in _numba._called(value)
    }


def put_in_place(code: CodeType, functions: list[FunctionType]) -> None:
    """Give functions other code; kernels that contain one of them are compiled anew."""
    for function in functions:
        function.__code__ = code
    from numba import njit

    for kernel in set(_numba._deferred.values()):
        if any(one.py_func in functions for one in _numba._called(kernel)):
            if kernel._make is _numba._compiled:
                kernel._make = lambda function: njit(**_numba._OPTIONS)(function)
            kernel._plain = None
            kernel._left, kernel._is_cached = _numba._patience(kernel), False


def in_a_fork(work: Callable[[Any], int], most: float) -> tuple[int | str, list[Any]]:
    """Do work in a fork, for so many seconds at most; return its status and what it wrote, line by line, as JSON."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        status = 3
        try:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
            with os.fdopen(write, "w") as lines:
                status = work(lambda value: print(json.dumps(value), file=lines, flush=True))
        finally:
            os._exit(status)
    os.close(write)
    killer = threading.Timer(most, os.kill, (child, signal.SIGKILL))
    killer.start()
    with os.fdopen(read) as lines:
        written = [json.loads(line) for line in lines if line.endswith("\n")]
    _, status = os.waitpid(child, 0)
    killer.cancel()
    return os.waitstatus_to_exitcode(status), written


class Judge:
    """A plugin of pytest that runs mutants instead of tests."""

    def __init__(self, work: Callable[[Judge], int]) -> None:
        self.work, self.items, self.functions = work, [], None
        self.out = os.fdopen(os.dup(1), "w")

    def say(self, text: str) -> None:
        print(text, file=self.out, flush=True)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        self.functions = Functions()
        gc.collect()
        gc.freeze()
        self.status = self.work(self)
        return True

    def baseline(self) -> tuple[dict[int, float], dict[Key, list[int]], list[str]]:
        """Run each test once: its time, the functions that it runs, and the names of those that fail."""
        files: dict[Any, list[int]] = defaultdict(list)
        for number, item in enumerate(self.items):
            files[item.path].append(number)
        times: dict[int, float] = {}
        covering: dict[Key, list[int]] = defaultdict(list)
        wrong = []
        for path, numbers in files.items():
            _, written = in_a_fork(lambda write, numbers=numbers: self._trace(numbers, write), 900.0)
            for number, took, failed, keys in written:
                times[number] = took
                if failed:
                    wrong.append(self.items[number].nodeid)
                    continue
                for key in keys:
                    covering[tuple(key)].append(number)
            if len(written) < len(numbers):
                wrong.append(f"{path}: ended after {len(written)} of {len(numbers)} tests")
        return times, covering, wrong

    def _trace(self, numbers: list[int], write: Callable[[Any], None]) -> int:
        ran: set[int] = set()
        known = self.functions.keys

        def note(frame: Any, event: str, _: Any) -> None:
            if event == "call" and id(frame.f_code) in known:
                ran.add(id(frame.f_code))

        threading.setprofile(note)
        for place, number in enumerate(numbers):
            ran.clear()
            begin = time.process_time()
            sys.setprofile(note)
            failed = self._fails(number, numbers[place + 1 : place + 2])
            sys.setprofile(None)
            keys = {key for code in ran for key in known[code]}
            write((number, time.process_time() - begin, failed, sorted(keys)))
        return 0

    def _fails(self, number: int, following: list[int]) -> bool:
        next_item = self.items[following[0]] if following else None
        reports = runtestprotocol(self.items[number], nextitem=next_item, log=False)
        return any(report.failed for report in reports)

    def judged(self, mutant: Mutant, numbers: list[int], times: dict[int, float]) -> tuple[int | str, Any]:
        """Run tests with a mutant in place; return how that ended, and the test that failed."""
        code, functions = code_of(mutant), self.functions.of(mutant)
        if code is None or not functions or code.co_freevars != functions[0].__code__.co_freevars:
            return "invalid", None

        def work(write: Callable[[Any], None]) -> int:
            put_in_place(code, functions)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            begin = time.process_time()
            for place, number in enumerate(numbers):
                write(self.items[number].nodeid)
                signal.setitimer(signal.ITIMER_PROF, ONE + TIMES * times.get(number, 1.0))
                if self._fails(number, numbers[place + 1 : place + 2]):
                    return KILLED
                if time.process_time() - begin > TOTAL and times:
                    break
            return SURVIVED

        status, written = in_a_fork(work, 20 * TOTAL if times else 3600.0)
        if status not in (KILLED, SURVIVED):
            status = ENDLESS
        return status, len(written) if status == SURVIVED else written[-1] if written else None


def ordered(mutant: Mutant, numbers: list[int], times: dict[int, float], items: list[Any]) -> list[int]:
    """Return tests, those of the mutant's package first, then the quick ones."""
    own = ROOT / "tests" / mutant.path.parent.name.removeprefix("_")
    return sorted(numbers, key=lambda number: (own not in items[number].path.parents, times[number]))


def collect(folders: tuple[str, ...], work: Callable[[Judge], int]) -> int:
    """Collect tests, then work instead of running them."""
    judge = Judge(work)
    settings.register_profile(
        "mutation",
        phases=(Phase.explicit, Phase.generate),  # a failure is enough: it need not be made small
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    words = [
        *(str(ROOT / name) for name in folders),
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    words += [
        "--rootdir",
        str(ROOT),
        "-c",
        str(ROOT / "pyproject.toml"),
        "--tb=no",
        "--no-header",
        "-W",
        "ignore",
    ]
    ended = pytest.main([*words, "--hypothesis-profile=mutation"], plugins=[judge])
    return getattr(judge, "status", int(ended) or 1)


def digest() -> str:
    files = sorted(path for package in PACKAGES for path in (SOURCE / package).glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def show(judge: Judge, mutant: Mutant) -> int:
    judge.say(f"{mutant.where}, line {mutant.line}: {mutant.change}")
    status, which = judge.judged(mutant, list(range(len(judge.items))), {})
    judge.say(f"survives {which} tests" if status == SURVIVED else f"{status}: {which}")
    return 0


def again(paths: list[str], path: Path) -> int:
    """Run the survivors of a result that have no verdict against further tests; write what is left of them."""
    result = json.loads(path.read_text("utf-8"))
    if result["sources"] != digest():
        sys.exit("The sources have changed since. Start again.")
    mutants = drawn(PACKAGES, FROM_EACH)

    def work(judge: Judge) -> int:
        times, covering, wrong = judge.baseline()
        if wrong:
            sys.exit(f"These tests fail without a mutant: {wrong}")
        left = []
        for survivor in result["survivors"]:
            mutant = mutants[survivor["seed"]]
            numbers = covering.get((str(mutant.path), mutant.function, mutant.first_line), [])
            if survivor["verdict"] is None and numbers:
                numbers = ordered(mutant, numbers, times, judge.items)
                status, which = judge.judged(mutant, numbers, times)
                judge.say(f"{survivor['seed']}: {mutant.where}, line {mutant.line}: {mutant.change}: {which}")
                if status != SURVIVED:
                    result["counts"]["killed" if status == KILLED else "killed: endless or too large"] += 1
                    continue
                survivor["tests"], survivor["of"] = survivor["tests"] + which, survivor["of"] + len(numbers)
            left.append(survivor)
        result["seeds"]["checked"] = result["seeds"]["last"] + 1 - result["seeds"]["first"]
        result["survivors"] = left
        result["counts"] = with_verdicts(result["counts"], left)
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        judge.say(f"{len(left)} survivors are left")
        return 0

    return collect(tuple(paths), work)


def with_verdicts(counts: Mapping[str, int], survivors: list[dict[str, Any]]) -> dict[str, int]:
    """Return counts with those of the survivors, by the first word of their verdicts."""
    kept = Counter({key: n for key, n in counts.items() if not key.startswith("survived")})
    kept.update("survived: " + (one["verdict"] or "not looked at").split(":")[0] for one in survivors)
    return dict(sorted(kept.items()))


def main() -> int:
    question = __doc__.splitlines()[0]
    further = argparse.ArgumentParser(add_help=False)
    further.add_argument("--again", nargs="+")
    more, rest = further.parse_known_args()
    given = options(question, rest)
    packages = ("_decision",) if given.short else PACKAGES
    mutants = drawn(packages, SHORT if given.short else FROM_EACH)
    if given.seed is not None:
        mutant = mutants[given.seed]
        folder = mutant.path.parent.name.removeprefix("_")
        return collect((f"tests/{folder}",), lambda judge: show(judge, mutant))
    path = given.output or RESULTS / "campaign_mutation.json"
    if more.again:
        return again(more.again, path)
    before = json.loads(path.read_text("utf-8")) if path.exists() else {"survivors": []}
    verdicts = {(s["where"], s["change"]): s["verdict"] for s in before["survivors"]}
    counts: Counter[str] = Counter()
    survivors: list[dict[str, Any]] = []
    first, cpu = given.first, 0.0
    if given.resume:
        before = so_far(path)
        if before["sources"] != digest():
            sys.exit("The sources have changed since. Start again without --resume.")
        counts.update({k: n for k, n in before["counts"].items() if not k.startswith("survived")})
        survivors, first, cpu = before["survivors"], before["seeds"]["last"] + 1, before["cpu_seconds"]

    def work(judge: Judge) -> int:
        begin = time.monotonic()
        times, covering, wrong = judge.baseline()
        judge.say(f"{len(times):,} tests take {sum(times.values()):.0f} CPU s; {len(wrong)} fail")
        last = first - 1
        for number in range(first, len(mutants)):
            mutant = mutants[number]
            key = (str(mutant.path), mutant.function, mutant.first_line)
            numbers = ordered(mutant, covering.get(key, []), times, judge.items)
            status, which = judge.judged(mutant, numbers, times)
            last = number
            if status == "invalid":
                counts["invalid"] += 1
                continue
            counts["mutants"] += 1
            counts[f"mutants of {mutant.path.parent.name}"] += 1
            if status != SURVIVED:
                counts["killed" if status == KILLED else "killed: endless or too large"] += 1
            else:
                line = {"seed": number, "where": mutant.where, "line": mutant.line, "change": mutant.change}
                verdict = verdicts.get((mutant.where, mutant.change))
                survivors.append({**line, "tests": which, "of": len(numbers), "verdict": verdict})
                judge.say(
                    f"{number}: {mutant.where}, line {mutant.line}: {mutant.change} ({which} of {len(numbers)})"
                )
            if given.minutes is not None and time.monotonic() - begin > 60 * given.minutes:
                break
        return finish(
            "mutation",
            question,
            given=given,
            counts=with_verdicts(counts, survivors),
            promised={"mutants": FROM_EACH * len(PACKAGES) * 9 // 10},  # some changes cannot be compiled
            failures=[{"error": f"fails without a mutant: {name}"} for name in wrong],
            more={
                "seeds": {"first": given.first, "last": last, "checked": last + 1 - given.first},
                "cpu_seconds": round(cpu + sum(os.times()[:4]), 1),
                "sources": digest(),
                "survivors": survivors,
            },
        )

    return collect(("tests/decision",) if given.short else FOLDERS, work)


if __name__ == "__main__":
    sys.exit(main())
