"""pgmpy's side of ``test_pgmpy.py``, run in an interpreter that has it; it imports nothing of ours.

``python pgmpy_child.py FOLDER``: reads ``asked.json`` in the folder and writes ``answered.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pgmpy.readwrite import (
    BIFReader,
    BIFWriter,
    NETReader,
    NETWriter,
    UAIReader,
    UAIWriter,
    XDSLReader,
    XDSLWriter,
    XMLBIFReader,
    XMLBIFWriter,
)

READERS = {"bif": BIFReader, "bifxml": XMLBIFReader, "net": NETReader, "xdsl": XDSLReader, "uai": UAIReader}
WRITERS = {"bif": BIFWriter, "bifxml": XMLBIFWriter, "net": NETWriter, "xdsl": XDSLWriter, "uai": UAIWriter}


def loaded(path):
    reader = READERS[path.suffix[1:]](str(path))
    return reader.get_model()


def written(network, path):
    kind = path.suffix[1:]
    writer = WRITERS[kind](network)
    write = {
        "bif": "write_bif",
        "bifxml": "write_xmlbif",
        "net": "write",
        "xdsl": "write_xdsl",
        "uai": "write",
    }
    getattr(writer, write[kind])(str(path))


def nodes(network):
    """Each node's labels, parents and table (parents, then the node)."""
    found = {}
    for cpd in network.get_cpds():
        name, *parents = cpd.variables
        axes = [*range(1, len(cpd.variables)), 0]
        found[name] = {
            "labels": list(cpd.state_names[name]),
            "parents": parents,
            "table": cpd.values.transpose(axes).tolist(),
        }
    return found


def main(folder):
    answered = []
    for one in json.loads((folder / "asked.json").read_text(encoding="utf-8")):
        network = loaded(folder / one["file"])
        for name in one.get("written", ()):
            written(network, folder / name)
        answered.append({"nodes": nodes(network)})
    (folder / "answered.json").write_text(json.dumps(answered), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
