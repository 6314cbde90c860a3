"""Encrypted volumes: one is really made, used and grown; the passphrase is nowhere but in libvirt's secret store."""

from __future__ import annotations

import dataclasses
import json
import subprocess

import pytest
from msgspec.structs import replace

from iri.change import ExpandVolume
from iri.errors import FailedPrecondition, InvalidArgument
from iri.libvirt.volumes.secrets import LUKS_TRIES, retry_luks
from iri.volume import (
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    SnapshotSource,
    VolumeDataSource,
    VolumeEncryption,
)
from tests.iri.contract.subject import MIB, Subject
from tests.iri.libvirt.volumes.stand import Stand
from tests.iri.libvirt.volumes.test_disks import MACHINE, connect
from tests.servers.libvirtd import Libvirtd

PASSPHRASE = b"correct horse"
FLAKE = "qemu-img: Unable to get accurate CPU usage"


def encrypt_spec(wanted: RuntimeVolume) -> RuntimeVolume:
    encryption = VolumeEncryption(secret_data={"encryptionKey": PASSPHRASE})
    return replace(wanted, spec=replace(wanted.spec, encryption=encryption))


@pytest.mark.early
@pytest.mark.timeout(300)  # each try measures the CPU for seconds, and some fail by chance
def test_encrypted_volume_is_created_grown_copied_and_deleted_with_its_secret(
    stand: Stand, subject: Subject, libvirtd: Libvirtd
) -> None:
    patient = dataclasses.replace(subject, seconds=250)
    volume = patient.available(encrypt_spec(subject.volume(stand.image())))
    assert volume.spec.encryption == VolumeEncryption(secret_data={"encryptionKey": b""})
    path = stand.data / f"volume-{volume.id}.qcow2"
    output = json.loads(
        subprocess.run(["qemu-img", "info", "--output=json", path], check=True, capture_output=True).stdout
    )
    assert output["format-specific"]["data"]["encrypt"]["format"] == "luks"
    assert output["backing-filename"]
    assert PASSPHRASE not in (stand.data / f"volume-{volume.id}.json").read_bytes()

    stand.change(volume.id, ExpandVolume(Resources(storage_bytes=32 * MIB)))
    patient.until_volume(
        volume.id, lambda there: there.status.resources == Resources(storage_bytes=32 * MIB), "grow"
    )

    snapshot = patient.ready(volume.id)
    source = VolumeDataSource(snapshot_data_source=SnapshotSource(snapshot_id=snapshot.id))
    wanted = subject.volume(source)
    same_size = replace(wanted, spec=replace(wanted.spec, resources=Resources(storage_bytes=32 * MIB)))
    restored = patient.available(same_size)
    copy = stand.data / f"volume-{restored.id}.qcow2"
    command = ["qemu-io", "--object", f"secret,id=s,data={PASSPHRASE.decode()}", "--image-opts"]
    opened = f"driver=qcow2,encrypt.format=luks,encrypt.key-secret=s,file.filename={copy}"
    read = subprocess.run(
        [*command, "-c", "read -v 0 16", opened], check=True, capture_output=True, text=True
    )
    assert "69 6d 61 67 65" in read.stdout  # "image"

    assert_that_a_volume_keeps_its_passphrase(stand, volume, restored)

    subject.remove_fully(RuntimeSnapshot, snapshot.id)
    subject.remove_fully(RuntimeVolume, restored.id)
    subject.remove_fully(RuntimeVolume, volume.id)
    assert stand.files() == []
    assert volume.id not in libvirtd.virsh("secret-list").stdout


def assert_that_a_volume_keeps_its_passphrase(
    stand: Stand, volume: RuntimeVolume, copy: RuntimeVolume
) -> None:
    """A spec with another passphrase opens it by the secret of its creation. For a copy of a snapshot that secret is of another volume, and after
    libvirt has lost it there is none: then the passphrase of the spec is all there is."""
    passphrases = stand.volumes.passphrases
    own, other = f"volume-{volume.id}", {"encryptionKey": b"another"}

    def opened_by(volume: RuntimeVolume) -> str:
        return stand.disks.prepare(MACHINE, connect(volume, encryption_data=other)).source.luks_secret_id

    assert opened_by(volume) == passphrases.id(own) == passphrases.find(own)
    disk = opened_by(copy)
    assert disk not in ("", passphrases.id(own), passphrases.id(f"volume-{copy.id}"))
    passphrases.drop(own)
    assert opened_by(volume) == disk
    passphrases.put(own, PASSPHRASE)
    stand.disks.forget(MACHINE)


def test_secret_of_a_volume_that_was_never_created_is_deleted(stand: Stand, libvirtd: Libvirtd) -> None:
    name = "volume-6e0a5d5c-0000-4000-8000-000000000001"
    stand.volumes.passphrases.put(name, PASSPHRASE)
    assert name in libvirtd.virsh("secret-list").stdout
    stand.restart()
    assert name not in libvirtd.virsh("secret-list").stdout


def test_plain_snapshot_yields_no_encrypted_volume(stand: Stand, subject: Subject) -> None:
    snapshot = subject.ready(subject.available().id)
    source = VolumeDataSource(snapshot_data_source=SnapshotSource(snapshot_id=snapshot.id))
    with pytest.raises(InvalidArgument, match="is not encrypted"):
        stand.create(encrypt_spec(subject.volume(source)))


@pytest.mark.parametrize("fails", range(LUKS_TRIES + 2))
def test_format_that_fails_by_chance_is_tried_a_bounded_number_of_times(fails: int) -> None:
    done: list[str] = []

    def make() -> None:
        done.append("make")
        if done.count("make") <= fails:
            raise FailedPrecondition(FLAKE)

    if fails < LUKS_TRIES:
        retry_luks(make, lambda: done.append("undo"))
        assert done == ["make", "undo"] * fails + ["make"]
    else:
        with pytest.raises(FailedPrecondition, match=f"failed {LUKS_TRIES} times: {FLAKE}"):
            retry_luks(make, lambda: done.append("undo"))
        assert done == ["make", "undo"] * LUKS_TRIES


def test_any_other_failure_is_not_tried_again() -> None:
    done: list[str] = []

    def make() -> None:
        done.append("make")
        raise FailedPrecondition("disk on fire")

    with pytest.raises(FailedPrecondition, match="disk on fire"):
        retry_luks(make, lambda: done.append("undo"))
    assert done == ["make", "undo"]
