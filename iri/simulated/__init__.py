"""A host that exists as numbers only: machines that boot, volumes that fill, calls that fail, on a clock of its own.

It is the twin of the libvirt runtime, held to the same contract suite; it carries the demo, the tests of everything
above the runtime interface, and fleets of thousands in one process. Nothing happens between calls: what is due is
worked out when somebody looks, so a machine at rest costs its record and nothing else.
"""
