"""Peers outside this interpreter: Weka in Java, Python packages in their own interpreter.

``BENCH_PEERS`` names their folder (``~/.cache/bayeskit-peers`` by default): ``venv/bin/python`` with the Python
peers, ``weka/weka.jar`` (3.9, with ``mtj.jar``, ``core.jar`` and ``arpack_combined.jar`` beside it) and
``weka/x/usr/share/java/weka.jar`` (3.6 with ``cup_runtime.jar``: the last version with AODE in its core).
Peers that are not found are left out.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import Report, Timing, seconds

ROOT = Path(os.environ.get("BENCH_PEERS", "~/.cache/bayeskit-peers")).expanduser()
WEKA_36 = (ROOT / "weka/x/usr/share/java/weka.jar", ROOT / "weka/x/usr/share/java/cup_runtime.jar")
WEKA_39 = tuple(ROOT / "weka" / jar for jar in ("weka.jar", "mtj.jar", "core.jar", "arpack_combined.jar"))

# Weka is timed inside its virtual machine, compiled and warm, after the files are read. Java measures CPU time in steps
# of 10 ms, so a stage is repeated for at least half a second per turn.
_JAVA = r"""
import weka.core.*; import weka.classifiers.*; import java.io.*; import java.lang.management.*;
public class Timed {
  interface Stage { void run() throws Exception; }
  static double cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
      .getProcessCpuTime() / 1e9; }
  static Instances read(String path) throws Exception {
    Instances rows = new Instances(new BufferedReader(new FileReader(path)));
    rows.setClassIndex(rows.numAttributes() - 1); return rows; }
  static void time(double[] best, Stage stage) throws Exception {
    double c = cpu(); long w = System.nanoTime(); int calls = 0;
    while (calls == 0 || System.nanoTime() - w < 5e8) { stage.run(); calls++; }
    best[0] = Math.min(best[0], (cpu() - c) / calls);
    best[1] = Math.min(best[1], (System.nanoTime() - w) / 1e9 / calls); }
  public static void main(String[] a) throws Exception {
    Instances train = read(a[0]), test = read(a[1]);
    double[] fit = {1e9, 1e9}, predict = {1e9, 1e9}; int[] right = {0};
    Classifier[] c = {null};
    for (int turn = 0; turn < Integer.parseInt(a[2]); turn++) {
      time(fit, () -> {
        c[0] = FACTORY.forName(a[3], java.util.Arrays.copyOfRange(a, 4, a.length)); c[0].buildClassifier(train); });
      time(predict, () -> {
        right[0] = 0;
        for (int i = 0; i < test.numInstances(); i++) {
          double[] p = c[0].distributionForInstance(test.instance(i));
          if (Utils.maxIndex(p) == (int) test.instance(i).classValue()) right[0]++; } }); }
    System.out.println(fit[0] + " " + fit[1] + " " + predict[0] + " " + predict[1] + " "
      + right[0] / (double) test.numInstances() + " " + Version.VERSION);
  }
}
"""


class NotThere(Exception):
    """A peer is not installed, or does not run."""


@dataclass(frozen=True)
class Outcome:
    """The times of a peer and its accuracy."""

    fit: Timing
    predict: Timing
    accuracy: float
    version: str


@dataclass(frozen=True)
class Task:
    """Codes of training rows and of test rows."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def python() -> Path | None:
    """The interpreter of the Python peers, if there is one."""
    path = ROOT / "venv/bin/python"
    return path if path.exists() else None


def python_peer(name: str, task: Task, repeats: int, interpreter: Path | None = None) -> Outcome:
    """Time a peer of :mod:`peer_child` in its own interpreter."""
    interpreter = interpreter or python()
    if interpreter is None:
        raise NotThere(f"{name}: no interpreter in {ROOT.name}/venv")
    found = answer(name, task.X, task.y, task.X_test, interpreter, repeats)
    turns = int(found["turns"])
    right = found["classes"][found["proba"].argmax(axis=1)] == task.y_test
    fit, predict = (Timing(*map(float, found[stage]), turns=turns) for stage in ("fit", "predict"))
    return Outcome(fit, predict, float(right.mean()), str(found["version"]))


def answer(name: str, X: Any, y: Any, X_test: Any, interpreter: Path, repeats: int = 1) -> dict[str, Any]:
    """Run a peer of :mod:`peer_child` and return all that it wrote."""
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        source, out = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(source, X=X, y=y, X_test=X_test)
        child = Path(__file__).with_name("peer_child.py")
        # Its own packages and no others: ours need not fit its interpreter.
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [str(interpreter), str(child), name, str(source), str(out), str(repeats)]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        if done.returncode == -signal.SIGXCPU:
            raise TimeoutError(f"{name}: over the limit of CPU seconds")
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
            if "MemoryError" in last:
                raise MemoryError(last)
            raise NotThere(f"{name}: {last[:300]}")
        with np.load(out) as found:
            return dict(found)


def weka(jars: tuple[Path, ...], task: Task, repeats: int, classifier: str, *options: str) -> Outcome:
    """Time a classifier of Weka inside one Java machine."""
    java = shutil.which("java")
    if java is None or not jars[0].exists():
        raise NotThere(f"Weka's {classifier}: no {'java' if java is None else 'jar'}")
    factory = "AbstractClassifier" if jars is WEKA_39 else "Classifier"  # it moved with 3.7
    with tempfile.TemporaryDirectory(prefix="bayeskit-") as folder:
        program, train, test = (Path(folder, name) for name in ("Timed.java", "train.arff", "test.arff"))
        program.write_text(_JAVA.replace("FACTORY", factory), encoding="utf-8")
        sizes = [int(max(a.max(), b.max())) + 1 for a, b in zip(task.X.T, task.X_test.T, strict=True)]
        _write_arff(train, task.X, task.y, sizes)
        _write_arff(test, task.X_test, task.y_test, sizes)
        machine = [java, "-Xmx6g", "--add-opens", "java.base/java.lang=ALL-UNNAMED"]
        classes = ["-cp", os.pathsep.join(map(str, jars))]
        given = [str(program), str(train), str(test), str(repeats), classifier, *options]
        done = subprocess.run(
            [*machine, *classes, *given],
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise NotThere(f"Weka's {classifier}: {(done.stderr or done.stdout)[-300:]}")
    *times, version = done.stdout.split()[-6:]
    fc, fw, pc, pw, accuracy = map(float, times)
    return Outcome(Timing(fc, fw, turns=repeats), Timing(pc, pw, turns=repeats), accuracy, version)


def _write_arff(path: Path, X: Any, y: Any, sizes: list[int]) -> None:
    def nominal(size: int) -> str:
        return "{" + ",".join(map(str, range(size))) + "}"

    with path.open("w", encoding="utf-8") as file:
        file.write("@relation rows\n")
        file.writelines(f"@attribute x{j} {nominal(size)}\n" for j, size in enumerate(sizes))
        file.write(f"@attribute class {nominal(int(y.max()) + 1)}\n@data\n")
        np.savetxt(file, np.column_stack([X, y]), fmt="%d", delimiter=",")


def keep(report: Report, stage: str, name: str, timing: Timing) -> None:
    """Add a timing that was measured elsewhere to the report."""
    report.content["timings"].append({"stage": stage, "run": name, **asdict(timing)})
    print(f"  {name:<46}{seconds(timing.cpu):>10}{seconds(timing.wall):>10}")
