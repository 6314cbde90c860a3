"""The connection: events arrive, errors are translated, and guests survive a dead libvirtd."""

from __future__ import annotations

import gc
import queue
import time
from collections.abc import Iterator

import libvirt
import pytest

from iri.errors import FailedPrecondition, InvalidArgument, IRIError, NotFound, Unavailable
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.domain_events import DomainEvent, EventKind
from iri.libvirt.xml import child, element, text
from tests.guests.micro import micro_kernel
from tests.iri.contract.subject import eventually
from tests.servers.libvirtd import Libvirtd, libvirtd

UUID = "11111111-2222-4333-8444-555555555555"


@pytest.fixture(scope="module")
def own() -> Iterator[Libvirtd]:
    """Not the shared one: this one dies."""
    with libvirtd() as daemon:
        yield daemon


def micro_domain(daemon: Libvirtd, name: str = "micro", uuid: str = UUID) -> str:
    root = element("domain", type_="qemu")
    child(root, "name", name)
    child(root, "uuid", uuid)
    child(root, "memory", "8", unit="MiB")
    system = child(root, "os")
    child(system, "type", "hvm", arch="x86_64", machine="q35")
    child(system, "kernel", str(micro_kernel(daemon.folder)))
    child(child(root, "features"), "acpi")
    devices = child(root, "devices")
    child(devices, "controller", type_="usb", model="none")
    child(devices, "memballoon", model="none")
    return text(root)


def until(events: queue.Queue[DomainEvent], wanted: DomainEvent) -> None:
    while events.get(timeout=60) != wanted:
        pass


def test_guests_outlive_libvirtd_and_events_continue(own: Libvirtd) -> None:
    link = LibvirtLink(own.uri)
    events: queue.Queue[DomainEvent] = queue.Queue()
    connected: queue.Queue[str] = queue.Queue()
    link.listen(events.put)
    link.on_connected(lambda: connected.put("again"))
    link.open()
    link.call(lambda raw: raw.defineXML(micro_domain(own)).create(), "starting")
    until(events, DomainEvent(UUID, EventKind.STARTED))
    pid = own.guests()[UUID]

    own.kill()
    until_unavailable(link)
    own.start()
    assert connected.get(timeout=60) == "again"
    assert own.guests()[UUID] == pid, "the guest never noticed"
    assert link.call(lambda raw: raw.lookupByUUIDString(UUID).isActive(), "looking") == 1
    # libvirtd reports no end of a guest before it has spoken to it again, so listeners observe it.
    link.call(lambda raw: raw.lookupByUUIDString(UUID).memoryStats(), "speaking to it")
    own.kill_guest(UUID)
    until(events, DomainEvent(UUID, EventKind.STOPPED))
    link.call(lambda raw: raw.lookupByUUIDString(UUID).undefine(), "undefining")
    link.close()
    assert own.guests() == {}


def until_unavailable(link: LibvirtLink) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            link.call(lambda raw: raw.getLibVersion(), "asking")
        except Unavailable:
            return
    raise AssertionError("still answers")


def test_broken_and_closed_connections_are_released(own: Libvirtd) -> None:
    before = connections()
    link = LibvirtLink(own.uri)
    connected: queue.Queue[str] = queue.Queue()
    link.on_connected(lambda: connected.put("again"))
    link.open()
    try:
        for _ in range(3):
            own.kill()
            own.start()
            assert connected.get(timeout=60) == "again"
        eventually(connections, lambda there: there <= before + 1, 60, "hold on to no other")
    finally:
        link.close()
    eventually(connections, lambda there: there <= before, 60, "hold on to none")


def connections() -> int:
    """Of this process, its threads that use one included."""
    gc.collect()
    return sum(isinstance(thing, libvirt.virConnect) for thing in gc.get_objects())


def test_missing_libvirtd_is_unavailable(own: Libvirtd) -> None:
    with pytest.raises(Unavailable, match="does not answer at"):
        LibvirtLink(f"qemu+unix:///system?socket={own.folder}/missing").open()


def test_errors_are_translated_by_what_the_caller_can_do(libvirtd: Libvirtd) -> None:
    link = LibvirtLink(libvirtd.uri)
    link.open()
    domain = micro_domain(libvirtd, "first")
    link.call(lambda raw: raw.defineXML(domain), "defining")
    try:
        cases: list[tuple[type[IRIError], object]] = [
            (NotFound, lambda raw: raw.lookupByName("missing")),
            (NotFound, lambda raw: raw.networkLookupByName("missing")),
            (NotFound, lambda raw: raw.storagePoolLookupByName("missing")),
            (InvalidArgument, lambda raw: raw.defineXML("<domain")),
            (FailedPrecondition, lambda raw: raw.lookupByName("first").destroy()),
            (FailedPrecondition, lambda raw: raw.defineXML(domain.replace("first", "second"))),
        ]
        for error, action in cases:
            with pytest.raises(error, match=r"^trying: "):
                link.call(action, "trying")  # type: ignore[arg-type]
    finally:
        link.call(lambda raw: raw.lookupByName("first").undefine(), "undefining")
        link.close()
