"""A host that exists as numbers only: machines that boot, volumes that fill, calls that fail, on a clock of its own.

It is the twin of the libvirt runtime and passes the same contract suite. It carries the demo, the tests of everything
above the runtime interface, and fleets of thousands of machines in one process.

A call passes through these modules in this order:

    server             a socket; control (and its control_client) beside the runtime's own calls
    faults/            delays or fails the call on request
    runtime            the ten methods of iri.runtime.Runtime
    machine_calls, volume_calls          checks the call against host, usage and `unavailable`
    machine_lifecycle, volume_lifecycle, hotplug      pure: a record and a time in -> the next record
    host               commits the record: the log on disk first, then memory
    state/             records, indexes over them, and the log

host_model says how long each step takes: profile (what the operator writes), seeded_random, provider_quirks. clock says
what time it is, and iri.timer_queue what is due. shell is the guest behind a console.

Nothing runs between calls: whatever became due is computed by the next call, so an idle machine costs its record and
no thread.

Limits: no libvirt, no guest, and no network but its sockets. Time comes from its clock and chance from its seed, so that the
same calls at the same times give the same states.
"""
