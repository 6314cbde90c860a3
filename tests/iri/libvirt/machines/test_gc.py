"""Garbage collection: a domain that a killed libvirtd defined is found, and only secrets of unknown machines are dropped."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.errors import Unavailable
from iri.identity import UID_LABELS
from iri.libvirt.connect.domains import LibvirtDomains
from iri.libvirt.machines import gc
from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.seed.memory_folder import find_memory_folder
from iri.machine import MachineState, Power, RuntimeMachine, RuntimeMachineSpec
from tests.iri.contract.subject import eventually, uid_labels
from tests.iri.libvirt.world import micro_settings, running_runtime
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd, libvirtd

SECONDS = 60.0


@pytest.fixture
def daemon() -> Iterator[Libvirtd]:
    with libvirtd() as made:
        yield made


def machine(**fields: object) -> RuntimeMachine:
    spec = RuntimeMachineSpec(class_name="small", **fields)  # type: ignore[arg-type]
    return RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=spec)


def until(runtime: LibvirtRuntime, id: str, state: MachineState) -> RuntimeMachine:
    def is_so(found: RuntimeMachine | None) -> bool:
        return found is not None and found.status.state is state

    def look() -> RuntimeMachine | None:
        try:
            return runtime.objects(RuntimeMachine).get(id)
        except Unavailable:
            return None  # libvirtd has just been started again

    found = eventually(look, is_so, SECONDS, f"be {state}")
    assert found is not None
    return found


def remove(runtime: LibvirtRuntime, id: str) -> None:
    runtime.remove(RuntimeMachine, id)
    eventually(lambda: id in runtime.objects(RuntimeMachine), operator.not_, SECONDS, "be removed")


class Cut:
    """libvirtd dies while it defines a domain: with `is_done` after it did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_done: bool) -> None:
        self.define, self.is_done = LibvirtDomains.define, is_done
        self.patch = monkeypatch

    def __enter__(self) -> None:
        def define(domains: LibvirtDomains, document: str) -> None:
            if self.is_done:
                self.define(domains, document)
            raise Unavailable("libvirt went away")

        self.patch.setattr(LibvirtDomains, "define", define)

    def __exit__(self, *_: object) -> None:
        self.patch.setattr(LibvirtDomains, "define", self.define)


@pytest.mark.parametrize("is_back", [True, False], ids=["when libvirtd is back", "now and then"])
def test_machine_defined_by_a_killed_libvirtd_is_found(
    daemon: Libvirtd, monkeypatch: pytest.MonkeyPatch, is_back: bool
) -> None:
    monkeypatch.setattr(gc, "PERIOD_SECONDS", 3600.0 if is_back else 0.1)
    settings = micro_settings(daemon)
    with running_runtime(settings) as runtime:
        wanted = machine(ignition_data=b"#cloud-config\n")
        with Cut(monkeypatch, is_done=True), pytest.raises(Unavailable):
            runtime.create(wanted)
        if is_back:
            daemon.kill()
            daemon.start()
        found = until(runtime, wanted.labels[UID_LABELS[RuntimeMachine]], MachineState.RUNNING)
        assert (found.spec, found.labels) == (wanted.spec, wanted.labels)
        assert runtime.create(wanted).id == found.id
        remove(runtime, found.id)
    assert not leftovers(daemon, Path(settings.folder))


def test_secrets_of_unknown_machines_are_dropped_and_others_stay(
    daemon: Libvirtd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "PERIOD_SECONDS", 0.1)
    settings = micro_settings(daemon)
    with running_runtime(settings) as runtime:
        other = runtime.create(machine(power=Power.OFF, ignition_data=b"hush"))
        until(runtime, other.id, MachineState.SUSPENDED)
        keys = secrets(daemon)
        with Cut(monkeypatch, is_done=False), pytest.raises(Unavailable):
            runtime.create(machine(ignition_data=b"hush" * 50_000))
        eventually(lambda: secrets(daemon), lambda found: found == keys, SECONDS, "drop its keys")
        assert runtime.objects(RuntimeMachine).keys() == {other.id}
    with running_runtime(settings) as runtime:
        assert runtime.objects(RuntimeMachine)[other.id].spec == other.spec
        remove(runtime, other.id)
    assert not leftovers(daemon, Path(settings.folder))


def test_boot_data_of_a_domain_that_went_while_the_runtime_was_down_is_removed(
    daemon: Libvirtd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "PERIOD_SECONDS", 0.1)
    settings = micro_settings(daemon)
    memory = find_memory_folder(Path(settings.folder))
    assert memory is not None
    with running_runtime(settings) as runtime:
        gone, other = (runtime.create(machine(ignition_data=b"hush")).id for _ in range(2))
        for id in (gone, other):
            until(runtime, id, MachineState.RUNNING)
    assert {path.name for path in memory.iterdir()} == {gone, other}
    for action in ("destroy", "undefine"):
        daemon.virsh(action, gone)
    with running_runtime(settings) as runtime:
        eventually(lambda: (memory / gone).exists(), operator.not_, SECONDS, "remove its boot data")
        assert (memory / other / "ignition.ign").read_bytes() == b"hush"
        remove(runtime, other)
    assert list(memory.iterdir()) == []
    assert leftovers(daemon, Path(settings.folder)).secrets == ()


def secrets(daemon: Libvirtd) -> str:
    return daemon.virsh("secret-list").stdout
