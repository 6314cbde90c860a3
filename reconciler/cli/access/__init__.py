"""Who may connect to the link: key and certificate as files, and their entry in gitvirt.yaml. For the verbs `poollet join`, `poollet rotate`,
`link` and `client`.

    key_pair        makes and reads a private key and its certificate; the only place that holds a private key
    rotation        what an entry lists next, from what it lists and which files there are. Pure
    settings_text   a new text of gitvirt.yaml with that entry, no other byte changed
    proposal        the commit of the operator's verbs, and what they print
    expiring_certificates   those that expire soon, for verbs that show the fleet

Limits: nothing here connects to the link or decides who may; people merge what is proposed. A private key is written to its own file, for this
account alone, and is in no message, commit or output.
"""
