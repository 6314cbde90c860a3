"""What calls that change something ask for: a seam, so that the link knows neither Git nor manifests. `reconciler.cli.controller` implements it.

Each method makes one commit on the source branch in the client's name, or none. They block, are called in a thread of their own, one after
the other, and raise CallRefusedError with the status that the client gets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import (
    DestroyRequest,
    DestroyResponse,
    ScheduleRequest,
    StopRequest,
    StopResponse,
    UpdateRequest,
    UpdateResponse,
)
from schemas.kinds import Key
from schemas.settings.link import Right


@dataclass(frozen=True, slots=True)
class CallingClient:
    """Who calls. `permit` raises CallRefusedError for namespaces that the client may not call for, with the right of the call or with
    another one, where a change does more than its name says."""

    name: str
    permit: Callable[[Collection[str], Right | None], None]


@dataclass(frozen=True, slots=True)
class ScheduledManifest:
    """`machines` are those that the manifest declares; `commit` is empty for a dry run."""

    commit: str
    machines: tuple[Key, ...]


class FleetWriter(Protocol):
    def schedule(self, client: CallingClient, request: ScheduleRequest) -> ScheduledManifest: ...

    def update(self, client: CallingClient, request: UpdateRequest) -> UpdateResponse: ...

    def stop(self, client: CallingClient, request: StopRequest) -> StopResponse: ...

    def destroy(self, client: CallingClient, request: DestroyRequest) -> DestroyResponse: ...
