"""What is to be done: from the World to the Plan of a tick. Pure; reads no repo and writes nothing.

decide -> one need for each object that something happened to, by its kind and state:
    machine, volume, pool, interface     what an object of that kind needs
    deletion, removal                    what left the source: ordered gone, held, kept for an undo, or its data kept
    handover                             what takes two commits, because a push may land late
    eviction, volume_claim, ephemeral    leaving a pool, attaching a volume, what a machine's entries stand for
    pool_requests                        what people say of hosts by a commit
    apply_report, obstacles, references, outcome   the rules and ends that these share
placement -> the input of `reconciler.schedule`
compose -> needs and placements as one change for each object
successors -> for predictions: where machines go that wait until others are gone

Every rule takes an immutable `ObjectEdit`, returns another one, and ends in one `Need`. A need states what the record is
afterwards; no rule compares it with a text, because `write` does that.

Limits: reads only the World (`reconciler.world.view.View`) and its arguments. It reads no clock (`now` is given), no file and no
ref, never asks a host, and never changes the World: a rule that did would decide otherwise than after a restart.
"""
