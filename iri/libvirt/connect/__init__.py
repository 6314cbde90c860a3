"""libvirt for the rest of the runtime: typed calls with plain values, iri.errors, and frozen events.

Order: `link` holds the connection and replaces it when it breaks, and the other modules call through it; `event_callbacks` and
`libvirt_errors` translate what comes back. No object and no constant of the library leaves this package.
"""
