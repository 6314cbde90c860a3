"""What a change of the source does to what runs: when it applies, and what it destroys. One answer for everybody.

    field_change     two documents → the fields that differ, with old and new value
    rules            field, values and context → Effect; `machine_rules` and `volume_rules` are its tables with the most to decide
    effect           the Effects: a closed union, each with the data that it destroys
    removal          what goes with an object that is removed, moved or renamed
    words            an Effect as people read it

`schemas.validate` refuses what is Refused; `gitvirt plan` prints each Effect; the reconciler and the poollet ask the same rules whether
a field of something that exists can still change. So a plan cannot promise what a host does not do: there is no second list.

Must never happen: a field has no rule (a test walks all schemas); an effect that destroys data has a text without DELETE, DESTROY or RECREATE
(a test walks all effects).

Limits: pure. Knows documents and model objects; neither files, Git, hosts nor a clock. It decides nothing: whether a machine may be
moved or evicted now is a decision of the reconciler, which also waits for approvals.
"""
