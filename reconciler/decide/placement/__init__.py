"""From the World to the input of the scheduler: run, plan and explain build it here and nowhere else, so they agree.

    requests         needs `Place` -> one request for a machine with its volumes, or for a volume alone
    schedule_input   pools, charges and needs of this tick -> what is free, and which machines are where
    offers           requests -> decisions: by the scheduler, and by hosts that are asked over the link
    quotas           quotas of a namespace -> what an object uses of them, and what is left

The cost depends on the requests and the number of pools, never on the number of machines.

Limits: it chooses no pool and refuses none by itself; filters and scores are `reconciler.schedule`'s, which in turn knows no World.
"""

from reconciler.decide.placement.requests import requests
from reconciler.decide.placement.schedule_input import awaits_link, build_cluster_state, policy

__all__ = ["awaits_link", "build_cluster_state", "policy", "requests"]
