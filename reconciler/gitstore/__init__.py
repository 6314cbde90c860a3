"""Git as the database, and the only place that knows Git. The poollet uses it too.

`repo` says what the rest of gitvirt asks of Git: snapshots to read, drafts to write. `store` answers it, over
`objects` (what Git keeps), `remote` (how bytes travel) and `mirror` (a copy on this disk that may be lost), or over `memory`,
the twin for tests and plans. `bootstrap` puts the real one together. `signatures` says which commits count, `worktree` reads a
person's own checkout, `waker` ends a loop's rest when a ref moves.
"""
