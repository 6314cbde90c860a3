"""What people declare and hosts announce of a pool in, PoolState out: its grant, its room, and whether it is ready.

Data passes: grants (which host may speak for the pool), announcement (document and announcement -> PoolState), capacity_ledger
(objects -> what of a pool is used), placement_counts (machines -> where they are, for spread and anti-affinity), pool_status
(PoolState -> the status on `live`). last_known_pool turns that status back into an announcement while no host can be asked.

Room is what a pool offers less what the ledger says is used. Both sides count the same way (schemas.model.capacity). What is
used is not asked of hosts: it would lag behind what was assigned.
"""
