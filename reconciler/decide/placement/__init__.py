"""From the world to what the scheduler is asked: run, plan and explain ask it here and nowhere else, so they agree.

Costs what is asked about and the number of pools, never the number of machines.
"""

from reconciler.decide.placement.requests import requests
from reconciler.decide.placement.schedule_input import build_cluster_state, policy

__all__ = ["build_cluster_state", "policy", "requests"]
