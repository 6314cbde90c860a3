"""What is known at one moment: a Snapshot of the repo in, the World and the keys that changed out. Decides nothing, writes nothing.

Theory of operation
-------------------
One World lives as long as the process. Each tick gives it the next Snapshot; it compares the commits with those that it was
made of, parses only the blobs that differ, and resolves only the objects in them. So a tick costs what changed, not what
the repo holds. A World that is read from nothing at the same commits answers every question alike: nothing in here is a
memory, except when reports were seen to change, which no ref can say.

Three answers are kept apart, because only the first may delete:

    absent      the source was read cleanly and has no document of the key        Origin.LEAVING
    malformed   a file of the source that may declare it breaks the format        Origin.FROZEN, or `why_unverified` says so
    unknown     its host does not report, or what it reports cannot be read       the last status stays; see heartbeat.py

Must never happen: an error while reading becomes an absence; a report changes what people declare; a rule of `decide` finds
another answer in a World that was brought up to date than in a new one.

Limits: reads objects of commits through `Repo`, never a ref, the network, a runtime, the clock or the environment: the
snapshot, the time and the environment are arguments. Two things reach outside, and neither changes an answer that was given
with certainty: `source/parse_cache` keeps parsed files on the local disk, and a Verifier starts ssh-keygen or gpg.

Data passes through the folders in this order: source (trees of files -> documents), objects (documents -> one ObjectState a
key, and who refers to whom), reports (report refs -> what hosts say, and whether they are alive), pools (announcements and
grants -> PoolState, capacity). `record` is what the reconciler itself keeps of an object on `live`, and what all folders share.

`view` is all that may be asked, and what `decide` and `write` get; `state` keeps it; `update` changes it, step by step;
`world` runs an update for each snapshot and collects what changed until that is acknowledged.
"""
