"""The runtime that drives libvirt: machines are its persistent domains, volumes are files or images in its storage pools.

Data passes through in this order:

    server, runtime    calls come in and go to the half that they concern
    machines, volumes  a call writes a record (domain metadata, a file beside the data) and returns; reconcilers act on it later
    images, networks,  what machines and volumes are made from: OS images, networks, first-boot data, and the host's resources
    seed, host
    domain             a machine's record and devices become a domain's XML, and a domain's XML an observation. Pure
    connect            calls to libvirt with plain values and iri.errors. The only package that imports the library

libvirt and the storage keep all state. A process that lost everything else finds its machines and volumes there again.
Beside the flow: `libvirtd_owner` and `folder_lock` keep two runtimes off the same libvirtd and folders, `whole_files` writes files
that are complete or absent, `settings` is the operator's document, `private_libvirtd` runs a libvirtd for the demo and the tests.

Rules for every part:
- A call records and returns; a reconciler carries out. What takes long happens after the answer, and may be cut off anywhere.
- Each step compares desired and observed state again. No plan is remembered, so a crash of runtime, libvirtd or host only costs time.
- Data is deleted only by an ordered deletion. What is unknown (libvirt away, a record unreadable, a disk not mounted) is never absent.
- A value of a spec becomes text or an attribute of XML, or a digest in a name. No command line ever contains one.

Limits: knows no pools of a poollet, no Git and no YAML. Settings come in as JSON, and a reader of YAML as a function.
"""
