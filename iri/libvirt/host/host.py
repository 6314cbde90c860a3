"""The host as the runtime reports it, and the classes that it offers.

    question                 answered from                          asked
    what the host has        libvirt                                after each new connection
    how much it stores       the open storage pools                 each time
    whether KVM works        the settings, or a probe guest         once in the life of the process
    which classes exist      the settings, or the last poollet      kept in a file

What the host has is asked again for each new connection: a host changes only while libvirt is away or by a restart. Classes set
by a poollet are kept in a file, so that a restarted runtime refuses no machine for lack of its class.

Limits: counts nothing that runs. Offers are those of the empty host, and no machine is refused here for lack of room: libvirt refuses a
guest that does not start, and the scheduler has subtracted what it placed.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from pathlib import Path
from typing import Protocol

import msgspec

from iri.errors import FailedPrecondition, InvalidArgument
from iri.host import (
    HostAddress,
    HostInfo,
    MachineOffer,
    NodeInfo,
    Offers,
    RuntimeClasses,
    RuntimeInfo,
    RuntimeMachineClass,
    RuntimeVolumeClass,
    VolumeOffer,
)
from iri.libvirt.connect.node import LibvirtNode
from iri.libvirt.domain.traits import ClassTraits, HostPlatform
from iri.libvirt.host.capacity import HostFacts, capacity, quantity
from iri.libvirt.host.settings import HostSettings
from iri.libvirt.whole_files import replace_file

log = logging.getLogger(__name__)
RUNTIME = "gitvirt-libvirt"
NAMESPACE = uuid.UUID("6c3f4bb8-30f4-5b0e-8f55-b0f5d2a4c1de")
MACHINE_ID, SYSTEM = Path("/etc/machine-id"), Path("/etc/os-release")
NOWHERE = ("192.0.2.1", 9)  # reserved for documentation; no packet is sent
WITH_PROOF = "x86_64"
ACCELERATOR, LABELLED = "gitvirt.dev/accelerator", {"kvm": "kvm", "qemu": "tcg"}


class StorageTotals(Protocol):
    """The totals of the storage, as if it were empty: the scheduler subtracts what it has placed."""

    def offers(self, classes: tuple[RuntimeVolumeClass, ...]) -> tuple[VolumeOffer, ...]: ...
    def total_bytes(self) -> int: ...


class Probe(Protocol):
    """Whether guests boot with a hypervisor; `KvmProbe` boots one."""

    def can_boot(self, domain_type: str) -> bool: ...


class Installation(msgspec.Struct, frozen=True):
    """`uri` is part of the host's identity, because one machine may run several libvirtds; `folder` is the runtime's own."""

    version: str
    uri: str
    folder: Path
    hardware_id: str = ""


class LibvirtHost:
    """Thread-safe. Calls that need facts of the host raise Unavailable while libvirt is away, unless it has answered before."""

    def __init__(
        self,
        node: LibvirtNode,
        storage: StorageTotals,
        proof: Probe,
        settings: HostSettings,
        here: Installation,
    ) -> None:
        self._node = node
        self._storage = storage
        self._proof = proof
        self._settings = settings
        self._here = here
        self._classes_file = here.folder / "classes.json"
        self._lock = threading.Lock()
        self._facts: HostFacts | None = None
        self._domain_type = ""
        self._classes = self._load_classes()

    def forget(self) -> None:
        """Forgets what the host has: it may have changed while libvirt was away."""
        self._facts = None

    def about(self) -> RuntimeInfo:
        """Asks libvirt only after a new connection; the storage is measured each time."""
        facts = self._known_facts()
        return RuntimeInfo(
            name=RUNTIME,
            version=self._here.version,
            host=HostInfo(
                id=self._settings.id or host_id(facts.uuid, self._here.uri),
                capacity=capacity(facts, self._storage.total_bytes(), self._settings),
                node_info=node_info(facts),
                addresses=self._settings.addresses or addresses(facts.name),
                labels={ACCELERATOR: LABELLED[self.domain_type()], **self._settings.labels},
                hardware_id=self._here.hardware_id,
            ),
        )

    def offers(self) -> Offers:
        """A class that does not fit once is not offered at all."""
        facts, storage, classes = self._known_facts(), self._storage.total_bytes(), self._classes
        counted = [(one, quantity(one, facts, storage, self._settings)) for one in classes.machines]
        return Offers(
            machines=tuple(
                MachineOffer(machine_class=one, quantity=count) for one, count in counted if count
            ),
            volumes=self._storage.offers(classes.volumes),
        )

    def set_classes(self, classes: RuntimeClasses) -> None:
        """Written to disk before it takes effect, so that a restarted runtime offers the same classes."""
        if self._settings.classes.policy == "fixed":
            raise FailedPrecondition("the operator has fixed this runtime's classes (classes.policy: fixed)")
        with self._lock:
            if classes == self._classes:
                return
            replace_file(self._classes_file, msgspec.json.encode(classes))
            self._classes = classes

    def machine_class(self, name: str) -> RuntimeMachineClass:
        """Raises InvalidArgument when the class is not offered."""
        for one in self._classes.machines:
            if one.name == name:
                return one
        raise InvalidArgument(f"machine class {name!r} is not offered by this host")

    def volume_class(self, name: str) -> RuntimeVolumeClass:
        """Raises InvalidArgument when the class is not offered."""
        for one in self._classes.volumes:
            if one.name == name:
                return one
        raise InvalidArgument(f"volume class {name!r} is not offered by this host")

    def traits(self, class_name: str) -> ClassTraits:
        """How machines of that class are built, whether the class is offered or not."""
        return self._settings.traits.get(class_name, ClassTraits())

    def platform(self) -> HostPlatform:
        """May block at the first call, which probes whether guests boot with KVM."""
        facts = self._known_facts()
        return HostPlatform(domain_type=self.domain_type(), architecture=facts.architecture, cpus=facts.cpus)

    def domain_type(self) -> str:
        """Detected once, by the first caller; others wait for the result."""
        with self._lock:
            if not self._domain_type:
                self._domain_type = self._detect_domain_type()
                log.info("detected domain_type=%s", self._domain_type)
            return self._domain_type

    def _detect_domain_type(self) -> str:
        """`auto` needs two proofs: libvirt offers KVM, and a probe guest boots with it."""
        match self._settings.accelerator:
            case "kvm":
                return "kvm"
            case "tcg":
                return "qemu"
            case "auto":
                architecture = self._known_facts().architecture
                if not self._node.offers_kvm(architecture):
                    return "qemu"
                if architecture != WITH_PROOF:
                    log.warning(
                        "no KVM probe for architecture=%s: set `accelerator: kvm` if KVM works",
                        architecture,
                    )
                    return "qemu"
                if self._proof.can_boot("kvm"):
                    return "kvm"
                log.warning(
                    "libvirt offers KVM, but no guest boots with it: guests are emulated, which is slow"
                )
                return "qemu"

    def _known_facts(self) -> HostFacts:
        """Two threads may both ask; both get the same answer."""
        facts = self._facts
        if facts is None:
            facts = self._facts = self._node.facts()
        return facts

    def _load_classes(self) -> RuntimeClasses:
        """With policy any, the classes that a poollet set last win over those of the settings."""
        offered = self._settings.classes
        if offered.policy == "any":
            try:
                return msgspec.json.decode(self._classes_file.read_bytes(), type=RuntimeClasses)
            except FileNotFoundError:
                pass
            except msgspec.MsgspecError as error:
                log.warning(
                    "cannot read the classes that were set file=%s error=%s", self._classes_file, error
                )
        return RuntimeClasses(machines=offered.machines, volumes=offered.volumes)


def host_id(uuid_: str, uri: str) -> str:
    """Derived from machine-id, which is stable; libvirt makes an id up at each start where the firmware has none."""
    try:
        machine = MACHINE_ID.read_text(encoding="ascii").strip()
    except OSError:
        machine = ""
    return str(uuid.uuid5(NAMESPACE, f"{machine or uuid_} {uri}"))


def node_info(facts: HostFacts) -> NodeInfo:
    """For people; no decision of the runtime depends on it."""
    return NodeInfo(
        architecture=facts.architecture,
        operating_system=operating_system(),
        kernel_version=os.uname().release,
        cpu_model=facts.cpu_model,
        hypervisor=facts.hypervisor,
        hypervisor_version=facts.hypervisor_version,
    )


def operating_system() -> str:
    """The host's operating system as the distribution calls itself, else the kernel's name. For people only."""
    try:
        lines = SYSTEM.read_text(encoding="utf-8").splitlines()
    except OSError:
        return os.uname().sysname
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("PRETTY_NAME", os.uname().sysname).strip('"')


def addresses(name: str) -> tuple[HostAddress, ...]:
    """The host's name, and its own address on the default route. Connecting a datagram socket sends nothing."""
    found = [HostAddress(type="Hostname", address=name)] if name else []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(NOWHERE)
            found.append(HostAddress(type="InternalIP", address=asking.getsockname()[0]))
        except OSError as error:
            log.debug("no default route error=%s", error)
    return tuple(found)
