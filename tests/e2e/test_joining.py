"""A host joins with nothing but poollet.yaml, a token and the repo: as processes, from the token to a machine that runs."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.linked_fleet import MACHINE, LinkedFleet, free_port, linked_fleet
from tests.e2e.process import environment
from tests.servers.link_certificates import LinkCertificate
from tests.servers.repository import git, hook
from tests.servers.sshd import new_key

NAME = "rack-1"
# The server dies when the push has landed, before it knows that: once.
KILLS = """#!/bin/sh
grep -q refs/gitvirt/joins || exit 0
test -e {pid} || exit 0
kill -9 $(cat {pid})
rm {pid}
"""


@dataclass
class Answer:
    code: int
    output: str
    errors: str


class JoinedFleet:
    """Its operator has a key, its host is not listed."""

    def __init__(self, fleet: LinkedFleet) -> None:
        self.fleet, self.port = fleet, free_port()
        key = new_key(fleet.folder / "operator", "operator")
        signers = f"signatures:\n  signers:\n  - {key.with_suffix('.pub').read_text()}"
        fleet.commit({"gitvirt.yaml": fleet.settings(NAME) + signers})

    def serve(self) -> None:
        self.fleet.run_reconciler("one", "--join", f"127.0.0.1:{self.port}")
        self.fleet.until(lambda: self.fleet.live("gitvirt.yaml") and self.is_open())

    def is_open(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5):
            return True
        return False

    def call(self, *arguments: str, given: str = "") -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "reconciler", *arguments],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
            env=environment({"GITVIRT_CACHE": str(self.fleet.folder / "cache-people")}),
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def create_token(self, *more: str) -> str:
        key = str(self.fleet.folder / "operator")
        found = self.call("token", "create", NAME, "--repo", str(self.fleet.repo), "--key", key, *more)
        assert found.code == 0, found.errors
        return found.output

    def join(self, token: str) -> Answer:
        """With what the host has: poollet.yaml. Key and certificate are made."""
        folder = self.fleet.folder
        config = folder / f"{NAME}.yaml"
        config.write_text(
            f"name: {NAME}\nrepo: {{url: {self.fleet.repo}, mirror: {folder / 'mirror'}}}\n"
            f"pools: [{{name: {NAME}}}]\nruntimes: [{{name: sim, machine: {folder / NAME}.sock}}]\n"
            f"link: {{key: {folder / NAME}.key, certificate: {folder / NAME}.crt}}\n"
        )
        link = f"127.0.0.1:{self.port}"
        words = ("poollet", "join", "--config", str(config), "--token-file", "-", "--link", link)
        found = self.call(*words, given=token)
        key, certificate = ((folder / f"{NAME}.{end}").read_text() for end in ("key", "crt"))
        self.fleet.certificates[NAME] = LinkCertificate(certificate, key)
        return found

    def run_machine(self) -> None:
        self.fleet.run_host(NAME)
        self.fleet.until(lambda: self.fleet.count_connected("one") == 1)
        self.fleet.commit({"machines/web-1.yaml": MACHINE.format(name="web-1")})
        self.fleet.until(lambda: self.fleet.is_running("web-1"))


@pytest.fixture
def site() -> Iterator[JoinedFleet]:
    """In a short folder, because sockets are in it."""
    with (
        tempfile.TemporaryDirectory(prefix="gv-") as folder,
        linked_fleet(Path(folder), hosts=(NAME,)) as fleet,
    ):
        yield JoinedFleet(fleet)


@pytest.mark.early
def test_a_host_joins_with_a_token_and_runs_a_machine_once_people_merged(site: JoinedFleet) -> None:
    site.serve()
    token = site.create_token()
    answer = site.join(token)
    assert (answer.code, "next: a person merges the branch" in answer.output) == (0, True), answer
    (branch,) = git(site.fleet.repo, "for-each-ref", "--format=%(refname)", "refs/heads/join/").splitlines()
    assert branch.removeprefix("refs/heads/") in answer.output
    git(site.fleet.repo, "update-ref", "refs/heads/main", site.fleet.head(branch))
    site.run_machine()
    again = site.join(token)
    assert (again.code, branch.removeprefix("refs/heads/") in again.output) == (0, True), again


@pytest.mark.early
def test_a_server_that_dies_after_its_push_gives_the_answer_after_its_restart(site: JoinedFleet) -> None:
    site.serve()
    token = site.create_token("--merge")
    pid = site.fleet.folder / "pid"
    pid.write_text(str(site.fleet.processes["one"].process.pid))
    hook(site.fleet.repo, "post-receive", KILLS.format(pid=pid))
    lost = site.join(token)
    assert (lost.code, "gave no answer" in lost.errors) == (1, True), lost
    assert "call the same command again" in lost.errors
    assert not pid.exists()
    site.fleet.processes["one"].process.wait(60)
    main = site.fleet.head("refs/heads/main")
    site.serve()
    answer = site.join(token)
    assert (answer.code, f"the entry is on main ({main[:10]})" in answer.output) == (0, True), answer
    assert site.fleet.head("refs/heads/main") == main
    site.run_machine()
