from __future__ import annotations

from uuid import UUID

from reconciler.decide.object_edit import assignment_id, make_uid
from schemas.kinds import Key, Kind

FLEET = "5a1e9a5e-0d5c-4f0b-9a54-6d1b6f6f7f10"
OTHER = "5a1e9a5e-0d5c-4f0b-9a54-6d1b6f6f7f11"
WEB = Key(Kind.MACHINE, "default", "web-1")


def test_the_same_declaration_always_gets_the_same_uid() -> None:
    assert make_uid(FLEET, WEB, "c1") == make_uid(FLEET, WEB, "c1")
    assert UUID(make_uid(FLEET, WEB, "c1"))


def test_an_object_with_another_fleet_commit_kind_or_name_has_another_uid() -> None:
    others = [
        make_uid(FLEET, WEB, "c1"),
        make_uid(FLEET, WEB, "c2"),
        make_uid(OTHER, WEB, "c1"),
        make_uid(FLEET, Key(Kind.MACHINE, "prod", "web-1"), "c1"),
        make_uid(FLEET, Key(Kind.VOLUME, "default", "web-1"), "c1"),
    ]
    assert len(set(others)) == len(others)


def test_a_secret_has_no_uid_because_its_document_is_never_written() -> None:
    assert make_uid(FLEET, Key(Kind.SECRET, "default", "db"), "c1") == ""


def test_every_decision_gets_its_own_assignment_id() -> None:
    own = make_uid(FLEET, WEB, "c1")
    assert len({assignment_id(own, None), assignment_id(own, "l1"), assignment_id(own, "l2")}) == 3
