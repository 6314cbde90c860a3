"""The verbs of `gitvirt` that drive the runtime interface: `runtime` serves it, `iri` and `console` call it.

- runtime/  settings in -> a runtime behind its sockets, until a signal stops it
- iri/      arguments and spec files in -> one call of the interface -> its answer as a table, YAML or JSON
- console   a machine's name in -> its serial console, or the command for the host that has it

Shared by them: actions (one module for each action of a verb) and documents (a file in -> its values, or one error).

This is the only part of `iri` that reads YAML and that may import `reconciler.cli`, for its output and exit codes.

Rules for every verb here:
- An error is one line of cause and one of cure (CommandError). Its exit code says which sort: 1 the runtime, 2 the command line,
  3 a file, 6 a timeout after which the call may have taken effect.
- Whatever a runtime, a file or a path contributes to a message or a table passes `printable`: it may hold control characters.
- Keys and passwords are hidden unless --show-secrets is given, and no error quotes a value of a file.
- A file is read and checked as a whole before the first call, so a mistake in its last document changes nothing.

Limits: nothing outside of this package imports it. It knows no libvirt and no guest: a verb is a client, or it puts a server together.
"""
