"""What a poollet serves with --listen: Prometheus' metrics, and whether it does its whole job. The runtimes' part is here too: the poollet
is the one that asks them.

All is read when it is asked for, from values that other threads replace as a whole; nothing here waits for a pass.

    cause                while
    RemoteUnreachable    the fleet's repo cannot be fetched or pushed
    RuntimeUnreachable   a runtime does not answer
    ReportNotLanded      no report of this run is on its ref, and the host is not a candidate
    NotConfirmed         the host lost its local state, and no reconciler has answered it yet (sync/orders_question.py)
    LiveNotApplied       the head of `live` is not applied: it awaits an approval, or is of another fleet
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from poollet.agent import Agent
from poollet.cli.usage_metrics import collect_usage
from poollet.threads import AgentThreads
from reconciler.loop.health import Health, HealthProblem

PREFIX = "gitvirt_poollet_"


class PoolletMetrics(Collector):
    """Of all poollets of one process. Labels are names of poollets, runtimes, kinds and states; but for what is used (usage_metrics.py), their
    number does not grow with objects."""

    def __init__(self, running: AgentThreads) -> None:
        self._running = running
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def exposition(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        agents = [one.agent for one in self._running.members]
        remote = GaugeMetricFamily(
            f"{PREFIX}remote_reachable", "Whether the fleet's repo could be fetched last."
        )
        remote.add_metric([], not self._running.remote.last_error)
        yield remote
        landed = GaugeMetricFamily(
            f"{PREFIX}report_landed", "Whether a report of this run is on its ref.", labels=["poollet"]
        )
        applied = GaugeMetricFamily(
            f"{PREFIX}live_applied", "Whether the head of the target branch is applied.", labels=["poollet"]
        )
        for one in agents:
            landed.add_metric([one.setup.name], one.publisher.has_landed)
            applied.add_metric([one.setup.name], one.problem is None)
        yield landed
        yield applied
        yield from count_servers(self._running)
        yield count_objects(agents)
        yield from describe_runtimes(agents)
        yield from collect_usage({one.agent.setup.name: one.usage for one in self._running.members})

    def health(self) -> Health:
        """Ok if nothing of the table above is so."""
        problems = tuple(list_problems(self._running))
        return Health(not problems, problems[0].message if problems else "all is as it should be", problems)

    def is_live(self) -> bool:
        """Whether its threads run."""
        return not self._running.has_ended.is_set()


def count_objects(agents: list[Agent]) -> GaugeMetricFamily:
    """The objects of the last report, by kind and reported state; one that cannot be observed now is Unknown."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for one in agents:
        last = one.last_report
        for kind, entries in (
            ("Machine", last.machines),
            ("Volume", last.volumes),
            ("VolumeSnapshot", last.snapshots),
        ):
            for entry in entries.values():
                if entry.phase in ("present", "unknown"):
                    state = (entry.status.state if entry.status is not None else "") or "Pending"
                    counts[one.setup.name, kind, "Unknown" if entry.phase == "unknown" else state] += 1
    found = GaugeMetricFamily(
        f"{PREFIX}objects", "Objects on this host by state.", labels=["poollet", "kind", "state"]
    )
    for names, count in sorted(counts.items()):
        found.add_metric(names, count)
    return found


def count_servers(running: AgentThreads) -> Iterator[GaugeMetricFamily]:
    """Of the link: how many are listed, and how many answer. A poollet without it has no sample."""
    servers = GaugeMetricFamily(f"{PREFIX}link_servers", "Servers of the link.", labels=["poollet"])
    connected = GaugeMetricFamily(
        f"{PREFIX}link_connected", "Servers of the link that answer heartbeats.", labels=["poollet"]
    )
    for link in running.links:
        answering, listed = link.count_connected()
        servers.add_metric([link.who.name], listed)
        connected.add_metric([link.who.name], answering)
    yield servers
    yield connected


def describe_runtimes(agents: list[Agent]) -> Iterator[GaugeMetricFamily]:
    labels = ["poollet", "runtime"]
    answers = GaugeMetricFamily(
        "gitvirt_runtime_answers", "Whether the runtime answered last.", labels=labels
    )
    listed = GaugeMetricFamily(
        "gitvirt_runtime_objects",
        "Objects that the runtime listed last, also those of others.",
        labels=[*labels, "kind"],
    )
    for one in agents:
        for name, client in sorted(one.connections.items()):
            answers.add_metric([one.setup.name, name], client.is_answering)
            for place, listing in client.lists.items():
                objects = getattr(listing, "objects", None)
                if objects is not None:
                    kind = place.kind.__name__.removeprefix("Runtime")
                    listed.add_metric([one.setup.name, name, kind], len(objects))
    yield answers
    yield listed


def list_problems(running: AgentThreads) -> Iterator[HealthProblem]:
    """By the table above."""
    if running.remote.last_error:
        yield HealthProblem("RemoteUnreachable", running.remote.last_error)
    for one in (member.agent for member in running.members):
        name = one.setup.name
        for runtime, client in sorted(one.connections.items()):
            if not client.is_answering:
                error = client.state.error or "its lists cannot be read"
                yield HealthProblem(
                    "RuntimeUnreachable", f"runtime {runtime} of {name} does not answer: {error}"
                )
        if not one.publisher.is_ready:
            yield HealthProblem("ReportNotLanded", f"no report of {name} has landed since its start")
        if one.confirmation.is_due:
            text = f"{name} does not know the report on its ref, so live may be old: no reconciler has answered yet"
            yield HealthProblem("NotConfirmed", text)
        if (problem := one.problem) is not None:
            yield HealthProblem("LiveNotApplied", f"{name}: {problem.reason}: {problem.message}")
