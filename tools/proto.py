"""Generates the Python code of iri/proto from its .proto files: message classes and typed stubs.

The descriptors keep the published file names (`machine/v1alpha1/api.proto`), so that reflection and other languages see
them; the Python modules live below `iri.proto`, so that no top-level package is called `machine`. protoc knows one name
only, hence the imports are rewritten afterwards.

    tools/proto.py [DIRECTORY]      writes into DIRECTORY instead of iri/proto
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent / "iri" / "proto"
WELL_KNOWN = Path(protoc.__file__).parent / "_proto"
STUBS = Path(sys.executable).parent / "protoc-gen-mypy"


def sources() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*.proto"))


def generate(target: Path) -> None:
    names = sources()
    arguments = [f"-I{ROOT}", f"-I{WELL_KNOWN}", f"--plugin=protoc-gen-mypy={STUBS}"]
    arguments += [f"--python_out={target}", f"--mypy_out=quiet:{target}", *names]
    if protoc.main(["protoc", *arguments]) != 0:
        sys.exit("protoc failed")
    for name in names:
        module = target / name.replace(".proto", "_pb2.py")
        for path in (module, module.with_suffix(".pyi")):
            path.write_text(relocate(path.read_text(encoding="utf-8")), encoding="utf-8")


def relocate(code: str) -> str:
    """Imports of our own generated modules, and the names they are used by in stubs, moved below iri.proto."""
    tops = "|".join(sorted({name.split("/")[0] for name in sources()}))
    code = re.sub(rf"^from ((?:{tops})[\w.]*) import", r"from iri.proto.\1 import", code, flags=re.MULTILINE)
    return re.sub(rf"^import ((?:{tops})\.[\w.]+)", r"import iri.proto.\1", code, flags=re.MULTILINE)


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
