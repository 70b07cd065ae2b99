"""The checks as sessions, the same here and on GitHub Actions: ``nox -l`` lists them.

    nox -s tests-3.12                    the test suite on one Python; without a number, on every one installed
    nox -s tests-3.12 -- tests/io        arguments go to pytest
    nox -s lint docs build               what a pull request needs besides tests

A Python that is not installed is skipped. ``.ci/run`` remains the whole check before a change is merged.
"""

from __future__ import annotations

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
CAMPAIGNS = ["hostile", "histories", "mutants", "networks", "crash", "soak", "bounds", "threads", "mutation"]

nox.needs_version = ">=2024.4"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["tests", "lint", "docs", "build"]


def _tests(session: nox.Session) -> None:
    environment = {"NUMBA_CACHE_DIR": session.create_tmp()}
    arguments = session.posargs or ["-n", "auto", "--dist", "worksteal"]
    session.run("python", "-m", "pytest", "-q", *arguments, env=environment)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the test suite with the newest releases of the dependencies."""
    session.install(".[test,plot,sql,onnx,web]")
    _tests(session)


@nox.session(python=PYTHONS[1])
def coverage(session: nox.Session) -> None:
    """Measure the branches that the test suite takes, of all code but kernels."""
    session.install(".[test,plot,sql,onnx,web]", "coverage>=7.10")
    environment = {"NUMBA_CACHE_DIR": session.create_tmp()}
    arguments = session.posargs or ["-n", "auto", "--dist", "worksteal"]
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", "-q", *arguments, env=environment)
    session.run("coverage", "combine", "-q")
    session.run("coverage", "report", "--skip-covered", "--sort=cover")


@nox.session(python=PYTHONS[0], venv_backend="none")
def lowest(session: nox.Session) -> None:
    """Run the test suite with the oldest releases that pyproject.toml allows, in .venv-minimums."""
    session.run(f"python{PYTHONS[0]}", ".ci/minimums", *session.posargs, external=True)


@nox.session(python=PYTHONS[-1])
def newest(session: nox.Session) -> None:
    """Run the test suite with pre-releases of the dependencies: what will break next."""
    session.install("--pre", "--upgrade", "--upgrade-strategy", "eager", ".[test]")
    _tests(session)


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Run ruff, mypy, import-linter and codespell."""
    session.install("-e", ".[dev]", "codespell>=2.4")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports", "--no-logo")
    session.run("codespell")


@nox.session(python=PYTHONS[0])
def docs(session: nox.Session) -> None:
    """Build the English pages, then the Chinese ones; a warning is an error."""
    session.install("-e", ".[docs,web]")
    session.run("sphinx-build", "-q", "-W", "-b", "html", "docs", "docs/_build/html")
    session.run("sphinx-build", "-q", "-W", "-b", "html", "docs/zh-CN", "docs/_build/html/zh-CN")


@nox.session(python=PYTHONS[0])
def build(session: nox.Session) -> None:
    """Build wheel and sdist twice, compare them, and use both in clean environments."""
    session.install("build")
    session.run("python", ".ci/package", *session.posargs)


@nox.session(python=PYTHONS[0])
def campaigns(session: nox.Session) -> None:
    """Run the short form of every campaign, or of those that are named: nox -s campaigns -- networks threads."""
    session.install("-e", ".[test,web]")
    for name in session.posargs or CAMPAIGNS:
        session.run(
            "python", f"campaigns/{name}.py", "--short", "--output", f"{session.create_tmp()}/{name}.json"
        )
