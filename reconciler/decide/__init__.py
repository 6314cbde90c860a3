"""What is to be done: from the World to the Plan of a tick. Pure; reads no repo and writes nothing.

planning: World -> Plan, the one way for run, plan and explain
    deciding -> one need for each object that something happened to (machine, volume, pool, interface; removal, eviction, claim)
    placement -> what the scheduler is asked, and the state of the pools; `reconciler.schedule` answers
    compose -> needs and placements as one change for each object
"""

from reconciler.decide.decide import diff
from reconciler.decide.deletion import Verdicts, verdicts
from reconciler.decide.need import Adopt, Blocked, Deed, Drain, Keep, Lost, Need, Place, Remove, Step
from reconciler.decide.obstacles import obstacles
from reconciler.decide.view import View

__all__ = [
    "Adopt",
    "Blocked",
    "Deed",
    "Drain",
    "Keep",
    "Lost",
    "Need",
    "Place",
    "Remove",
    "Step",
    "Verdicts",
    "View",
    "diff",
    "obstacles",
    "verdicts",
]
