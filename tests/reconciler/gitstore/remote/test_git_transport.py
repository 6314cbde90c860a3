"""Every kind of remote against its real server: the same life for all, the finer laws on one of each family."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.remote.push_command import FOLDER
from reconciler.gitstore.remote.transport import (
    PushConflict,
    PushRefused,
    RefsFetched,
    RefsListed,
    RefsPushed,
    RefUpdate,
)
from tests.servers import repository
from tests.servers.places import KINDS, Place
from tests.servers.repository import bare, commit

SECONDS = 90.0
MAIN, LIVE, REPORT = "refs/heads/main", "refs/heads/live", "refs/poollets/host-1"
WANTED = (MAIN, LIVE, "refs/poollets/*")
every_kind = pytest.mark.parametrize("remote", KINDS, indirect=True)
every_family = pytest.mark.parametrize("remote", ["path", "https", "ssh"], indirect=True)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return bare(tmp_path / "mirror")


@pytest.fixture
def transport(remote: Place, mirror: Path) -> GitTransport:
    return remote.transport(mirror)


@every_kind
def test_life_of_a_remote(remote: Place, transport: GitTransport, mirror: Path, tmp_path: Path) -> None:
    assert transport.fetch(WANTED, SECONDS) == RefsFetched((MAIN, LIVE))
    first = commit(mirror, "first")
    report = commit(mirror, "report")
    both = (RefUpdate(MAIN, None, first), RefUpdate(REPORT, None, report))
    assert transport.push(both, SECONDS) == RefsPushed({MAIN: first, REPORT: report})

    other = bare(tmp_path / "other")
    assert remote.transport(other).fetch(WANTED, SECONDS) == RefsFetched((LIVE,))
    assert repository.ref(other, MAIN) == first
    assert repository.ref(other, REPORT) == report
    assert repository.git(other, "show", f"{first}:file") == "first"

    theirs = commit(other, "theirs", first)
    assert remote.transport(other).push((RefUpdate(MAIN, first, theirs),), SECONDS) == RefsPushed(
        {MAIN: theirs}
    )
    mine = commit(mirror, "mine", first)
    newer = commit(mirror, "newer report")
    both = (RefUpdate(MAIN, first, mine), RefUpdate(REPORT, report, newer))
    assert transport.push(both, SECONDS) == PushConflict({MAIN: theirs, REPORT: report})
    listed = transport.list_refs(WANTED, SECONDS)
    assert isinstance(listed, RefsListed)
    assert listed.refs == {MAIN: theirs, REPORT: report}


@every_family
def test_pushing_a_commit_that_is_there_already_succeeds(transport: GitTransport, mirror: Path) -> None:
    first = commit(mirror, "first")
    assert transport.push((RefUpdate(MAIN, None, first),), SECONDS) == RefsPushed({MAIN: first})
    assert transport.push((RefUpdate(MAIN, None, first),), SECONDS) == RefsPushed({MAIN: first})


@every_family
@pytest.mark.parametrize("case", ["created", "moved", "deleted"])
def test_to_lose_a_race_is_stale(remote: Place, transport: GitTransport, mirror: Path, case: str) -> None:
    first, theirs = commit(mirror, "first"), commit(remote.repo, "theirs")
    old, now = {"created": (None, theirs), "moved": (first, theirs), "deleted": (first, None)}[case]
    if old is not None:
        assert transport.push((RefUpdate(MAIN, None, old),), SECONDS) == RefsPushed({MAIN: old})
    repository.git(remote.repo, "update-ref", *(["-d", MAIN] if now is None else [MAIN, now]))
    mine = commit(mirror, "mine", first)
    assert transport.push((RefUpdate(MAIN, old, mine),), SECONDS) == PushConflict({MAIN: now})
    assert repository.ref(remote.repo, MAIN) == now


@every_family
def test_a_push_that_rewinds_is_allowed_when_the_old_value_is_named(
    transport: GitTransport, mirror: Path
) -> None:
    """Report refs have no parents: each replaces the one before."""
    one, two = commit(mirror, "one"), commit(mirror, "two")
    transport.push((RefUpdate(REPORT, None, one),), SECONDS)
    assert transport.push((RefUpdate(REPORT, one, two),), SECONDS) == RefsPushed({REPORT: two})
    assert transport.push((RefUpdate(REPORT, two, None),), SECONDS) == RefsPushed({REPORT: None})
    listed = transport.list_refs(("refs/poollets/*",), SECONDS)
    assert isinstance(listed, RefsListed)
    assert listed.refs == {}


@every_family
def test_several_refs_move_together_or_not_at_all(
    remote: Place, transport: GitTransport, mirror: Path
) -> None:
    repository.hook(
        remote.repo, "update", f'#!/bin/sh\n[ "$1" != {REPORT} ] || {{ echo "not yours"; exit 1; }}\n'
    )
    first = commit(mirror, "first")
    outcome = transport.push((RefUpdate(MAIN, None, first), RefUpdate(REPORT, None, first)), SECONDS)
    assert isinstance(outcome, PushRefused)
    assert outcome.refs == (REPORT,)
    assert outcome.words.splitlines()[0] == "not yours"
    assert outcome.words.splitlines()[-1] == "hook declined"
    assert repository.ref(remote.repo, MAIN) is None


@every_family
def test_a_refusal_carries_the_servers_words_made_printable(
    remote: Place, transport: GitTransport, mirror: Path
) -> None:
    script = "#!/bin/sh\nprintf '\\033[31mmain is protected\\033[0m\\007, see\\n\\nhttps://u:p@wiki/rules\\n' >&2\nexit 1\n"
    repository.hook(remote.repo, "pre-receive", script)
    outcome = transport.push((RefUpdate(MAIN, None, commit(mirror, "first")),), SECONDS)
    assert isinstance(outcome, PushRefused)
    assert outcome.refs == (MAIN,)
    assert outcome.words == "main is protected?, see\nhttps://***@wiki/rules\npre-receive hook declined"


@every_family
def test_a_ref_removed_on_the_remote_is_removed_here(
    remote: Place, transport: GitTransport, mirror: Path
) -> None:
    first = commit(remote.repo, "first")
    for name in (MAIN, LIVE, "refs/poollets/a", "refs/poollets/b", "refs/heads/other"):
        repository.git(remote.repo, "update-ref", name, first)
    assert transport.fetch(WANTED, SECONDS) == RefsFetched()
    assert repository.ref(mirror, "refs/heads/other") is None
    repository.git(remote.repo, "update-ref", "-d", LIVE)
    repository.git(remote.repo, "update-ref", "-d", "refs/poollets/a")
    repository.git(remote.repo, "update-ref", "refs/poollets/a/b", first)
    assert transport.fetch(WANTED, SECONDS) == RefsFetched((LIVE,))
    names = repository.git(mirror, "for-each-ref", "--format=%(refname)").splitlines()
    assert names == [MAIN, "refs/poollets/a/b", "refs/poollets/b"]


@every_family
def test_a_force_push_there_is_fetched_as_it_is(remote: Place, transport: GitTransport, mirror: Path) -> None:
    for text in ("one", "other history"):
        repository.git(remote.repo, "update-ref", MAIN, commit(remote.repo, text))
        assert transport.fetch((MAIN,), SECONDS) == RefsFetched()
        assert repository.ref(mirror, MAIN) == repository.ref(remote.repo, MAIN)


@every_family
def test_names_are_matched_whole(remote: Place, transport: GitTransport, mirror: Path) -> None:
    first = commit(remote.repo, "first")
    for name in (MAIN, "refs/heads/x/refs/heads/main", "refs/heads/main-2", "refs/poolletsx/a"):
        repository.git(remote.repo, "update-ref", name, first)
    assert transport.list_refs(WANTED, SECONDS) == RefsListed({MAIN: first}, MAIN)
    assert transport.fetch(WANTED, SECONDS) == RefsFetched((LIVE,))
    assert repository.git(mirror, "for-each-ref", "--format=%(refname)").splitlines() == [MAIN]


@every_family
@pytest.mark.parametrize("beside", ["refs/heads/", "refs/tags/"])
def test_a_branch_with_the_whole_name_of_a_ref_stops_no_push(
    remote: Place, transport: GitTransport, mirror: Path, beside: str
) -> None:
    """Whoever may create any branch could otherwise stop the reconciler, and every poollet."""
    theirs = commit(remote.repo, "theirs")
    for name in (LIVE, REPORT):
        repository.git(remote.repo, "update-ref", beside + name, theirs)
    one, two = commit(mirror, "one"), commit(mirror, "two")
    first = (RefUpdate(LIVE, None, one), RefUpdate(REPORT, None, one))
    assert transport.push(first, SECONDS) == RefsPushed({LIVE: one, REPORT: one})
    assert transport.push((RefUpdate(LIVE, one, two),), SECONDS) == RefsPushed({LIVE: two})
    assert transport.push((RefUpdate(LIVE, one, one),), SECONDS) == PushConflict({LIVE: two})
    assert repository.ref(remote.repo, beside + LIVE) == theirs
    assert repository.git(mirror, "for-each-ref", "refs/gitvirt") == ""


def test_what_a_killed_push_left_in_the_mirror_is_pushed_by_no_other(mirror: Path, tmp_path: Path) -> None:
    remote = bare(tmp_path / "remote")
    old, new = commit(mirror, "old"), commit(mirror, "new")
    repository.git(mirror, "update-ref", f"{FOLDER}/1/{MAIN}", old)
    transport = GitTransport(mirror, parse_address(str(remote), tmp_path), RemoteAccess(), os.environ)
    assert transport.push((RefUpdate(LIVE, None, new),), SECONDS) == RefsPushed({LIVE: new})
    assert repository.git(remote, "for-each-ref", "--format=%(refname)") == LIVE


@every_family
def test_the_object_that_a_tag_names_is_no_ref(remote: Place, transport: GitTransport) -> None:
    first = commit(remote.repo, "first")
    tag = repository.git(
        remote.repo, "mktag", given=f"object {first}\ntype commit\ntag t\ntagger a <a@b> 1 +0000\n\nt\n"
    )
    repository.git(remote.repo, "update-ref", REPORT, tag)
    listed = transport.list_refs(("refs/poollets/*",), SECONDS)
    assert isinstance(listed, RefsListed)
    assert listed.refs == {REPORT: tag}


def test_a_ref_that_another_process_holds_is_fetched_when_it_is_free(tmp_path: Path, mirror: Path) -> None:
    """A lock that goes after the third try, whatever git says of it."""
    remote, tries = bare(tmp_path / "remote"), tmp_path / "tries"
    repository.git(remote, "update-ref", MAIN, first := commit(remote, "first"))
    real, lock = shutil.which("git"), mirror / "refs/heads/main.lock"
    lock.write_text("")
    shim = tmp_path / "bin/git"
    shim.parent.mkdir()
    shim.write_text(
        f'#!/bin/sh\ncase "$*" in *fetch*) echo x >> {tries}; [ $(wc -l < {tries}) -lt 4 ] || rm -f {lock};; esac\n'
        f'exec {real} "$@"\n'
    )
    shim.chmod(0o755)
    ambient = {**os.environ, "PATH": f"{shim.parent}:{os.environ['PATH']}"}
    transport = GitTransport(mirror, parse_address(str(remote), tmp_path), RemoteAccess(), ambient)
    assert transport.fetch(("refs/heads/*",), 120.0) == RefsFetched()
    assert repository.ref(mirror, MAIN) == first
    assert len(tries.read_text().splitlines()) == 4
