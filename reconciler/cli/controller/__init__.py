"""What calls of API clients change: the verbs' own steps (edit, check, forecast, push), with the status that a client gets in place of an exit code.

    manifest   bytes of a request → the documents and their namespaces, or why they are refused
    rewrite    documents of a request → new texts of the files that declare them
    effects    what a commit would do, as `gitvirt plan` words it, and what of that needs consent
    source     one call: the fleet opened, a commit pushed, requests found in history
    writer     Schedule, Update, Stop, Destroy

    token_desk, join_request, join_keys, join_record
               a host that joins with a token: judged, what it asks for, whether its keys are its own, which tokens were used

Limits: writes the source branch alone, by compare-and-swap; keeps nothing between calls. It knows no certificate: who may do what is asked of
the client that calls.
"""
