"""Ids come from uid labels, one id a uid."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iri.identity import UID_LABELS, derive_id
from iri.runtime import RuntimeKind

UID = "0c7e7c5e-3a0f-5a3b-9f0e-2b7c9d1e4f60"


@pytest.mark.parametrize("kind", UID_LABELS)
def test_a_uuid_is_the_id(kind: RuntimeKind) -> None:
    assert derive_id(kind, {UID_LABELS[kind]: UID, "other": "label"}) == UID


@pytest.mark.parametrize("kind", UID_LABELS)
@pytest.mark.parametrize("labels", [{}, {"machine-uid": UID}])
def test_no_label_no_identity(kind: RuntimeKind, labels: dict[str, str]) -> None:
    assert derive_id(kind, labels) is None


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_text_has_one_id_of_its_own(one: str, other: str) -> None:
    ids = {kind: derive_id(kind, {label: one}) for kind, label in UID_LABELS.items()}
    assert ids == {kind: derive_id(kind, {label: one}) for kind, label in UID_LABELS.items()}
    for kind, label in UID_LABELS.items():
        assert str(uuid.UUID(ids[kind])) == ids[kind]
        assert (derive_id(kind, {label: other}) == ids[kind]) == (one == other)
