"""Encrypted Secrets through a fleet of processes: to the host that can open them and to no other, and into nothing that any of them writes."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from iri.address import UnixAddress
from iri.machine import RuntimeMachine
from iri.runtime import Runtime
from iri.simulated.host import SimulatedHost
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.server import SimulatedServer
from iri.volume import RuntimeVolume
from reconciler.cli import main
from reconciler.cli.exits import Exit
from schemas.encryption.age_armor import public_half, seal
from schemas.encryption.sops_text import seal_text
from tests.e2e.linked_fleet import CLASSES, FLEET, LinkedFleet, linked_fleet
from tests.e2e.process import Process
from tests.iri.quick_host import PROFILE

HOSTS = ("rack-1", "rack-2")
CANARY = "c4n4ry-7b1e-swordfish"
VOLUME_CLASS = (
    "---\napiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeClass\nmetadata: {name: fast}\n"
    "capabilities: {tps: 100Mi, iops: 1000}\n"
)
SEEDED = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\nmetadata: {{name: {name}}}\n"
    "spec:\n  machineClassRef: {{name: small}}\n  image: example.org/images/debian:12\n  ignitionRef: {{name: {secret}}}\n"
)
DISK = (
    "apiVersion: storage.ironcore.dev/v1alpha1\nkind: Volume\nmetadata: {name: disk}\nspec:\n"
    "  volumeClassRef: {name: fast}\n  resources: {storage: 1Gi}\n  encryption: {secretRef: {name: disk}}\n"
)


@dataclass
class Place:
    """A fleet with a private key for each host and for Ann, and the runtimes that the hosts drive."""

    fleet: LinkedFleet
    runtimes: dict[str, SimulatedRuntime]

    def key(self, name: str) -> Path:
        return self.fleet.folder / f"{name}.key"

    def public(self, name: str) -> str:
        (found,) = public_half(self.key(name).read_bytes())
        return found

    def settings(self) -> str:
        hosts = "".join(f'  {name}: {{age: ["{self.public(name)}"]}}\n' for name in HOSTS)
        return f'fleet: {{id: {FLEET}}}\nsecrets: {{admins: ["{self.public("ann")}"]}}\npoollets:\n{hosts}'

    def run_host(self, name: str) -> None:
        folder = self.fleet.folder
        config = folder / f"{name}.yaml"
        config.write_text(
            f"name: {name}\nhostID: {name}\ndecryptionKeys: [{self.key(name)}]\n"
            f"repo: {{url: {self.fleet.repo}, mirror: {folder / f'mirror-{name}'}}}\n"
            f"runtimes:\n- {{name: sim, machine: {folder / name}.s, volume: {folder / name}.s}}\n"
            f"pools: [{{name: {name}}}, {{name: {name}, kind: VolumePool}}]\nintervals: {{poll: 2s}}\n"
        )
        self.fleet.processes[name] = Process(
            folder / f"{name}.log", (), ("poollet", "--config", str(config)), {}
        )

    def seal(self, name: str, key: str, *readers: str) -> str:
        text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\nstringData:\n  {key}: {CANARY}-{name}\n"
        return seal_text(text, [self.public(reader) for reader in readers], datetime.now(UTC))


@pytest.fixture
def place() -> Iterator[Place]:
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="gv-")))
        fleet = opened.enter_context(linked_fleet(folder, servers=(), hosts=(), is_listed=False))
        runtimes = {}
        for number, name in enumerate(HOSTS):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / f"{name}.key"], check=True
            )
            host = SimulatedHost(PROFILE, number)
            opened.enter_context(SimulatedServer(host, [UnixAddress(folder / f"{name}.s")]))
            runtimes[name] = SimulatedRuntime(host)
        subprocess.run(["age-keygen", "-o", folder / "ann.key"], check=True, capture_output=True)
        yield Place(fleet, runtimes)


def boot_data(runtime: Runtime) -> dict[str, str]:
    """What each guest was given, by the end of its Secret's name."""
    found = runtime.objects(RuntimeMachine).values()
    return {
        one.spec.ignition_data.decode().rpartition("-")[2]: one.spec.ignition_data.decode() for one in found
    }


