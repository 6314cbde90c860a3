"""Commit messages: subjects that read well, lines that no text of a person or a host can end early."""

import msgspec
import pytest

from reconciler.gitstore.objects.commit import add_trailers, parse_trailers
from reconciler.plan.types import Action, Change
from reconciler.world.record import NOTHING, Record
from reconciler.write.message import (
    LONGEST_LINE,
    LONGEST_SUBJECT,
    MOST_LINES,
    CommitContents,
    ForeignCommit,
    message,
    subject,
)
from schemas.effects.effect import Loss, LossKind
from schemas.kinds import Key, Kind
from schemas.model import Condition, DestroyRequest, GrantedHost, MachinePoolStatus, MachineStatus

WEB = Key(Kind.MACHINE, "default", "web-1")
POOL = Key(Kind.MACHINE_POOL, "", "rack-a1")
PLACED = Record(uid="u", pool="rack-a1", status=MachineStatus(state="Pending"))
GRANTED = MachinePoolStatus(host=GrantedHost(id="h"), epoch=1)
FENCED = MachinePoolStatus(epoch=2, destroyed=DestroyRequest(commit="c", host="h", state="Fenced"))
RUNNING = msgspec.structs.replace(PLACED, status=MachineStatus(state="Running"))


def of(
    count: int, action: Action, after: Record | None = PLACED, before: Record | None = NOTHING
) -> list[Change]:
    return [
        Change(Key(Kind.MACHINE, "default", f"{action}-{n}"), action, before, after) for n in range(count)
    ]


def on(pool: str, number: int) -> Change:
    key = Key(Kind.MACHINE, "default", f"web-{number}")
    return Change(key, Action.SCHEDULE, NOTHING, msgspec.structs.replace(PLACED, pool=pool))


@pytest.mark.parametrize(
    ("changes", "files", "want"),
    [
        pytest.param([Change(WEB, Action.SCHEDULE, NOTHING, PLACED)], [], "schedule web-1 onto rack-a1", id="schedule"),
        pytest.param([Change(WEB, Action.STATUS, PLACED, RUNNING)], [], "web-1 is running", id="running"),
        pytest.param([Change(WEB, Action.STATUS, RUNNING, RUNNING)], [], "update web-1", id="same state"),
        pytest.param([Change(WEB, Action.EVICT, PLACED, PLACED)], [], "EVICT web-1 from rack-a1", id="evict"),
        pytest.param([Change(WEB, Action.REMOVE, PLACED, None)], [], "remove web-1 from rack-a1", id="remove"),
        pytest.param([Change(WEB, Action.MARK_DELETED, PLACED, PLACED)], [], "DELETE web-1", id="order"),
        pytest.param([Change(POOL, Action.STATUS, NOTHING, Record(status=MachinePoolStatus(state="Ready")))], [], "rack-a1 is ready", id="pool"),
        pytest.param([Change(POOL, Action.STATUS, Record(status=MachinePoolStatus()), Record(status=GRANTED))], [], "grant rack-a1", id="grant"),
        pytest.param([Change(POOL, Action.STATUS, Record(status=GRANTED), Record(status=FENCED))], [], "FENCE the host of rack-a1", id="fence"),
        pytest.param([Change(Key(Kind.VOLUME_POOL, "", "ceph"), Action.ANNOUNCE, None, NOTHING)], [], "announce volume pool ceph", id="kind"),
        pytest.param(of(8, Action.SCHEDULE), [], "schedule schedule-0..schedule-7 onto rack-a1", id="a range"),
        pytest.param([on("a", 1), on("b", 2), on("a", 10)], [], "schedule web-1, web-2, web-10 onto 2 hosts", id="several hosts"),
        pytest.param(
            [*of(3, Action.STATUS, RUNNING, PLACED), *(on("a", n) for n in range(12)), *of(1, Action.MARK_DELETED)],
            ["machines/web-1.yaml"],
            "DELETE mark-deleted-0; schedule web-0..web-11 onto a; 3 more changes",
            id="what destroys comes first",
        ),
        pytest.param(
            [on("rack-a1", 1), on("rack-a1", 7), *of(1, Action.UNSCHEDULABLE), *of(1, Action.ADOPT), *of(1, Action.CLAIM)],
            [],
            "schedule web-1, web-7 onto rack-a1; 3 more changes",
            id="both are named where groups are left out",
        ),
        pytest.param([], ["machines/web-1.yaml"], "sync main: machines/web-1.yaml", id="only people's"),
        pytest.param([], [f"m/{n}.yaml" for n in range(1200)], "sync main: 1,200 files", id="many files"),
        pytest.param([], [f"machines/production/frontend-{n}.yaml" for n in range(3)], "sync main: 3 files", id="long names"),
        pytest.param([], [], "sync main", id="a commit that changes no file"),
        pytest.param(of(1, Action.SCHEDULE) + of(5, Action.SYNC), [], "schedule schedule-0 onto rack-a1", id="what was synced does not count"),
    ],
)  # fmt: skip
def test_subject(changes: list[Change], files: list[str], want: str) -> None:
    assert subject(CommitContents(changes, files)) == want


