"""A web server of images, and an OCI registry on the same port: real HTTP, counted, and as bad as a test wants it.

It knows ranges, ETags, bearer tokens and passwords. A test puts bodies in, sets a fault, and reads what was requests for.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.servers.certificates import Certificate

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
TOKEN = "depot-token"
PIECE = 1 << 16


@dataclass
class Depot:
    """Faults: `break_after` bytes of a body the connection ends, so many times; `answer` is a status instead of bodies;
    `pause` seconds pass after each piece of 64 KiB."""

    scheme: str = "http"
    port: int = 0
    bodies: dict[str, bytes] = field(default_factory=dict)  # by path
    types: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)  # path, Range
    authorizations: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    break_after: int = 0
    breaks: int = 0
    answer: int = 0
    pause: float = 0.0
    has_ranges: bool = True
    has_etags: bool = True
    says_length: bool = True
    wants_token: bool = False
    password: str = ""  # "user:password", requests for the token
    wants_password: bool = False  # for each request, without a token

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"{self.scheme}://{self.host}{path}"

    def put(self, path: str, body: bytes) -> str:
        self.bodies[path] = body
        return self.url(path)

    def blob(self, repository: str, body: bytes) -> dict[str, object]:
        """A blob of the registry; returns its descriptor without a type."""
        digest = digest_of(body)
        self.put(f"/v2/{repository}/blobs/{digest}", body)
        return {"digest": digest, "size": len(body)}

    def manifest(
        self, repository: str, tag: str, document: object, type: str = MANIFEST
    ) -> dict[str, object]:
        body = json.dumps(document).encode()
        digest = digest_of(body)
        for name in (tag, digest):
            path = f"/v2/{repository}/manifests/{name}"
            self.put(path, body)
            self.types[path] = type
        return {"mediaType": type, "digest": digest, "size": len(body)}

    def image(
        self, repository: str, tag: str, parts: dict[str, bytes], command_line: str = ""
    ) -> dict[str, object]:
        """An image in IronCore's media types; returns its manifest's descriptor."""
        config = json.dumps({"commandLine": command_line}).encode()
        prefix = "application/vnd.ironcore.image"
        return self.manifest(
            repository,
            tag,
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": {"mediaType": f"{prefix}.config.v1+json", **self.blob(repository, config)},
                "layers": [
                    {"mediaType": f"{prefix}.{part}", **self.blob(repository, body)}
                    for part, body in parts.items()
                ],
            },
        )

    def times(self, path: str) -> int:
        return sum(requests == path for requests, _ in self.requests)


def digest_of(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    depot: Depot

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        depot, path = self.depot, self.path.partition("?")[0]
        depot.requests.append((path, self.headers.get("Range", "")))
        depot.authorizations.append(self.headers.get("Authorization", ""))
        if path == "/token":
            self._token()
        elif path in depot.redirects:
            self._plain(307, {"Location": depot.redirects[path]})
        elif depot.wants_token and path.startswith("/v2/") and not self._has_token():
            realm = f'Bearer realm="{depot.url("/token")}",service="depot",scope="repository:x:pull"'
            self._plain(401, {"WWW-Authenticate": realm})
        elif depot.wants_password and path.startswith("/v2/") and not self._has_password():
            self._plain(401, {"WWW-Authenticate": 'Basic realm="depot"'})
        elif depot.answer:
            self._plain(depot.answer, {})
        elif path not in depot.bodies:
            self._plain(404, {})
        else:
            self._body(path, depot.bodies[path])

    def _has_token(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _has_password(self) -> bool:
        wanted = base64.b64encode(self.depot.password.encode()).decode()
        return self.headers.get("Authorization") == f"Basic {wanted}"

    def _token(self) -> None:
        if self.depot.password and not self._has_password():
            self._plain(401, {})
            return
        body = json.dumps({"token": TOKEN}).encode()
        self._plain(200, {}, body)

    def _plain(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _body(self, path: str, body: bytes) -> None:
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"' if self.depot.has_etags else ""
        if etag and self.headers.get("If-None-Match") == etag:
            self._plain(304, {"ETag": etag})
            return
        start = self._start(etag)
        if start > len(body) or (start and start == len(body)):
            self._plain(416, {})
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if etag:
            self.send_header("ETag", etag)
        if path in self.depot.types:
            self.send_header("Content-Type", self.depot.types[path])
        if self.depot.says_length:
            self.send_header("Content-Length", str(len(body) - start))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        self._pieces(body[start:])

    def _start(self, etag: str) -> int:
        requests = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if requests is None or not self.depot.has_ranges or self.headers.get("If-Range") != etag:
            return 0
        return int(requests[1])

    def _pieces(self, body: bytes) -> None:
        depot = self.depot
        stop = len(body)
        if depot.breaks and depot.break_after < len(body):
            depot.breaks -= 1
            stop = depot.break_after
            self.close_connection = True
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for at in range(0, stop, PIECE):
                self.wfile.write(body[at : min(at + PIECE, stop)])
                if depot.pause:
                    time.sleep(depot.pause)


@contextlib.contextmanager
def depot_server(certificate: Certificate | None = None) -> Iterator[Depot]:
    """With a certificate it speaks TLS."""
    depot = Depot(scheme="https" if certificate else "http")
    handler = type("Handler", (_Handler,), {"depot": depot})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    depot.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield depot
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
