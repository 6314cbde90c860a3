"""The link at the host: it connects to every server that gitvirt.yaml lists, says that it is there, and looks at Git when it is told to.

    link_state       addresses, heartbeats, time → connected to all? for how long? Pure
    server_stream    one address: connects, sends, receives, and again after a pause
    host_pipes       the server's wish → bytes between it and something on this host
    poollet_link     one poollet: settings → addresses; what its agent and its report ask
    link_thread      the event loop of a process, with all links of all its poollets

Limits: it decides nothing about objects, reads no Git and makes no call to a runtime. What a server says is a hint to look at Git. Of `iri` it
knows the messages of the link alone.
"""
