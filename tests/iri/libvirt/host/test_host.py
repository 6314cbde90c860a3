"""The host on a real libvirtd: what it is, what it offers, and that KVM is believed only when a guest has run."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from iri.errors import FailedPrecondition, InvalidArgument, Unavailable
from iri.host import HostAddress, RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass, VolumeOffer
from iri.libvirt import xml
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.connect.node import LibvirtNode
from iri.libvirt.domain.document import DomainPlan, resources
from iri.libvirt.domain.record import MachineRecord
from iri.libvirt.domain.traits import HostPlatform
from iri.libvirt.host import kvm_probe
from iri.libvirt.host.host import Installation, LibvirtHost
from iri.libvirt.host.kvm_probe import CODE, MARKER, NAME, KvmProbe, boot_sector, probe_domain
from iri.libvirt.host.settings import Accelerator, HostSettings, OfferedClasses
from tests.servers.libvirtd import Libvirtd

GIB = 1 << 30
CLASSES = RuntimeClasses(
    machines=(
        RuntimeMachineClass(name="tiny", resources={"cpu": 1, "memory": 1 << 20}),
        RuntimeMachineClass(name="vast", resources={"cpu": 1, "memory": 1 << 60}),
    ),
    volumes=(RuntimeVolumeClass(name="plain", tps=1, iops=1),),
)


class StorageBackend:
    """Storage of a known size."""

    def total_bytes(self) -> int:
        return 5 * GIB

    def offers(self, classes: tuple[RuntimeVolumeClass, ...]) -> tuple[VolumeOffer, ...]:
        return tuple(VolumeOffer(volume_class=one, quantity=5 * GIB) for one in classes)


class Believed:
    """A proof whose outcome is known, and that counts."""

    def __init__(self, outcome: bool) -> None:
        self.outcome = outcome
        self.count = 0

    def can_boot(self, domain_type: str) -> bool:
        self.count += 1
        return self.outcome


@pytest.fixture(scope="module")
def link(libvirtd: Libvirtd) -> Iterator[LibvirtLink]:
    made = LibvirtLink(libvirtd.uri)
    made.open()
    yield made
    made.close()


@pytest.fixture
def folder(libvirtd: Libvirtd, tmp_path: Path) -> Path:
    made = libvirtd.folder / tmp_path.name
    made.mkdir()
    return made


def host(
    link: LibvirtLink, folder: Path, settings: HostSettings | None = None, belief: Believed | None = None
) -> LibvirtHost:
    return LibvirtHost(
        LibvirtNode(link),
        StorageBackend(),
        belief or Believed(True),
        settings or HostSettings(),
        Installation("1.2.3", link.uri, folder),
    )


def logs(link: LibvirtLink) -> Path:
    """libvirt's, of the daemon at the other end."""
    return Path(link.uri.split("socket=")[1]).parents[1] / "log" / "qemu"


def test_info_describes_the_host(link: LibvirtLink, folder: Path) -> None:
    about = host(link, folder).about()
    assert (about.name, about.version) == ("gitvirt-libvirt", "1.2.3")
    whole = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    assert about.host.capacity["memory"] == whole - GIB
    assert about.host.capacity["cpu"] >= 1
    assert about.host.capacity["storage"] == 5 * GIB
    info = about.host.node_info
    assert info.architecture == "x86_64"
    assert info.hypervisor == "QEMU"
    assert info.hypervisor_version.count(".") == 2
    assert all((info.operating_system, info.kernel_version, info.cpu_model))
    assert about.host.addresses[0].type == "Hostname"


def test_the_host_is_the_same_after_libvirt_was_away(link: LibvirtLink, folder: Path) -> None:
    one = host(link, folder)
    first = one.about().host.id
    one.forget()
    assert one.about().host.id == host(link, folder).about().host.id == first
    assert host(link, folder, HostSettings(id="rack-7")).about().host.id == "rack-7"


def test_the_operator_can_name_addresses_and_labels(link: LibvirtLink, folder: Path) -> None:
    address = HostAddress(type="ExternalIP", address="203.0.113.7")
    info = host(link, folder, HostSettings(addresses=(address,), labels={"zone": "a"})).about().host
    assert info.addresses == (address,)
    assert info.labels["zone"] == "a"


def test_offers_are_the_classes_that_fit(link: LibvirtLink, folder: Path) -> None:
    one = host(link, folder)
    assert one.offers().machines == ()
    one.set_classes(CLASSES)
    (offer,) = one.offers().machines
    assert offer.machine_class.name == "tiny"
    assert offer.quantity >= 1
    assert [volume.quantity for volume in one.offers().volumes] == [5 * GIB]
    assert one.machine_class("tiny") == CLASSES.machines[0]
    assert one.volume_class("plain") == CLASSES.volumes[0]
    for ask in (one.machine_class, one.volume_class):
        with pytest.raises(InvalidArgument, match="'other' is not offered"):
            ask("other")


def test_classes_outlive_the_runtime(link: LibvirtLink, folder: Path) -> None:
    host(link, folder).set_classes(CLASSES)
    assert host(link, folder).machine_class("tiny")
    (folder / "classes.json").write_bytes(b"broken")
    settings = HostSettings(classes=OfferedClasses(machines=CLASSES.machines[:1]))
    assert host(link, folder, settings).machine_class("tiny")
    with pytest.raises(InvalidArgument):
        host(link, folder, settings).machine_class("vast")


