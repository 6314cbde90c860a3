"""Remotes that fail while we talk to them: gone, silent, cut, full, slow. Always a value, never a half-written state, and
everything works again when the world does."""

from __future__ import annotations

import dataclasses
import os
import random
import threading
import time
from pathlib import Path

import pytest

from reconciler.gitstore.redaction import SecretValue
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.remote.git_transport import GitTransport
from reconciler.gitstore.remote.transport import (
    PushRefused,
    RefsFetched,
    RefsListed,
    RefsPushed,
    RefUpdate,
    RemoteErrorKind,
    RemoteUnavailable,
)
from tests.servers import repository
from tests.servers.daemon import free_port
from tests.servers.places import NO_SSH_CONFIG, Place
from tests.servers.relay import Relay, Weather, relay
from tests.servers.repository import bare, commit
from tests.servers.sshd import SshServer

SECONDS = 30.0
MAIN, LIVE, REPORT = "refs/heads/main", "refs/heads/live", "refs/poollets/host-1"
over_a_network = pytest.mark.parametrize("remote", ["http", "ssh"], indirect=True)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return bare(tmp_path / "mirror")


def through(remote: Place, between: Relay, mirror: Path) -> GitTransport:
    """The same remote by way of the relay."""
    port = between.target
    url = remote.url.replace(f":{port}/", f":{between.port}/")
    access = remote.access
    if access.known_hosts:
        hosts = mirror.parent / "known_hosts"
        hosts.write_text(access.known_hosts.read_text().replace(f":{port} ", f":{between.port} "))
        access = dataclasses.replace(access, known_hosts=hosts)
    return GitTransport(mirror, parse_address(url, Path("/")), access, remote.ambient)


def port_of(remote: Place) -> int:
    return int(remote.url.partition("127.0.0.1:")[2].partition("/")[0])


