"""The report lease: one writer of a ref, chosen by its contents, by the grants on `live`, and by the other host's heartbeat."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from poollet.sync.live_view import PoolGrant
from poollet.sync.report_lease import (
    Acquire,
    Candidate,
    Grants,
    LeaseVerdict,
    RefContents,
    ReportLease,
    StepDown,
    Wait,
)
from schemas.kinds import Kind
from schemas.report import PoolletReport
from tests.poollet.fleet import FLEET, uid

pytestmark = pytest.mark.clock

TIMEOUT_MS = 50_000
POOL, DISKS, GPU = (Kind.MACHINE_POOL, "p"), (Kind.VOLUME_POOL, "p"), (Kind.MACHINE_POOL, "gpu")
NONE: Grants = {}
OURS: Grants = {POOL: PoolGrant("mine", 2), DISKS: PoolGrant("mine", 1)}
THEIRS: Grants = {POOL: PoolGrant("other", 2)}
MIXED: Grants = {POOL: PoolGrant("mine", 2), GPU: PoolGrant("other", 7)}


def by(host: str, instance: int, leaving: str | None = None, interval: str = "10s") -> PoolletReport:
    return PoolletReport(
        fleet=FLEET,
        name="p",
        host_id=host,
        instance=uid(instance),
        interval=interval,
        leaving=leaving,  # type: ignore[arg-type]
    )


def contents(commit: str | None, own: str | None = None) -> RefContents:
    """`own` is the commit of the report's writer, where candidates put theirs on top."""
    return RefContents(commit, {}, own or commit)


def lease(has_landed: bool = False) -> ReportLease:
    return ReportLease("p", "mine", uid(1), "refs/poollets/p", has_landed)


OTHER, OWN, SELF = by("other", 7), by("mine", 7), by("mine", 1)
FIRST_SIGHT: dict[str, tuple[str | None, PoolletReport | None, bool, Grants, type[LeaseVerdict]]] = {
    "empty": (None, None, False, None, Acquire),
    "empty, after a report of ours landed": (None, None, True, THEIRS, Acquire),
    "empty, granted to another host": (None, None, False, THEIRS, Acquire),
    "own host, other run": ("c", OWN, False, NONE, Acquire),
    "own host, other run, live not applied": ("c", OWN, False, None, Acquire),
    "own host, other run, granted elsewhere": ("c", OWN, False, THEIRS, Acquire),
    "own host, stopped": ("c", by("mine", 7, "stopping"), False, NONE, Acquire),
    "own host, other run, after a report of ours landed": ("c", OWN, True, OURS, StepDown),
    "this run": ("c", SELF, True, NONE, Acquire),
    "this run, restored before anything landed": ("c", SELF, False, NONE, Acquire),
    "other host, all granted to us": ("c", OTHER, False, OURS, Acquire),
    "other host, all granted to us, after we landed": ("c", OTHER, True, OURS, Acquire),
    "other host, granted to it": ("c", OTHER, False, THEIRS, Candidate),
    "other host, granted to it, after we landed": ("c", OTHER, True, THEIRS, Candidate),
    "other host, granted to it, and it left": ("c", by("other", 7, "leaving"), False, THEIRS, Candidate),
    "other host, one pool granted to us, one not": ("c", OTHER, False, MIXED, Candidate),
    "other host, nothing granted": ("c", OTHER, False, NONE, Wait),
    "other host, nothing granted, stopped": ("c", by("other", 7, "stopping"), False, NONE, Wait),
    "other host, nothing granted, left": ("c", by("other", 7, "leaving"), False, NONE, Acquire),
    "other host, live not applied": ("c", OTHER, False, None, Wait),
    "other host left, live not applied": ("c", by("other", 7, "leaving"), False, None, Wait),
    "unknown host, nothing granted": ("c", None, False, NONE, Wait),
    "unknown host, all granted to us": ("c", None, False, OURS, Acquire),
    "unknown host, granted elsewhere": ("c", None, True, THEIRS, Candidate),
}


@pytest.mark.parametrize(
    ("commit", "writer", "has_landed", "grants", "want"), FIRST_SIGHT.values(), ids=FIRST_SIGHT.keys()
)
def test_first_sight(
    commit: str | None,
    writer: PoolletReport | None,
    has_landed: bool,
    grants: Grants,
    want: type[LeaseVerdict],
) -> None:
    assert type(lease(has_landed).judge(contents(commit), writer, grants, 0)) is want


