"""Image references: what each names, and what is none."""

from __future__ import annotations

import pytest

from iri.errors import InvalidArgument
from iri.libvirt.images.digest import Digest
from iri.libvirt.images.reference import FileReference, OciReference, Reference, UrlReference, parse

HEX = "0123456789abcdef" * 4
DIGEST = Digest("sha256", HEX)
LONG = Digest("sha512", HEX + HEX)

NAMED: list[tuple[str, Reference]] = [
    ("/srv/images/a.qcow2", FileReference("/srv/images/a.qcow2")),
    ("/srv//images/./a.qcow2", FileReference("/srv/images/a.qcow2")),
    (f"/srv/a#sha256={HEX.upper()}", FileReference("/srv/a", DIGEST)),
    (f"file:///srv/a%20b#sha256:{HEX}", FileReference("/srv/a b", DIGEST)),
    ("https://example.org/a.img?x=1", UrlReference("https://example.org/a.img?x=1")),
    (f"HTTPS://example.org:8443/a#sha512={HEX}{HEX}", UrlReference("https://example.org:8443/a", LONG)),
    (f"http://[::1]:80/a#sha256={HEX}", UrlReference("http://[::1]:80/a", DIGEST)),
    ("ghcr.io/os/debian:12", OciReference("ghcr.io", "os/debian", "12")),
    ("ghcr.io/os/debian", OciReference("ghcr.io", "os/debian", "latest")),
    ("oci://localhost:5000/debian:12", OciReference("localhost:5000", "debian", "12")),
    (f"ghcr.io/os/debian@sha256:{HEX}", OciReference("ghcr.io", "os/debian", "", DIGEST)),
    (f"ghcr.io/os/debian:12@sha256:{HEX}", OciReference("ghcr.io", "os/debian", "12", DIGEST)),
]

REFUSED = [
    ("", "invalid image"),
    ("debian", "invalid image"),
    ("a b/c", "invalid image"),
    ("x" * 3000, "invalid image"),
    ("/srv/../etc/shadow", r"no \.\."),
    ("file://etc/shadow", "must start with /"),
    ("file:///srv/%2e%2e/etc", r"no \.\."),
    ("/srv/a\0b", "invalid image"),
    ("ftp://example.org/a", "http, https, file and oci"),
    ("https:///a", "must name a host"),
    ("https://ann:secret@example.org/a", "must not have a user or a password"),
    ("https://example.org:port/a", "invalid URL"),
    ("https://example.org/a#sha256=12", "64 hex digits, not 2"),
    ("https://example.org/a#md5=12", "invalid digest"),
    ("ghcr.io/Upper/case:1", "invalid image"),
    ("ghcr.io/../etc:1", "invalid image"),
    ("ghcr.io/os/debian@sha256:12", "64 hex digits"),
]


@pytest.mark.parametrize(("text", "named"), NAMED, ids=[text[:30] for text, _ in NAMED])
def test_reference_is_parsed(text: str, named: Reference) -> None:
    assert parse(text) == named


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[text[:30] for text, _ in REFUSED])
def test_invalid_reference_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason) as refused:
        parse(text)
    assert "secret@" not in str(refused.value)


def test_manifest_is_requested_by_digest_where_there_is_one() -> None:
    by_digest = parse(f"ghcr.io/os/debian:12@sha256:{HEX}")
    by_tag = parse("ghcr.io/os/debian:12")
    assert isinstance(by_digest, OciReference)
    assert isinstance(by_tag, OciReference)
    assert by_digest.tag_or_digest == f"sha256:{HEX}"
    assert by_tag.tag_or_digest == "12"
