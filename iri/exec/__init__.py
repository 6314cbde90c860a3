"""Consoles over HTTP: a one-time URL, a WebSocket, and a pty at each end. Knows no machines, only their ids.

`console` is what a runtime opens, `channels` the wire format, `tickets` the one-time tokens, `streaming` the server
and `attach` the client with its terminal.
"""
