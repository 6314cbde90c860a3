"""Traces, where OpenTelemetry is installed and an endpoint is configured by its own environment variables; else nothing.

Owns the one place that knows OpenTelemetry. Spans say how long the steps of a tick took, never what people wrote.

OpenTelemetry is an extra of the package and is imported only when an endpoint is configured: a reconciler without traces neither needs
nor loads it. Spans go out from a thread of the library, so a tick never waits for a collector.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeAlias

log = logging.getLogger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
Note: TypeAlias = Callable[[str, str | int], None]  # an attribute of the span


class Tracer(Protocol):
    def span(self, name: str) -> AbstractContextManager[Note]: ...

    def close(self) -> None:
        """Sends what has not been sent."""


class Untraced:
    """What is used without a collector."""

    @contextmanager
    def span(self, name: str) -> Iterator[Note]:
        del name
        yield lambda _name, _value: None

    def close(self) -> None:
        """Nothing is kept."""


class Traced:
    """Spans go out in the background; a collector that does not answer delays nothing."""

    def __init__(self, version: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        attributes = {"service.name": "gitvirt", "service.version": version}
        self._provider = TracerProvider(resource=Resource.create(attributes))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("gitvirt", version)

    @contextmanager
    def span(self, name: str) -> Iterator[Note]:
        with self._tracer.start_as_current_span(name) as span:
            yield span.set_attribute

    def close(self) -> None:
        self._provider.shutdown()


def tracer(environment: Mapping[str, str], version: str) -> Tracer:
    """Never fails: an endpoint without the extra is a warning, since a reconciler must run without its traces."""
    if not any(environment.get(name) for name in ENDPOINTS):
        return Untraced()
    try:
        return Traced(version)
    except ImportError as error:
        log.warning("no traces, install gitvirt[otel] for them missing=%s", error.name)
        return Untraced()