@pytest.mark.parametrize(
    ("boot", "lacks", "leaving", "is_patient", "want"),
    [
        ("this boot", False, None, True, Acquire),
        ("", False, None, True, Acquire),
        ("another boot", False, None, True, Wait),
        ("another boot", False, "stopping", True, Acquire),
        ("another boot", False, None, False, Acquire),
        ("this boot", True, None, True, Wait),
        ("this boot", True, "stopping", True, Acquire),
    ],
)
def test_an_unclean_end_in_another_boot_or_with_other_machines_may_be_a_clone_that_is_alive(
    boot: str, lacks: bool, leaving: str | None, is_patient: bool, want: type[LeaseVerdict]
) -> None:
    def judge(one: ReportLease, commit: str, moment_ms: int) -> LeaseVerdict:
        return one.judge(contents(commit), writer, OURS, moment_ms, lacks=lacks)

    writer = replace(by("mine", 7, leaving), boot_id=boot)
    silent, alive = (ReportLease("p", "mine", uid(1), "refs/poollets/p") for _ in range(2))
    for one in (silent, alive):
        one.boot_id, one.is_patient = "this boot", is_patient
        assert type(judge(one, "c", 0)) is want
    if want is Wait:
        assert type(judge(silent, "c", TIMEOUT_MS - 1)) is Wait
        assert type(judge(silent, "c", TIMEOUT_MS)) is Acquire
        assert type(judge(alive, "d", 10_000)) is StepDown
        assert type(judge(alive, "d", 20 * TIMEOUT_MS)) is StepDown


@pytest.mark.parametrize("writer", [OTHER, by("other", 7, "leaving"), None], ids=["other", "left", "unknown"])
@pytest.mark.parametrize(
    ("grants", "want"), [(NONE, Wait), (None, Wait), (OURS, Acquire), (THEIRS, Candidate), (MIXED, Candidate)]
)
def test_a_live_older_than_the_report_gives_the_ref_to_no_host_that_is_not_granted(
    writer: PoolletReport | None, grants: Grants, want: type[LeaseVerdict]
) -> None:
    """However long the other host is silent: its report tells what runs there."""
    one = lease()
    for moment_ms in (0, 10 * TIMEOUT_MS):
        found = one.judge(contents("c"), writer, grants, moment_ms, is_live_older=True)
        assert type(found) is want
        assert not isinstance(found, Wait) or found.until_ms is None
    # Once `live` has what that host applied, its heartbeat counts as always: nothing changed for long.
    if grants is NONE:
        assert one.judge(contents("c"), writer, NONE, 20 * TIMEOUT_MS) == Acquire()


@dataclass
class Fetch:
    """What a look finds: after how long, which commit, and which one of the report's writer."""

    after_ms: int
    commit: str
    own: str = ""
    grants: Grants = field(default_factory=dict)


STORIES: dict[str, tuple[list[Fetch], type[LeaseVerdict]]] = {
    "it moves no more, just before its timeout": ([Fetch(0, "a"), Fetch(TIMEOUT_MS - 1, "a")], Wait),
    "it moves no more": ([Fetch(0, "a"), Fetch(TIMEOUT_MS, "a")], Acquire),
    "its heartbeat": ([Fetch(0, "a"), Fetch(1000, "b")], Candidate),
    "it moved, and just not expired since": (
        [Fetch(0, "a"), Fetch(9000, "b"), Fetch(8999 + TIMEOUT_MS, "b")],
        Candidate,
    ),
    "it moved, and expired since": (
        [Fetch(0, "a"), Fetch(9000, "b"), Fetch(9000 + TIMEOUT_MS, "b")],
        Acquire,
    ),
    "a candidate is not a sign of life": (
        [Fetch(0, "a"), Fetch(9000, "x", "a"), Fetch(TIMEOUT_MS, "x", "a")],
        Acquire,
    ),
    "a candidate that changes or goes is none": (
        [Fetch(0, "x", "a"), Fetch(9000, "y", "a"), Fetch(9000, "z", "a"), Fetch(TIMEOUT_MS, "z", "a")],
        Acquire,
    ),
    "a heartbeat beside a candidate": (
        [Fetch(0, "x", "a"), Fetch(9000, "b"), Fetch(TIMEOUT_MS, "b")],
        Candidate,
    ),
    "a heartbeat below the next candidate": (
        [Fetch(0, "x", "a"), Fetch(9000, "y", "b"), Fetch(TIMEOUT_MS, "y", "b")],
        Candidate,
    ),
    "it is granted meanwhile": ([Fetch(0, "a"), Fetch(1000, "a", grants=THEIRS)], Candidate),
    "it is granted, and expired": ([Fetch(0, "a", grants=THEIRS), Fetch(TIMEOUT_MS, "a", grants=THEIRS)], Candidate),
    "its grant is cleared before it expired": (
        [Fetch(0, "a", grants=THEIRS), Fetch(1000, "a")],
        Wait,
    ),
    "its grant is cleared, and it expired": (
        [Fetch(0, "a", grants=THEIRS), Fetch(TIMEOUT_MS, "a")],
        Acquire,
    ),
    "its grant moves here": ([Fetch(0, "a", grants=THEIRS), Fetch(1000, "b", grants=OURS)], Acquire),
}  # fmt: skip


