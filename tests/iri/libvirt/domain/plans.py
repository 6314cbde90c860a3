"""Plans of domains for goldens: each is the plain one with one thing changed."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from iri.libvirt.device_sources import (
    Boot,
    BridgeNic,
    DiskSource,
    FileSource,
    NetworkNic,
    NicSource,
    PreparedDisk,
    RbdSource,
    SeedFiles,
)
from iri.libvirt.domain.document import DomainPlan
from iri.libvirt.domain.record import MachineRecord
from iri.libvirt.domain.traits import ClassTraits, HostPlatform
from iri.machine import (
    Disk,
    Power,
    RuntimeGuestConfig,
    RuntimeLocalDisk,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
    VolumeConnection,
)

ID = "5b0ff6f2-0f4c-4d5e-9f43-3f3c6f1b2a10"
FOLDER = Path("/var/lib/gitvirt/machines") / ID
ROOT = Disk(name="root", device="oda", local_disk=RuntimeLocalDisk(size_bytes=1 << 30))
DATA = Disk(
    name="data",
    device="odb",
    connection=VolumeConnection(
        driver="ceph",
        handle="volume-1",
        attributes={"monitors": "10.0.0.1:6789", "image": "kvm/volume-1"},
        secret_data={"userID": b"admin", "userKey": b"hush"},
    ),
)
NIC = RuntimeNetworkInterface(
    name="primary", network_id="lan", ips=("10.0.0.9",), attributes={"mac": "52:54:00:12:34:56"}
)
FILE = PreparedDisk(source=DiskSource(where=FileSource(path="/var/lib/gitvirt/volumes/root.qcow2")))
RBD = PreparedDisk(
    source=DiskSource(
        where=RbdSource(
            image="kvm/volume-1",
            monitors=(("10.0.0.1", 6789), ("10.0.0.2", 6789)),
            user="admin",
            secret_id="0b9c1b1a-2c3d-4e5f-8a9b-0c1d2e3f4a5b",
        )
    )
)
NETWORK = NicSource(where=NetworkNic(network="gitvirt-1"), mac="52:54:00:12:34:56")


def spec(**fields: object) -> RuntimeMachineSpec:
    return replace(
        RuntimeMachineSpec(class_name="small", volumes=(ROOT,), network_interfaces=(NIC,)), **fields
    )


def record(**fields: object) -> MachineRecord:
    made = MachineRecord(
        labels={"machinepoollet.ironcore.dev/machine-name": "web-1"},
        annotations={"note": "<&\"'"},
        created_at=1_700_000_000_000_000_000,
        spec=spec(),
        resources={"cpu": 2, "memory": 1 << 30},
        is_built=True,
    )
    return replace(made, **fields)


PLAIN = DomainPlan(
    id=ID,
    record=record(),
    platform=HostPlatform(domain_type="kvm", cpus=8),
    disks=((ROOT, FILE),),
    nics=((NIC, NETWORK),),
    folder=FOLDER,
)


def of_spec(**fields: object) -> DomainPlan:
    return replace(PLAIN, record=record(spec=spec(**fields)))


def with_source(source: DiskSource) -> DomainPlan:
    return replace(PLAIN, disks=((ROOT, PreparedDisk(source=source)),))


PLANS: dict[str, DomainPlan] = {
    "plain": PLAIN,
    "recorded": replace(PLAIN, record=record(is_built=False), disks=(), nics=()),
    "tcg": replace(PLAIN, platform=HostPlatform(domain_type="qemu", cpus=2)),
    "arm": replace(
        PLAIN,
        platform=HostPlatform(domain_type="kvm", architecture="aarch64", cpus=4),
        traits=ClassTraits(firmware="uefi"),
        seed=SeedFiles(iso=FOLDER / "seed.iso"),
    ),
    "uefi": replace(PLAIN, traits=ClassTraits(firmware="uefi")),
    "efi-variables": replace(
        PLAIN, traits=ClassTraits(firmware="uefi"), seed=SeedFiles(nvram=FOLDER / "nvram.fd")
    ),
    "pc": replace(PLAIN, traits=ClassTraits(machine="pc")),
    "cpu-host-model": replace(PLAIN, traits=ClassTraits(cpu="host-model", most_cpus=4)),
    "hugepages": replace(PLAIN, traits=ClassTraits(is_hugepages=True)),
    "many-ports": replace(PLAIN, traits=ClassTraits(hotplug_ports=12)),
    "kernel-of-class": replace(
        PLAIN, traits=ClassTraits(kernel="/boot/vmlinuz", initramfs="/boot/initrd", cmdline="console=ttyS0")
    ),
    "kernel-of-image": replace(
        PLAIN,
        disks=(
            (ROOT, replace(FILE, boot=Boot(kernel="/i/kernel", initramfs="/i/initramfs", cmdline="quiet"))),
        ),
        traits=ClassTraits(kernel="/boot/vmlinuz"),
    ),
    "power-off": of_spec(power=Power.OFF),
    "class": of_spec(class_name="large"),
    "hostname": replace(
        of_spec(guest_config=RuntimeGuestConfig(hostname="web-1")), seed=SeedFiles(iso=FOLDER / "seed.iso")
    ),
    "ignition": replace(of_spec(ignition_data=b"{}"), seed=SeedFiles(ignition=FOLDER / "ignition.ign")),
    "unknown-field": of_spec(unknown=b"\x7a\x03new"),
    "two-disks": replace(of_spec(volumes=(ROOT, DATA)), disks=((ROOT, FILE), (DATA, RBD))),
    "no-disks": replace(of_spec(volumes=()), disks=()),
    "no-nics": replace(of_spec(network_interfaces=()), nics=()),
    "raw": with_source(DiskSource(where=FileSource(path="/d/root.raw", format="raw"))),
    "luks": with_source(
        DiskSource(
            where=FileSource(path="/d/root.qcow2"), luks_secret_id="1c9c1b1a-2c3d-4e5f-8a9b-0c1d2e3f4a5b"
        )
    ),
    "luks-in-ceph": with_source(
        DiskSource(where=RBD.source.where, luks_secret_id="1c9c1b1a-2c3d-4e5f-8a9b-0c1d2e3f4a5b")
    ),
    "limits": with_source(
        DiskSource(where=FileSource(path="/d/root.qcow2"), iops=500, bytes_per_second=100 << 20)
    ),
    "odd-devices": replace(
        PLAIN,
        disks=tuple(
            (Disk(name=name, device=device, local_disk=RuntimeLocalDisk()), FILE)
            for name, device in (("a", "sdc"), ("b", "odc"), ("c.d_e", "nvme0"), ("f", "odaa"))
        ),
    ),
    "bridge": replace(
        PLAIN, nics=((NIC, NicSource(where=BridgeNic(bridge="br0"), mac="52:54:00:12:34:56")),)
    ),
    "vlan": replace(
        PLAIN,
        nics=(
            (
                NIC,
                NicSource(
                    where=BridgeNic(bridge="ovs0", vlan=120, openvswitch=True), mac="52:54:00:12:34:56"
                ),
            ),
        ),
    ),
}

# For the ratchet: each field of a spec, set to something else.
FIELDS: dict[str, object] = {
    "power": Power.OFF,
    "class_name": "large",
    "ignition_data": b"{}",
    "volumes": (ROOT, DATA),
    "network_interfaces": (),
    "guest_config": RuntimeGuestConfig(hostname="web-1"),
    "unknown": b"\x7a\x03new",
}
