"""What is new about a status, and whether that can wait."""

import msgspec
import pytest

from reconciler.plan.significance import is_minor
from reconciler.plan.types import Action, Change
from reconciler.world.record import Record
from reconciler.write.message import subject
from schemas.kinds import Key, Kind
from schemas.model import Assignment, Condition, MachineNetworkInterfaceStatus, MachineStatus

WEB = Key(Kind.MACHINE, "default", "web-1")
PLACED = MachineStatus(assignment=Assignment(pool="a", id="1"))


def ready_condition(reason: str, status: str = "False", message: str = "") -> Condition:
    return msgspec.convert(
        {"type": "Ready", "status": status, "reason": reason, "message": message}, Condition
    )


def of(**changes: object) -> MachineStatus:
    return msgspec.structs.replace(PLACED, **changes)


@pytest.mark.parametrize(
    ("before", "after", "want", "words"),
    [
        pytest.param(
            PLACED, of(state="Pending"), True, "default/web-1 is pending", id="being pending can wait"
        ),
        pytest.param(
            of(state="Pending"),
            of(state="Running"),
            False,
            "default/web-1 is running",
            id="running cannot wait",
        ),
        pytest.param(
            of(conditions=(ready_condition("ImagePulling"),)),
            of(conditions=(ready_condition("VolumesPending"),)),
            True,
            "default/web-1: volumes pending",
            id="another reason for the same",
        ),
        pytest.param(
            of(conditions=(ready_condition("A"),)),
            of(conditions=(ready_condition("A", message="waits for volume data"),)),
            True,
            "default/web-1: waits for volume data",
            id="other words for the same",
        ),
        pytest.param(
            of(conditions=(ready_condition("A"),)),
            of(conditions=(ready_condition("B", "True"),)),
            False,
            "default/web-1: b",
            id="come true",
        ),
        pytest.param(
            PLACED, of(observed_revision="abc"), True, "default/web-1: updated", id="a revision that was seen"
        ),
        pytest.param(
            PLACED,
            of(network_interfaces=(MachineNetworkInterfaceStatus(name="lan", ips=("10.0.0.2",)),)),
            False,
            "default/web-1: updated",
            id="an address",
        ),
    ],
)
def test_news(before: MachineStatus, after: MachineStatus, want: bool, words: str) -> None:
    change = Change(
        WEB, Action.STATUS, Record(uid="u", pool="a", status=before), Record(uid="u", pool="a", status=after)
    )
    assert is_minor(change) is want
    assert subject([change], [], "main") == words


def test_what_the_reconciler_decides_never_waits() -> None:
    record = Record(uid="u", status=PLACED)
    assert not is_minor(Change(WEB, Action.SCHEDULE, record, record))
    assert not is_minor(Change(WEB, Action.STATUS, None, record))
