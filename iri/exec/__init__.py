"""Consoles over HTTP: a one-time URL, a WebSocket or SPDY, and a pty at each end. Knows no machines, only their ids.

A console session passes through these modules in this order:

    exec_server       Exec asks it for a URL, with a ticket in it
    tickets           a ticket: attaches once, within a minute
    console_client    the user's side: opens the URL (websocket), reads the keyboard, prints the output; over any console_line
    exec_server       reads the request (upgrade_request), and claims the machine's one session (sessions)
    admission         redeems the ticket, and chooses the protocol (websocket_protocol, or spdy for other clients)
    attached_session  copies both ways, between console_connection and key_queue, until one side ends it
    channels          every message: its channel and its data
    pty_console       the console that a runtime opens: the master side of a pty

console_protocol is the interface of the two protocols, streaming_address where the server listens. iri.client.websocket_console is the other client: a Console object for programs.

Limits: must not import a runtime. Whether a machine exists, and who may attach to it, is decided before a ticket is given.
"""