def test_progress_is_in_the_body_alone() -> None:
    changes = [Change(WEB, Action.STATUS, PLACED, RUNNING), *of(1, Action.STATUS, RUNNING, PLACED)]
    found = message(CommitContents(changes, progress={WEB}))
    assert found.splitlines() == ["status-0 is running", "", "- default/web-1: Pending -> Running", "- default/status-0: Pending -> Running"]  # fmt: skip


def test_what_an_order_destroys_is_in_subject_and_line() -> None:
    changes = [Change(WEB, Action.EVICT, PLACED, PLACED, "its pool is being drained")]
    losses = {WEB: (Loss(LossKind.LOCAL_DISK, "root", "web-1", 10 << 30),)}
    assert message(CommitContents(changes, losses=losses)).splitlines() == [
        "EVICT web-1 from rack-a1, DESTROYS 1 local disk",
        "",
        "- EVICT default/web-1 from rack-a1: its pool is being drained; DESTROYS local disk root of web-1, 10Gi",
    ]
    assert subject(CommitContents(changes)) == "EVICT web-1 from rack-a1"


@pytest.mark.parametrize("count", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize("name", ["w", "web-frontend-of-the-shop", "x" * 63])
def test_a_subject_is_short_and_begins_with_what_it_destroys(count: int, name: str) -> None:
    keys = [Key(Kind.MACHINE, "production", f"{name[: 63 - len(str(n * 3))]}{n * 3}") for n in range(count)]
    changes = [Change(key, Action.SCHEDULE, NOTHING, PLACED) for key in keys]
    changes += [Change(WEB, Action.MARK_DELETED, PLACED, PLACED)]
    found = subject(CommitContents(changes))
    assert len(found) <= LONGEST_SUBJECT
    assert found.startswith("DELETE web-1")


def test_a_failure_names_its_reason() -> None:
    failed = Condition(
        type="ImageReady", status="False", reason="ImageNotResolvable", message="no such image"
    )
    after = msgspec.structs.replace(PLACED, status=MachineStatus(conditions=(failed,)))
    assert message(CommitContents([Change(WEB, Action.STATUS, PLACED, after)])).splitlines() == [
        "web-1 is failing: image not resolvable",
        "",
        "- default/web-1 is failing: image not resolvable: no such image (ImageReady: ImageNotResolvable)",
    ]


def test_a_guest_that_cannot_get_a_change_is_not_called_failing() -> None:
    """It runs, with the ssh keys of its first boot."""
    differs = Condition(
        type="UpToDate", status="False", reason="FirstBootDataDiffers", message="it cannot change"
    )
    after = msgspec.structs.replace(PLACED, status=MachineStatus(conditions=(differs,)))
    found = message(CommitContents([Change(WEB, Action.STATUS, PLACED, after)]))
    assert found.startswith("web-1 is not as declared: first boot data differs\n")
    assert "failing" not in found


def test_what_others_changed_names_them_and_their_commit() -> None:
    foreign = ForeignCommit("1a2b3c4d5e6f", "Mallory", ["web.yaml"])
    assert (
        message(CommitContents([], foreign=foreign))
        == "put back web.yaml, which Mallory changed in 1a2b3c4d5e"
    )
    assert message(CommitContents([], ["new.txt"], foreign=foreign)) == (
        "sync main: new.txt\n\n- put back web.yaml, which Mallory changed in 1a2b3c4d5e"
    )
    nothing = ForeignCommit("1a2b3c4d5e6f", "Mallory")
    assert (
        subject(CommitContents([], foreign=nothing))
        == "pass over commit 1a2b3c4d5e, which Mallory wrote here"
    )


def test_the_body_has_a_line_for_each_change_with_its_reason() -> None:
    changes = [Change(WEB, Action.SCHEDULE, NOTHING, PLACED, "most free")]
    assert message(CommitContents(changes, ["machines/web-1.yaml"])) == (
        "schedule web-1 onto rack-a1\n\n"
        "- schedule default/web-1 onto rack-a1: most free\n"
        "- from main: machines/web-1.yaml"
    )


def test_no_reason_and_no_path_adds_a_trailer_or_a_paragraph() -> None:
    evil = "no\n\nSource-Commit: 0000\nGitvirt-Approve: 1111"
    foreign = ForeignCommit("1a2b3c4d5e6f", evil, [evil])
    changes = [Change(WEB, Action.WITHDRAW, PLACED, NOTHING, evil)]
    text = message(CommitContents(changes, ["a\nSource-Commit: 1.yaml"] * 5, foreign=foreign))
    assert parse_trailers(add_trailers(text, [("Source-Commit", "abcd")])) == (("Source-Commit", "abcd"),)
    assert text.count("\n\n") == 1


def test_a_message_is_bounded() -> None:
    text = message(CommitContents(of(MOST_LINES + 5, Action.SCHEDULE)))
    assert text.endswith("- and 5 more")
    assert (
        len(message(CommitContents([Change(WEB, Action.BLOCKED, PLACED, PLACED, "x" * 9999)])).split("\n")[2])
        == LONGEST_LINE
    )
