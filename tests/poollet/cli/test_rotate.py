"""`gitvirt poollet rotate`: a second certificate, then the first one revoked; each step found from files and settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from schemas.settings import fleet
from tests.poollet.cli.process import FleetRepo
from tests.poollet.fleet import FLEET
from tests.servers.repository import git


class Host:
    """A host that joined: its entry is on main and on live."""

    def __init__(self, folder: Path) -> None:
        self.repo = FleetRepo(folder)
        self.repo.begin()
        self.keys = folder / "keys"
        self.apply(f"fleet: {{id: {FLEET}}}\n")
        code, output = self.call("join", "--branch", "join")
        assert code == 0, output
        self.merge("join")

    def call(self, action: str, *more: str) -> tuple[int, str]:
        named = (
            "--name",
            "host-1",
            "--repo",
            str(self.repo.repo),
            "--mirror",
            str(self.repo.folder / "mirror"),
        )
        command = [
            sys.executable,
            "-m",
            "reconciler",
            "poollet",
            action,
            *named,
            "--key",
            str(self.keys / "id"),
            *more,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def apply(self, settings: str) -> None:
        """Merged by people and synced by the reconciler."""
        self.repo.commit({"gitvirt.yaml": settings}, "main")
        self.repo.commit({"gitvirt.yaml": settings}, "live")

    def merge(self, branch: str) -> None:
        self.apply(git(self.repo.repo, "show", f"{branch}:gitvirt.yaml") + "\n")

    def read_listed(self, branch: str) -> tuple[str, ...]:
        found = fleet.parse(git(self.repo.repo, "show", f"{branch}:gitvirt.yaml").encode())
        assert isinstance(found, fleet.FleetSettings)
        entry = found.poollets["host-1"]
        assert entry is not None
        assert entry.pools == ("host-1",)
        return entry.certificates

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.keys.glob("link*")}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_certificate_that_is_valid_for_long_stays(host: Host) -> None:
    before = host.files()
    code, output = host.call("rotate", "--branch", "next")
    assert code == 0
    assert "valid for more than 30 days" in output
    assert host.files() == before
    assert not host.repo.head("refs/heads/next")


def test_a_rotation_ends_with_the_new_certificate_alone(host: Host) -> None:
    old = host.files()
    code, output = host.call("rotate", "--force", "--branch", "next")
    assert code == 0, output
    both = host.read_listed("next")
    made = host.files()
    assert both == (old["link.crt"], made["link.crt.next"])
    assert (made["link.key"], made["link.crt"]) == (old["link.key"], old["link.crt"])
    assert not [line for line in made["link.key.next"].splitlines()[1:-1] if line in output]
    # Called again before the merge, it proposes the same.
    assert host.call("rotate", "--branch", "next")[0] == 0
    assert host.read_listed("next") == both
    assert host.files() == made
    host.merge("next")
    code, output = host.call("rotate", "--branch", "end")
    assert code == 0, output
    assert host.read_listed("end") == both[1:]
    assert host.files() == {"link.key": made["link.key.next"], "link.crt": made["link.crt.next"]}
    assert (host.keys / "link.key").stat().st_mode & 0o777 == 0o600
    assert "REVOKE" in git(host.repo.repo, "log", "-1", "--format=%s", "end")
    # Called again before that merge, it proposes the same; after it there is nothing to do.
    assert host.call("rotate", "--branch", "end")[0] == 0
    host.merge("end")
    assert "valid for more than 30 days" in host.call("rotate", "--branch", "more")[1]


def test_without_a_branch_the_certificates_are_printed_for_a_person(host: Host) -> None:
    code, output = host.call("rotate", "--force")
    assert code == 0
    found = fleet.parse(
        f"fleet: {{id: {FLEET}}}\n{output[output.index('poollets:') : output.index('once it')]}".encode()
    )
    assert isinstance(found, fleet.FleetSettings)
    entry = found.poollets["host-1"]
    assert entry is not None
    assert entry.certificates == (host.files()["link.crt"], host.files()["link.crt.next"])


def test_a_dry_run_changes_nothing_in_any_step(host: Host) -> None:
    before = host.files()
    code, output = host.call("rotate", "--force", "--dry-run", "--branch", "next")
    assert code == 0
    assert "would create" in output
    assert host.files() == before
    host.call("rotate", "--force", "--branch", "next")
    host.merge("next")
    before = host.files()
    code, output = host.call("rotate", "--dry-run", "--branch", "end")
    assert code == 0
    assert "-      - |" in output or "-        -----BEGIN" in output
    assert host.files() == before
    assert not host.repo.head("refs/heads/end")


def test_a_push_that_is_refused_leaves_the_files_as_they_are(host: Host) -> None:
    host.call("rotate", "--force", "--branch", "next")
    host.merge("next")
    before = host.files()
    hook = host.repo.repo / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho protected >&2\nexit 1\n")
    hook.chmod(0o755)
    code, output = host.call("rotate", "--branch", "end")
    assert code == 1
    assert "protected" in output
    assert host.files() == before


def test_a_host_that_did_not_join_names_the_command(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.apply(f"fleet: {{id: {FLEET}}}\n")
    code, output = host.call("rotate")
    assert code == 1
    assert "does not list this host's certificate" in output
    for path in host.keys.glob("link*"):
        path.unlink()
    assert "has no certificate for the link" in host.call("rotate")[1]
