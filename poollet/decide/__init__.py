"""What is to be done on this host: `live` and lists in, actions and the contents of the report out. Pure.

Data passes: decision (DecisionInput) -> assignments -> inventory -> gates -> capacity_ledger -> plan (machine, volumes, snapshots), with what
they need (dependencies, secrets, model_to_iri) -> retry and preconditions -> orphans -> decision (Decision).
"""
