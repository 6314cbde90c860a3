"""docs/editing.md shows what happens."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

from reconciler.cli.codes import CODES
from schemas.edit import Changes, Edited, EditRefused, Field, edit

PAGE = (Path(__file__).parents[3] / "docs" / "editing.md").read_text()
MACHINE = """\
# web tier, see the runbook
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: web-1        # first of three
spec:
  machineClassRef: {name: small}
  power: On
  volumes:
  - name: root
    emptyDisk: {sizeLimit: 10Gi}
  # end of spec
"""
CHANGES: Changes = {
    Field.UID: "5b0ff6f2-3d6c-5d0a-9a3e-2f1c7a9e0b11",
    Field.CREATION_TIMESTAMP: "2030-01-01T09:29:54Z",
    Field.MACHINE_POOL_REF: {"name": "rack-a1"},
    Field.STATUS: {
        "state": "Running",
        "machineID": "libvirt://5b0ff6f2",
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Running",
                "lastTransitionTime": "2030-01-01T09:30:00Z",
            }
        ],
    },
}


def test_the_page_shows_the_real_diff() -> None:
    outcome = edit(MACHINE.encode(), 0, CHANGES)
    assert isinstance(outcome, Edited)
    lines = unified_diff(MACHINE.splitlines(True), outcome.data.decode().splitlines(True))
    assert "".join(list(lines)[2:]) in PAGE


def test_the_page_shows_the_real_refusal() -> None:
    text = b"metadata: {name: web-1}\nspec: &common\n  power: On\ncopy: *common\n"
    outcome = edit(text, 0, CHANGES, path="machines/web-1.yaml")
    assert isinstance(outcome, EditRefused)
    found = outcome.problem
    assert f"{found.file}:{found.line}:{found.column}: {found.code} {found.message}\n  {found.hint}\n" in PAGE


def test_the_page_names_every_field_and_code() -> None:
    for field in Field:
        assert f"`{field}`" in PAGE
    for code in CODES:
        if code.startswith("GV7"):
            assert code in PAGE
