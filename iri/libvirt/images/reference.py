"""How a spec names an image. Pure.

/srv/images/debian.qcow2                        a file of this host, in a folder that the settings allow
file:///srv/images/debian.qcow2#sha256=<hex>    the same, with the digest that it must have
https://example.org/debian.qcow2#sha256=<hex>   fetched over HTTP(S)
registry.example.org/os/debian:12               an OCI artifact, by tag
registry.example.org/os/debian@sha256:<hex>     or by the digest of its manifest; `oci://` may come before it

The form decides the kind, in this order: a slash at the beginning is a path, then `scheme://`, and everything else is an OCI reference.
Nothing is looked up and nothing is completed but the tag `latest`, so a text is read in the same way on every host.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

import msgspec

from iri.errors import InvalidArgument
from iri.libvirt.images import digest as digests
from iri.libvirt.images.digest import Digest

LONGEST = 2048
HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\]"
OCI = re.compile(
    rf"(?P<registry>(?:{HOST})(?::[0-9]{{1,5}})?)"
    r"/(?P<repository>[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?"
    r"(?:@(?P<digest>[a-z0-9]+:[0-9a-fA-F]+))?"
)


class FileReference(msgspec.Struct, frozen=True):
    """`digest`: what the file must have; None takes what it has when it is copied."""

    path: str
    digest: Digest | None = None


class UrlReference(msgspec.Struct, frozen=True):
    """`url` has no fragment: the digest in it is in `digest`."""

    url: str
    digest: Digest | None = None


class OciReference(msgspec.Struct, frozen=True):
    """With a tag and a digest, the digest decides."""

    registry: str  # host, or host:port
    repository: str
    tag: str = ""
    digest: Digest | None = None

    @property
    def tag_or_digest(self) -> str:
        """The manifest's name: the digest, else the tag."""
        return str(self.digest) if self.digest else self.tag


Reference = FileReference | UrlReference | OciReference


def parse(text: str) -> Reference:
    """Raises InvalidArgument. Does not look at the host or at any server."""
    if not text or len(text) > LONGEST or not text.isprintable() or any(char.isspace() for char in text):
        raise InvalidArgument(
            f"invalid image {text[:80]!r}: write a path, a URL or an OCI reference without spaces"
        )
    if text.startswith("/"):
        path, _, fragment = text.partition("#")
        return FileReference(_normal(path), _digest(fragment))
    scheme, separator, rest = text.partition("://")
    match scheme.lower() if separator else "oci":
        case "oci":
            return _oci(rest if separator else text)
        case "file":
            path, _, fragment = rest.partition("#")
            return FileReference(_normal(unquote(path)), _digest(fragment))
        case "http" | "https":
            return _url(text)
        case other:
            raise InvalidArgument(f"images are fetched over http, https, file and oci, not {other[:20]!r}")


def _normal(path: str) -> str:
    """In one spelling. A path with `..` is refused: by name alone it could lead out of an allowed folder."""
    if not path.startswith("/") or ".." in PurePosixPath(path).parts or "\0" in path:
        raise InvalidArgument(f"invalid image path {path[:80]!r}: it must start with / and have no ..")
    return str(PurePosixPath(path))


def _digest(fragment: str) -> Digest | None:
    """Of the text behind a #; None without one."""
    return digests.parse(fragment) if fragment else None


def _url(text: str) -> UrlReference:
    """Without the fragment, which is ours and never goes to the server."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # urlsplit checks it only now
    except ValueError as error:
        raise InvalidArgument(f"invalid URL {text[:80]!r}: {error}") from None
    if not parts.hostname:
        raise InvalidArgument("an image URL must name a host")
    if parts.username is not None or parts.password is not None:
        # Many people read the repo that specs are in.
        raise InvalidArgument("an image URL must not have a user or a password")
    url = parts._replace(scheme=parts.scheme.lower(), fragment="").geturl()
    return UrlReference(url, _digest(parts.fragment))


def _oci(text: str) -> OciReference:
    """Without a tag and a digest: the tag latest, as everywhere. The registry is always written out; there is not a default one."""
    match = OCI.fullmatch(text)
    if match is None:
        hint = "an OCI reference is registry/repository:tag or registry/repository@sha256:<hex>"
        raise InvalidArgument(f"invalid image {text[:80]!r}: {hint}")
    digest = digests.parse(match["digest"]) if match["digest"] else None
    tag = match["tag"] or ("" if digest else "latest")
    return OciReference(match["registry"], match["repository"], tag, digest)
