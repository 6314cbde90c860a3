"""libvirt for the rest of the runtime: typed calls with plain values, iri.errors, and frozen events.

Order: `event_loop` runs libvirt's callbacks, `link` holds the connection and replaces it when it breaks, the other modules call
through the link; `event_callbacks` and `libvirt_errors` translate what comes back. No object and no constant of the library
leaves this package.
"""
