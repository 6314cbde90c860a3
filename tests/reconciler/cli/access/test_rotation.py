"""Rotation as a table: given files and what is in force, the step; and what the entry lists."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reconciler.cli.access.rotation import (
    RotationFacts,
    RotationStep,
    add_certificate,
    begin_rotation,
    find_step,
)
from tests.schemas.settings.certificates import NOW, certificate

OLD, NEW, THIRD, FOURTH = (certificate(f"host-{number}") for number in range(4))
SOON = NOW + timedelta(days=340)

STEPS = [
    ("not listed yet", OLD, None, (), False, NOW, RotationStep.LIST),
    ("another one is listed", OLD, None, (THIRD,), False, NOW, RotationStep.LIST),
    ("valid for long", OLD, None, (OLD,), False, NOW, RotationStep.REST),
    ("valid for long, forced", OLD, None, (OLD,), True, NOW, RotationStep.BEGIN),
    ("ends soon", OLD, None, (OLD,), False, SOON, RotationStep.BEGIN),
    ("ended", OLD, None, (OLD,), False, NOW + timedelta(days=400), RotationStep.BEGIN),
    ("next made, not in force", OLD, NEW, (OLD,), False, SOON, RotationStep.BEGIN),
    ("next made, nothing in force", OLD, NEW, (), False, SOON, RotationStep.BEGIN),
    ("next in force", OLD, NEW, (OLD, NEW), False, SOON, RotationStep.END),
    ("next in force alone", OLD, NEW, (NEW,), False, SOON, RotationStep.END),
    ("adopted, the drop is not merged", NEW, None, (OLD, NEW), False, NOW, RotationStep.END),
    ("adopted and merged", NEW, None, (NEW,), False, NOW, RotationStep.REST),
    ("in force in another layout", NEW, None, (f"\n{NEW}\n",), False, NOW, RotationStep.REST),
]


@pytest.mark.parametrize(
    ("own", "next_pem", "in_force", "is_forced", "now", "want"),
    [row[1:] for row in STEPS],
    ids=[row[0] for row in STEPS],
)
def test_the_next_step_is_found_from_files_and_settings(
    own: str,
    next_pem: str | None,
    in_force: tuple[str, ...],
    is_forced: bool,
    now: object,
    want: RotationStep,
) -> None:
    assert find_step(RotationFacts(own, next_pem, in_force, is_forced), now) is want  # type: ignore[arg-type]


def test_a_rotation_that_is_interrupted_anywhere_ends_and_never_leaves_its_owner_without_a_certificate() -> (
    None
):
    """Each step is done as far as the files, or as far as the merge, and then `rotate` is called again."""
    own, next_pem, seen = OLD, None, []
    entry: tuple[str, ...] = (OLD,)
    for _ in range(8):
        step = find_step(RotationFacts(own, next_pem, entry, own == OLD), NOW)
        seen.append(step)
        if step is RotationStep.BEGIN and next_pem is None:
            next_pem = NEW  # interrupted before the proposal
        elif step is RotationStep.BEGIN:
            entry = begin_rotation(entry, own, next_pem or "")
        elif step is RotationStep.END and next_pem is not None:
            own, next_pem = next_pem, None  # interrupted before the merge
        elif step is RotationStep.END:
            entry = (own,)
        else:
            break
        assert own in entry
        assert len(entry) <= 2
    assert seen == [
        RotationStep.BEGIN,
        RotationStep.BEGIN,
        RotationStep.END,
        RotationStep.END,
        RotationStep.REST,
    ]
    assert (own, entry) == (NEW, (NEW,))


@pytest.mark.parametrize(
    ("listed", "want"),
    [((), (NEW,)), ((OLD,), (OLD, NEW)), ((NEW,), (NEW,)), ((OLD, NEW), (OLD, NEW)), ((OLD, THIRD), None)],
)
def test_an_entry_has_room_for_two(listed: tuple[str, ...], want: tuple[str, ...] | None) -> None:
    assert add_certificate(listed, NEW) == want


@pytest.mark.parametrize(
    ("listed", "want"),
    [
        ((OLD,), (OLD, NEW)),
        ((OLD, NEW), (OLD, NEW)),
        ((THIRD, OLD), (OLD, NEW)),
        ((OLD, THIRD), (OLD, NEW)),
        ((THIRD,), (THIRD, NEW)),
        ((THIRD, FOURTH), (FOURTH, NEW)),
        ((), (NEW,)),
    ],
)
def test_a_rotation_keeps_the_certificate_in_use(listed: tuple[str, ...], want: tuple[str, ...]) -> None:
    assert begin_rotation(listed, OLD, NEW) == want
