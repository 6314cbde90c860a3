"""Lines of commit messages and cuts of files: each action, each kind and each marker once."""

from __future__ import annotations

import pytest

from reconciler.plan.types import Action, Change
from reconciler.world.record import NOTHING, Record
from reconciler.write.message import LONGEST_LINE, MOST_NAMES, CommitContents, ForeignCommit, message, subject
from reconciler.write.object_names import full_name, list_names
from reconciler.write.phrase import line_of
from reconciler.write.yaml_documents import cut_document, join_documents, remove_documents
from schemas.kinds import Key, Kind
from schemas.model import Condition, MachinePoolStatus, MachineStatus

WEB = Key(Kind.MACHINE, "default", "web")
ON_A = Record(uid="u", pool="a", status=MachineStatus(state="Pending"))
RUNNING = Record(uid="u", pool="a", status=MachineStatus(state="Running"))
SILENT, BACK = (
    Record(uid="u", pool="a", status=MachineStatus(state="Running", conditions=(ready,)))
    for ready in (
        Condition(type="Ready", status="Unknown", reason="RuntimeUnreachable"),
        Condition(type="Ready", status="True", reason="Running"),
    )
)


@pytest.mark.parametrize(
    ("key", "want"),
    [
        pytest.param(WEB, "default/web", id="a machine without its kind"),
        pytest.param(Key(Kind.MACHINE_POOL, "", "rack-a1"), "rack-a1", id="a machine pool without its kind"),
        pytest.param(Key(Kind.VOLUME, "default", "data"), "volume default/data", id="a volume"),
        pytest.param(Key(Kind.VOLUME_POOL, "", "ceph"), "volume pool ceph", id="a kind of two words"),
        pytest.param(
            Key(Kind.NETWORK_INTERFACE, "default", "web-lan"),
            "network interface default/web-lan",
            id="a network interface",
        ),
    ],
)
def test_the_name_of_an_object_in_a_message(key: Key, want: str) -> None:
    assert full_name(key) == want


@pytest.mark.parametrize(
    ("action", "before", "after", "want"),
    [
        pytest.param(Action.SCHEDULE, NOTHING, ON_A, "schedule default/web onto a", id="schedule"),
        pytest.param(Action.ADOPT, None, ON_A, "adopt default/web on a", id="adopt"),
        pytest.param(Action.EVICT, ON_A, ON_A, "EVICT default/web from a", id="evict"),
        pytest.param(Action.WITHDRAW, ON_A, NOTHING, "withdraw default/web from a", id="withdraw"),
        pytest.param(Action.REMOVE, ON_A, None, "remove default/web from a", id="remove"),
        pytest.param(Action.REMOVE, NOTHING, None, "remove default/web", id="remove what was on no pool"),
        pytest.param(Action.MARK_DELETED, ON_A, ON_A, "DELETE default/web", id="order a deletion"),
        pytest.param(Action.AWAIT_APPROVAL, ON_A, ON_A, "hold the deletion of default/web", id="hold a deletion"),
        pytest.param(Action.RETAIN, ON_A, ON_A, "retain default/web", id="retain"),
        pytest.param(Action.GENERATE, None, NOTHING, "generate default/web", id="generate"),
        pytest.param(Action.CLAIM, ON_A, ON_A, "end the claim of default/web", id="a claim that ends, without its pool"),
        pytest.param(Action.BLOCKED, ON_A, ON_A, "default/web is blocked", id="blocked"),
        pytest.param(Action.UNSCHEDULABLE, NOTHING, NOTHING, "default/web is unschedulable", id="unschedulable"),
        pytest.param(Action.STATUS, ON_A, RUNNING, "default/web: Pending -> Running", id="a new state"),
        pytest.param(Action.STATUS, SILENT, BACK, "default/web is running again", id="ready again"),
        pytest.param(Action.STATUS, RUNNING, RUNNING, "update default/web", id="other status"),
    ],
)  # fmt: skip
def test_each_action_is_one_sentence(
    action: Action, before: Record | None, after: Record | None, want: str
) -> None:
    assert line_of(Change(WEB, action, before, after)) == want


POOL = Key(Kind.MACHINE_POOL, "", "rack-a")
LOST = "the report of h has not changed within the heartbeat timeout"
REPORTED = Condition(type="Ready", status="True", reason="Reported")
POOL_READY = Record(status=MachinePoolStatus(state="Ready", conditions=(REPORTED,)))
POOL_LOST, POOL_NEW = (
    Record(status=MachinePoolStatus(state="Pending", conditions=(ready,)))
    for ready in (
        Condition(type="Ready", status="Unknown", reason="ReportLost", message=LOST),
        Condition(type="Ready", status="False", reason="NotReady"),
    )
)


@pytest.mark.parametrize(
    ("before", "after", "short", "want"),
    [
        pytest.param(POOL_READY, POOL_LOST, "rack-a is unknown", f"rack-a: Ready -> Unknown: {LOST} (Ready: ReportLost)", id="lost"),
        pytest.param(POOL_LOST, POOL_READY, "rack-a is ready", "rack-a: Unknown -> Ready", id="back"),
        pytest.param(POOL_NEW, POOL_READY, "rack-a is ready", "rack-a: Pending -> Ready", id="new"),
    ],
)  # fmt: skip
def test_a_lost_pool_is_unknown_as_get_shows_it(before: Record, after: Record, short: str, want: str) -> None:
    """live has it as Pending, so `h-1 is pending` was in the log of each host that died."""
    change = Change(POOL, Action.STATUS, before, after)
    assert subject(CommitContents([change])) == short
    assert line_of(change) == want


