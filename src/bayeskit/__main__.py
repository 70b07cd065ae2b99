"""``python -m bayeskit``."""

from bayeskit._cli.start import main

if __name__ == "__main__":
    main()
