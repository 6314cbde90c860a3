"""A volume goes from one machine to another, while processes stand still or a host is slow: two machines never have it at once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from iri.simulated.clock import SECOND_NS
from iri.simulated.faults.fault_rules import FaultRule
from iri.simulated.volume_lifecycle import SimulatedVolume
from iri.volume import RuntimeVolume
from tests.accidents.fleet import Fleet, fleet, machine, pinned, volume, with_volume

pytestmark = pytest.mark.early
EVERY_POOL = "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumePool\nmetadata: {name: a}\nspec:\n  machinePoolSelector: {}\n"


def share_data(found: Fleet) -> None:
    """A volume whose access data is good on every host: a simulated host serves its own volumes to itself alone."""
    host = found.hosts["a"].server.host
    found.commit("data", {"volumes/data.yaml": volume("data", "  volumePoolRef: {name: a}\n")})
    found.until(lambda: found.state_of("data", "volumes") == "Available", "data")
    with host.lock():
        (id,) = host.state.objects(RuntimeVolume)
        stored = host.find(SimulatedVolume, id)
        assert stored.object.status.access is not None
        access = replace(stored.object.status.access, driver="shared")
        status = replace(stored.object.status, access=access)
        host.commit(replace(stored, object=replace(stored.object, status=status)))
    # It waits for the next commit on `live`: no machine attaches the volume yet.
    report = "refs/poollets/a"
    found.until(
        lambda: '"driver": "shared"' in found.live("volumes/default/data.json", report), "its access data"
    )


def has_volume(found: Fleet, name: str) -> bool:
    uid = found.uid_of(name)
    return any(uid == holder for host in found.hosts.values() for _, holder in host.attached)


def test_two_machines_never_write_one_volume() -> None:
    """The pool of the volume is reached from both hosts, as one on Ceph is."""
    with fleet("a", "b", files={"pools/a.yaml": EVERY_POOL}) as found:
        share_data(found)
        found.commit(
            "one",
            {
                "machines/one.yaml": machine("one", pinned("a") + with_volume("data")),
                "machines/two.yaml": machine("two", pinned("b")),
            },
        )
        found.until(lambda: found.is_running("one", "two") and has_volume(found, "one"), "both")
        detach_takes_long(found)
        the_holder_stands_still(found)


def give(found: Fleet, taker: str, others: dict[str, str]) -> None:
    """In one commit the other machine does not name it any more, and this one does."""
    pools = {"one": "a", "two": "b"}
    files = {
        f"machines/{name}.yaml": machine(name, pinned(pools[name]) + spec) for name, spec in others.items()
    }
    files[f"machines/{taker}.yaml"] = machine(taker, pinned(pools[taker]) + with_volume("data"))
    found.commit(f"{taker} gets it", files)


def detach_takes_long(found: Fleet) -> None:
    """The first answers of the runtime are errors, then it is slow."""
    faults = found.hosts["a"].server.faults
    faults.add(FaultRule(call="DetachVolume", code="UNAVAILABLE", times=2))
    faults.add(FaultRule(call="DetachVolume", delay_nanoseconds=SECOND_NS, times=1))
    give(found, "two", {"one": ""})
    found.until(lambda: has_volume(found, "two"), "the volume at two")
    assert found.is_running("one", "two")


def the_holder_stands_still(found: Fleet) -> None:
    poollet = found.hosts["b"].poollet
    assert poollet is not None
    poollet.freeze()
    give(found, "one", {"two": ""})
    found.run_machine("meanwhile", pinned("a"))
    found.until(lambda: "VolumeClaimed" in found.live("machines/one.yaml"), "the reason")
    assert has_volume(found, "two")
    poollet.thaw()
    found.until(lambda: has_volume(found, "one"), "the volume at one")
    assert not has_volume(found, "two")
    assert found.is_running("one", "two")
