"""Counters of the kernel, as it writes them."""

from __future__ import annotations

from iri.libvirt.host.devices import measure_disks, measure_networks, parse_disks, parse_networks
from iri.usage import RuntimeDiskUsage, RuntimeNetworkUsage

DISKS = """\
   7       0 loop0 49 0 2210 31 0 0 0 0 0 40 31 0 0 0 0 0 0
 254       0 vda 52106 12 3891242 9821 90114 55 7422104 44120 0 61000 54000 0 0 0 0 12 5
 254       1 vda1 100 0 800 1 0 0 0 0 0 0 0
 259       0 nvme0n1 1 2 3
"""
NETWORKS = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1000       10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
enp1s0:5123456   42000    0    1    0     0          0       312  9123456   39000    0    0    0     0       0          0
 virbr0:    77       1    0    0    0     0          0         0       88       2    0    0    0     0       0          0
"""


def test_only_disks_that_are_hardware_count_in_bytes() -> None:
    found = parse_disks(DISKS, lambda name: name in ("vda", "nvme0n1"))
    whole = RuntimeDiskUsage(
        name="vda", reads=52106, read_bytes=3891242 * 512, writes=90114, written_bytes=7422104 * 512
    )
    assert found == (whole,), "a line without all counters is left out"


def test_only_network_devices_that_are_hardware_count() -> None:
    found = parse_networks(NETWORKS, lambda name: name == "enp1s0")
    whole = RuntimeNetworkUsage(
        name="enp1s0",
        received_bytes=5123456,
        received_packets=42000,
        sent_bytes=9123456,
        sent_packets=39000,
    )
    assert found == (whole,)


def test_files_without_lines_have_no_devices() -> None:
    assert parse_disks("", lambda _: True) == ()
    assert parse_networks("", lambda _: True) == ()


def test_the_kernel_of_this_host_is_understood() -> None:
    assert all(each.name and each.read_bytes >= 0 for each in measure_disks())
    assert all(each.name and each.received_bytes >= 0 for each in measure_networks())
