"""What is known at one moment: a Snapshot of the repo in, the World and the keys that changed out. Decides nothing, writes nothing.

Data passes through the folders in this order: source (trees of files -> documents), objects (documents -> one ObjectState a
key, and who refers to whom), reports (report refs -> what hosts say, and whether they are alive), pools (announcements and
grants -> PoolState, capacity). `record` is what the reconciler itself keeps of an object on `live`, and what all folders share.

`view` is all that may be asked, and what `decide` and `write` get; `state` keeps it; `update` changes it, step by step;
`world` runs an update for each snapshot and collects what changed until that is acknowledged.
"""
