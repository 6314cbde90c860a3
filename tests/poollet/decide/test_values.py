"""The values that the parts of a poollet hand each other."""

from __future__ import annotations

from iri.machine import RuntimeMachine, RuntimeMachineSpec
from iri.volume import Access, RuntimeVolume, RuntimeVolumeSpec, RuntimeVolumeStatus
from poollet.decide.actions import CreateCall, ExecutorState, ObjectAction, Ref
from poollet.decide.decision import HostSecrets, PoolletFacts
from poollet.decide.inventory import Inventory
from poollet.decide.memory import Memory, from_report
from poollet.runtimes.runtime_lists import ListFailed, Listing, ListKey, RuntimeLists
from schemas import report
from schemas.kinds import Key, Kind

UID = "6f9b2f7c-0000-4000-8000-000000000001"


def test_a_failed_list_is_not_an_empty_list() -> None:
    listing = Listing(1, 0, {})
    observed: RuntimeLists = {
        ListKey("a", RuntimeMachine): listing,
        ListKey("a", RuntimeVolume): ListFailed("down", listing),
    }
    inventory = Inventory(observed, ExecutorState(), Memory(), "f")
    assert inventory.listing("a", RuntimeMachine) == listing
    assert inventory.listing("a", RuntimeVolume) is None
    assert inventory.listing("b", RuntimeMachine) is None


def test_secrets_do_not_appear_in_texts() -> None:
    machine = RuntimeMachine(labels={"l": "1"}, spec=RuntimeMachineSpec(ignition_data=b"hidden"))
    access = Access(secret_data={"key": b"hidden"})
    volume = RuntimeVolume(
        labels={"l": "1"}, spec=RuntimeVolumeSpec(), status=RuntimeVolumeStatus(access=access)
    )
    facts = PoolletFacts(fleet="f", secrets=HostSecrets({("default", "s"): {"key": b"hidden"}}))
    steps = [
        ObjectAction(Ref(type(desired), UID), "a", "default", "x", (CreateCall(desired),))
        for desired in (machine, volume)
    ]
    assert "hidden" not in repr((facts, steps))


def test_memory_is_restored_from_the_last_report() -> None:
    rejected = report.MachineReport(UID, "a", "rejected", reasons=(report.ReportedReason("Full", "full"),))
    present = report.VolumeReport(UID, "b", "present")
    memory = from_report(
        report.Report(machines={("default", "m"): rejected}, volumes={("lab", "v"): present})
    )
    assert memory.entries == {
        Key(Kind.MACHINE, "default", "m"): rejected,
        Key(Kind.VOLUME, "lab", "v"): present,
    }
