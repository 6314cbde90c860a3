"""The control plane: Git in, Git out. It never touches a host.

A tick passes through the folders in this order, each a value that the next one takes:

    gitstore  refs                      -> Snapshot (also shared with the poollet, the only place that knows Git)
    world     Snapshot                  -> World, and the keys that changed
    decide    World                     -> needs, then a Plan; pure
    schedule  requests, cluster state   -> placements or reasons; pure, called by decide
    plan      the Plan's types
    write     Plan                      -> Draft: text edits and a commit message
    gitstore  Draft                     -> one commit on the target branch, by compare-and-swap

`loop` decides when a tick happens and what becomes of its outcome. `query` reads whole commits for verbs that run once; `cli` holds the verbs.

Beside the ticks, `link` serves hosts that connect: it knows that they are there, and tells them when the target branch moved.

Limits: only `cli` may import `iri` or `poollet`, and `link` its own messages. All that the control plane knows of objects comes from a report.
"""
