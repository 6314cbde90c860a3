"""Health and reflection, for probes and for clients such as grpcurl. Any listed certificate may call them: they say nothing about a fleet.

Both go through ClientCalls, so a certificate that is removed loses these calls as it loses all others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2

from reconciler.link.agent_calls import Context
from reconciler.link.client_calls import CallRefusedError, ClientCall, ClientCalls
from reconciler.link.controller_calls import make_handler

HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"]
REFLECTION = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]
SERVING = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)
PoolOf = Callable[[Iterable[str]], DescriptorPool]


class CommonServices:
    """`names` are the services that are served besides these two."""

    def __init__(self, calls: ClientCalls, names: Iterable[str], pool_of: PoolOf | None) -> None:
        self._calls = calls
        self._names = (*names, HEALTH.full_name, REFLECTION.full_name)
        pool = pool_of(self._names) if pool_of is not None else None
        self._reflection = reflection.aio.ReflectionServicer(self._names, pool=pool)  # type: ignore[attr-defined]

    def handlers(self) -> dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]]:
        """By the full name of each service."""
        health = {"Check": self.check, "Watch": self.watch}
        return {
            HEALTH.full_name: {
                name: make_handler(HEALTH.methods_by_name[name], handler) for name, handler in health.items()
            },
            REFLECTION.full_name: {
                each.name: make_handler(each, self.reflect) for each in REFLECTION.methods
            },
        }

    async def check(
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> health_pb2.HealthCheckResponse:
        async def body(_call: ClientCall) -> health_pb2.HealthCheckResponse:
            if request.service and request.service not in self._names:
                words = f"there is no service {request.service[:100]!r}; reflection lists them"
                raise CallRefusedError(grpc.StatusCode.NOT_FOUND, words)
            return SERVING

        return await self._calls.run(context, None, body)

    async def watch(self, request: health_pb2.HealthCheckRequest, context: Context) -> None:
        async def body(_call: ClientCall) -> None:
            is_known = not request.service or request.service in self._names
            unknown = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
            await context.write(SERVING if is_known else unknown)
            await asyncio.Event().wait()  # until the client or the server ends

        await self._calls.run(context, None, body)

    async def reflect(self, requests: AsyncIterator[Any], context: Context) -> None:
        async def body(_call: ClientCall) -> None:
            async for answer in self._reflection.ServerReflectionInfo(requests, context):
                await context.write(answer)

        await self._calls.run(context, None, body)
