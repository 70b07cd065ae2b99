"""``python -m bayeskit``."""

from bayeskit.cli.start import main

if __name__ == "__main__":
    main()
