"""What the examples share: output in one of two languages, and a place for the picture."""

import argparse
import tempfile
from pathlib import Path

from bayeskit._display_table import aligned  # cells under each other, for every example

__all__ = ["Story", "aligned"]


class Story:
    """Prints in the requested language; an example has the two texts of each line next to each other.

    Every case takes the same arguments: the file for its picture, and ``--lang zh``.
    """

    def __init__(self, name, **options):
        parser = argparse.ArgumentParser(prog=f"{name}.py")
        parser.add_argument("picture", nargs="?", type=Path, help="where to save it (.svg)")
        parser.add_argument("--lang", choices=["en", "zh"], default="en")
        for option, meaning in options.items():
            parser.add_argument(f"--{option}", help=meaning)
        self.name, self.asked = name, parser.parse_args()
        self.lang = self.asked.lang

    def __call__(self, en, zh):
        """Print a line."""
        print(self.text(en, zh))

    def text(self, en, zh):
        """Return the text in the language of the story."""
        return zh if self.lang == "zh" else en

    def end(self, picture):
        """Save the picture, and print where."""
        place = self.asked.picture or Path(tempfile.mkdtemp()) / f"{self.name}.svg"
        picture.save(place)
        self(f"\nThe picture was saved to {place}", f"\n图已保存到 {place}")
