"""One machine's life on a simulated host."""

from __future__ import annotations

from iri.machine import MachineState, Power
from tests.poollet.documents import interfaces, machine, referring, volume
from tests.poollet.site import kinds_of, site

WEB = ("default", "web")


def test_an_assigned_machine_is_made_and_runs() -> None:
    here = site(machine())
    decision = here.settle()
    entry = decision.machines[WEB]
    assert entry.phase == "present"
    assert entry.status is not None
    assert entry.status.state == "Running"
    assert entry.status.machine_id.startswith("gitvirt-simulated://")
    assert entry.status.observed_revision
    assert kinds_of(here.calls) == ["Create"]
    assert here.events == ["Created"]


def test_a_machine_comes_with_its_volumes_and_interfaces() -> None:
    web = machine(spec={"volumes": referring("data"), "networkInterfaces": interfaces("lan")})
    here = site(web, volume(claim="web"))
    decision = here.settle()
    assert kinds_of(here.calls) == ["Create", "Create"]
    status = decision.machines[WEB].status
    assert status is not None
    assert [(one.name, one.state) for one in status.volumes] == [("data", "Attached")]
    assert [(one.name, one.state) for one in status.network_interfaces] == [("lan", "Attached")]
    assert status.network_interfaces[0].mac_address
    assert decision.volumes[("default", "data")].attached_to == (web.object.metadata.uid,)


def test_a_machine_that_is_off_is_never_booted() -> None:
    here = site(machine(spec={"power": "Off"}))
    here.settle()
    (there,) = here.machines().values()
    assert there.status.state is MachineState.SUSPENDED
    assert there.detail.boots == 0


def test_power_follows_the_manifest() -> None:
    here = site(machine())
    here.settle()
    here.put(machine(spec={"power": "Off"}))
    decision = here.settle()
    assert decision.machines[WEB].status.state == "Shutdown"  # type: ignore[union-attr]
    here.put(machine())
    here.settle()
    (there,) = here.machines().values()
    assert (there.status.state, there.spec.power) == (MachineState.RUNNING, Power.ON)
    assert "DriftCorrected" not in here.events


def test_a_deleted_machine_is_switched_off_and_removed() -> None:
    here = site(machine())
    here.settle()
    here.put(machine(going=True))
    decision = here.settle()
    assert decision.machines[WEB].phase == "gone"
    assert here.machines() == {}
    assert kinds_of(here.calls) == ["Create", "SetPower", "Remove"]
