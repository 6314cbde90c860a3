"""The verbs of `gitvirt` that drive the runtime interface: `runtime` serves it, `iri` and `console` call it.

- runtime/  settings in -> a runtime behind its sockets, until a signal stops it
- iri/      arguments and spec files in -> one call of the interface -> its answer as a table, YAML or JSON
- console   a machine's name in -> its serial console, or the command for the host that has it

Shared by them: actions (one module for each action of a verb) and documents (a file in -> its values, or one error).

This is the only part of `iri` that reads YAML and that may import `reconciler.cli`, for its output and exit codes.
"""
