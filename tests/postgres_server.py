"""A PostgreSQL of our own for tests that are marked ``postgres``: it is started in a temporary directory."""

from __future__ import annotations

import contextlib
import csv
import getpass
import glob
import io
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pandas as pd
import pytest


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian keeps off the path."""
    found = [shutil.which("initdb"), *sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)]
    return next((Path(path).resolve().parent for path in found if path), None)


def other_user() -> dict[str, str]:
    """PostgreSQL refuses to run as root: say as whom to run it then."""
    return {"user": "postgres", "group": "postgres"} if getpass.getuser() == "root" else {}


class Server:
    """A running server; one table at a time."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    def psql(self, script: str) -> str:
        command = [
            "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U", "tests",
            "-d", "postgres", "-f", "-",
        ]  # fmt: skip
        command[0] = str(programs() / "psql") if (programs() / "psql").exists() else "psql"
        done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    def put(self, frame: pd.DataFrame, table: str = "t") -> None:
        """Make a table of a frame."""
        types = ["double precision" if frame[name].dtype.kind in "if" else "text" for name in frame]
        names = ['"' + name.replace('"', '""') + '"' for name in frame]
        columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")  # None is written as nothing, which COPY reads as NULL
        for row in frame.itertuples(index=False):
            writer.writerow([None if value is None or value != value else value for value in row])
        copy = f"\\copy {table} FROM STDIN WITH (FORMAT csv)\n{out.getvalue()}\\.\n"
        self.psql(f"DROP TABLE IF EXISTS {table};\nCREATE TABLE {table} ({columns});\n{copy}")

    def answers(self, tables: tuple[str, ...], select: str) -> pd.DataFrame:
        made = "".join(f"{statement};\n" for statement in tables)
        return pd.read_csv(
            io.StringIO(self.psql(f"{made}COPY ({select}) TO STDOUT WITH (FORMAT csv, HEADER);\n"))
        )


@contextlib.contextmanager
def running():
    """Start a server, or skip the test loudly; stop it at the end."""
    home = programs()
    if home is None:
        pytest.skip("PostgreSQL is not installed (no initdb): apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="bayeskit-pg-"))
    user = other_user()
    if user:
        shutil.chown(folder, user["user"], user["group"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    quiet = {"check": True, "capture_output": True, "timeout": 120, "cwd": folder, **user}
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    try:
        options = ["-A", "trust", "-U", "tests", "-E", "UTF8", "--no-sync"]
        subprocess.run([home / "initdb", "-D", data, *options], env=environment, **quiet)
        settings = f"-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -p {port}"
        start = [home / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", settings, "start"]
        subprocess.run(
            start, env=environment, **{**quiet, "capture_output": False}, stdout=subprocess.DEVNULL
        )
        yield Server(folder, port)
    finally:
        if (data / "postmaster.pid").exists():
            stop = [home / "pg_ctl", "-D", data, "-m", "immediate", "stop"]
            subprocess.run(stop, env=environment, **quiet)
        shutil.rmtree(folder, ignore_errors=True)
