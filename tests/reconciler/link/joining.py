"""A fleet with an operator, whose server takes tokens on a port of its own, and hosts that ask to join over real TLS."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import JoinRequest, JoinResponse
from reconciler.cli.controller.token_desk import TokenDesk
from reconciler.cli.fleet_repo import Location
from reconciler.gitstore.remote.address import parse_address
from reconciler.gitstore.signatures.join_proof import proof_text, sign_proof
from reconciler.gitstore.signatures.join_token import JOIN_NAMESPACE, JoinClaim, create_token, make_claim
from reconciler.gitstore.signatures.signing import SshSigner, load_signer
from reconciler.link.join_port import JoinSetup
from schemas.settings.certificate import LINK_NAME
from schemas.settings.fleet import FleetSettings, parse
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.link.client import status_of
from tests.reconciler.link.serving import Served, serving
from tests.reconciler.link.site import ViewedSite
from tests.reconciler.loop.fleet import FLEET
from tests.servers.link_certificates import LinkCertificate, link_settings, make_certificate
from tests.servers.repository import git
from tests.servers.sshd import new_key

JOIN = "/gitvirt.link.v1alpha1.Agent/Join"


def sign_request(
    token: str, own: LinkCertificate, server: str, name: str = "rack-a7", **more: Any
) -> JoinRequest:
    """As a host makes it."""
    der = ssl.PEM_cert_to_DER_cert(own.pem)
    key = load_pem_private_key(own.private.encode(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    proof = sign_proof(key, proof_text(token, server, der))
    return JoinRequest(token=token, poollet=name, certificate=der, proof=proof, **more)


def send(address: str, link: LinkCertificate, request: JoinRequest, method: str = JOIN) -> JoinResponse:
    credentials = grpc.ssl_channel_credentials(link.pem.encode())
    options = (("grpc.ssl_target_name_override", LINK_NAME), ("grpc.use_local_subchannel_pool", 1))
    with grpc.secure_channel(address, credentials, options) as channel:
        call: Any = channel.unary_unary(
            method,
            request_serializer=JoinRequest.SerializeToString,
            response_deserializer=JoinResponse.FromString,
        )
        answer: JoinResponse = call(request, timeout=60)
        return answer


@dataclass
class JoiningSite:
    """`site` ticks when it is told to. The desk looks at the repo itself, at the time of day."""

    site: ViewedSite
    served: Served
    remote: Path
    folder: Path
    environment: Mapping[str, str]
    signers: tuple[str, ...] = ()
    more: str = ""

    def write_settings(self, *hosts: str) -> None:
        """On the source, without a tick."""
        signers = "".join(f"  - {line}\n" for line in self.signers)
        text = f"signatures:\n  signers:\n{signers}" if signers else "signatures:\n  signers: []\n"
        listed = {name: make_certificate(name) for name in hosts}
        self.site.push(
            {
                "gitvirt.yaml": link_settings(
                    FLEET, ["127.0.0.1:7443"], self.served.link, listed, text + self.more
                )
            }
        )

    def new_desk(self, name: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> TokenDesk:
        """Of another server, or of this one after a restart with an empty disk."""
        environment = {**self.environment, "GITVIRT_CACHE": str(self.folder / f"cache-{name}")}
        location = Location(parse_address(str(self.remote), self.folder))
        return TokenDesk(location, environment, None, clock)

    def claim(self, name: str = "rack-a7", minutes: float = 15, **more: Any) -> JoinClaim:
        expires = datetime.now(UTC) + timedelta(minutes=minutes)
        made = make_claim(
            FLEET, self.served.link.identity, name, ("rack-a7",), expires, volume_pools=("ssd-a7",)
        )
        return msgspec.structs.replace(made, **more)

    def token(self, claim: JoinClaim | None = None, by: str = "operator") -> str:
        signer = SshSigner(self.folder / by, self.environment, JOIN_NAMESPACE)
        return create_token(claim or self.claim(), signer)

    def public(self, name: str) -> str:
        return (self.folder / f"{name}.pub").read_text().strip()

    def request(self, token: str, own: LinkCertificate, name: str = "rack-a7", **more: Any) -> JoinRequest:
        return sign_request(token, own, self.served.link.identity, name, **more)

    def send(self, request: JoinRequest) -> JoinResponse:
        port = self.served.server.join_port
        assert port is not None
        return send(port.address, self.served.link, request)

    def refused(self, request: JoinRequest) -> tuple[grpc.StatusCode, str]:
        try:
            answer = self.send(request)
        except grpc.RpcError as error:
            return status_of(error)
        raise AssertionError(f"it was accepted: {answer}")

    def settings_text(self, branch: str = "main") -> str:
        return git(self.remote, "show", f"{branch}:gitvirt.yaml") + "\n"

    def settings(self, branch: str) -> FleetSettings:
        found = parse(self.settings_text(branch).encode())
        assert isinstance(found, FleetSettings), found
        return found

    def head(self, ref: str) -> str:
        return git(self.remote, "for-each-ref", "--format=%(objectname)", ref)

    def list_branches(self) -> list[str]:
        return git(self.remote, "for-each-ref", "--format=%(refname:short)", "refs/heads/join/").splitlines()


@contextmanager
def joining_site(folder: Path, signing_key: str = "") -> Iterator[JoiningSite]:
    """The settings list the operator, and are reconciled."""
    world = MirrorWorld(folder / "world")
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
    for name in ("operator", "stranger", "server"):
        new_key(folder / name, name)
    environment["GITVIRT_CACHE"] = str(folder / "cache-own")
    location = Location(parse_address(str(world.repo), folder))
    key = str(folder / signing_key) if signing_key else ""
    desk = TokenDesk(location, environment, load_signer(key, environment))
    with serving(folder, join=JoinSetup(("127.0.0.1", 0), desk)) as served:
        site = ViewedSite(served, (), world)
        made = JoiningSite(site, served, world.repo, folder, environment)
        made.signers = (made.public("operator"),)
        made.write_settings()
        site.commit()
        try:
            yield made
        finally:
            world.close()
