"""Rights per user and ref, as docs/git.md sets them up: gitolite's rules, and a hook for bare repos."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.gitstore.redaction import SecretValue
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.remote.transport import (
    PushRefused,
    RefsListed,
    RefsPushed,
    RefUpdate,
    RemoteUnavailable,
)
from tests.servers import repository
from tests.servers.fixtures import GITOLITE_RULES
from tests.servers.gitolite import GitoliteServer
from tests.servers.places import NO_SSH_CONFIG
from tests.servers.repository import bare, commit
from tests.servers.sshd import SshServer
from tests.servers.web import WebServer

SECONDS = 90.0
DOCS = Path(__file__).parents[4] / "docs"
MAIN, LIVE = "refs/heads/main", "refs/heads/live"
ONE, TWO = "refs/poollets/host-1", "refs/poollets/host-2"
RIGHTS = f"""
# people merge, the reconciler writes live, each host its own report
ann         {MAIN}
reconciler  {LIVE}
host-1      {ONE}
host-2      {TWO}
ci          refs/heads/ci/*
"""

Transports = Callable[[str], GitTransport]


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return bare(tmp_path / "mirror")


@pytest.fixture
def hosts(gitolite: GitoliteServer, mirror: Path) -> Transports:
    """gitolite, by each user's own key."""
    repo = gitolite.repos / "fleet.git"
    for name in repository.git(repo, "for-each-ref", "--format=%(refname)").split():
        repository.git(repo, "update-ref", "-d", name)

    def by(user: str) -> GitTransport:
        key = gitolite.ssh.folder / f"key_{user}"
        access = RemoteAccess(identity=key, known_hosts=gitolite.ssh.known_hosts, ssh_config=NO_SSH_CONFIG)
        return GitTransport(mirror, parse_address(gitolite.url("fleet"), Path("/")), access, os.environ)

    return by


def with_hook(repo: Path) -> Path:
    bare(repo)
    (repo / "rights").write_text(RIGHTS)
    repository.hook(repo, "pre-receive", (DOCS / "git" / "pre-receive").read_text())
    return repo


@pytest.fixture
def web_users(web: WebServer, mirror: Path, tmp_path: Path) -> Transports:
    repo = with_hook(web.repos / f"rights-{tmp_path.name}.git")

    def by(user: str) -> GitTransport:
        web.allow(user, f"password of {user}")
        access = RemoteAccess(username=user, token=SecretValue(f"password of {user}"))
        return GitTransport(mirror, parse_address(web.url(repo.name), Path("/")), access, os.environ)

    return by


@pytest.fixture
def ssh_users(sshd: SshServer, mirror: Path, tmp_path: Path) -> Transports:
    repo = with_hook(sshd.repos / f"rights-{tmp_path.name}.git")

    def by(user: str) -> GitTransport:
        access = RemoteAccess(
            identity=sshd.allow(user), known_hosts=sshd.known_hosts, ssh_config=NO_SSH_CONFIG
        )
        return GitTransport(mirror, parse_address(sshd.url(repo.name), Path("/")), access, os.environ)

    return by


@pytest.mark.parametrize("server", ["hosts", "web_users", "ssh_users"])
def test_everybody_writes_their_own_ref_and_no_other(
    server: str, request: pytest.FixtureRequest, mirror: Path
) -> None:
    by: Transports = request.getfixturevalue(server)
    first, second = commit(mirror, "first"), commit(mirror, "second")
    owners = {MAIN: "ann", LIVE: "reconciler", ONE: "host-1", TWO: "host-2"}
    for ref, owner in owners.items():
        assert by(owner).push([RefUpdate(ref, None, first)], SECONDS) == RefsPushed({ref: first})
    for ref, account in (
        (LIVE, "ann"),
        (LIVE, "host-1"),
        (MAIN, "reconciler"),
        (TWO, "host-1"),
        (ONE, "reconciler"),
    ):
        outcome = by(account).push([RefUpdate(ref, first, second)], SECONDS)
        assert isinstance(outcome, PushRefused), (account, ref, outcome)
        assert account in outcome.words
        assert ref in outcome.words
    both = by("host-1").push([RefUpdate(ONE, first, second), RefUpdate(TWO, first, second)], SECONDS)
    assert isinstance(both, PushRefused)
    listed = by("host-1").list_refs(["refs/heads/*", "refs/poollets/*"], SECONDS)
    assert isinstance(listed, RefsListed)
    assert listed.refs == dict.fromkeys(owners, first)
    assert by("host-1").push([RefUpdate(ONE, first, second)], SECONDS) == RefsPushed({ONE: second})


def test_a_pattern_matches_what_it_starts(ssh_users: Transports, mirror: Path) -> None:
    first = commit(mirror, "first")
    ci = ssh_users("ci")
    assert ci.push([RefUpdate("refs/heads/ci/1", None, first)], SECONDS) == RefsPushed(
        {"refs/heads/ci/1": first}
    )
    assert isinstance(ci.push([RefUpdate("refs/heads/cia", None, first)], SECONDS), PushRefused)
    assert isinstance(ci.push([RefUpdate(f"{MAIN}2", None, first)], SECONDS), PushRefused)


def test_without_a_rights_file_all_pushes_are_refused(
    ssh_users: Transports, sshd: SshServer, mirror: Path, tmp_path: Path
) -> None:
    (sshd.repos / f"rights-{tmp_path.name}.git" / "rights").unlink()
    outcome = ssh_users("ann").push([RefUpdate(MAIN, None, commit(mirror, "first"))], SECONDS)
    assert isinstance(outcome, (PushRefused, RemoteUnavailable))
    assert repository.ref(sshd.repos / f"rights-{tmp_path.name}.git", MAIN) is None


def test_the_documentation_shows_what_is_tested() -> None:
    text = (DOCS / "git.md").read_text()
    rules = GITOLITE_RULES.partition("repo fleet\n")[2].strip().splitlines()
    assert all(line.split() in [shown.split() for shown in text.splitlines()] for line in rules)
    assert all(
        line.split() in [shown.split() for shown in text.splitlines()] for line in RIGHTS.strip().splitlines()
    )


def test_every_setting_of_access_is_documented() -> None:
    text = (DOCS / "git.md").read_text()
    source = (DOCS.parent / "reconciler" / "gitstore" / "remote" / "access.py").read_text()
    names = set(re.findall(r'"(GITVIRT_[A-Z_]+)"', source))
    assert len(names) >= 12
    assert {name for name in names if f"`{name}`" not in text} == set()
