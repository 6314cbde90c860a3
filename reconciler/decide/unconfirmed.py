"""Whether an assignment ends because its pool has not confirmed it, and the pool that had the machine before reports it again. Pure.

Theory of operation
-------------------
A net below all rules that keep a machine from two hosts: a report of its former host counts more than an order that no host has
carried out. `status.previousAssignment` is the last assignment that a pool confirmed. It comes to `live` when that assignment ends, and
goes with the first report of the next pool that has the machine. So while it is there, no host is known to have the machine.

    the assigned pool          a machine of that name is reported present by    effect
    has not confirmed it       the host with the grant of the previous pool,    status.evict of the assignment, at once: it counts in
                               in a fresh report, whatever its uid              limits.evict, and is not held up by it
    has not confirmed it       the same, in a report that is not fresh          none: silence and backups show nothing
    has not confirmed it       any other pool                                   none but ClaimRefused: it was never theirs
    has it, or had it          any pool                                         none but ClaimRefused
    the same as the previous   -                                                none: one host has both

Afterwards the machine has no pool, and waits for as long as that report names it (`claims`).

So a stolen host key holds at most machines that were on its own pool last, and only until another host has them. No data is lost
by it: no pool that loses its assignment here is known to have made anything.

Must never happen: a machine that its pool has leaves it because of what another host reports.
"""

from __future__ import annotations

from reconciler.decide.apply_report import PoolFact
from reconciler.decide.object_edit import ObjectEdit
from reconciler.world.view import View
from schemas.model import MachineStatus


def why_withdrawn(view: View, edit: ObjectEdit, fact: PoolFact) -> str:
    """Why its assignment ends, by the table above; empty if it does not."""
    status, assignment = edit.record.status, edit.assignment
    if not isinstance(status, MachineStatus) or assignment is None or status.previous_assignment is None:
        return ""
    previous = status.previous_assignment.pool
    if status.machine_id or previous == assignment.pool or (fact.report is not None and fact.report.is_there):
        return ""
    for each in view.accepted_reports(edit.known.key).rivals:
        if each.pool == previous and view.reports.is_fresh((each.poollet, each.host)):
            return (
                f"pool {previous}, which had it before, reports it again, "
                f"and pool {assignment.pool} has not confirmed it"
            )
    return ""
