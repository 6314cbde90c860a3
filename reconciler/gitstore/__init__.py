"""Git as the database, and the only place that knows Git. The poollet uses it too.

`repo` says what the rest of gitvirt asks of Git: snapshots to read, drafts to write. `store` answers it, over
`objects` (what Git keeps), `remote` (how bytes travel) and `mirror` (a copy on this disk that may be lost), or over `memory`,
the twin for tests and plans. `bootstrap` puts the real one together. `signatures` says which commits count, `worktree` reads a
person's own checkout, `waker` ends a loop's rest when a ref moves.

Who writes which ref
--------------------
People write the source, the reconciler the target branch, and each poollet its own report ref. Git has no locks that last, so the
right to write a ref is what each push proves again: a push names the commit that the ref must still have (`--force-with-lease`) and is refused
otherwise. The report lease of the poollet (`poollet.sync.report_lease`) is built on that: a process acquires it by a push that only one of
several can win, renews it with every heartbeat, and learns by a conflict that another process wrote the ref. What this package adds for it:

    `Draft.expected`      the commit the ref must have; None means that the ref must not exist
    `PushConflict.refs`   where the ref is now, so that the loser knows by whose commit it lost
    `report_author`       which commit of a report ref the host itself wrote

Limits: this package knows no objects of gitvirt, no pools and no leases. It reads gitvirt.yaml in one place (`effective_settings`), because which
branch to read is written in it.
"""
