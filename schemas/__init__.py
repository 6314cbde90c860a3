"""The public contract, and the Python that reads by it: text in, frozen objects, findings and edited text out.

Data passes through the folders in this order:

    reader    text of a file  -> plain values, with the position of each
    manifest  bytes of a file -> documents that fit the JSON Schema of their kind (the *.json beside this file)
    model     a document      -> one frozen object: Machine, Volume, ...; quantities, capacity, what an object is charged
    validate  all objects     -> findings of the rules between them, also against an earlier revision
    edit      fields          -> the same text with these fields set and no other byte changed
    report    a report's tree -> MachineReport, PoolReport, ...: what hosts say; and back
    settings  gitvirt.yaml, poollet.yaml -> one frozen object each

`kinds`, `problem`, `spelling`, `backoff` and `live_layout` are what all of them share.

Limits: imports nothing of ours. Opens no file but its own JSON Schemas, and no socket; has no clock. A manifest, a report and
a settings file come in as bytes, and the same bytes always give the same result. Only `backoff` uses chance.
"""
