"""A libvirt runtime on a private libvirtd, with classes whose machines boot the micro guest."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.libvirt.domain.traits import ClassTraits
from iri.libvirt.host.settings import HostSettings, OfferedClasses
from iri.libvirt.machines.power_settings import PowerSettings
from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.settings import Settings
from tests.guests.micro import micro_kernel
from tests.servers.libvirtd import Libvirtd

MIB = 1 << 20
SMALL = RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": 8 * MIB})
LARGE = RuntimeMachineClass(name="large", resources={"cpu": 2, "memory": 16 * MIB})
PLAIN = RuntimeVolumeClass(name="plain", tps=100 * MIB, iops=1000)
CLASSES = RuntimeClasses(machines=(SMALL, LARGE), volumes=(PLAIN,))
POWER = PowerSettings(stop_timeout=3.0, press=0.3, first_restart=2.0)


def micro_settings(daemon: Libvirtd, power: PowerSettings = POWER) -> Settings:
    """Of a runtime with a folder of its own."""
    folder = daemon.folder / f"rt-{uuid.uuid4().hex[:8]}"
    folder.mkdir(mode=0o711)
    micro = ClassTraits(kernel=str(micro_kernel(daemon.folder)), hotplug_ports=4)
    return Settings(
        uri=daemon.uri,
        folder=str(folder),
        host=HostSettings(
            accelerator="tcg",
            reserved={},
            classes=OfferedClasses(machines=(SMALL, LARGE), volumes=(PLAIN,)),
            traits={name: micro for name in ("small", "large", "tiny", "other")},
        ),
        power=power,
        qemu_logs=str(daemon.folder / "log" / "qemu"),
    )


@contextlib.contextmanager
def running_runtime(settings: Settings) -> Iterator[LibvirtRuntime]:
    runtime = LibvirtRuntime(settings)
    runtime.start()
    try:
        yield runtime
    finally:
        runtime.close()


def console_log(settings: Settings, id: str) -> bytes:
    """Of the last two starts."""
    folder = Path(settings.folder) / "machines" / id
    paths = (folder / "previous.log", folder / "console.log")
    return b"".join(path.read_bytes() for path in paths if path.exists())


def local_disk(daemon: Libvirtd, id: str) -> Path:
    """Of the machine, which has just one. Runtimes of a daemon that name no pools share one."""
    (path,) = local_disks(daemon, id)
    return path


def local_disks(daemon: Libvirtd, id: str) -> list[Path]:
    return list(daemon.folder.glob(f"rt-*/volumes/disk-{id}-*"))


def with_power(settings: Settings, **changes: object) -> Settings:
    return replace(settings, power=replace(settings.power, **changes))
