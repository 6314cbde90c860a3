"""Bridges that a killed libvirtd has left: removed when they are ours and nothing is plugged into them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from iri.libvirt.networks import stale_bridges
from tests.servers.daemon import bare
from tests.servers.libvirtd import Libvirtd

OURS, FOREIGN = "gv0123456789ab", "br-lan"


def on_host(daemon: Libvirtd, expression: str) -> str:
    """What the module says in the hypervisor's network, where a runtime lives."""
    code = f"from iri.libvirt.networks import stale_bridges; print({expression})"
    command = ["nsenter", f"--net={daemon.netns}", sys.executable, "-c", code]
    return subprocess.run(command, env=bare(), check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize(
    ("name", "has_port", "is_removed"),
    [(OURS, False, True), (OURS, True, False), (FOREIGN, False, False)],
    ids=["left over", "in use", "foreign"],
)
def test_only_unused_bridges_of_ours_are_removed(
    libvirtd: Libvirtd, name: str, has_port: bool, is_removed: bool
) -> None:
    libvirtd.inside("ip", "link", "add", name, "type", "bridge")
    libvirtd.inside("ip", "link", "add", "port0", "type", "veth", "peer", "name", "port1")
    try:
        if has_port:
            libvirtd.inside("ip", "link", "set", "port0", "master", name)
        assert on_host(libvirtd, f"stale_bridges.remove({name!r})") == str(is_removed)
        left = libvirtd.inside("ip", "-o", "link").stdout
        assert (f" {name}:" in left) is not is_removed
    finally:
        libvirtd.inside("ip", "link", "delete", "port0")
        if not is_removed:
            libvirtd.inside("ip", "link", "delete", name)


def test_bridge_is_stale_once_seen_twice_without_its_network(libvirtd: Libvirtd) -> None:
    libvirtd.inside("ip", "link", "add", OURS, "type", "bridge")
    try:
        twice = f"(lambda stale: [sorted(stale.confirm(active)) for active in ([], [], [{OURS!r}], [])])"
        assert on_host(libvirtd, f"{twice}(stale_bridges.StaleBridges())") == f"[[], ['{OURS}'], [], []]"
    finally:
        libvirtd.inside("ip", "link", "delete", OURS)


def test_removing_a_missing_bridge_is_no_error() -> None:
    assert stale_bridges.remove("gv000000000000") is False
