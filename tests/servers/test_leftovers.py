"""That the search for leftovers finds each kind of them: it is what the storms rely on."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.libvirt import xml
from iri.libvirt.networks.isolated_network import IsolatedNetwork, Subnet
from iri.libvirt.networks.network_xml import render_network
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd
from tests.servers.libvirtd import libvirtd as started

DOMAIN = """<domain type='qemu'><name>{name}</name><uuid>{id}</uuid><memory unit='MiB'>4</memory><os><type>hvm</type></os>
<devices>{nic}<controller type='usb' model='none'/></devices></domain>"""
SECRET = "<secret ephemeral='no' private='no'><uuid>{own}</uuid><description>gitvirt machine {id}</description></secret>"
NETWORK = IsolatedNetwork(identity="lan", subnet=Subnet(network="10.9.0.0/24"))


@pytest.fixture(scope="module")
def libvirtd() -> Iterator[Libvirtd]:
    """One of its own: what other tests leave on theirs would be found here."""
    with started() as daemon:
        yield daemon


@pytest.fixture
def folder(libvirtd: Libvirtd, tmp_path: Path) -> Path:
    made = libvirtd.folder / f"own-{tmp_path.name}"
    made.mkdir()
    return made


def run_virsh(libvirtd: Libvirtd, folder: Path, *verb: str, document: str) -> str:
    (folder / "document.xml").write_text(document)
    return libvirtd.virsh(*verb, str(folder / "document.xml")).stdout


def test_a_fresh_hypervisor_has_none(libvirtd: Libvirtd, folder: Path) -> None:
    assert not leftovers(libvirtd, folder), leftovers(libvirtd, folder)


def test_a_running_machine_is_found_whole_or_not_at_all(libvirtd: Libvirtd, folder: Path) -> None:
    id = str(uuid.uuid4())
    run_virsh(libvirtd, folder, "net-create", document=xml.text(render_network(NETWORK)))
    nic = f"<interface type='network'><source network='{NETWORK.name}'/></interface>"
    run_virsh(libvirtd, folder, "create", document=DOMAIN.format(id=id, name=f"web-{id[:8]}", nic=nic))
    try:
        found = leftovers(libvirtd, folder)
        assert found.domains == (id,)
        assert len(found.guests) == 1
        assert found.networks == (NETWORK.name,)
        assert {name[:4] for name in found.devices} >= {"vnet", NETWORK.bridge[:4]}
        assert found.servers
        assert found.logs
        assert not leftovers(libvirtd, folder, [id]), leftovers(libvirtd, folder, [id])
    finally:
        libvirtd.virsh("destroy", id)
        libvirtd.virsh("net-destroy", NETWORK.name)
    (libvirtd.folder / "log" / "qemu" / f"web-{id[:8]}.log").unlink()
    assert not leftovers(libvirtd, folder), leftovers(libvirtd, folder)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("volumes/volume-{id}.qcow2", "disks"),
        ("volumes/disk-{id}-0123456789abcdef.qcow2", "disks"),
        ("images/sha256.partial", "disks"),
        ("machines/{id}/seed.iso", "seeds"),
        ("../lib/qemu/nvram/{id}_VARS.fd", "nvram"),
        ("../lib/dnsmasq/gv0123456789ab.status", "leases"),
        ("../lib/qemu/domain-7-gone/monitor.sock", "states"),
        ("../run/qemu/gone.xml", "states"),
        ("../log/qemu/gone.log", "logs"),
    ],
)
def test_a_file_is_found(libvirtd: Libvirtd, folder: Path, path: str, field: str) -> None:
    id = str(uuid.uuid4())
    left = folder / path.format(id=id)
    made = [parent for parent in (left.parent, left.parent.parent) if not parent.exists()]
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"")
    try:
        found = leftovers(libvirtd, folder)
        assert any(left.name in name or left.parent.name in name for name in getattr(found, field)), found
        if "{id}" in path and not path.startswith("volumes/disk-"):  # a local disk must be attached as well
            assert not leftovers(libvirtd, folder, [id])
    finally:
        left.unlink()
        for parent in made:
            parent.rmdir()


def test_secrets_and_reservations_are_found(libvirtd: Libvirtd, folder: Path) -> None:
    id = str(uuid.uuid4())
    secret = str(uuid.uuid4())
    run_virsh(libvirtd, folder, "secret-define", document=SECRET.format(id=id, own=secret))
    run_virsh(libvirtd, folder, "net-define", document=xml.text(render_network(NETWORK)))
    host = "<host mac='52:54:00:00:00:01' ip='10.9.0.5'/>"
    libvirtd.virsh("net-update", NETWORK.name, "add", "ip-dhcp-host", host, "--config")
    try:
        found = leftovers(libvirtd, folder)
        assert len(found.secrets) == 1
        assert found.leases == (f"{NETWORK.name} 52:54:00:00:00:01 10.9.0.5",)
        assert leftovers(libvirtd, folder, [id]).secrets == ()
    finally:
        libvirtd.virsh("secret-undefine", secret)
        libvirtd.virsh("net-undefine", NETWORK.name)
