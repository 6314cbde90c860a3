"""Verbs that change something, as a commit on the source branch in the caller's name. Nothing is imperative behind
Git's back.

`change` finds the object, edits its file and pushes; `pools` has the fields of cordon and drain; `branch_name`
checks what `--branch` is given; `output` says what happened. The verbs (`cordon`, `drain`, `pause`, `restart`) only
state their fields and words as a Mutation.

Limits: only the source branch or a new branch is written, never the target branch or a report, and no host is
called. The reconciler and the hosts act on the commit like on any other.
"""
