"""The XML elements of disks and network interfaces, the same for a new domain and for a running one. Pure.

One builder serves both: a device that was plugged in must not differ from one that the domain was defined with, or the next boot
would show the guest another device. The alias is the device's identity (see `names`);
the target is a name that libvirt needs and guests do not see.

    the guest sees a disk by      its serial number, which is the device name of the spec
    the guest sees a nic by       its MAC address
    libvirt and we see both by    the alias
"""

from __future__ import annotations

from typing import assert_never

from iri.libvirt.device_sources import (
    BridgeNic,
    DiskSource,
    FileSource,
    NetworkNic,
    NicSource,
    RbdSource,
)
from iri.libvirt.domain.names import Alias
from iri.libvirt.xml import Element, child, element

LONGEST_SERIAL = 20  # characters that a virtio disk has room for


def disk_element(alias: Alias, device: str, target: str, source: DiskSource) -> Element:
    """`device` is the name in the spec; the guest sees it as the serial number."""
    made = disk_source_element(source)
    child(made, "target", dev=target, bus="virtio")
    if source.iops or source.bytes_per_second:
        limits = child(made, "iotune")
        if source.bytes_per_second:
            child(limits, "total_bytes_sec", str(source.bytes_per_second))
        if source.iops:
            child(limits, "total_iops_sec", str(source.iops))
    child(made, "serial", device[:LONGEST_SERIAL])
    child(made, "alias", name=str(alias))
    return made


def disk_source_element(source: DiskSource) -> Element:
    """The source alone; target, limits and alias come from `disk_element`.

    The format is always written out and never probed: the guest writes the content."""
    where = source.where
    match where:
        case FileSource(path=path, format=format_):
            made = disk_with_driver("file", format_)
            inner = child(made, "source", file=path)
        case RbdSource():
            made = disk_with_driver("network", "raw")
            inner = child(made, "source", protocol="rbd", name=where.image)
            for host, port in where.monitors:
                child(inner, "host", name=host, port=port)
            auth = child(inner, "auth", username=where.user)
            child(auth, "secret", type_="ceph", uuid=where.secret_id)
        case _:
            assert_never(where)
    if source.luks_secret_id:
        # An image in Ceph is decrypted by Ceph's own library, in the format that other runtimes use too.
        in_ceph = isinstance(where, RbdSource)
        cipher = {"format": "luks2", "engine": "librbd"} if in_ceph else {"format": "luks"}
        encryption = child(inner, "encryption", **cipher)
        child(encryption, "secret", type_="passphrase", uuid=source.luks_secret_id)
    return made


def disk_with_driver(type_: str, format_: str) -> Element:
    """When the host's disk is full, the guest is paused and resumed later, so it loses no writes."""
    made = element("disk", type_=type_, device="disk")
    child(made, "driver", name="qemu", type_=format_, cache="writeback", discard="unmap", error_policy="stop")
    return made


def cdrom_element(path: str, target: str, bus: str) -> Element:
    """The disk with first-boot data. Read-only, and without an alias of ours: it is not an attachment."""
    made = element("disk", type_="file", device="cdrom")
    child(made, "driver", name="qemu", type_="raw")
    child(made, "source", file=path)
    child(made, "target", dev=target, bus=bus)
    child(made, "readonly")
    return made


def nic_element(alias: Alias, source: NicSource) -> Element:
    """libvirt takes one VLAN element for Linux bridges and for Open vSwitch."""
    where = source.where
    match where:
        case NetworkNic(network=network):
            made = element("interface", type_="network")
            child(made, "source", network=network)
        case BridgeNic(bridge=bridge, vlan=vlan, openvswitch=openvswitch):
            made = element("interface", type_="bridge")
            child(made, "source", bridge=bridge)
            if vlan:
                child(child(made, "vlan"), "tag", id=vlan)
            if openvswitch:
                child(made, "virtualport", type_="openvswitch")
        case _:
            assert_never(where)
    child(made, "mac", address=source.mac)
    child(made, "model", type_="virtio")
    child(made, "alias", name=str(alias))
    return made
