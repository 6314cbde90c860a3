"""A registry of the OCI distribution API: tags to manifests, manifests to bytes, tokens where the registry needs them, and its
credentials from a file as `docker login` writes it, which go to their registry and nowhere else.

What is fetched by digest is verified by the caller that keeps it; manifests are verified here.

    answer                     next step
    200                        use the body
    401 with Basic             ask again with the credentials of the file
    401 with Bearer            fetch a token from the realm that the challenge names, with those credentials; ask again with it
    401 the second time        FailedPrecondition: access is denied

A token is kept as long as this object, which serves one image and lives as long as its fetch.
"""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
from http import HTTPStatus
from pathlib import Path

import msgspec

from iri.errors import FailedPrecondition, InvalidArgument, Unavailable
from iri.libvirt.images import http_fetch, oci_manifest
from iri.libvirt.images.digest import Digest
from iri.libvirt.images.oci_manifest import ImageArtifact, ManifestDocument
from iri.libvirt.images.reference import OciReference

ACCEPT = ", ".join((*oci_manifest.MANIFESTS, *oci_manifest.INDEXES))
CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
NESTING = 2  # an index may name another, no deeper


class Token(msgspec.Struct, frozen=True):
    """Registries use the one name or the other."""

    token: str = ""
    access_token: str = ""


class Registry:
    """One repository of one registry."""

    def __init__(
        self, reference: OciReference, *, plain_http: bool, credentials_file: str, timeout: float
    ) -> None:
        self._reference = reference
        self._base = f"{'http' if plain_http else 'https'}://{reference.registry}"
        self._credentials_file = credentials_file
        self._timeout = timeout
        self._authorization = ""

    def resolve(self, architecture: str) -> tuple[Digest, ImageArtifact]:
        """The artifact for the architecture, and the digest of its manifest."""
        wanted, digest = self._reference.tag_or_digest, self._reference.digest
        for _ in range(NESTING + 1):
            body, document = self._manifest(wanted, digest)
            if not document.manifests:
                return digest or Digest.of(body), oci_manifest.parse_artifact(document)
            digest = oci_manifest.choose_manifest(document, architecture)
            wanted = str(digest)
        raise InvalidArgument(f"{self._reference.repository}: indexes are nested too deep")

    def blob_url(self, digest: Digest) -> str:
        """Fetch it with `headers`, which have the token once `resolve` has been called."""
        return self._url(f"blobs/{digest}")

    def headers(self) -> dict[str, str]:
        """Empty until a challenge was answered, and where the registry asks for nothing."""
        return {"Authorization": self._authorization} if self._authorization else {}

    def blob(self, digest: Digest, limit: int) -> bytes:
        """Fetches and verifies a small blob."""
        body = self._get(self.blob_url(digest), "*/*", limit)
        _refuse_other(body, digest, "config")
        return body

    def _manifest(self, wanted: str, digest: Digest | None) -> tuple[bytes, ManifestDocument]:
        """The bytes as well as the document: a manifest's own digest is that of its bytes."""
        body = self._get(self._url(f"manifests/{wanted}"), ACCEPT, oci_manifest.LARGEST_MANIFEST)
        if digest is not None:
            _refuse_other(body, digest, "manifest")
        return body, oci_manifest.parse_document(body)

    def _url(self, rest: str) -> str:
        return f"{self._base}/v2/{self._reference.repository}/{rest}"

    def _get(self, url: str, accept: str, limit: int) -> bytes:
        """Tries twice: the first answer may be the challenge that says which token to get."""
        for is_second_try in (False, True):
            with http_fetch.open_url(url, {"Accept": accept, **self.headers()}, self._timeout) as response:
                if response.status == HTTPStatus.UNAUTHORIZED and not is_second_try:
                    self._authorization = self._authorize(response.headers.get("WWW-Authenticate", ""))
                    continue
                if response.status != HTTPStatus.OK:
                    break
                body = http_fetch.read(response, limit + 1)
            if len(body) > limit:
                raise InvalidArgument(
                    f"{self._reference.registry} sends more than {limit} bytes for a manifest"
                )
            return body
        raise FailedPrecondition(f"{self._reference.registry} denies access to {self._reference.repository}")

    def _authorize(self, challenge: str) -> str:
        """Follows a Bearer challenge to its realm, which must not be less protected than the registry itself."""
        scheme, _, rest = challenge.partition(" ")
        basic = basic_authorization(self._credentials_file, self._reference.registry)
        if scheme.lower() == "basic":
            return basic
        if scheme.lower() != "bearer":
            return ""
        fields = dict(CHALLENGE.findall(rest))
        query = {
            "service": fields.get("service", ""),
            "scope": f"repository:{self._reference.repository}:pull",
        }
        realm = fields.get("realm", "")
        schemes = ("https://", "http://") if self._base.startswith("http://") else ("https://",)
        if not realm.startswith(schemes):
            raise FailedPrecondition(f"{self._reference.registry} issues its tokens without TLS")
        url = f"{realm}?{urllib.parse.urlencode(query)}"
        headers = {"Authorization": basic} if basic else {}
        with http_fetch.open_url(url, headers, self._timeout) as response:
            if response.status != HTTPStatus.OK:
                raise FailedPrecondition(f"{self._reference.registry} refuses the configured credentials")
            body = http_fetch.read(response, oci_manifest.LARGEST_MANIFEST)
        try:
            token = msgspec.json.decode(body, type=Token)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Unavailable(f"{self._reference.registry} sends an invalid token") from None
        return f"Bearer {token.token or token.access_token}"


def _refuse_other(body: bytes, digest: Digest, what: str) -> None:
    """Raises FailedPrecondition when the body is not the content of that digest."""
    found = Digest.of(body, digest.algorithm)
    if found != digest:
        raise FailedPrecondition(f"the registry's {what} has digest {found}, not {digest}")


class RegistryLogin(msgspec.Struct, frozen=True):
    """`auth` is `user:password` in base64, exactly as the header wants it."""

    auth: str = ""


class DockerConfig(msgspec.Struct, frozen=True):
    """The file that `docker login` writes."""

    auths: dict[str, RegistryLogin] = {}


def basic_authorization(path: str, registry: str) -> str:
    """The Authorization header for that registry and no other; empty without an entry. Read at each use: logins change."""
    if not path:
        return ""
    try:
        config = msgspec.json.decode(Path(path).read_bytes(), type=DockerConfig)
        login = config.auths.get(registry, RegistryLogin())
        base64.b64decode(login.auth, validate=True)
    except (OSError, msgspec.DecodeError, binascii.Error) as error:
        # msgspec and binascii name places and types, never values.
        raise FailedPrecondition(f"cannot read the registry credentials in {path}: {error}") from None
    return f"Basic {login.auth}" if login.auth else ""
