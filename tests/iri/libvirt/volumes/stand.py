"""Volumes of a real libvirtd, as a runtime that has nothing else; it can be stopped and started like a process."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from iri.change import ExpandVolume, RuntimeChange
from iri.console_log import LogRequest
from iri.errors import InvalidArgument, NotFound, Unimplemented
from iri.host import Offers, RuntimeClasses, RuntimeInfo, RuntimeVolumeClass
from iri.journal import Journal
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.images.images import Images
from iri.libvirt.images.settings import ImageSettings
from iri.libvirt.volumes.bootstrap import build_storage
from iri.libvirt.volumes.settings import DirPool, Pool, StorageSettings
from iri.machine import RuntimeMachine
from iri.runtime import AnyObject, Console, ConsoleLog, RuntimeEvent, Subscription
from iri.usage import RuntimeUsage
from iri.volume import ImageSource, Resources, RuntimeVolume, VolumeDataSource
from tests.iri.contract.subject import Subject

CLASSES = (RuntimeVolumeClass(name="standard"), RuntimeVolumeClass(name="limited", tps=10 << 20, iops=500))


class Stand:
    """Implements iri.runtime.Runtime."""

    def __init__(
        self, uri: str, folder: Path, pools: Sequence[Pool] = (), images: ImageSettings | None = None
    ) -> None:
        self.folder = folder
        self.pools = tuple(pools) or (DirPool(name=f"pool-{folder.name}", path=str(folder / "volumes")),)
        self.image_settings = images or ImageSettings(paths=(str(folder / "originals"),))
        self.uri = uri
        self.machine_events: list[tuple[str, str, str]] = []
        self.is_started = False

    def start(self) -> Stand:
        self.journal = Journal(time.time_ns)
        self.link = LibvirtLink(self.uri)
        self.volumes, self.disks = build_storage(
            self.link,
            StorageSettings(pools=self.pools),
            Images(self.image_settings, self.folder / "images"),
            self.folder,
            journal=self.journal,
            volume_class=volume_class,
            tell=lambda *event: self.machine_events.append(event),
        )
        self.link.open()
        self.volumes.start()
        self.is_started = True
        return self

    def stop(self) -> None:
        if self.is_started:
            self.is_started = False
            self.volumes.close()
            self.link.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    @property
    def pool(self) -> str:
        return self.pools[0].name

    @property
    def data(self) -> Path:
        return self.volumes.backends.folders()[0]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.data.iterdir() if not path.name.startswith("."))

    def subject(self) -> Subject:
        return Subject(
            runtime=self,
            machine_class="none",
            larger_class="none",
            volume_class="standard",
            network_id="none",
            seconds=60,
        )

    def image(self, body: bytes = b"image" * 400_000, name: str = "a.img") -> VolumeDataSource:
        original = self.folder / "originals" / name
        original.parent.mkdir(exist_ok=True)
        original.write_bytes(body)
        return VolumeDataSource(image_data_source=ImageSource(image=str(original)))

    def warnings(self) -> list[tuple[str, str]]:
        return [(event.reason, event.message) for event in self.events() if event.type == "Warning"]

    def about(self) -> RuntimeInfo:
        return RuntimeInfo(name="stand", version="0.0.0")

    def offers(self) -> Offers:
        return Offers(volumes=self.volumes.offers(CLASSES))

    def set_classes(self, classes: RuntimeClasses) -> None:
        raise Unimplemented("classes are fixed")

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        if kind is RuntimeMachine:
            return {}
        found: Mapping[str, AnyObject] = self.volumes.objects(kind)  # type: ignore[type-var]
        return found

    def create(self, wanted: AnyObject) -> AnyObject:
        if isinstance(wanted, RuntimeMachine):
            raise Unimplemented("there are no machines")
        return self.volumes.create(wanted)

    def change(self, id: str, change: RuntimeChange, *, assignment: str = "") -> None:
        if not isinstance(change, ExpandVolume):
            raise NotFound("there are no machines")
        self.volumes.expand(id, change, assignment)

    def remove(self, kind: type[AnyObject], id: str, *, assignment: str = "") -> None:
        if kind is RuntimeMachine:
            raise NotFound("there are no machines")
        self.volumes.remove(kind, id, assignment)  # type: ignore[arg-type]

    def end_assignments(self, ids: Collection[str]) -> None:
        raise Unimplemented("the runtime above the volumes ends assignments")

    def hold_starts(self, *, release: bool) -> None:
        raise Unimplemented("there are no machines")

    def events(self, since: int = 0) -> Sequence[RuntimeEvent]:
        return self.journal.events(since)

    def watch(self) -> Subscription:
        return self.journal.watch()

    def console(self, machine_id: str) -> Console:
        raise NotFound("there are no machines")

    def console_log(self, machine_id: str, request: LogRequest) -> ConsoleLog:
        raise NotFound("there are no machines")

    def usage(self) -> RuntimeUsage:
        raise Unimplemented("there are no machines")


def volume_class(name: str) -> RuntimeVolumeClass:
    for there in CLASSES:
        if there.name == name:
            return there
    raise InvalidArgument(f"there is no volume class {name!r} here")


def with_size(volume: RuntimeVolume, size: int) -> RuntimeVolume:
    from msgspec.structs import replace

    return replace(volume, spec=replace(volume.spec, resources=Resources(storage_bytes=size)))
