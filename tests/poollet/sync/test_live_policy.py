"""Which commit of `live` is acted on: one that follows from the last, or that people approved for."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from poollet.sync.live_policy import LiveRejection, Trust, follow
from reconciler.gitstore.live_recovery import RECOVERED_TRAILER, recovery_digest
from reconciler.gitstore.objects.commit import SOURCE_TRAILER
from reconciler.gitstore.repo import Refs, Snapshot
from reconciler.gitstore.signatures.signers import Signers, parse_signers
from reconciler.gitstore.signatures.signing import SshSigner
from reconciler.gitstore.signatures.trust import SignatureMode
from reconciler.gitstore.signatures.verifier import Verifier
from reconciler.gitstore.store import Store
from schemas import live_layout
from tests.poollet.fleet import FLEET, LIVE, MAIN, START, Fleet
from tests.servers.sshd import new_key


def trust(mode: SignatureMode = SignatureMode.OFF) -> Trust:
    return Trust(mode, Verifier(Signers(), os.environ))


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def client(fleet: Fleet) -> Store:
    repo = fleet.client(Refs())
    assert isinstance(repo.snapshot(), Snapshot)
    return repo


def at() -> datetime:
    return START


def test_what_follows_is_followed(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    repo = client(fleet)
    for good in (None, first, second):
        found = follow(repo, second, good, trust(), at(), FLEET)
        assert (found.use, found.hold, found.message, found.may_apply) == (second, None, "", True)


def test_no_branch_is_no_order_to_do_anything(fleet: Fleet) -> None:
    for good in (None, fleet.head()):
        found = follow(client(fleet), None, good, trust(), at(), FLEET)
        assert (found.use, found.hold, found.may_apply) == (None, LiveRejection.MISSING, False)


def digest_of(subject: str | None) -> str:
    assert subject is not None
    return recovery_digest(FLEET, subject)


def approve(fleet: Fleet, typed: str) -> None:
    """A person's commit on the source, which `live` then contains."""
    source = fleet.commit(
        {"note": "x"}, MAIN, message=f"yes\n\nGitvirt-Approve: {typed}", even_if_unchanged=True
    )
    fleet.commit({"note": "x"}, source=source, even_if_unchanged=True)


def rewritten(fleet: Fleet, *applied: str | None) -> str:
    """`live` started over by a reconciler that found none: its recovery commit names what hosts applied."""
    del fleet.remote.refs[LIVE]
    trailers = [(SOURCE_TRAILER, "5" * 40), *((RECOVERED_TRAILER, each) for each in applied)]
    return fleet.commit({"gitvirt.yaml": "# again\n"}, trailers=trailers)


def verdict(fleet: Fleet, good: str | None) -> LiveRejection | None:
    return follow(client(fleet), fleet.head(), good, trust(), at(), FLEET).hold


