"""What the situations of the world's tests begin with."""

from __future__ import annotations

from reconciler.world.record import Record
from schemas.kinds import Key, Kind
from schemas.report import MachineReport, ReportedMachineStatus
from tests.reconciler.world.scene import (
    Scene,
    assignment_record,
    machine,
    with_record,
)

WEB = Key(Kind.MACHINE, "default", "web-1")
DATA = Key(Kind.VOLUME, "default", "data")
POOL_A = Key(Kind.MACHINE_POOL, "", "pool-a")
CLASS = Key(Kind.MACHINE_CLASS, "", "small")
UID = "6d0d0f8e-8d5b-4a53-9b53-1c1c3a3b8f10"
A0, A1 = "00000000-0000-5000-8000-0000000000a0", "00000000-0000-5000-8000-0000000000a1"
PLACED = assignment_record("pool-a", A1, UID)


def on_pool(text: str, record: Record = PLACED, kind: Kind = Kind.MACHINE) -> str:
    return with_record(text, kind, record)


def web_on_pool() -> Scene:
    """web-1 with its record on live, in people's own file."""
    scene = Scene({"web.yaml": machine("web-1"), "db.yaml": machine("db-1")})
    scene.live({"web.yaml": on_pool(machine("web-1"))})
    return scene


def web_entries(
    assignment: str = A1, phase: str = "present", uid: str = UID, pool_name: str = "pool-a"
) -> dict[tuple[str, str], object]:
    status = ReportedMachineStatus(state="Running")
    entry = MachineReport(uid=uid, assignment=assignment, phase=phase, pool=pool_name, status=status)  # type: ignore[arg-type]
    return {("default", "web-1"): entry}
