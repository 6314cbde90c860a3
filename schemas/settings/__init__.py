"""Settings files: gitvirt.yaml of a fleet and poollet.yaml of a host into one frozen object each, or every problem.

`settings_file` reads and checks a file, `fleet` and `host` say what it may hold and what that means by default. `link` and `certificate` are about who may connect; `certificate_dates` (with a time) and `certificate_changes`
(between two versions) find what a reader of a change has to know.

Limits: bytes in, settings out. Nothing here opens a file, resolves a path or looks at a host; `poollet.yaml` may name files
with credentials, and those are read where they are used. There is no default for an identity: fleet.id and the name of a
poollet have to be written.
"""
