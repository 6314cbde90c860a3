"""Edits of any text: made or refused; made, the field reads back as asked, and editing again changes nothing."""

from __future__ import annotations

from schemas.edit import Changes, Edited, Field, edit
from schemas.manifest import parse
from schemas.reader import read
from tests.fuzz.manifest import SEEDS as MANIFESTS

CHANGES: Changes = {
    Field.MACHINE_POOL_REF: {"name": "rack-a1"},
    Field.STATUS: {"state": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}
SEEDS = [
    *MANIFESTS,
    b"kind: Machine\nspec: {power: On}\nstatus: {}\n",
    b'{"kind":"Machine","spec":{"power":"On"}}',
    b"kind: Machine\nspec: &a\n  power: On\nstatus: *a\n",
    b"kind: Machine\r\nspec:\r\n- a\r\n",
]


def once(data: bytes) -> None:
    edited = edit(data, 0, CHANGES, path="a.yaml")
    if not isinstance(edited, Edited):
        assert edited.problem.message.isprintable(), edited.problem.message
        return
    again = edit(edited.data, 0, CHANGES, path="a.yaml")
    assert isinstance(again, Edited)
    assert again.data == edited.data
    before, documents = read(data.decode()), read(edited.data.decode())
    if not isinstance(before, tuple):
        return  # another document of the file is at fault
    assert isinstance(documents, tuple)
    assert isinstance(documents[0], dict)
    assert documents[0]["status"] == CHANGES[Field.STATUS]
    assert repr(before[1:]) == repr(documents[1:])
    parse("a.yaml", edited.data)
