"""libvirt as the rest of the runtime sees it: typed calls with plain values, iri.errors, and frozen events.

No object and no constant of the library leaves this package.
"""
