"""Files to documents: valid ones, or problems; errors and only errors make a file malformed."""

from __future__ import annotations

from pathlib import Path

from reconciler.cli.codes import CODES
from schemas.manifest import parse
from schemas.problem import Severity

EXAMPLES = Path(__file__).parents[2] / "examples" / "repo"
SEEDS = [file.read_bytes() for file in sorted(EXAMPLES.rglob("*.yaml"))]


def once(data: bytes) -> None:
    found = parse("a.yaml", data)
    for problem in found.problems:
        assert problem.code in CODES
        assert problem.message.isprintable(), problem.message
        assert problem.hint.isprintable(), problem.hint
    assert found.is_malformed == any(problem.severity is Severity.ERROR for problem in found.problems)
    assert all(document.key.name for document in found.documents)
