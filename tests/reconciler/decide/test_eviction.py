from __future__ import annotations

from typing import Any

import pytest

from reconciler.decide.eviction import EvictionCause, accepts_data_loss, eviction_cause
from schemas.effects.removal import list_local_disks
from schemas.kinds import Kind
from schemas.model import Machine, Taint, decode

DRAIN = Taint(key="gitvirt.dev/drain", effect="NoExecute")
FORCED = Taint(key="gitvirt.dev/drain", effect="NoExecute", value="force")
BROKEN = Taint(key="broken", effect="NoExecute", value="disk")
SOFT = Taint(key="broken", effect="NoSchedule", value="disk")


def machine(**spec: Any) -> Machine:
    body = {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "kind": "Machine",
        "metadata": {"name": "web-1"},
        "spec": {"machineClassRef": {"name": "small"}, **spec},
    }
    found = decode(Kind.MACHINE, body)
    assert isinstance(found, Machine)
    return found


def tolerating(key: str, seconds: int | None = None) -> dict[str, Any]:
    return {"key": key, "operator": "Exists", **({} if seconds is None else {"tolerationSeconds": seconds})}


@pytest.mark.parametrize(
    ("taints", "tolerations", "pin", "want"),
    [
        pytest.param([], [], "", None, id="no-taint-and-no-pin"),
        pytest.param([SOFT], [], "", None, id="no-schedule-evicts-nothing"),
        pytest.param([BROKEN], [], "", ("TaintNotTolerated", 0, False), id="no-execute"),
        pytest.param([BROKEN], [tolerating("broken")], "", None, id="tolerated-for-ever"),
        pytest.param(
            [BROKEN], [tolerating("broken", 60)], "", ("TaintNotTolerated", 60, False), id="a-while"
        ),
        pytest.param(
            [BROKEN],
            [tolerating("broken", 60), tolerating("", 30)],
            "",
            ("TaintNotTolerated", 30, False),
            id="the-shortest",
        ),
        pytest.param([BROKEN], [tolerating("broken", -5)], "", ("TaintNotTolerated", 0, False), id="past"),
        pytest.param(
            [DRAIN, BROKEN],
            [tolerating("gitvirt.dev/drain", 9)],
            "",
            ("TaintNotTolerated", 0, False),
            id="two",
        ),
        pytest.param([DRAIN], [], "", ("Drained", 0, False), id="drain"),
        pytest.param([FORCED], [], "", ("Drained", 0, True), id="drain-with-force"),
        pytest.param([], [], "b", ("PinnedElsewhere", 0, False), id="pinned-to-another-pool"),
        pytest.param([], [], "a", None, id="pinned-here"),
    ],
)
def test_a_machine_has_a_cause_to_leave_its_pool(
    taints: list[Taint], tolerations: list[dict[str, Any]], pin: str, want: tuple[str, int, bool] | None
) -> None:
    found = eviction_cause(machine(tolerations=tolerations), "a", pin, taints)
    assert (found and (found.reason, found.after_seconds, found.is_forced)) == want


def test_local_data_is_lost_only_when_people_accept_it() -> None:
    cause = EvictionCause("Drained", "its pool is being drained")
    local = machine(volumes=[{"name": "root", "localDisk": {}}])
    assert list_local_disks(local)
    assert not list_local_disks(machine(volumes=[{"name": "root", "volumeRef": {"name": "v"}}]))
    assert not accepts_data_loss(local, cause)
    assert accepts_data_loss(local, EvictionCause("Drained", "its pool is being drained", is_forced=True))
    assert accepts_data_loss(machine(onPoolLost="Replace"), cause)
