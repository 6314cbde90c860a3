"""What the link counts, in the registry of the reconciler. Owns the names (docs/link.md). Labels come from closed sets."""

from __future__ import annotations

from collections.abc import Collection

from prometheus_client import CollectorRegistry, Counter, Gauge

from reconciler.decide.placement.offers import OfferAnswer
from reconciler.link.callers import LinkRefusalReason
from reconciler.link.join_desk import JoinRefusal

PIPE_KINDS = ("console", "logs", "forward")
OFFER_ANSWERS = ("accepted", "refused", "none")


class LinkMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.hosts = Gauge("gitvirt_link_hosts", "Hosts that are connected now.", registry=registry)
        self.listed = Gauge(
            "gitvirt_link_listed_hosts", "Poollets with a certificate in gitvirt.yaml.", registry=registry
        )
        self.opened = Counter(
            "gitvirt_link_streams", "Streams of hosts that were accepted.", registry=registry
        )
        self.lost = Counter(
            "gitvirt_link_lost",
            "Streams that ended because the host missed its heartbeats.",
            registry=registry,
        )
        self.heartbeats = Counter("gitvirt_link_heartbeats", "Heartbeats of hosts.", registry=registry)
        self.calls = Gauge("gitvirt_link_calls", "Calls of API clients that are open now.", registry=registry)
        self.pipes = Gauge(
            "gitvirt_link_pipes", "Consoles, logs and forwarded connections that are open.", registry=registry
        )
        self._opened_pipes = Counter(
            "gitvirt_link_pipes_opened", "Those that were opened.", ["kind"], registry=registry
        )
        for kind in PIPE_KINDS:
            self._opened_pipes.labels(kind)
        self._offered = Counter(
            "gitvirt_link_offered", "Objects that were offered to hosts.", ["answer"], registry=registry
        )
        for answer in OFFER_ANSWERS:
            self._offered.labels(answer)
        self._refused = Counter(
            "gitvirt_link_refused", "Calls and streams that were refused.", ["reason"], registry=registry
        )
        for reason in LinkRefusalReason:
            self._refused.labels(reason.value)

        self._count_joins_in(registry)

    def _count_joins_in(self, registry: CollectorRegistry) -> None:
        proposed = "Calls of Join that proposed a host, or found it proposed."
        self.joins = Counter("gitvirt_link_joins", proposed, registry=registry)
        self._joins_refused = Counter(
            "gitvirt_link_joins_refused", "Calls of Join that were refused.", ["reason"], registry=registry
        )
        for refusal in JoinRefusal:
            self._joins_refused.labels(refusal.value)

    def count_join_refused(self, reason: str) -> None:
        self._joins_refused.labels(reason).inc()

    def count_offers(self, offered: int, answers: Collection[OfferAnswer]) -> None:
        accepted = sum(each.is_accepted for each in answers)
        counts = {"accepted": accepted, "refused": len(answers) - accepted, "none": offered - len(answers)}
        for answer, count in counts.items():
            self._offered.labels(answer).inc(count)

    def count_pipe(self, kind: str, now: int) -> None:
        self._opened_pipes.labels(kind).inc()
        self.pipes.set(now)

    def count_refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()
