"""What the world needs: for each object that something happened to, one need. Pure; writes nothing and places nothing."""

from reconciler.diff.blocking import obstacles
from reconciler.diff.deciding import diff
from reconciler.diff.need import Adopt, Blocked, Deed, Drain, Keep, Lost, Need, Place, Remove, Step
from reconciler.diff.removal import Verdicts, verdicts
from reconciler.diff.view import View

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
