"""Traces go to a collector where one is configured, by OTLP over HTTP."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from reconciler.loop.tracing import Traced, Untraced, tracer


class Collector(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.got: list[tuple[str, bytes]] = []


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        self.server.got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_spans_arrive_with_their_attributes_and_their_parents(collector: Collector) -> None:
    traced = tracer({"OTEL_EXPORTER_OTLP_ENDPOINT": "set"}, "1.2.3")
    assert isinstance(traced, Traced)
    with traced.span("tick") as note:
        note("outcome", "committed")
        with traced.span("plan"):
            pass
    traced.close()
    (path, body), *_ = collector.got
    assert path == "/v1/traces"
    sent = ExportTraceServiceRequest.FromString(body).resource_spans[0]
    assert {each.key: each.value.string_value for each in sent.resource.attributes}[
        "service.name"
    ] == "gitvirt"
    spans = {span.name: span for span in sent.scope_spans[0].spans}
    assert [(each.key, each.value.string_value) for each in spans["tick"].attributes] == [
        ("outcome", "committed")
    ]
    assert spans["plan"].parent_span_id == spans["tick"].span_id


def test_without_an_endpoint_nothing_is_loaded() -> None:
    untraced = tracer({}, "1.2.3")
    assert isinstance(untraced, Untraced)
    with untraced.span("tick") as note:
        note("outcome", "committed")
    untraced.close()
