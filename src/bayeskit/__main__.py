"""``python -m bayeskit``."""

from bayeskit.cli.main import app

if __name__ == "__main__":
    app(prog_name="bayeskit")
