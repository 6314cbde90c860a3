"""What is decided and observed in, the files of the report out. Pure.

    conditions, entries      an entry of one object: its phase, its conditions, its reasons
    iri_to_report            what a runtime states of an object, in the words of the report
    pool_report              what a host states of its pools
    events                   what happened lately, counted
    provider_events          what the events of stock providers say of objects
    assemble                 all of it, with the times at which conditions changed

The reconciler believes what is written here and nothing else, so a report is written for a reader that
cannot ask back: `unknown` where a runtime does not answer, never an entry left out.

Limits: no module here reads Git or calls a runtime.
"""
