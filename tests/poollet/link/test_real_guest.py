"""A guest of real libvirt, from afar: what it uses, its console and its log, over real TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iri.libvirt.runtime import LibvirtRuntime
from iri.machine import RuntimeMachine
from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import UsageRequest
from tests.guests.micro import READY
from tests.iri.contract.subject import eventually
from tests.iri.libvirt.world import CLASSES, micro_settings, running_runtime
from tests.poollet.link.piped import NAME, PersonAtConsole, PipedHost, PipedSite, piped_site, read_log
from tests.servers.libvirtd import Libvirtd


@pytest.fixture
def site(tmp_path: Path, libvirtd: Libvirtd) -> Iterator[PipedSite]:
    with running_runtime(micro_settings(libvirtd)) as runtime:
        runtime.set_classes(CLASSES)
        host = PipedHost(tmp_path / "host", runtime, {"web": "default"})
        try:
            with piped_site(tmp_path, host) as found:
                yield found
        finally:
            remove(runtime, host.ids["web"])


def remove(runtime: LibvirtRuntime, id: str) -> None:
    runtime.remove(RuntimeMachine, id)
    eventually(lambda: runtime.objects(RuntimeMachine), lambda found: id not in found, 60, "be removed")


def test_a_real_guest_is_measured_typed_to_and_read(site: PipedSite) -> None:
    with site.client() as ann:
        eventually(lambda: read_log(ann, "web"), lambda log: READY in log, 60, "be ready")
        person = PersonAtConsole(ann, "web").attach()
        person.type(b"\r\n" * 32 + b"it-works\r\n")
        person.until(b"it-works\r\n")
        person.leave()
        eventually(lambda: is_free(ann), bool, 60, "be free")
        assert b"it-works" in read_log(ann, "web")

        def measure() -> Any:
            reports = list(ann.call("Usage", UsageRequest()))
            return reports[0] if reports and reports[0].usage.machines else None

        (machine,) = eventually(measure, bool, 60, "be measured").usage.machines
        assert (machine.namespace, machine.name) == ("default", "web")
        assert machine.cpu_time.ToNanoseconds() > 0
        assert machine.memory_used_bytes > 1 << 20
        assert measure().node == NAME


def is_free(ann: Any) -> bool:
    """Whether the console can be opened again."""
    try:
        PersonAtConsole(ann, "web").attach().leave()
    except AssertionError:
        return False
    return True
