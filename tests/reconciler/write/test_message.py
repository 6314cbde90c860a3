"""Commit messages: subjects that read well, lines that no text of a person or a host can end early."""

import msgspec
import pytest

from reconciler.gitstore.objects.commit import add_trailers, parse_trailers
from reconciler.plan.types import Action, Change
from reconciler.world.record import NOTHING, Record
from reconciler.write.message import LONGEST_LINE, MOST_LINES, message, subject
from schemas.kinds import Key, Kind
from schemas.model import MachinePoolStatus, MachineStatus

WEB = Key(Kind.MACHINE, "default", "web-1")
POOL = Key(Kind.MACHINE_POOL, "", "rack-a1")
PLACED = Record(uid="u", pool="rack-a1", status=MachineStatus())
RUNNING = msgspec.structs.replace(PLACED, status=MachineStatus(state="Running"))


def of(
    count: int, action: Action, after: Record | None = PLACED, before: Record | None = NOTHING
) -> list[Change]:
    return [
        Change(Key(Kind.MACHINE, "default", f"{action}-{n}"), action, before, after) for n in range(count)
    ]


@pytest.mark.parametrize(
    ("changes", "files", "want"),
    [
        pytest.param(
            [Change(WEB, Action.SCHEDULE, NOTHING, PLACED)],
            [],
            "schedule default/web-1 onto rack-a1",
            id="schedule",
        ),
        pytest.param(
            [Change(WEB, Action.STATUS, PLACED, RUNNING)], [], "default/web-1 is running", id="running"
        ),
        pytest.param(
            [Change(WEB, Action.STATUS, RUNNING, RUNNING)], [], "default/web-1: updated", id="same state"
        ),
        pytest.param(
            [Change(WEB, Action.EVICT, PLACED, PLACED)], [], "evict default/web-1 from rack-a1", id="evict"
        ),
        pytest.param(
            [Change(WEB, Action.REMOVE, PLACED, None)], [], "remove default/web-1 from rack-a1", id="remove"
        ),
        pytest.param(
            [Change(WEB, Action.MARK_DELETED, PLACED, PLACED)],
            [],
            "order the deletion of default/web-1",
            id="order",
        ),
        pytest.param(
            [Change(POOL, Action.STATUS, NOTHING, Record(status=MachinePoolStatus(state="Ready")))],
            [],
            "rack-a1 is ready",
            id="pool",
        ),
        pytest.param(
            [Change(Key(Kind.VOLUME_POOL, "", "ceph"), Action.ANNOUNCE, None, NOTHING)],
            [],
            "announce volume pool ceph",
            id="kind",
        ),
        pytest.param(
            of(3, Action.STATUS, RUNNING, PLACED) + of(12, Action.SCHEDULE) + of(1, Action.BLOCKED),
            ["machines/web-1.yaml"],
            "12 scheduled, 1 blocked, 3 running",
            id="counts, the weightiest first",
        ),
        pytest.param([], ["machines/web-1.yaml"], "sync main: machines/web-1.yaml", id="only people's"),
        pytest.param([], [f"m/{n}.yaml" for n in range(1200)], "sync main: 1,200 files", id="many files"),
        pytest.param([], [], "sync main", id="a commit that changes no file"),
        pytest.param(
            of(1, Action.SCHEDULE) + of(5, Action.SYNC),
            [],
            "schedule default/schedule-0 onto rack-a1",
            id="notes do not count",
        ),
    ],
)
def test_subject(changes: list[Change], files: list[str], want: str) -> None:
    assert subject(changes, files, "main") == want


def test_the_body_has_a_line_for_each_change_with_its_reason() -> None:
    changes = [Change(WEB, Action.SCHEDULE, NOTHING, PLACED, "most free")]
    assert message(changes, ["machines/web-1.yaml"], "main") == (
        "schedule default/web-1 onto rack-a1\n\n"
        "- schedule default/web-1 onto rack-a1: most free\n"
        "- from main: machines/web-1.yaml"
    )


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("running", "default/web-1 is running"),
        ("running, as rack-a1 reports", "default/web-1 is running, as rack-a1 reports"),
        ("on another host", "default/web-1 is running: on another host"),
        ("", "default/web-1 is running"),
    ],
)
def test_a_line_of_the_body_does_not_repeat_a_state(reason: str, line: str) -> None:
    changes = [Change(WEB, Action.STATUS, PLACED, RUNNING, reason), *of(1, Action.SCHEDULE)]
    assert f"- {line}" in message(changes, [], "main").split("\n")


def test_no_reason_and_no_path_adds_a_trailer_or_a_paragraph() -> None:
    evil = "no\n\nSource-Commit: 0000\nGitvirt-Approve: 1111"
    text = message(
        [Change(WEB, Action.WITHDRAW, PLACED, NOTHING, evil)], ["a\nSource-Commit: 1.yaml"] * 5, "main"
    )
    assert parse_trailers(add_trailers(text, [("Source-Commit", "abcd")])) == (("Source-Commit", "abcd"),)
    assert text.count("\n\n") == 1


def test_a_message_is_bounded() -> None:
    text = message(of(MOST_LINES + 5, Action.SCHEDULE), [], "main")
    assert text.endswith("- and 5 more")
    assert (
        len(message([Change(WEB, Action.BLOCKED, PLACED, PLACED, "x" * 9999)], [], "main").split("\n")[2])
        == LONGEST_LINE
    )
