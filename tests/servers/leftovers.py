"""Everything a libvirt runtime can leave behind on a private hypervisor, looked for without the runtime's help."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from xml.etree import ElementTree

from tests.servers.libvirtd import Libvirtd

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OURS = "gitvirt"
NOTES = (
    f"{OURS}/mark-",
    f"{OURS}/runtime",
)  # of a pool, for as long as there is the pool; and of whose libvirtd it is
TAP, BRIDGE = "vnet", "gv"


@dataclass(frozen=True)
class Leftovers:
    """False when nothing is left. Each field names what is."""

    domains: tuple[str, ...] = ()
    guests: tuple[str, ...] = ()  # processes
    disks: tuple[str, ...] = ()  # volumes, snapshots, local disks, half-made ones
    seeds: tuple[str, ...] = ()  # and all else in the folders of machines
    nvram: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    leases: tuple[str, ...] = ()  # and reservations
    devices: tuple[str, ...] = ()  # bridges and TAPs
    servers: tuple[str, ...] = ()  # of DHCP
    states: tuple[str, ...] = ()  # libvirt's own, of guests that run no longer

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


def leftovers(daemon: Libvirtd, folder: Path, expected: Iterable[str] = ()) -> Leftovers:
    """`folder` is the runtime's own. `expected`: ids of machines, volumes and snapshots that are to be there."""
    kept = frozenset(expected)
    domains = list(_domains(daemon))
    right = [domain for domain in domains if domain.id in kept]
    networks = dict(_networks(daemon))
    wanted = {name for domain in right for name in domain.networks}
    used_devices = {device for domain in right for device in domain.devices} | {
        device for name in wanted & networks.keys() for device in _devices_of(networks[name])
    }
    return Leftovers(
        domains=tuple(domain.id for domain in domains if domain.id not in kept),
        guests=tuple(f"{id} pid={pid}" for id, pid in daemon.guests().items() if id not in kept),
        disks=_others(_below(folder, "volumes"), kept) + _partial(folder) + _list_orphan_disks(folder, right),
        seeds=_others(_below(folder, "machines"), kept),
        nvram=_others(_below(daemon.folder / "lib" / "qemu", "nvram"), kept),
        logs=tuple(
            str(path) for path in _below(daemon.folder / "log", "qemu") if not _is_log_of(path, right)
        ),
        secrets=_secrets(daemon, kept),
        networks=tuple(networks.keys() - wanted),
        leases=_leases(daemon, networks, {mac for domain in right for mac in domain.macs}),
        devices=tuple(name for name in _devices(daemon) if name not in used_devices),
        servers=_servers(daemon, wanted),
        states=_states(daemon, domains),
    )


class Domain:
    def __init__(self, id: str, document: str) -> None:
        self.id = id
        self.root = ElementTree.fromstring(document)
        self.name = self.root.findtext("name", "")

    @property
    def networks(self) -> set[str]:
        return {source.get("network", "") for source in self.root.iterfind("devices/interface/source")}

    @property
    def macs(self) -> set[str]:
        return {mac.get("address", "") for mac in self.root.iterfind("devices/interface/mac")}

    @property
    def files(self) -> set[str]:
        return {source.get("file", "") for source in self.root.iterfind("devices/disk/source")}

    @property
    def devices(self) -> set[str]:
        return {target.get("dev", "") for target in self.root.iterfind("devices/interface/target")}


def _domains(daemon: Libvirtd) -> Iterator[Domain]:
    for id in daemon.virsh("list", "--all", "--uuid").stdout.split():
        shown = daemon.virsh("dumpxml", id, check=False)
        if shown.returncode == 0:
            yield Domain(id, shown.stdout)


def _below(folder: Path, name: str) -> list[Path]:
    return sorted((folder / name).rglob("*"))


def _others(paths: Iterable[Path], kept: frozenset[str]) -> tuple[str, ...]:
    """Those that are named after an object, or lie in a folder that is, which is not among them."""
    return tuple(str(path) for path in paths if (ids := set(UUID.findall(str(path)))) and not ids & kept)


