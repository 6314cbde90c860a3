"""What is to be done on this host: `live` and lists in, actions and the contents of the report out. Pure.

Data passes: decision (DecisionInput) -> assignments -> inventory -> gates -> capacity_ledger -> plan
(machine, volumes, snapshots), with what they need (dependencies, secrets, model_to_iri) -> retry and
preconditions -> orphans -> decision (Decision).

Three questions are asked of each call, in three places, and none of them repeats another one:

    may the host do this now?            gates.py, by one table
    did this fail or help before?        retry.py, by what is remembered of the same call
    does `live` still order this?        preconditions.py, asked in the thread that makes the call

Limits: no clock, no randomness, no network, no file. Time is `now_ms` of the input, and what differs
between two equal decisions is a defect.
"""
