"""From the world to what the scheduler is asked: run, plan and explain ask it here and nowhere else, so they agree.

Costs what is asked about and the number of pools, never the number of machines.
"""

from reconciler.decide.placement.boards import board, policy
from reconciler.decide.placement.requests import Asked, requests

__all__ = ["Asked", "board", "policy", "requests"]
