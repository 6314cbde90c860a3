"""SPDY/3.1 as Kubernetes' clients use it for consoles: irictl, kubectl's fallback, API server and brokers.

header_block compresses headers, frames splits bytes into frames, spdy_protocol maps streams to a console. All are pure.

Limits: only what consoles need. The server opens no stream, and knows neither sockets nor sessions.
"""
