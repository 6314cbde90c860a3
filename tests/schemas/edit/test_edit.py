"""The laws of an edit on a plain manifest: what is asked is there, nothing else moved, twice is once, undone is as before."""

from __future__ import annotations

import pytest

from schemas.edit import Annotation, Changes, Edited, EditRefused, Field, Means, edit, edit_all

MACHINE = b"""\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: web-1  # the first
spec:
  machineClassRef:
    name: small
  volumes:
  - name: root
# the end
"""

PLACED: Changes = {
    Field.STATUS: {"state": "Pending", "conditions": [{"type": "Scheduled", "status": "True"}]},
    Field.MACHINE_POOL_REF: {"name": "host-17"},
    Field.UID: "5b0ff6f2-3d6c-5d0a-9a3e-000000000001",
}


def edit_once(data: bytes, changes: Changes, index: int = 0) -> bytes:
    outcome = edit(data, index, changes)
    assert isinstance(outcome, Edited), outcome
    return outcome.data


def test_new_fields_follow_the_style_of_the_file() -> None:
    assert edit_once(MACHINE, PLACED).decode() == (
        """\
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: web-1  # the first
  uid: 5b0ff6f2-3d6c-5d0a-9a3e-000000000001
spec:
  machineClassRef:
    name: small
  volumes:
  - name: root
  machinePoolRef:
    name: host-17
status:
  state: Pending
  conditions:
  - type: Scheduled
    status: "True"
# the end
"""
    )


def test_equal_values_give_the_same_bytes() -> None:
    once = edit_once(MACHINE, PLACED)
    twice = edit(once, 0, PLACED)
    assert isinstance(twice, Edited)
    assert twice.data is once
    assert twice.means is Means.UNTOUCHED


def test_removing_what_was_added_restores_the_bytes() -> None:
    assert edit_once(edit_once(MACHINE, PLACED), dict.fromkeys(PLACED)) == MACHINE


def test_a_value_changed_and_changed_back_restores_the_bytes() -> None:
    once = edit_once(MACHINE, PLACED)
    moved = edit_once(once, {Field.MACHINE_POOL_REF: {"name": "host-18"}})
    assert moved == once.replace(b"host-17", b"host-18")
    assert edit_once(moved, {Field.MACHINE_POOL_REF: {"name": "host-17"}}) == once


def test_the_order_of_the_changes_does_not_matter() -> None:
    assert edit_once(MACHINE, dict(reversed(list(PLACED.items())))) == edit_once(MACHINE, PLACED)


def test_the_last_annotation_removes_its_mapping() -> None:
    paused = edit_once(MACHINE, {Annotation("gitvirt.dev/paused"): "true", Annotation("zone"): "a"})
    assert b'  annotations:\n    gitvirt.dev/paused: "true"\n    zone: a\n' in paused
    assert edit_once(paused, {Annotation("gitvirt.dev/paused"): None, Annotation("zone"): None}) == MACHINE


def test_several_documents_of_one_file_are_edited_together() -> None:
    both = MACHINE + b"---\n" + MACHINE
    outcome = edit_all(both, {0: PLACED, 1: {Field.UNSCHEDULABLE: True}})
    assert isinstance(outcome, Edited)
    assert outcome.data == edit_once(MACHINE, PLACED) + b"---\n" + edit_once(
        MACHINE, {Field.UNSCHEDULABLE: True}
    )


@pytest.mark.parametrize("index", [-1, 1, 7])
def test_a_missing_document_is_refused(index: int) -> None:
    outcome = edit(MACHINE, index, PLACED, path="a.yaml")
    assert isinstance(outcome, EditRefused)
    assert (outcome.problem.code, outcome.problem.file) == ("GV701", "a.yaml")
