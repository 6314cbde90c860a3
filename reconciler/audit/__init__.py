"""What each commit on `live` was made from, and whether the rules make the same commit of it again.

Limits: decides nothing about the fleet. What it computes again is compared and dropped: it is never stored, and never pushed.

inputs_of (a tick → TickInputs) -> inputs_files (↔ small JSON files) -> inputs_line (a Draft on the line of inputs)
inputs_files -> replay (→ the commit that the rules make) -> verify (→ a result for each commit)

Theory of operation
-------------------
A tick reads more than Git has a minute later: reports that hosts replace, heartbeats by its own clock, the keys that changed. Each commit on
`live` is therefore pushed together with a commit of inputs, in one atomic compare-and-swap, and names it by the trailer `Inputs-Commit`:

    live     o────────o────────o          Source-Commit, Inputs-Commit
                      ┊        ┊
    inputs   o────────o────────o          tick.json, evaluated.json, waits.json, hosts/
             │╲       │
             reports that were read: further parents, so that they stay reachable

The inputs of a calendar month (UTC) are one line of commits on a ref of its own below `audit.ref`. A new month begins a new line, without a parent in
the one before. So old lines can go (`audit.keep`), and what is left is whole.

Must never happen: a commit on `live` names inputs that are not there; a fleet stops because its server refuses the inputs.
"""
