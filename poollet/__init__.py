"""The host agent: assignments on `live` in, actions on the runtimes and one report out.

Data passes through its packages in this order:

    sync/      refs in -> an index of `live`, a verdict on its head, and the report lease
    runtimes/  gRPC: lists of the runtimes in; at the end, calls out
    decide/    live and lists in -> actions and entries out. Pure
    report/    entries and runtime states in -> the files of the report out. Pure
    sync/      the report out, by compare-and-swap

agent.py runs one pass of it, threads.py decides when, run_once.py runs it for cron, bootstrap.py builds the process from its
settings, and cli/ has the verbs.
"""
