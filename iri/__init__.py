"""The runtime interface (IRI): what runs machines and stores volumes on one host, wire-compatible with IronCore's.

It knows no Git and no pools, and reads YAML only in iri.cli. A call passes through these rooms in this order:

    cli/          arguments or settings in -> a call, or a running server
    client/       a method of Runtime in -> a request on a socket -> structs out
    wire/         structs <-> messages, errors <-> statuses; both ends of a socket use it (proto/ is generated)
    server/       a request in -> checks -> a method of Runtime -> a response out
    exec/         consoles: a one-time URL, a WebSocket, a pty at each end
    simulated/, libvirt/      the two runtimes behind a server

The values that pass: machine, volume and host (frozen structs, with metadata in common), change (what may be changed, and the rules for it),
identity (ids from labels), errors, address. runtime is the protocol that client, simulated and libvirt implement; the
contract suite in tests/iri/contract states its promises as tests. journal, workqueue, timer_queue and backoff help runtimes.

Limits: imports nothing of ours outside of `iri.cli`, and knows no fleet, no pool and no manifest. Labels,
which the caller sets and reads back, say to whom an object belongs.
"""
