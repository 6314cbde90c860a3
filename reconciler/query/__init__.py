"""Whole commits in, tables out: for verbs that run once and keep nothing. The reconciler itself never uses this.

`validate` and `plan` start from files: `scope` and `revision_paths` find the repo that people mean, `source` lists and reads its
files, `ignored_paths` and `policy` say what the repo's settings allow, `documents` (and `parallel`) parse them, `check` finds what
is wrong. `offline_repo` makes a Repo in memory of a checkout. The other verbs start from a Repo: `inventory` reads a commit's objects
and the reports, `pool_usage` and `object_history` make tables of them.

Two rules hold for all of them. What cannot be read is counted and named, and does not stop the rest: a person who asks for machines wants
those that can be listed. And nothing here writes, neither to a checkout nor to a remote; `offline_repo` commits in memory only.

Cost follows the size of the repo, and that is why the reconciler must not come here: its tick may cost only what changed.

Limits: the reconciler itself never uses it, because reading whole commits costs the size of the repo. Nothing is kept, and
nothing is written.
"""
