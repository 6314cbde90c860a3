"""What the operator of a host allows for images, and how long they are kept."""

from __future__ import annotations

import msgspec

GIB = 1 << 30


class ImageSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`paths` are the folders whose files a spec may name. `sources` are prefixes of the URLs and OCI references that it
    may name: `https://images.example.org/`, `registry.example.org/os/`; none means any.

    `plain_http` lists the hosts (host, or host:port) that are asked without TLS. A URL of another host over plain http
    needs a digest.
    """

    folder: str = ""  # of the cache; empty: below the runtime's own
    paths: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    plain_http: tuple[str, ...] = ()
    credentials: str = ""  # a file as `docker login` writes it
    max_bytes: int = 64 * GIB  # of one image
    cache_bytes: int = 256 * GIB  # unused images beyond that go, the longest unused first
    unused_seconds: int = 7 * 24 * 3600  # an image that nothing uses stays so long
    timeout_seconds: float = 30.0  # without a byte from the server
