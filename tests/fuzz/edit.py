"""Edits of any text: made or refused; made, the fields read back as asked, all else as before, and twice is once."""

from __future__ import annotations

from typing import Any

from schemas.edit import Annotation, Changes, Edited, Field, edit
from schemas.edit.document_spans import document_spans
from schemas.edit.verification import is_same_value
from schemas.manifest import parse
from schemas.reader import read
from tests.fuzz.manifest import SEEDS as MANIFESTS
from tests.schemas.edit.laws import field, rest
from tests.schemas.edit.styles import block, discovered, flow, refused, removal, unusual

# The first byte of an input chooses the edit, the second the document, the rest is the text.
EDITS: tuple[Changes, ...] = (
    {
        Field.MACHINE_POOL_REF: {"name": "rack-a1"},
        Field.STATUS: {"state": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    },
    {Field.MACHINE_POOL_REF: {"name": "b"}},
    {Field.MACHINE_POOL_REF: None, Field.STATUS: None},
    {
        Field.UID: "u-1",
        Field.DELETION_TIMESTAMP: "2030-01-01T00:00:00Z",
        Annotation("gitvirt.dev/paused"): "true",
    },
    {Annotation("gitvirt.dev/paused"): None, Field.UNSCHEDULABLE: None, Field.UID: None},
    {Field.TAINTS: [{"key": "a", "effect": "NoExecute"}], Field.UNSCHEDULABLE: True},
    {Field.STATUS: {"message": "one\n# two\n"}},
)
TEXTS = [
    *(case.before.encode() for cases in (block, flow, discovered, removal, unusual) for case in cases.CASES),
    *(case.before if isinstance(case.before, bytes) else case.before.encode() for case in refused.CASES),
]
SEEDS = [
    *(bytes([0, 0]) + text for text in MANIFESTS),
    *(bytes([number % len(EDITS), number % 3 // 2]) + text for number, text in enumerate(TEXTS)),
]


def once(data: bytes) -> None:
    if len(data) < 2:
        return
    changes, document, text = EDITS[data[0] % len(EDITS)], data[1] % 3, data[2:]
    outcome = edit(text, document, changes, path="a.yaml")
    if not isinstance(outcome, Edited):
        problem = outcome.problem
        assert problem.message.isprintable(), problem.message
        assert problem.line > 0, problem
        assert problem.column > 0, problem
        return
    again = edit(outcome.data, document, changes, path="a.yaml")
    assert isinstance(again, Edited), again
    assert again.data is outcome.data
    _neighbours_are_untouched(text.decode(), outcome.data.decode(), document)
    before, after = _read(text), _read(outcome.data)
    if before is not None:  # else another document of the file is at fault
        assert after is not None
        assert is_same_value(
            [*before[:document], *before[document + 1 :]], [*after[:document], *after[document + 1 :]]
        )
        assert is_same_value(rest(after[document], changes), rest(before[document], changes))
        for target, value in changes.items():
            assert is_same_value(field(after[document], target.path), value)
    parse("a.yaml", outcome.data)


def _read(data: bytes) -> tuple[Any, ...] | None:
    found = read(data.decode())
    return found if isinstance(found, tuple) else None


def _neighbours_are_untouched(before: str, after: str, document: int) -> None:
    start, end = document_spans(before)[document]
    assert after.startswith(before[:start])
    assert after.endswith(before[end:])
