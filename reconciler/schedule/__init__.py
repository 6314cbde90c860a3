"""Placement: requests and the state of the cluster in, a pool or every reason against every pool out. Pure.

request -> terms -> cluster_state -> filters -> scores -> ranking -> eligible -> candidates -> volumes -> decision

Theory of operation
-------------------
A pass decides its requests one after the other: higher priority first, then the larger, equal ones together, by key. Each decision charges the
cluster state before the next one. So the result is that of asking every filter of every pool for each request, and the same
in whatever order the requests come. `explain` does exactly that; the pass reaches the same answer with four indexes, because
100,000 requests times 10,000 pools cannot be asked one by one:

    index          holds                                               valid because
    queue          requests of one shape and priority as a run         equal requests differ in their key alone
    EligibleCache  the pools that the static filters let pass, by      static filters read only what a pass does not change
                   sort of request; pools that look alike are asked
                   once
    Ranking        pools by what the policy gives them, by charge;     an order that is out of date is corrected at the top, and
                   equally full pools (`Fills`) are one level          computed again once many were placed since
    Candidates     a heap for each domain of the topology key          within a pass pools only get fuller and counts only grow

An index never answers alone. It proposes pools in order; `Candidates.room` then asks the capacity, distance and volumes of the one pool on
top with the state of this moment. So an index that is wrong costs time or gives a pool that is not the best, and never overcommits a host.

The last line is what makes heaps correct: an entry that is out of date promises too much, so the one on top is compared with the
present value, replaced when it is worse, and dropped when the pool does not fit any more: nothing in a pass makes room. Where fuller is better
(BinPack) an old entry promises too little, so each touched pool gets a fresh entry before the next decision.

Must never happen: an index decides otherwise than `explain` would (tests compare both over random clusters); a score or an order
that depends on floating point, on the order of input, or on the words of a rejection; a charge without `fits` asked before.

A pass never evicts to make room: priority only orders the requests. Which machines leave a pool (a drain, another taint, a new pin) is decided
in `reconciler.decide.eviction`, and such a machine comes here again as a new request once its assignment has ended.

Limits: no clock, no randomness, no I/O, no Git, no manifest types beyond capacity, keys and selectors. `ClusterState` is the only thing
that changes. `reconciler.decide.placement` builds one for each tick that has requests, so no index outlives a tick.
"""