def test_an_older_live_is_not_obeyed_and_names_the_approval_of_what_was_applied(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    found = follow(client(fleet), first, second, trust(), at(), FLEET)
    assert (found.use, found.hold, found.may_apply) == (second, LiveRejection.REWRITTEN, False)
    assert f"`Gitvirt-Approve: {digest_of(second)}`" in found.message


def test_another_live_is_not_obeyed_and_names_the_approval_of_its_recovery(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    root = rewritten(fleet, first, second)
    for good in (first, second):
        found = follow(client(fleet), root, good, trust(), at(), FLEET)
        assert (found.use, found.hold, found.may_apply) == (good, LiveRejection.REWRITTEN, False)
        assert f"`Gitvirt-Approve: {digest_of(root)}`" in found.message


def test_one_approval_of_a_recovery_is_enough_for_all_that_it_names(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    root = rewritten(fleet, first, second)
    approve(fleet, digest_of(root))
    assert [verdict(fleet, good) for good in (first, second)] == [None, None]


def test_approvals_of_all_that_hosts_applied_open_the_recovery_for_all(fleet: Fleet) -> None:
    """One alone may be of an earlier recovery, which a restored `live` merges again."""
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    rewritten(fleet, first, second)
    approve(fleet, digest_of(second))
    assert [verdict(fleet, good) for good in (first, second)] == [LiveRejection.REWRITTEN] * 2
    approve(fleet, digest_of(first))
    assert [verdict(fleet, good) for good in (first, second)] == [None, None]


def test_an_approval_that_came_with_the_recovery_counts(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    assert first is not None
    fleet.remote.refs[LIVE] = first  # restored
    source = fleet.commit({"note": "x"}, MAIN, message=f"yes\n\nGitvirt-Approve: {digest_of(second)}")
    fleet.commit(
        {}, source=source, message=f"taken over\n\n{RECOVERED_TRAILER}: {second}", even_if_unchanged=True
    )
    assert verdict(fleet, second) is None


def test_no_approval_opens_a_live_that_takes_account_of_nothing(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    assert first is not None
    fleet.remote.refs[LIVE] = first
    approve(fleet, digest_of(second))
    assert verdict(fleet, second) is LiveRejection.REWRITTEN


def test_a_recovery_that_does_not_name_it_is_none(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    root = rewritten(fleet, first)
    approve(fleet, digest_of(root))
    assert [verdict(fleet, good) for good in (first, second)] == [None, LiveRejection.REWRITTEN]


def test_a_file_approves_a_recovery_unless_it_was_there_before(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    file = {live_layout.approval_path(digest_of(second)): "by: ann\n"}
    assert first is not None
    fleet.remote.refs[LIVE] = first
    fleet.commit(file)
    trailers = [(SOURCE_TRAILER, "5" * 40), (RECOVERED_TRAILER, second)]
    fleet.commit({"b.yaml": "b: 1\n"}, trailers=trailers)
    assert verdict(fleet, second) is LiveRejection.REWRITTEN
    fleet.commit({path: "by: bob\n" for path in file})
    assert verdict(fleet, second) is None


@pytest.mark.parametrize("cut", [slice(1, None), slice(11)], ids=["another", "short"])
def test_another_approval_is_none(fleet: Fleet, cut: slice) -> None:
    old = fleet.commit({"a.yaml": "a: 1\n"})
    approve(fleet, digest_of(rewritten(fleet, old))[cut])
    assert verdict(fleet, old) is LiveRejection.REWRITTEN


def test_an_approval_is_used_up_by_its_recovery(fleet: Fleet) -> None:
    """Restored once more, to a time before the recovery, with the source that has the approval of it."""
    old = fleet.head()
    first = rewritten(fleet, old)
    approve(fleet, digest_of(first))
    assert verdict(fleet, old) is None
    applied = fleet.head()
    again = rewritten(fleet, applied)
    source = fleet.head(MAIN)
    assert source is not None
    fleet.commit({"note": "y"}, source=source)
    assert verdict(fleet, applied) is LiveRejection.REWRITTEN
    approve(fleet, digest_of(again))
    assert verdict(fleet, applied) is None


def test_what_is_not_well_signed_is_held_at_the_last_good_commit(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    found = follow(client(fleet), second, first, trust(SignatureMode.ENFORCE), at(), FLEET)
    assert (found.use, found.hold, found.may_apply) == (first, LiveRejection.UNTRUSTED, True)
    found = follow(client(fleet), second, None, trust(SignatureMode.ENFORCE), at(), FLEET)
    assert (found.use, found.may_apply) == (None, False)
    found = follow(client(fleet), second, first, trust(SignatureMode.WARN), at(), FLEET)
    assert (found.use, found.hold) == (second, None)
    assert "it is not signed" in found.message


def test_signed_commits_are_followed_up_to_the_first_that_is_not(fleet: Fleet, tmp_path: Path) -> None:
    key = new_key(tmp_path / "key", "reconciler")
    signers = parse_signers([key.with_suffix(".pub").read_text()])
    enforced = Trust(SignatureMode.ENFORCE, Verifier(signers, os.environ))
    fleet.writer = fleet.client(Refs(), sign=SshSigner(key, os.environ))
    first, second = fleet.commit({"a.yaml": "a: 1\n"}), fleet.commit({"a.yaml": "a: 2\n"})
    for good in (None, first):
        found = follow(client(fleet), second, good, enforced, datetime.now(UTC), FLEET)
        assert (found.use, found.hold) == (second, None)
    fleet.writer = fleet.client(Refs())
    third = fleet.commit({"a.yaml": "a: 3\n"})
    found = follow(client(fleet), third, first, enforced, datetime.now(UTC), FLEET)
    assert (found.use, found.hold, found.may_apply) == (second, LiveRejection.UNTRUSTED, True)
    assert f"not used, keeping {second[:12]}" in found.message