def test_fixed_classes_stay(link: LibvirtLink, folder: Path) -> None:
    (folder / "classes.json").write_bytes(msgspec.json.encode(CLASSES))
    one = host(
        link, folder, HostSettings(classes=OfferedClasses(policy="fixed", machines=CLASSES.machines[:1]))
    )
    with pytest.raises(FailedPrecondition, match="fixed"):
        one.set_classes(CLASSES)
    with pytest.raises(InvalidArgument):
        one.machine_class("vast")


@pytest.mark.parametrize(
    ("accelerator", "outcome", "want", "tries"),
    [
        ("kvm", False, "kvm", 0),
        ("tcg", True, "qemu", 0),
        ("auto", True, "kvm", 1),
        ("auto", False, "qemu", 1),
    ],
)
def test_kvm_is_probed_once(
    link: LibvirtLink, folder: Path, accelerator: Accelerator, outcome: bool, want: str, tries: int
) -> None:
    belief = Believed(outcome)
    one = host(link, folder, HostSettings(accelerator=accelerator), belief)
    if accelerator == "auto" and not LibvirtNode(link).offers_kvm("x86_64"):
        want, tries = "qemu", 0
    asking = [threading.Thread(target=one.domain_type) for _ in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert (one.domain_type(), belief.count) == (want, tries)
    assert one.platform().domain_type == want
    assert one.about().host.labels == {"gitvirt.dev/accelerator": {"kvm": "kvm", "qemu": "tcg"}[want]}


def test_kvm_works_when_the_probe_guest_boots(link: LibvirtLink, folder: Path, libvirtd: Libvirtd) -> None:
    assert KvmProbe(LibvirtNode(link), folder, logs(link)).can_boot("qemu")
    assert list(folder.iterdir()) == []
    assert not (logs(link) / f"{NAME}.log").exists()
    assert NAME not in libvirtd.virsh("list", "--all", "--name").stdout


def test_kvm_does_not_work_when_the_probe_guest_is_silent(
    link: LibvirtLink, folder: Path, libvirtd: Libvirtd
) -> None:
    """The time of a clock that runs fast is up before any guest has begun."""
    ticks = iter(range(0, 1000, 60))
    assert not KvmProbe(LibvirtNode(link), folder, logs(link), clock=lambda: next(ticks)).can_boot("qemu")
    assert list(folder.iterdir()) == []
    assert NAME not in libvirtd.virsh("list", "--all", "--name").stdout


def test_kvm_does_not_work_when_the_hypervisor_refuses(link: LibvirtLink, folder: Path) -> None:
    assert not KvmProbe(LibvirtNode(link), folder, logs(link)).can_boot("xen")
    assert list(folder.iterdir()) == []


def test_leftovers_of_an_interrupted_probe_are_replaced(link: LibvirtLink, folder: Path) -> None:
    left = xml.text(probe_domain("qemu", folder / "left.img", folder / "left.log"))
    (folder / "left.img").write_bytes(boot_sector())
    (folder / "proof.img").symlink_to(folder / "left.img")
    LibvirtNode(link).start_briefly(left)
    assert KvmProbe(LibvirtNode(link), folder, logs(link)).can_boot("qemu")
    assert (folder / "left.img").read_bytes() == boot_sector()


def test_foreign_domain_with_the_name_of_the_probe_stays(
    link: LibvirtLink, folder: Path, libvirtd: Libvirtd
) -> None:
    document = folder / "theirs.xml"
    document.write_text(xml.text(probe_domain("qemu", folder / "a", folder / "b")))
    libvirtd.virsh("define", str(document))
    try:
        assert not KvmProbe(LibvirtNode(link), folder, logs(link)).can_boot("qemu")
        assert NAME in libvirtd.virsh("list", "--all", "--name").stdout
    finally:
        libvirtd.virsh("undefine", NAME)


def test_probe_is_unavailable_while_libvirt_is_away(folder: Path) -> None:
    with pytest.raises(Unavailable):
        KvmProbe(LibvirtNode(LibvirtLink("qemu+unix:///system?socket=/nowhere")), folder, folder).can_boot(
            "qemu"
        )


def test_probe_guest_has_the_processor_of_machines(folder: Path) -> None:
    """Where KVM runs some processor and not the host's own, no machine would start."""
    for domain_type in ("kvm", "qemu"):
        plan = DomainPlan(
            id="1", record=MachineRecord(), platform=HostPlatform(domain_type=domain_type), folder=folder
        )
        machine = next((part for part in resources(plan) if part.tag == "cpu"), None)
        proven = probe_domain(domain_type, folder / "a", folder / "b").find("cpu")
        assert (None if proven is None else proven.attrib) == (None if machine is None else machine.attrib)


def test_probe_is_repeated_after_libvirt_was_away(folder: Path) -> None:
    away = host(LibvirtLink("qemu+unix:///system?socket=/nowhere"), folder)
    for _ in range(2):
        with pytest.raises(Unavailable):
            away.domain_type()


def test_boot_sector_matches_its_source(tmp_path: Path) -> None:
    object_, image = tmp_path / "proof.o", tmp_path / "proof.bin"
    subprocess.run(["as", "--64", "-o", object_, kvm_probe.__file__.replace(".py", ".S")], check=True)
    linker = ["ld", "-m", "elf_x86_64", "--oformat", "binary", "-e", "start", "-Ttext", "0x7c00"]
    subprocess.run([*linker, "-o", image, object_], check=True)
    assert image.read_bytes() == CODE
    sector = boot_sector()
    assert (len(sector), sector[-2:], sector.count(MARKER)) == (512, b"\x55\xaa", 1)
