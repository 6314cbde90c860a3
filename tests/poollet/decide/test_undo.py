"""A machine that is kept for an undo is off on its host, and nothing of it is destroyed or created."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from iri.machine import MachineState, RuntimeMachine
from poollet.decide.assignments import Stop, list_orders
from poollet.decide.decision import Decision
from poollet.sync.live_view import LiveDocument
from schemas.live_layout import SHARE
from schemas.model.capacity import WHOLE_HOST
from tests.poollet.documents import GIB, machine, referring, volume
from tests.poollet.site import A, Site, kinds_of, site, with_allocatable

UNTIL = "2026-03-01T12:10:00Z"
UNDO = {"undo": {"until": UNTIL}}
WEB, NEW = ("default", "web"), ("default", "new")
LOCAL = [{"name": "root", "localDisk": {"sizeLimit": "10Gi"}}]


def web(*, is_kept: bool = False, volumes: list[dict[str, Any]] | None = None, **more: Any) -> LiveDocument:
    return machine(spec={"volumes": volumes or LOCAL}, status=UNDO if is_kept else {}, **more)


def guest(here: Site) -> RuntimeMachine:
    (found,) = here.machines().values()
    return found


def ready(decision: Decision, name: tuple[str, str] = WEB) -> tuple[str, str]:
    status = decision.machines[name].status
    assert status is not None
    found = next(each for each in status.conditions if each.type == "Ready")
    return found.status, found.reason


def test_it_is_powered_off_and_comes_back_as_it_was() -> None:
    here = site(web())
    here.settle()
    before = guest(here)
    here.put(web(is_kept=True))
    here.calls.clear()
    assert ready(here.round()) == ("False", "Stopping")
    decision = here.settle()
    assert kinds_of(here.calls) == ["SetPower"]
    assert guest(here).status.state is MachineState.SUSPENDED
    assert ready(decision) == ("False", "Deleted")
    assert decision.machines[WEB].phase == "present"
    assert decision.orphans == ()
    here.put(web())
    decision = here.settle()
    assert guest(here).id == before.id
    assert guest(here).spec == before.spec
    assert guest(here).status.state is MachineState.RUNNING
    assert ready(decision) == ("True", "Running")
    assert kinds_of(here.calls) == ["SetPower", "SetPower"]
    assert here.events.count("Stopped") == 1
    assert "DriftCorrected" not in here.events


def test_a_restarted_poollet_leaves_it_off() -> None:
    here = site(web())
    here.settle()
    here.put(web(is_kept=True))
    here.settle()
    here.restart()
    here.calls.clear()
    here.settle()
    assert here.calls == []
    assert guest(here).status.state is MachineState.SUSPENDED


def test_what_is_not_on_the_host_is_not_created() -> None:
    here = site(web(is_kept=True))
    decision = here.settle()
    assert here.calls == []
    assert decision.machines[WEB].phase == "present"
    assert ready(decision) == ("False", "Deleted")


@pytest.mark.parametrize("order", [{"going": True}, {"evicted": True}], ids=["deleted", "evicted"])
def test_an_order_to_remove_it_comes_first(order: dict[str, Any]) -> None:
    here = site(web())
    here.settle()
    here.put(web(is_kept=True, **order))
    decision = here.settle()
    assert decision.machines[WEB].phase == "gone"
    assert here.machines() == {}


def test_its_room_is_free_once_it_is_off_but_for_its_disks() -> None:
    here = site(web())
    here.facts = with_allocatable(here.facts, cpu=1000, storage=15 * GIB)
    here.settle()
    here.put(web(is_kept=True), machine("new"))
    assert here.round().machines[NEW].phase == "rejected"  # it runs still
    here.drop(machine("new"))
    here.settle()
    here.put(machine("new", round=1), machine("big", spec={"volumes": LOCAL}))
    decision = here.settle()
    assert decision.machines[NEW].phase == "present"
    (reason,) = [each for each in decision.machines["default", "big"].reasons if each.resource == "storage"]
    assert (reason.need, reason.have) == ("10Gi", "5Gi")


def test_where_a_runtime_counts_classes_its_share_is_free_once_it_is_off() -> None:
    here = site(web())
    shares = {"small": WHOLE_HOST}
    counted = replace(here.facts.pools[A], allocatable={SHARE: WHOLE_HOST}, shares=shares)
    here.facts = replace(here.facts, pools={**here.facts.pools, A: counted})
    here.settle()
    here.put(web(is_kept=True), machine("new"))
    assert here.round().machines[NEW].phase == "rejected"  # it runs still
    here.drop(machine("new"))
    here.settle()
    here.put(machine("new", round=1))
    decision = here.settle()
    assert decision.machines[NEW].phase == "present"
    assert ready(decision, NEW) == ("True", "Running")
    assert ready(decision) == ("False", "Deleted")


@pytest.mark.parametrize(
    ("claim", "detaches"),
    [
        ({"claim": "web"}, False),
        ({}, False),
        ({"claim": "web", "released": "1" * 40}, True),
        ({"claim": "new"}, True),
    ],
    ids=["its own", "none", "released", "another one's"],
)
def test_a_volume_is_detached_for_another_machine(claim: dict[str, str], detaches: bool) -> None:
    both = [*LOCAL, *referring("data")]
    here = site(web(volumes=both), volume(claim="web"))
    here.settle()
    here.put(web(is_kept=True, volumes=both), volume(**claim))
    here.calls.clear()
    decision = here.settle()
    assert kinds_of(here.calls) == ["SetPower", *(["DetachVolume"] if detaches else [])]
    status = decision.machines[WEB].status
    assert status is not None
    assert [disk.name for disk in status.volumes] == ["root", *([] if detaches else ["data"])]
    assert [disk.name for disk in guest(here).spec.volumes if disk.local_disk] == ["root"]


def test_the_order_is_read_from_the_status() -> None:
    here = site(web(is_kept=True))
    assert [order.intent for order in list_orders(here.view, here.facts)] == [Stop(UNTIL)]
