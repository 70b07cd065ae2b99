"""Draw the pictures of the examples, in English and Chinese. Run as `python docs/pictures/make_examples.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
LANGUAGES = {"en": "", "zh": ".zh-CN"}

if __name__ == "__main__":
    for script in sorted(EXAMPLES.glob("[a-z]*.py")):
        for lang, ending in LANGUAGES.items():
            picture = HERE / "examples" / f"{script.stem}{ending}.svg"
            subprocess.run([sys.executable, script, picture, "--lang", lang], check=True)
