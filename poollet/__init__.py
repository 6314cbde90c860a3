"""The host agent: assignments on `live` in, actions on the runtimes and one report out.

Data passes through its packages in this order:

    sync/      refs in -> an index of `live`, a verdict on its head, and the report lease
    runtimes/  gRPC: lists of the runtimes in; at the end, calls out
    decide/    live and lists in -> actions and entries out. Pure
    report/    entries and runtime states in -> the files of the report out. Pure
    sync/      the report out, by compare-and-swap

`link/` connects to the servers of the link: it says that the host is there, and hears that `live` moved.

agent.py runs one pass of it, threads.py decides when, run_once.py runs it for cron, bootstrap.py builds
the process from its settings, and cli/ has the verbs.

A poollet keeps no database. After a restart it knows what its last report says and what the runtimes list;
the mirror of the repo is a cache. So whatever must survive a restart is a field of the report.

Limits: it never writes `main` or `live`, and of the report refs only the one of its own name. It chooses
no pool for an object and moves none to another host. It removes an object because `live` orders that, and
never because a document is missing.
"""
