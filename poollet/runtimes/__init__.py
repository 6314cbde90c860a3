"""The gRPC side of the agent: lists of the runtimes in, calls out.

runtime_client reads (runtime_lists is what it returns), runtime_poller decides when, executor makes the
calls that change objects, and runtime_processes runs runtimes that the poollet starts by itself.
usage_reader measures when it is asked to, and usage_message says it as a message of the link. pipe_ends opens what a pipe
of the link leads to: consoles, logs, and ports of guests (forward_end, which asks the kernel's neighbors who answers).

Limits: none of them reads Git, a report or a document, and none chooses a call: the executor makes those
that it is given.
"""