def test_secrets_reach_the_hosts_that_can_open_them_and_nothing_else(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = place.fleet
    tampered = place.seal("tampered", "ignition.yaml", "ann", *HOSTS).replace(
        "{name: tampered}", "{name: tampered, labels: {a: b}}"
    )
    armor = "".join(
        f"    {line}\n"
        for line in seal(f"{CANARY}-armor".encode(), [place.public(one) for one in HOSTS]).splitlines()
    )
    fleet.commit(
        {
            "gitvirt.yaml": place.settings(),
            "classes/small.yaml": CLASSES + VOLUME_CLASS,
            "secrets/two.yaml": place.seal("two", "ignition.yaml", "ann", "rack-2"),
            "secrets/later.yaml": place.seal("later", "ignition.yaml", "ann"),
            "secrets/disk.yaml": place.seal("disk", "encryptionKey", "ann", "rack-1"),
            "secrets/tampered.yaml": tampered,
            "secrets/armor.yaml": f"apiVersion: v1\nkind: Secret\nmetadata: {{name: armor}}\nstringData:\n  ignition.yaml: |\n{armor}",
            **{
                f"machines/{name}.yaml": SEEDED.format(name=name, secret=name)
                for name in ("two", "later", "tampered", "armor")
            },
            "volumes/disk.yaml": DISK,
        }
    )
    fleet.run_reconciler("one")
    for name in HOSTS:
        place.run_host(name)
    fleet.until(lambda: fleet.is_running("two") and fleet.is_running("armor"))
    assert boot_data(place.runtimes["rack-2"])["two"] == f"{CANARY}-two"
    everywhere = boot_data(place.runtimes["rack-1"]) | boot_data(place.runtimes["rack-2"])
    assert everywhere["armor"] == f"{CANARY}-armor"
    # The key of a volume travels the same way, to the pool whose host can open it.
    fleet.until(lambda: "state: Available" in fleet.live("volumes/disk.yaml"))
    (volume,) = place.runtimes["rack-1"].objects(RuntimeVolume).values()
    assert volume.spec.encryption is not None
    assert volume.spec.encryption.secret_data == {"encryptionKey": f"{CANARY}-disk".encode()}
    # Whom it is not encrypted for cannot get the machine: it says so, with the command that helps.
    fleet.until(lambda: "SecretNotReadable" in fleet.live("machines/later.yaml"))
    monkeypatch.setenv("GITVIRT_CACHE", str(fleet.folder / "cache-ann"))
    for variable in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(variable, "Ann")
    for variable in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(variable, "ann@example.org")
    here = ("--repo", str(fleet.repo))
    assert main(["explain", "later", *here]) == Exit.UNPLACEABLE
    assert "gitvirt secret rekey default/later" in capsys.readouterr().out
    # A file that was changed by hand is refused with file, key and cause.
    fleet.until(lambda: "SecretTampered" in fleet.live("machines/tampered.yaml"))
    assert "secrets/tampered.yaml: sops.mac: the MAC differs" in fleet.live("machines/tampered.yaml")
    words = ["secret", "rekey", "later", "--key", str(place.key("ann")), *here]
    assert main(words) == Exit.OK
    fleet.until(lambda: fleet.is_running("later"))
    capsys.readouterr()
    find_canaries(fleet, capsys, here)


def find_canaries(fleet: LinkedFleet, capsys: pytest.CaptureFixture[str], here: tuple[str, ...]) -> None:
    """In all that the fleet wrote or shows: files, objects of Git, arguments and environments of processes, metrics, output of verbs."""
    for verb in (
        ["get", "all", "-o", "json"],
        ["describe", "two"],
        ["events"],
        ["get", "secret", "two", "-o", "json"],
        ["status"],
        ["secret", "check"],
    ):
        main([*verb, *here])
    written = capsys.readouterr()
    texts = {"verbs": (written.out + written.err).encode()}
    with urllib.request.urlopen(f"http://127.0.0.1:{fleet.http['one']}/metrics", timeout=5) as answer:
        texts["metrics"] = answer.read()
    for name, process in fleet.processes.items():
        proc = Path(f"/proc/{process.process.pid}")
        texts[f"{name} environ"] = (proc / "environ").read_bytes()
        texts[f"{name} cmdline"] = (proc / "cmdline").read_bytes()
        if name in HOSTS:
            assert re.search(r"^Max core file size +0 +0 ", (proc / "limits").read_text(), re.MULTILINE)
    for path in fleet.folder.rglob("*"):
        if path.is_file():
            texts[str(path)] = path.read_bytes()
            if path.name == "HEAD" and (path.parent / "objects").is_dir():
                words = [
                    "git",
                    "--git-dir",
                    str(path.parent),
                    "cat-file",
                    "--batch",
                    "--batch-all-objects",
                    "--unordered",
                ]
                texts[f"{path.parent} objects"] = subprocess.run(
                    words, capture_output=True, check=True
                ).stdout
    assert len([name for name in texts if name.endswith("objects")]) >= 3, "the repo and the mirrors"
    for name, data in texts.items():
        for spelling in spellings():
            assert spelling not in data, name
    assert all(text in texts[f"{fleet.repo} objects"] for text in (b"kind: Secret", b"ENC[AES256_GCM"))


def spellings() -> set[bytes]:
    """As it is, and in base64 at each of its three alignments."""
    plain = CANARY.encode()
    padded = (base64.b64encode(b"x" * shift + plain)[4 * (shift > 0) : -4] for shift in range(3))
    return {plain, plain.hex().encode(), *padded}


def test_the_search_would_find_a_canary(tmp_path: Path) -> None:
    for shift in range(3):
        hidden = base64.b64encode(os.urandom(shift) + CANARY.encode() + b"-two")
        assert any(spelling in hidden for spelling in spellings())
