"""The shell around the pure parts: when a tick happens, what becomes of its outcome, what is told about it.

Limits: decides nothing about objects, and does not know what a manifest looks like.

loop (when) -> tick (read, decide, write) -> outcome (how it ended) -> loop; beside it metrics, logs, tracing, http_server and webhook

Everything here may be lost with the process: the next one reads the same repo and does the same. So nothing is written to a disk, and no
decision depends on what was logged, counted or traced.
"""
