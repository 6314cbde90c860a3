"""The volume half is killed at any moment: no answered object is lost, no ordered deletion is forgotten, no file is left over."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotState, VolumeState
from tests.iri.contract.subject import eventually
from tests.iri.libvirt.volumes.stand import Stand
from tests.servers.libvirtd import Libvirtd


@pytest.mark.parametrize(
    ("seed", "kills"), [(1, 6), pytest.param(2, 60, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_kill_at_any_moment_loses_nothing_and_leaves_nothing(
    libvirtd: Libvirtd, folder: Path, seed: int, kills: int
) -> None:
    chance = random.Random(seed)
    made: set[str] = set()
    deleting: set[str] = set()
    for kill in range(kills):
        for line in storm(libvirtd, folder, f"{seed}{kill}", chance.uniform(0.05, 1.0)):
            what, _, id = line.partition(" ")
            (deleting if what == "deleting" else made).add(id)
    assert made
    assert deleting
    stand = Stand(libvirtd.uri, folder).start()
    try:
        eventually(lambda: is_at_rest(stand), bool, 60, "come to rest")
        there = set(stand.objects(RuntimeVolume)) | set(stand.objects(RuntimeSnapshot))
        assert made - deleting <= there
        # Each kill can meet one create that is done and not answered.
        assert len(there - made) <= kills
        for path in stand.data.glob("*.qcow2"):
            subprocess.run(["qemu-img", "check", "-q", path], check=True)
        for id in stand.objects(RuntimeSnapshot):
            stand.remove(RuntimeSnapshot, id)
        for id in stand.objects(RuntimeVolume):
            stand.remove(RuntimeVolume, id)
        eventually(stand.files, lambda files: files == [], 60, "be empty")
    finally:
        stand.stop()
        libvirtd.virsh("pool-destroy", stand.pool)
        libvirtd.virsh("pool-undefine", stand.pool)


def storm(libvirtd: Libvirtd, folder: Path, seed: str, seconds: float) -> list[str]:
    """What a storm has said before it was killed, so many seconds after it had started."""
    command = [sys.executable, "-m", "tests.iri.libvirt.volumes.storm", libvirtd.uri, str(folder), seed]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ.copy()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return process.stdout.read().splitlines()


def is_at_rest(stand: Stand) -> bool:
    """A volume of a snapshot that went before it was read can never be made; all others are."""
    volumes, snapshots = stand.objects(RuntimeVolume).values(), stand.objects(RuntimeSnapshot).values()
    return all(
        volume.status.state is VolumeState.AVAILABLE and not volume.deleted_at for volume in volumes
    ) and all(
        snapshot.status.state is SnapshotState.READY and not snapshot.deleted_at for snapshot in snapshots
    )