def _list_orphan_disks(folder: Path, domains: Iterable[Domain]) -> tuple[str, ...]:
    """Local disks that their machine does not have."""
    had = {path for domain in domains for path in domain.files}
    disks = [path for path in _below(folder, "volumes") if path.name.startswith("disk-")]
    return tuple(str(path) for path in disks if str(path) not in had)


def _partial(folder: Path) -> tuple[str, ...]:
    return tuple(str(path) for path in folder.rglob("*.partial"))


def _is_log_of(path: Path, domains: Iterable[Domain]) -> bool:
    return any(path.name.startswith(f"{domain.name}.log") for domain in domains)


def _secrets(daemon: Libvirtd, kept: frozenset[str]) -> tuple[str, ...]:
    found = []
    for line in daemon.virsh("secret-list").stdout.splitlines():
        id = line.split()[0]
        described = daemon.virsh("secret-dumpxml", id, check=False).stdout
        if (
            OURS in described
            and not any(note in described for note in NOTES)
            and not set(UUID.findall(described)) & kept
        ):
            found.append(line.strip())
    return tuple(found)


def _networks(daemon: Libvirtd) -> Iterator[tuple[str, ElementTree.Element]]:
    for name in daemon.virsh("net-list", "--all", "--name").stdout.split():
        if name.startswith(f"{OURS}-"):
            shown = daemon.virsh("net-dumpxml", name, check=False)
            if shown.returncode == 0:  # else it has gone meanwhile
                yield name, ElementTree.fromstring(shown.stdout)


def _devices_of(network: ElementTree.Element) -> set[str]:
    bridge = network.find("bridge")
    return set() if bridge is None else {bridge.get("name", ""), f"{bridge.get('name')}-nic"}


def _devices(daemon: Libvirtd) -> list[str]:
    links = json.loads(daemon.inside("ip", "-j", "link").stdout)
    return [link["ifname"] for link in links if link["ifname"].startswith((TAP, BRIDGE))]


def _leases(daemon: Libvirtd, networks: dict[str, ElementTree.Element], macs: set[str]) -> tuple[str, ...]:
    """Files of networks that are gone, and reservations for interfaces that are."""
    bridges = {device for network in networks.values() for device in _devices_of(network)}
    known = bridges | networks.keys()
    files = [
        path.name
        for path in _below(daemon.folder / "lib", "dnsmasq")
        if path.name.startswith((BRIDGE, f"{OURS}-"))
    ]
    stale = [name for name in files if name.split(".")[0] not in known]
    hosts = [
        f"{name} {host.get('mac')} {host.get('ip')}"
        for name, network in networks.items()
        for host in network.iterfind("ip/dhcp/host")
        if host.get("mac") not in macs
    ]
    return (*stale, *hosts)


def _servers(daemon: Libvirtd, networks: set[str]) -> tuple[str, ...]:
    return tuple(
        line
        for line in _processes(daemon)
        if "dnsmasq" in line and f"{OURS}-" in line and not any(n in line for n in networks)
    )


def _processes(daemon: Libvirtd) -> Iterator[str]:
    own = Path(f"/proc/{daemon.pid}/ns/pid").readlink()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "ns" / "pid").readlink() == own:
                yield (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def _states(daemon: Libvirtd, domains: Iterable[Domain]) -> tuple[str, ...]:
    """Of a running guest libvirt keeps a state file; of each that ran a folder, until it has ended."""
    running = daemon.guests()
    names = {domain.name for domain in domains if domain.id in running}
    folders = [path for path in (daemon.folder / "lib" / "qemu").rglob("domain-*") if path.is_dir()]
    files = [*(daemon.folder / "run" / "qemu").glob("*.xml"), *(daemon.folder / "run" / "qemu").glob("*.pid")]
    return tuple(
        [str(path) for path in folders if not any(_is_short(path.name, name) for name in names)]
        + [str(path) for path in files if path.stem not in names and path.name != "driver.pid"]
    )


def _is_short(folder: str, name: str) -> bool:
    """libvirt's `domain-<number>-<name, shortened>`."""
    parts = folder.split("-", 2)
    return len(parts) == 3 and name.startswith(parts[2])
