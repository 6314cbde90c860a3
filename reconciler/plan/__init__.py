"""What one tick is going to do: an immutable Plan, the same object that `gitvirt plan` prints and `gitvirt run` writes.

types -> source_changes (what people changed), suggestion (what would make an object fit), significance (whether a status is worth a commit).
Limits: decides nothing, and knows neither files nor Git.

Life of a Plan: `reconciler.decide` makes one in each tick, also in a tick that changes nothing; `reconciler.write` turns its changes into text
edits; `reconciler.loop` logs and counts it; then it is dropped. Nothing is read back from a plan: the next tick decides again from
the snapshot, so a plan that could not be written (a conflict, a network that is down) does no harm.
"""
