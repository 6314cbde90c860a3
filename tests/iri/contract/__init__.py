"""What every runtime promises, as tests: one suite for the simulated host, for libvirt, and for either behind a socket.

A runtime takes part with a test class that inherits the promises it keeps and a `subject` fixture that says how to use
it. The numbers are those of the list of promises in docs/iri.md.
"""
