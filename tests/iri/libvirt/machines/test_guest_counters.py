"""Which devices of a guest are measured: those of the machine whose counters libvirt has now."""

from __future__ import annotations

from iri.libvirt.domain.names import Alias, DeviceKind
from iri.libvirt.machines.guest_counters import named_devices

DISKS = {
    Alias(DeviceKind.DISK.value, name, ""): target for name, target in (("root", "vda"), ("data", "vdb"))
}


def test_a_device_whose_counters_libvirt_cannot_ask_for_now_is_left_out() -> None:
    """While QEMU is busy libvirt names the disk alone. A counter of 0 would look like one that began again, and make a rate of all bytes."""
    stats = {
        "block.count": 3,
        "block.0.name": "vda",
        "block.0.rd.bytes": 0,
        "block.1.name": "vdb",
        "block.2.name": "sda",
        "block.2.rd.bytes": 7,
    }
    assert list(named_devices(DISKS, stats, "block")) == [("root", "block.0")]