@pytest.mark.parametrize(("story", "want"), STORIES.values(), ids=STORIES.keys())
def test_watching_another_host(story: list[Fetch], want: type[LeaseVerdict]) -> None:
    one = lease()
    verdicts = [
        one.judge(contents(each.commit, each.own), OTHER, each.grants, 1000 + each.after_ms) for each in story
    ]
    assert type(verdicts[-1]) is want


def test_the_timeout_is_that_of_the_interval_which_the_other_host_names() -> None:
    found = lease().judge(contents("c"), by("other", 7, interval="1m"), NONE, 0)
    assert isinstance(found, Wait)
    assert found.until_ms == 300_000


def test_a_candidate_says_what_it_waits_for_and_the_two_ways_out() -> None:
    found = lease().judge(contents("c"), OTHER, {POOL: PoolGrant("other", 2), GPU: PoolGrant("third", 1)}, 0)
    assert isinstance(found, Candidate)
    for part in (
        "this is host mine",
        "pool p to host other",
        "`git commit --allow-empty -m 'p: its host is destroyed' --trailer 'Pool-Destroyed: gpu=third' --trailer 'Pool-Destroyed: p=other'`",
        "--trailer 'Pool-Host: p=mine'`",
        "`git push`",
        "another name",
        "powers off those of its machines that `live` assigns to another host, because a machine that runs on two hosts may",
    ):
        assert part in found.message


def test_a_candidate_names_every_pool_in_the_cure_also_where_both_kinds_of_a_name_have_other_hosts() -> None:
    many = {(Kind.MACHINE_POOL, f"p{number}"): PoolGrant("other", 1) for number in range(9)}
    found = lease().judge(
        contents("c"), OTHER, {**many, POOL: PoolGrant("a", 1), DISKS: PoolGrant("b", 1)}, 0
    )
    assert isinstance(found, Candidate)
    for each in ("p=a", "p=b", *(f"p{number}=other" for number in range(9))):
        assert f"--trailer 'Pool-Destroyed: {each}'" in found.message
    assert found.message.count("'Pool-Host: p=mine'") == 1
    assert "'Pool-Host: p8=mine'" in found.message


def test_a_candidate_names_the_pools_of_its_own_that_wait_with_the_others() -> None:
    found = lease().judge(contents("c"), OTHER, MIXED, 0)
    assert isinstance(found, Candidate)
    assert "pool gpu to host other" in found.message
    assert "The pools that are granted to this host (p) wait for that too" in found.message


def test_a_live_rival_is_named_where_nothing_is_granted() -> None:
    one = lease()
    one.judge(contents("a"), OTHER, NONE, 0)
    found = one.judge(contents("b"), OTHER, NONE, 1)
    assert isinstance(found, Candidate)
    assert found.until_ms == 1 + TIMEOUT_MS
    assert "another poollet named p is alive on host other, and this is host mine" in found.message


def test_a_report_that_was_restored_or_deleted_is_written_again() -> None:
    one = lease()
    assert one.judge(contents("c1"), OWN, NONE, 0) == Acquire()
    one.has_landed = True
    assert one.judge(contents("c1"), OWN, NONE, 9) == Acquire()
    assert one.judge(contents(None), None, NONE, 9) == Acquire()
    assert one.judge(contents("c0"), SELF, NONE, 9) == Acquire()


def test_who_lost_the_ref_to_another_host_has_nothing_landed_there() -> None:
    one = lease(has_landed=True)
    assert isinstance(one.judge(contents("c"), OTHER, THEIRS, 0), Candidate)
    assert not one.has_landed
    assert one.judge(contents("d"), OWN, NONE, 1) == Acquire()
