"""The server of the link: hosts connect over gRPC with mutual TLS, say that they are there, and are told when `live` moved.

    callers       the fleet's settings → whose certificates count; a call → who calls, or why it is refused
    agent_stream  one host's Connect stream: its heartbeats, what waits to be sent, its limits
    linked_hosts  all hosts that are connected → what a tick reads (LinkInput); who is sent what
    agent_calls   the service Agent: Connect, from Hello to the end
    client_calls  calls of API clients: their rights, their limits, and what ends them
    fleet_feed    the newest picture of the fleet → what each viewer has still to be sent
    fleet_*       pictures as messages; the seam to what commits
    usage_board   what hosts measured last → reports for those who follow (usage_calls)
    pipes, pipe_calls   byte streams between a client's call and a host's: hosts' half, and clients'
    controller_calls, common_services   the services Controller, Health and ServerReflection; change_calls has those that commit
    join_port     the port of its own where hosts join that are not listed yet; join_desk is the seam to what judges them
    server_key    the server's own key and certificate, also after they were replaced
    server        port, TLS, the event loop in a thread of its own

Theory of operation
-------------------
Nothing here decides, and nothing here has to be remembered: a server that starts again is told everything by the hosts that connect.

    what a host says          what becomes of it
    a heartbeat               a sign of life, if it stands for a heartbeat commit (world/reports/heartbeat.py)
    ReportMoved               the loop is woken, and reads the ref
    its stream ends           its pools get nothing new until it reports again (schedule: LinkLost); `live` is not written
    a measurement             shown to clients with the right `read`
    a pipe                    bytes for the one client that wanted it

What a client asks is answered from the picture that each tick hands over (`reconciler.picture`), or becomes a commit on the source
branch; ticks read neither.

TLS checks certificates when a connection begins, and never again. So the certificate of each call is checked by its SHA-256, and those of
open streams whenever the settings change and once a second for their end.

Limits: imports no Git and reads no object. Of `iri` it knows the messages of the link alone.
"""
