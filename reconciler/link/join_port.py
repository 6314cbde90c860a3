"""The port where hosts join that are not listed yet: TLS without certificates of clients, and the one call Join.

Theory of operation
-------------------
Whoever reaches this port may call, so a call costs as little as possible until its token is judged:

    a message above LARGEST_MESSAGE_BYTES      RESOURCE_EXHAUSTED, by gRPC
    calls beyond CALLS_AT_ONCE and             RESOURCE_EXHAUSTED: too_many. A stranger can so keep hosts from joining for as long as he
      CALLS_PER_SECOND, or MOST_WAITING          calls; he can neither join nor slow the rest of the server down
    a TLS older than 1.3                       UNAUTHENTICATED: old_tls
    else                                       the desk judges it, in a thread, one call after the other

A refusal counts in a metric. Of each reason one line is logged in LOGGED_AGAIN, with the number of those that were not.

A host that disconnects ends its call, and not the commit that was begun. It asks again, and gets the answer.

Must never happen: another service is reachable here; a call holds up the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, NamedTuple, NoReturn

import grpc

from iri.proto.gitvirt.link.v1alpha1 import agent_pb2
from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import JoinRequest, JoinResponse
from reconciler.link.agent_calls import Context
from reconciler.link.callers import TLS
from reconciler.link.client_calls import CallAllowance
from reconciler.link.join_desk import JoinDesk, JoinRefusal, JoinRefusedError
from reconciler.link.metrics import LinkMetrics
from reconciler.link.server_key import LinkSetupError, ServerKey
from schemas.settings.fleet import FleetSettings
from schemas.settings.link import ANSWER_METADATA

log = logging.getLogger(__name__)

LARGEST_MESSAGE_BYTES = 64 * 1024
MOST_WAITING = 8
CALLS_PER_SECOND, CALLS_AT_ONCE = 2.0, 20.0
LOGGED_AGAIN = timedelta(seconds=10)
OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
    ("grpc.max_metadata_size", 8 * 1024),
    ("grpc.max_concurrent_streams", 4),
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_connection_idle_ms", 10_000),
    ("grpc.max_connection_age_ms", 120_000),
    ("grpc.max_connection_age_grace_ms", 60_000),
    ("grpc.so_reuseport", 0),
)
AGENT = agent_pb2.DESCRIPTOR.services_by_name["Agent"]


class JoinSetup(NamedTuple):
    """Where to listen, and who judges."""

    listen: tuple[str, int]
    desk: JoinDesk


class JoinPort:
    """Starts, runs and stops in the event loop's thread. `wake` tells the loop that a branch moved."""

    def __init__(
        self,
        setup: JoinSetup,
        own: ServerKey,
        metrics: LinkMetrics,
        steady: Callable[[], datetime],
        wake: Callable[[], None],
    ) -> None:
        host, port = setup.listen
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._desk, self._own, self._metrics, self._steady, self._wake = (
            setup.desk,
            own,
            metrics,
            steady,
            wake,
        )
        self._given = own.pair
        self._thread = ThreadPoolExecutor(1, "join")
        self._waiting = 0
        self._allowance = CallAllowance(CALLS_AT_ONCE, steady(), CALLS_PER_SECOND, CALLS_AT_ONCE)
        self._logged: dict[JoinRefusal, datetime] = {}
        self._unlogged: dict[JoinRefusal, int] = {}
        self._server: grpc.aio.Server | None = None

    async def start(self) -> None:
        """Raises LinkSetupError where the address cannot be used."""
        server = grpc.aio.server(options=OPTIONS)
        join = grpc.unary_unary_rpc_method_handler(
            self.join,
            request_deserializer=JoinRequest.FromString,
            response_serializer=JoinResponse.SerializeToString,
        )
        handler = grpc.method_handlers_generic_handler(AGENT.full_name, {"Join": join})
        server.add_generic_rpc_handlers((handler,))
        credentials = grpc.dynamic_ssl_server_credentials(
            self._configure(),
            self._fetch,  # type: ignore[arg-type]  # None is for "as before", which the stubs do not know
            require_client_authentication=False,
        )
        try:
            port = server.add_secure_port(self.address, credentials)
        except RuntimeError as error:
            cause = f"cannot listen on {self.address}: is the address in use?"
            raise LinkSetupError(cause, "choose another address with --join") from error
        self.address = f"{self.address.rpartition(':')[0]}:{port}"
        await server.start()
        self._server = server
        log.info("hosts may join with a token address=%s", self.address)

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(1.0)

    def follow(self, settings: FleetSettings) -> None:
        """As LinkServer.follow: in the thread that ticks."""
        self._desk.follow(settings)

    def end(self) -> None:
        """Returns once the commit that was begun is finished. Requests that wait are dropped."""
        self._thread.shutdown(cancel_futures=True)

    async def join(self, request: JoinRequest, context: Context) -> JoinResponse:
        """The handler of Agent.Join."""
        try:
            self._check_call(context)
            self._waiting += 1
            server = self._own.pair.certificate.identity
            future = asyncio.get_running_loop().run_in_executor(
                self._thread, lambda: self._desk.join(request, server)
            )
            future.add_done_callback(self._note_done)
            return await asyncio.shield(future)
        except JoinRefusedError as refused:
            self._note_refusal(refused, context.peer())
            await _abort(context, refused.status, f"{refused.cause}; {refused.cure}")
        except Exception:
            log.exception("a call of Join failed peer=%s", context.peer())
            await _abort(
                context, grpc.StatusCode.INTERNAL, "the call failed; the log of the reconciler says why"
            )

    def _check_call(self, context: Context) -> None:
        """Before anything of the request is read."""
        version = b"".join(context.auth_context().get("ssl_tls_version", ())).decode("ascii", "replace")
        if version != TLS:
            cause = f"the connection uses {version or 'an unknown version of TLS'}, and the link needs {TLS}"
            raise JoinRefusedError(JoinRefusal.OLD_TLS, cause, "update the library that connects")
        if self._waiting >= MOST_WAITING or not self._allowance.take(self._steady()):
            cause = "too many hosts, or strangers, call at once"
            raise JoinRefusedError(JoinRefusal.TOO_MANY, cause, "join again in a minute")

    def _note_done(self, future: asyncio.Future[JoinResponse]) -> None:
        self._waiting -= 1
        if future.cancelled() or future.exception() is not None:  # whoever called may be gone
            return
        self._metrics.joins.inc()
        self._wake()

    def _note_refusal(self, refused: JoinRefusedError, peer: str) -> None:
        reason = refused.reason
        self._metrics.count_join_refused(reason.value)
        now, last = self._steady(), self._logged.get(reason)
        if last is not None and now - last < LOGGED_AGAIN:
            self._unlogged[reason] = self._unlogged.get(reason, 0) + 1
            return
        self._logged[reason] = now
        log.warning(
            "refused to let a host join peer=%s reason=%s cause=%s cure=%s unlogged=%d",
            peer,
            reason.value,
            refused.detail or refused.cause,
            refused.cure,
            self._unlogged.pop(reason, 0),
        )

    # In a thread of gRPC

    def _fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """For each handshake: another pair after a rotation, or None where it is that of the last one."""
        if self._given is self._own.pair:
            return None
        return self._configure()

    def _configure(self) -> grpc.ServerCertificateConfiguration:
        self._given = pair = self._own.pair
        return grpc.ssl_server_certificate_configuration([(pair.key, pair.pem)])


async def _abort(
    context: grpc.aio.ServicerContext[Any, Any], status: grpc.StatusCode, words: str
) -> NoReturn:
    await context.abort(status, words, ((ANSWER_METADATA, "1"),))
    raise AssertionError("abort raises")
