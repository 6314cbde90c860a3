"""Ids are derived from uid labels: one id per uid, the same for ever."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from iri.identity import CANONICAL, UID_LABELS, derive_id
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind
from iri.volume import RuntimeSnapshot, RuntimeVolume

DERIVED: dict[RuntimeKind, str] = {
    RuntimeMachine: "6ddbc0cf-626f-5b34-809b-1d57db888f54",
    RuntimeVolume: "0cea1107-de49-556e-a4eb-6acb5d577c34",
    RuntimeSnapshot: "f42b9d19-5b5a-5077-89e1-5f4f1c0f5293",
}
UID = "0c7e7c5e-3a0f-5a3b-9f0e-2b7c9d1e4f60"


@pytest.mark.parametrize("kind", UID_LABELS)
def test_a_uuid_is_the_id(kind: RuntimeKind) -> None:
    assert derive_id(kind, {UID_LABELS[kind]: UID, "other": "label"}) == UID


@pytest.mark.parametrize("kind", UID_LABELS)
@pytest.mark.parametrize("labels", [{}, {"machine-uid": UID}])
def test_without_a_uid_label_there_is_no_derived_id(kind: RuntimeKind, labels: dict[str, str]) -> None:
    assert derive_id(kind, labels) is None


@pytest.mark.parametrize(("kind", "id"), DERIVED.items())
def test_the_id_of_a_text_never_changes(kind: RuntimeKind, id: str) -> None:
    """Existing objects would be created a second time if the rule or the namespace changed."""
    assert derive_id(kind, {UID_LABELS[kind]: "web-1"}) == id


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_text_has_one_id_of_its_own(one: str, other: str) -> None:
    for kind, label in UID_LABELS.items():
        id = derive_id(kind, {label: one})
        assert id is not None
        assert str(uuid.UUID(id)) == id
        assert (derive_id(kind, {label: other}) == id) == (one == other)


@given(st.text(min_size=1))
def test_kinds_with_one_uid_have_different_ids(uid: str) -> None:
    assume(not CANONICAL.fullmatch(uid))
    assert len({derive_id(kind, {label: uid}) for kind, label in UID_LABELS.items()}) == len(UID_LABELS)
