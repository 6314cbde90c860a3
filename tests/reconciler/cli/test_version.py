"""`gitvirt version`: everything relevant, and it always answers."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from iri.libvirt.connect import versions as libvirt
from reconciler.cli import main
from reconciler.cli.exits import Exit

NOWHERE = "qemu+unix:///system?socket=/nowhere"
ALL = {
    "gitvirt", "python", "pygit2", "libgit2", "git", "ssh", "grpcio", "protobuf", "msgspec", "ruamel.yaml", "yaml-rs",
    "jsonschema", "jsonschema-rs", "iri", "libvirt-python", "libvirt", "libvirtd", "qemu",
}  # fmt: skip


def show_versions(capsys: pytest.CaptureFixture[str], uri: str) -> dict[str, str | None]:
    assert main(["version", "-o", "json", "--libvirt", uri]) == Exit.OK
    found: dict[str, str | None] = json.loads(capsys.readouterr().out)
    return found


def test_everything_relevant_has_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    found = show_versions(capsys, "test:///default")  # libvirt's own hypervisor that is none, version 2
    assert set(found) == ALL
    assert [name for name, version in found.items() if not version] == []
    assert found["libvirtd"] == found["libvirt"]
    assert found["qemu"] == "0.0.2"
    git = subprocess.run(["git", "version"], capture_output=True, text=True, check=True).stdout
    assert git.strip() == f"git version {found['git']}"


def test_where_no_libvirt_answers_the_programs_say_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    found = show_versions(capsys, NOWHERE)
    for name, program in (("libvirtd", "/usr/sbin/libvirtd"), ("qemu", "qemu-system-x86_64")):
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        assert f" {found[name]}" in done.stdout


def test_the_table_has_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--libvirt", NOWHERE]) == Exit.OK
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["COMPONENT", "VERSION"]
    assert {row.split()[0] for row in rows} == ALL


def test_a_libvirt_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    """It accepts and says nothing; whoever before ends nevertheless, and so does the process."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        program = (
            "import sys; from iri.libvirt.connect.versions import daemon; print(daemon(sys.argv[1], 0.2))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, f"qemu+unix:///system?socket={tmp_path}/s"],
            capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")


def test_a_daemon_that_answers_ends_the_wait() -> None:
    before = threading.active_count()
    assert libvirt.daemon("test:///default", seconds=100) == (libvirt.library(), "0.0.2")
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("number", "want"), [(9_000_000, "9.0.0"), (12_008_001, "12.8.1"), (7_002_017, "7.2.17"), (2, "0.0.2")]
)
def test_libvirt_counts_its_versions(number: int, want: str) -> None:
    assert libvirt.format_version(number) == want
