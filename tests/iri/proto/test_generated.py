"""The checked-in code is what its .proto files generate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROTO = ROOT / "iri" / "proto"
GENERATED = sorted(
    path.relative_to(PROTO).with_name(path.name.replace(".proto", suffix))
    for path in PROTO.rglob("*.proto")
    for suffix in ("_pb2.py", "_pb2.pyi")
)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("proto")
    subprocess.run([sys.executable, ROOT / "tools" / "proto.py", target], check=True)
    return target


@pytest.mark.parametrize("path", GENERATED, ids=str)
def test_make_proto_changes_nothing(path: Path, fresh: Path) -> None:
    assert (PROTO / path).read_text() == (fresh / path).read_text(), "run make proto and commit the result"


def test_nothing_is_left_of_a_removed_file() -> None:
    found = {
        path.relative_to(PROTO) for pattern in ("*_pb2.py", "*_pb2.pyi") for path in PROTO.rglob(pattern)
    }
    assert found == set(GENERATED)