@pytest.mark.parametrize(
    ("names", "most", "want"),
    [
        pytest.param(["a"], 3, "a", id="one"),
        pytest.param(["a-2", "a-1"], 3, "a-1, a-2", id="two are listed"),
        pytest.param(["a-10", "a-9", "a-8"], 3, "a-8..a-10", id="a range"),
        pytest.param(["a-1", "a-2", "a-3", "b"], 1, "a-1..a-3 and 1 more", id="a range counts as one name"),
        pytest.param(
            ["a-09", "a-10", "a-11"], 3, "a-09, a-10, a-11", id="numbers of other lengths are listed"
        ),
        pytest.param(["b", "a", "d", "c"], 2, "a, b and 2 more", id="too many"),
    ],
)
def test_names_are_listed_in_ranges(names: list[str], most: int, want: str) -> None:
    assert list_names([Key(Kind.MACHINE, "default", name) for name in names], most) == want


def test_kinds_and_other_namespaces_are_named() -> None:
    volumes = [Key(Kind.VOLUME, "default", name) for name in ("y", "x")]
    keys = [*volumes, Key(Kind.MACHINE, "production", "web")]
    assert list_names(keys, 9) == "production/web, volumes x, y"


@pytest.mark.parametrize(
    ("changes", "files", "restored", "want"),
    [
        pytest.param(
            0, [], ["a.yaml"], "put back a.yaml, which Mallory changed in 1a2b3c4d5e", id="restored alone"
        ),
        pytest.param(
            0, [], list("abcd"), "put back 4 files, which Mallory changed in 1a2b3c4d5e", id="many restored"
        ),
        pytest.param(0, ["a"], ["b"], "sync main: a", id="people's files name the commit"),
        pytest.param(1, ["a"], ["b"], "schedule m0 onto a", id="one change"),
        pytest.param(2, ["a"], ["b"], "schedule m0, m1 onto a", id="two changes"),
        pytest.param(1234, [], [], "schedule m0..m1233 onto a", id="thousands"),
    ],
)
def test_the_subject_names_what_weighs_most(
    changes: int, files: list[str], restored: list[str], want: str
) -> None:
    done = [
        Change(Key(Kind.MACHINE, "default", f"m{n}"), Action.SCHEDULE, NOTHING, ON_A) for n in range(changes)
    ]
    foreign = ForeignCommit("1a2b3c4d5e6f", "Mallory", restored) if restored else None
    contents = CommitContents(done, files, foreign=foreign)
    assert subject(contents) == want
    assert message(contents).startswith(want)


@pytest.mark.parametrize(
    ("count", "want"),
    [(1, "sync main: f0"), (MOST_NAMES, "sync main: f0, f1, f2"), (MOST_NAMES + 1, "sync main: 4 files")],
)
def test_few_files_are_named_and_many_are_counted(count: int, want: str) -> None:
    assert subject(CommitContents([], [f"f{n}" for n in range(count)])) == want


@pytest.mark.parametrize(
    ("reason", "want"),
    [
        pytest.param("two\nlines", "two lines", id="a line break"),
        pytest.param("a\x1b[31mb", "a [31mb", id="an escape sequence"),
        pytest.param("x" * 999, None, id="a long reason is cut"),
    ],
)
def test_a_reason_stays_on_its_line(reason: str, want: str | None) -> None:
    lines = message(CommitContents([Change(WEB, Action.BLOCKED, ON_A, ON_A, reason)])).split("\n")
    assert len(lines) == 3
    assert len(lines[2]) <= LONGEST_LINE
    assert lines[2].endswith(f": {want}" if want else "…")


@pytest.mark.parametrize(
    ("text", "index", "want", "rest"),
    [
        pytest.param("a: 1\n", 0, "a: 1\n", None, id="the only document"),
        pytest.param("a: 1\n---\nb: 2\n", 0, "a: 1\n", "---\nb: 2\n", id="the first of two"),
        pytest.param("a: 1\n---\nb: 2\n", 1, "b: 2\n", "a: 1\n", id="the last of two"),
        pytest.param("a: 1\n---\nb: 2", 1, "b: 2\n", "a: 1\n", id="without a final line end"),
        pytest.param("a: 1\r\n---\r\nb: 2\r\n", 1, "b: 2\r\n", "a: 1\r\n", id="line ends of Windows"),
        pytest.param("# x\na: 1\n---\n# y\nb: 2 # z\n", 1, "# y\nb: 2 # z\n", "# x\na: 1\n", id="comments"),
    ],
)
def test_a_document_is_cut_out_and_the_rest_stays(text: str, index: int, want: str, rest: str | None) -> None:
    data = text.encode()
    assert cut_document(data, index).decode() == want
    left = remove_documents(data, [index])
    assert (left.decode() if left is not None else None) == rest


@pytest.mark.parametrize(
    ("parts", "want"),
    [
        pytest.param(["a: 1\n"], "a: 1\n", id="one"),
        pytest.param(["a: 1\n", "b: 2\n"], "a: 1\n---\nb: 2\n", id="two"),
        pytest.param(["a: 1\n", "---\nb: 2\n"], "a: 1\n---\nb: 2\n", id="a marker is not written twice"),
    ],
)
def test_documents_are_joined_by_one_marker(parts: list[str], want: str) -> None:
    assert join_documents([part.encode() for part in parts]).decode() == want


@pytest.mark.parametrize("gone", [[0, 2], [2, 0]])
def test_several_documents_are_removed_whatever_their_order(gone: list[int]) -> None:
    assert remove_documents(b"a: 1\n---\nbb: 2\n---\nccc: 3\n", gone) == b"---\nbb: 2\n"
