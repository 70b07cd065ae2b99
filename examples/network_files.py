"""One network in every format that can be written, read back and compared."""

import math
import tempfile
from pathlib import Path

from bayeskit import MarkovNetwork, read_network
from bayeskit.errors import ModelFormatError, SettingError
from bayeskit.networks.examples import asia, melon

clinic, melons = asia(), melon()
with tempfile.TemporaryDirectory() as folder:
    print("The chest clinic and the melons, written and read back:")
    for suffix in ("json", "bif", "bifxml", "net", "xdsl", "uai", "bif.gz"):
        told = []
        for network in (clinic, melons):
            path = Path(folder) / f"{network.name}.{suffix}"
            network.write(path)
            again = read_network(path)
            first = path.read_bytes()
            again.write(path)
            told.append(f"{'equal' if again == network else 'numbered':8} {len(first):5,} bytes")
            assert path.read_bytes() == first, "what is read and written again is the same file"
        print(f"  .{suffix:8} asia: {told[0]}   melon: {told[1]}")

    kept = read_network(Path(folder) / "asia.xdsl").distribution("either")
    print(f"A rule is still a rule in GeNIe's format: either is {type(kept).__name__}")
    numbered = read_network(Path(folder) / "asia.uai")
    print(f"UAI has no names: P(3 = 0 | 6 = 0) = {numbered.query(3, evidence={6: 0})[0]:.4f}")

    field = MarkovNetwork.of(clinic)  # the same factors without directions
    field.write(Path(folder) / "field.uai")
    again = read_network(Path(folder) / "field.uai")
    print(f"{again!r}, log Z = {abs(again.log_partition()):.1f}: the tables of a network multiply to one")
    assert math.isclose(again.log_partition(), 0, abs_tol=1e-12)

    whole = (Path(folder) / "asia.bif").read_text()
    for told, text in (("cut short", whole[:700]), ("a wrong number", whole.replace("0.99", "0.89", 1))):
        path = Path(folder) / "broken.bif"
        path.write_text(text)
        try:
            read_network(path)
        except ModelFormatError as error:
            print(f"{told}: line {error.line}: {error.what}")
    try:
        field.write(Path(folder) / "field.bif")
    except SettingError as error:
        print(f"no directions: {error}")
