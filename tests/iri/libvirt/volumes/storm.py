"""A process that makes, copies, grows and deletes volumes until it is killed: `python -m tests.iri.libvirt.volumes.storm URI FOLDER SEED`.

What it was told to be done for good it writes to standard output, a line each.
"""

from __future__ import annotations

import os
import random
import sys
import uuid
from contextlib import suppress
from pathlib import Path

from iri.change import ExpandVolume
from iri.errors import IRIError
from iri.identity import UID_LABELS
from iri.volume import (
    ImageSource,
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeSpec,
    SnapshotSource,
    SnapshotSpec,
    VolumeDataSource,
)
from tests.iri.libvirt.volumes.stand import Stand

MIB = 1 << 20
MOST = 16  # volumes: with more, most of what a kill meets has not been begun


def main() -> None:
    uri, folder, seed = sys.argv[1:]
    stand = Stand(uri, Path(folder)).start()
    original = Path(folder) / "originals" / "a.img"
    image = (
        VolumeDataSource(image_data_source=ImageSource(image=str(original)))
        if original.exists()
        else stand.image()
    )
    chance = random.Random(int(seed))
    print("started", flush=True)
    while True:
        with suppress(IRIError):
            step(stand, chance, image)


def step(stand: Stand, chance: random.Random, image: VolumeDataSource) -> None:
    volumes, snapshots = list(stand.objects(RuntimeVolume)), list(stand.objects(RuntimeSnapshot))
    what = chance.randrange(6)
    if what < 3 and len(volumes) >= MOST:
        what = 5
    match what:
        case 0:
            say("volume", stand.create(volume(None)).id)
        case 1:
            say("volume", stand.create(volume(image)).id)
        case 2 if snapshots:
            source = SnapshotSource(snapshot_id=chance.choice(snapshots))
            say("volume", stand.create(volume(VolumeDataSource(snapshot_data_source=source))).id)
        case 3 if volumes:
            labels = {UID_LABELS[RuntimeSnapshot]: str(uuid.uuid4())}
            wanted = RuntimeSnapshot(labels=labels, spec=SnapshotSpec(volume_id=chance.choice(volumes)))
            say("snapshot", stand.create(wanted).id)
        case 4 if volumes:
            size = Resources(storage_bytes=chance.randrange(4, 32) * MIB)
            stand.change(chance.choice(volumes), ExpandVolume(size))
        case 5 if len(volumes) > 8:
            gone = chance.choice(volumes)
            say("deleting", gone)
            stand.remove(RuntimeVolume, gone)
        case 5 if snapshots:
            gone = chance.choice(snapshots)
            say("deleting", gone)
            stand.remove(RuntimeSnapshot, gone)


def volume(source: VolumeDataSource | None) -> RuntimeVolume:
    spec = RuntimeVolumeSpec(
        class_name="standard", resources=Resources(storage_bytes=4 * MIB), volume_data_source=source
    )
    return RuntimeVolume(labels={UID_LABELS[RuntimeVolume]: str(uuid.uuid4())}, spec=spec)


def say(what: str, id: str) -> None:
    os.write(
        1, f"{what} {id}\n".encode()
    )  # in one piece: threads write here, and a kill may come at any moment


if __name__ == "__main__":
    main()
