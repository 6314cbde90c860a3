"""Encrypted Secrets on a host with libvirt and real guests: in memory, in libvirt's own store for root, and nowhere else; gone with their objects."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from iri.libvirt.seed.memory_folder import find_memory_folder
from iri.memory_mounts import is_in_memory
from reconciler.cli import main
from schemas.encryption.age_armor import public_half
from schemas.encryption.sops_text import seal_text
from tests.e2e.host import Host, host
from tests.e2e.linked_fleet import FLEET, LinkedFleet, linked_fleet
from tests.e2e.manifests import machine, volume
from tests.e2e.network import Place
from tests.e2e.test_secrets import CANARY, spellings
from tests.e2e.world import CLASSES

NAME = "rack-1"
SETTINGS = f"fleet: {{id: {FLEET}}}\nlimits: {{undo: 0s}}\n"
# Beside those with Secrets, so that no deletion is of all objects of a kind, which awaits approval.
OTHERS = "---\n".join((machine("keeper"), volume("16Mi")))
MACHINE = """apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata: {name: web}
spec:
  machineClassRef: {name: micro}
  ignitionRef: {name: boot, key: user-data}
  volumes:
    - {name: data, device: odb, volumeRef: {name: disk}}
"""
VOLUME = """apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata: {name: disk}
spec:
  volumeClassRef: {name: disk}
  deletionPolicy: Delete
  resources: {storage: 16Mi}
  encryption: {secretRef: {name: disk}}
"""


@dataclass
class Rack:
    """One host of a fleet, whose key opens the Secrets."""

    fleet: LinkedFleet
    host: Host
    recipient: str

    @property
    def etc(self) -> Path:
        """libvirt's settings, in the mount namespace of this host."""
        return Path(f"/proc/{self.host.libvirtd.pid}/root/etc/libvirt")

    @property
    def store(self) -> Path:
        """libvirt's own secrets, for root alone (docs/secrets.md)."""
        return self.etc / "secrets"

    @property
    def memory(self) -> Path:
        found = find_memory_folder(self.host.folder)
        assert found is not None
        return found

    def seal(self, name: str, key: str, value: str) -> str:
        text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\nstringData:\n  {key}: {value}\n"
        return seal_text(text, [self.recipient], datetime.now(UTC))


@pytest.fixture
def rack() -> Iterator[Rack]:
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="gv-")))
        fleet = opened.enter_context(linked_fleet(folder, servers=(), hosts=(), is_listed=False))
        key = folder / "host.key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        place = opened.enter_context(
            host(NAME, lambda pid: Place("127.0.0.1", pid), {"url": str(fleet.repo)})
        )
        config = place.folder / "poollet.yaml"
        config.write_text(json.dumps({**json.loads(config.read_text()), "decryptionKeys": [str(key)]}))
        (recipient,) = public_half(key.read_bytes())
        yield Rack(fleet, place, recipient)


@pytest.mark.early
def test_a_secret_is_in_memory_and_in_the_store_of_libvirt_alone(
    rack: Rack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITVIRT_CACHE", str(rack.fleet.folder / "cache-ann"))
    rack.fleet.commit(
        {
            "gitvirt.yaml": f'{SETTINGS}secrets: {{admins: ["{rack.recipient}"]}}\npoollets:\n  {NAME}: {{age: ["{rack.recipient}"]}}\n',
            "classes/small.yaml": CLASSES,
            "others.yaml": OTHERS,
            "secrets/boot.yaml": rack.seal("boot", "user-data", f"'#cloud-config {CANARY}-boot'"),
            "secrets/disk.yaml": rack.seal("disk", "encryptionKey", f"{CANARY}-disk"),
            "machines/web.yaml": MACHINE,
            "volumes/disk.yaml": VOLUME,
        }
    )
    rack.fleet.run_reconciler("one")
    rack.host.start()
    try:
        rack.fleet.until(lambda: rack.fleet.is_running("web"))
        assert_hidden(rack, capsys)
        # The search finds what it looks for: where the values are.
        assert find_canaries(read_files(rack.memory))
        assert is_in_memory(rack.memory)
        assert len(find_canaries(read_files(rack.store))) == 2, "boot data and a passphrase"
        assert {path.stat().st_mode & 0o77 for path in rack.store.rglob("*") if path.is_file()} == {0}
        rack.fleet.commit({"machines/web.yaml": None, "volumes/disk.yaml": None})
        rack.fleet.until(
            lambda: not rack.fleet.live("machines/web.yaml") + rack.fleet.live("volumes/disk.yaml")
        )
        assert_hidden(rack, capsys)
        assert not find_canaries(read_files(rack.memory) | read_files(rack.store))
    except AssertionError as error:
        error.add_note(rack.host.logs())
        raise


def assert_hidden(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of the values is in files on disk, in Git, in what processes were started with, in what libvirt and verbs show."""
    daemon = rack.host.libvirtd
    seen = read_files(rack.fleet.folder) | read_files(daemon.folder)
    seen |= {name: data for name, data in read_files(rack.etc).items() if f"{rack.store}/" not in name}
    processes = {**rack.fleet.processes, **rack.host.processes}
    pids = {each.process.pid for each in processes.values()} | list_processes(daemon.pid)
    for pid in pids:
        with contextlib.suppress(
            FileNotFoundError, ProcessLookupError
        ):  # such as a call of qemu-img that ended
            seen[f"arguments of {pid}"] = Path(f"/proc/{pid}/cmdline").read_bytes()
            seen[f"environment of {pid}"] = Path(f"/proc/{pid}/environ").read_bytes()
    for id in daemon.virsh("list", "--all", "--uuid").stdout.split():
        for words in (("dumpxml", id), ("dumpxml", "--security-info", "--inactive", id)):
            seen[" ".join(words)] = daemon.virsh(*words).stdout.encode()
    for id in daemon.virsh("secret-list").stdout.split()[::3]:
        seen[f"secret {id}"] = daemon.virsh("secret-dumpxml", id, check=False).stdout.encode()
    capsys.readouterr()
    for verb in (
        ["get", "all", "-o", "json"],
        ["describe", "web"],
        ["events"],
        ["status"],
        ["secret", "check"],
    ):
        main([*verb, "--repo", str(rack.fleet.repo)])
    shown = capsys.readouterr()
    seen["verbs"] = (shown.out + shown.err).encode()
    seen |= read_objects(rack.fleet.repo) | read_objects(rack.host.folder / "mirror")
    assert len(seen) > 50
    assert not find_canaries(seen)


def list_processes(first: int) -> set[int]:
    """All in the hypervisor's namespace of processes: libvirtd, its guests, and what they start."""
    own, found = Path(f"/proc/{first}/ns/pid").readlink(), set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if (folder / "ns" / "pid").readlink() == own:
                found.add(int(folder.name))
    return found


def find_canaries(seen: dict[str, bytes]) -> list[str]:
    return [name for name, data in seen.items() if any(spelling in data for spelling in spellings())]


def read_files(folder: Path) -> dict[str, bytes]:
    """All that are there; a file may go while this looks."""
    found = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                found[str(path)] = path.read_bytes()
    return found


def read_objects(repo: Path) -> dict[str, bytes]:
    """The objects of each bare repo in a folder: on disk they are compressed."""
    found = {}
    for head in (repo / "HEAD", *repo.rglob("*/HEAD")):
        if (head.parent / "objects").is_dir():
            words = ["git", "--git-dir", str(head.parent), "cat-file", "--batch", "--batch-all-objects"]
            found[f"{head.parent} objects"] = subprocess.run(words, capture_output=True, check=True).stdout
    assert found
    return found