def noise(count: int) -> str:
    return random.Random(count).randbytes(count // 2).hex()


@over_a_network
def test_gone_and_back(remote: Place, mirror: Path) -> None:
    first = commit(mirror, "first")
    with relay(port_of(remote)) as between:
        transport = through(remote, between, mirror)
        between.weather = Weather.GONE
        for outcome in (
            transport.list_refs([MAIN], SECONDS),
            transport.fetch([MAIN], SECONDS),
            transport.push([RefUpdate(MAIN, None, first)], SECONDS),
        ):
            assert isinstance(outcome, RemoteUnavailable)
            assert outcome.kind is RemoteErrorKind.NETWORK
        between.weather = Weather.FINE
        assert transport.push([RefUpdate(MAIN, None, first)], SECONDS) == RefsPushed({MAIN: first})
        assert transport.fetch([MAIN], SECONDS) == RefsFetched()


@over_a_network
def test_a_remote_that_says_nothing_costs_its_deadline_and_no_more(remote: Place, mirror: Path) -> None:
    first = commit(mirror, "first")
    with relay(port_of(remote)) as between:
        transport = through(remote, between, mirror)
        between.weather = Weather.SILENT
        for call in (
            lambda: transport.list_refs([MAIN], 0.5),
            lambda: transport.fetch([MAIN], 0.5),
            lambda: transport.push([RefUpdate(MAIN, None, first)], 0.5),
        ):
            start = time.monotonic()
            outcome = call()
            assert time.monotonic() - start < 3
            assert isinstance(outcome, RemoteUnavailable)
            assert outcome.kind is RemoteErrorKind.NETWORK
            assert "did not answer" in outcome.cause
        between.weather = Weather.FINE
        assert isinstance(transport.list_refs([MAIN], SECONDS), RefsListed)


@over_a_network
def test_a_push_cut_in_the_middle_leaves_the_server_as_it_was(remote: Place, mirror: Path) -> None:
    first = commit(mirror, "first")
    assert remote.transport(mirror).push([RefUpdate(MAIN, None, first)], SECONDS) == RefsPushed({MAIN: first})
    large = commit(mirror, noise(2_000_000), first)
    with relay(port_of(remote)) as between:
        transport = through(remote, between, mirror)
        between.cut_after = 200_000
        outcome = transport.push([RefUpdate(MAIN, first, large)], SECONDS)
        assert isinstance(outcome, RemoteUnavailable)
        assert outcome.kind is RemoteErrorKind.NETWORK
        assert outcome.is_unknown
        assert repository.ref(remote.repo, MAIN) == first
        repository.git(remote.repo, "fsck", "--strict")
        between.cut_after = None
        assert transport.push([RefUpdate(MAIN, first, large)], SECONDS) == RefsPushed({MAIN: large})


@over_a_network
def test_a_fetch_cut_in_the_middle_leaves_the_mirror_as_it_was(remote: Place, mirror: Path) -> None:
    first = commit(remote.repo, "first")
    repository.git(remote.repo, "update-ref", MAIN, first)
    transport = remote.transport(mirror)
    assert transport.fetch([MAIN], SECONDS) == RefsFetched()
    large = commit(remote.repo, noise(2_000_000), first)
    repository.git(remote.repo, "update-ref", MAIN, large)
    with relay(port_of(remote)) as between:
        bad = through(remote, between, mirror)
        between.cut_answer_after = 200_000
        outcome = bad.fetch([MAIN], SECONDS)
        assert isinstance(outcome, RemoteUnavailable)
        assert outcome.kind is RemoteErrorKind.NETWORK
        assert repository.ref(mirror, MAIN) == first
        between.cut_answer_after = None
        assert bad.fetch([MAIN], SECONDS) == RefsFetched()
    repository.git(mirror, "fsck", "--strict")
    assert repository.ref(mirror, MAIN) == large


@pytest.mark.parametrize("remote", ["http"], indirect=True)
def test_a_push_that_lands_after_we_gave_up(remote: Place, mirror: Path) -> None:
    """The server's hook takes longer than we wait; the outcome may not claim that nothing happened."""
    repository.hook(remote.repo, "pre-receive", "#!/bin/sh\nsleep 2\n")
    first = commit(mirror, "first")
    transport = remote.transport(mirror)
    outcome = transport.push([RefUpdate(MAIN, None, first)], 1.2)
    assert isinstance(outcome, RemoteUnavailable)
    assert outcome.is_unknown
    until = time.monotonic() + SECONDS
    while repository.ref(remote.repo, MAIN) is None and time.monotonic() < until:
        time.sleep(0.05)
    repository.hook(remote.repo, "pre-receive", "#!/bin/sh\n")
    assert transport.push([RefUpdate(MAIN, None, first)], SECONDS) == RefsPushed({MAIN: first})


def test_a_server_whose_disk_is_full(sshd: SshServer, mirror: Path) -> None:
    repo = bare(sshd.repos / f"full{os.getpid()}.git")
    key = sshd.allow("cramped", most_file_blocks=64)
    access = RemoteAccess(identity=key, known_hosts=sshd.known_hosts, ssh_config=NO_SSH_CONFIG)
    transport = GitTransport(mirror, parse_address(sshd.url(repo.name), Path("/")), access, os.environ)
    small = commit(mirror, "small")
    large = commit(mirror, noise(400_000), small)
    assert transport.push([RefUpdate(MAIN, None, small)], SECONDS) == RefsPushed({MAIN: small})
    outcome = transport.push([RefUpdate(MAIN, small, large)], SECONDS)
    assert isinstance(outcome, RemoteUnavailable)
    assert outcome.kind is RemoteErrorKind.SERVER
    assert not outcome.is_unknown
    assert repository.ref(repo, MAIN) == small
    repository.git(repo, "fsck", "--strict")
    roomy = dataclasses.replace(access, identity=sshd.allow("roomy"))
    transport = dataclasses.replace(transport, access=roomy)
    assert transport.push([RefUpdate(MAIN, small, large)], SECONDS) == RefsPushed({MAIN: large})


@pytest.mark.parametrize("remote", ["path", "http"], indirect=True)
def test_a_lock_left_behind_on_the_server_is_the_servers_trouble_and_no_refusal(
    remote: Place, mirror: Path
) -> None:
    first = commit(mirror, "first")
    lock = remote.repo / "refs" / "heads" / "main.lock"
    lock.touch()
    outcome = remote.transport(mirror).push([RefUpdate(MAIN, None, first)], SECONDS)
    assert isinstance(outcome, RemoteUnavailable)
    assert outcome.kind is RemoteErrorKind.SERVER
    lock.unlink()
    assert remote.transport(mirror).push([RefUpdate(MAIN, None, first)], SECONDS) == RefsPushed({MAIN: first})


@pytest.mark.parametrize("remote", ["path"], indirect=True)
def test_a_request_that_a_server_refuses_once_is_sent_again(remote: Place, mirror: Path) -> None:
    """As when another push holds the ref's lock at that moment."""
    mark = remote.repo / "was-here"
    repository.hook(remote.repo, "update", f"#!/bin/sh\n[ -e {mark} ] || {{ touch {mark}; exit 1; }}\n")
    first = commit(mirror, "first")
    assert remote.transport(mirror).push([RefUpdate(MAIN, None, first)], SECONDS) == RefsPushed({MAIN: first})
    mark.unlink()
    repository.hook(remote.repo, "update", f"#!/bin/sh\necho x >> {mark}; exit 1\n")
    outcome = remote.transport(mirror).push([RefUpdate(LIVE, None, first)], SECONDS)
    assert isinstance(outcome, PushRefused)
    assert mark.read_text() == "x\n" * 2


def test_a_port_without_a_server_is_a_network_error(mirror: Path) -> None:
    port = free_port()
    for url, cause in (
        (f"http://127.0.0.1:{port}/f.git", "Failed to connect"),
        (f"ssh://git@127.0.0.1:{port}/f.git", "Connection refused"),
    ):
        transport = GitTransport(
            mirror, parse_address(url, Path("/")), RemoteAccess(ssh_config=NO_SSH_CONFIG), os.environ
        )
        outcome = transport.fetch([MAIN], SECONDS)
        assert isinstance(outcome, RemoteUnavailable)
        assert outcome.kind is RemoteErrorKind.NETWORK
        assert cause in outcome.cause


@pytest.mark.parametrize(
    ("remote", "kind", "cure"),
    [
        ("path", RemoteErrorKind.PROTOCOL, "check the address"),
        ("http", RemoteErrorKind.PROTOCOL, "check the address"),
        ("ssh", RemoteErrorKind.PROTOCOL, "check the address"),
        ("gitolite", RemoteErrorKind.AUTH, "grant this account the right"),
    ],
    indirect=["remote"],
)
def test_no_such_repo(remote: Place, mirror: Path, kind: RemoteErrorKind, cure: str) -> None:
    transport = remote.transport(mirror)
    other_place = parse_address(transport.address.url.replace("/fleets/", "/nothing/") + "-gone", Path("/"))
    for outcome in (
        dataclasses.replace(transport, address=other_place).fetch([MAIN], SECONDS),
        dataclasses.replace(transport, address=other_place).list_refs([MAIN], SECONDS),
    ):
        assert isinstance(outcome, RemoteUnavailable)
        assert outcome.kind is kind
        assert cure in outcome.cure


def test_a_web_page_is_not_a_repo(mirror: Path) -> None:
    with relay(free_port()) as nothing_behind:
        url = f"http://127.0.0.1:{nothing_behind.port}/f.git"
        transport = GitTransport(
            mirror, parse_address(url, Path("/")), RemoteAccess(token=SecretValue("t")), os.environ
        )
        assert isinstance(transport.list_refs([], SECONDS), RemoteUnavailable)


def test_formats_that_are_not_supported_are_named(mirror: Path, tmp_path: Path) -> None:
    other = bare(tmp_path / "sha256", "--object-format=sha256")
    repository.git(other, "update-ref", MAIN, commit(other, "first"))
    transport = GitTransport(mirror, parse_address(str(other), Path("/")), RemoteAccess(), os.environ)
    for outcome in (transport.list_refs([MAIN], SECONDS), transport.fetch([MAIN], SECONDS)):
        assert isinstance(outcome, RemoteUnavailable)
        assert outcome.kind is RemoteErrorKind.PROTOCOL
        assert "SHA-256" in f"{outcome.cause} {outcome.cure}"


def test_a_shallow_remote_is_named(mirror: Path, tmp_path: Path) -> None:
    whole = bare(tmp_path / "whole")
    repository.git(whole, "update-ref", MAIN, commit(whole, "second", commit(whole, "first")))
    repository.git(tmp_path, "clone", "--quiet", "--bare", "--depth=1", f"file://{whole}", "shallow")
    transport = GitTransport(
        mirror, parse_address(str(tmp_path / "shallow"), Path("/")), RemoteAccess(), os.environ
    )
    outcome = transport.fetch([MAIN], SECONDS)
    assert isinstance(outcome, RemoteUnavailable)
    assert outcome.kind is RemoteErrorKind.PROTOCOL
    assert "shallow" in f"{outcome.cause} {outcome.cure}"


@pytest.mark.parametrize("remote", ["path"], indirect=True)
@pytest.mark.parametrize("case", ["lost", "locked", "object missing", "no git"])
def test_trouble_of_our_own_is_named_as_ours(remote: Place, mirror: Path, tmp_path: Path, case: str) -> None:
    first = commit(remote.repo, "first")
    repository.git(remote.repo, "update-ref", MAIN, first)
    transport = remote.transport(mirror)
    assert transport.fetch([MAIN], SECONDS) == RefsFetched()
    repository.git(remote.repo, "update-ref", MAIN, commit(remote.repo, "second"))
    if case == "lost":
        transport = remote.transport(tmp_path / "nowhere")
    elif case == "locked":
        (mirror / "refs/heads/main.lock").touch()
    elif case == "no git":
        transport = dataclasses.replace(transport, ambient={"PATH": "/nonexistent"})
    if case == "object missing":
        outcome: object = transport.push([RefUpdate(LIVE, None, "1" * 40)], SECONDS)
    else:
        outcome = transport.fetch([MAIN], SECONDS)
    assert isinstance(outcome, RemoteUnavailable)
    assert outcome.kind is RemoteErrorKind.MIRROR
    assert not outcome.is_unknown


@pytest.mark.parametrize("remote", ["path"], indirect=True)
def test_hooks_and_settings_of_whoever_runs_us_do_not_speak(
    remote: Place, mirror: Path, tmp_path: Path
) -> None:
    config = tmp_path / "gitconfig"
    config.write_text(
        '[core]\n  hooksPath = /nonexistent\n[remote "x"]\n  url = y\n[protocol]\n  allow = never\n'
    )
    repository.hook(mirror, "pre-push", "#!/bin/sh\nexit 1\n")
    repository.hook(mirror, "reference-transaction", "#!/bin/sh\nexit 1\n")
    ambient = dict(os.environ) | {
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_DIR": "/nonexistent",
        "GIT_TRACE": "1",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nonexistent",
        "GIT_SSH_COMMAND": "false",
    }
    transport = dataclasses.replace(remote.transport(mirror), ambient=ambient)
    first = commit(mirror, "first")
    assert transport.push([RefUpdate(MAIN, None, first)], SECONDS) == RefsPushed({MAIN: first})
    repository.git(remote.repo, "update-ref", LIVE, first)
    assert transport.fetch([MAIN, LIVE], SECONDS) == RefsFetched()


@pytest.mark.parametrize("remote", ["http"], indirect=True)
def test_many_calls_at_once(remote: Place, mirror: Path) -> None:
    """A transport keeps nothing between calls, so threads may share it."""
    commits = [commit(mirror, f"{number}") for number in range(6)]
    transport = remote.transport(mirror)
    outcomes: list[object] = []

    def push(number: int) -> None:
        outcomes.append(
            transport.push([RefUpdate(f"refs/poollets/{number}", None, commits[number])], SECONDS)
        )

    threads = [threading.Thread(target=push, args=(number,)) for number in range(len(commits))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(outcome, RefsPushed) for outcome in outcomes), outcomes
    assert len(outcomes) == len(commits)
