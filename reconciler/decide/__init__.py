"""What the world needs: for each object that something happened to, one need. Pure; writes nothing and places nothing."""

from reconciler.decide.blocking import obstacles
from reconciler.decide.deciding import diff
from reconciler.decide.need import Adopt, Blocked, Deed, Drain, Keep, Lost, Need, Place, Remove, Step
from reconciler.decide.removal import Verdicts, verdicts
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
