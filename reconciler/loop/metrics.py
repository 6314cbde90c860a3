"""What the reconciler counts. Owns the names: they are a contract with whoever draws or alerts on them (docs/reconciler.md).

Counters grow for as long as the process lives and start at zero with it; gauges say what is so after the last tick. Labels come from closed
sets (outcomes, actions, severities, kinds) and never from names of objects, so their number does not grow with a fleet.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from reconciler.loop.health import HealthCause
from reconciler.plan.types import Plan
from schemas.kinds import Kind

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """A registry of its own, so that several reconcilers in one process do not share counts."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        self._ticks = Counter("gitvirt_ticks", "Ticks by how they ended.", ["outcome"], registry=own)
        self._seconds = Histogram(
            "gitvirt_tick_duration_seconds",
            "How long a tick took, its push included.",
            buckets=_SECONDS,
            registry=own,
        )
        self._changes = Counter(
            "gitvirt_changes", "Changes written to the target branch.", ["action"], registry=own
        )

        def gauge(name: str, words: str, *labels: str) -> Gauge:
            return Gauge(f"gitvirt_{name}", words, labels, registry=own)

        self._unschedulable = gauge("unschedulable_objects", "Objects to be placed that are on no pool.")
        self._pending = gauge("pending_approvals", "Changes that await an approval.")
        self._held = gauge("held", "Changes that wait for a cause that no approval ends.")
        self._problems = gauge("problems", "Problems that exist now.", "severity")
        self._objects = gauge("objects", "Objects on the target branch.", "kind")
        self._states = gauge("object_states", "Objects on the target branch by state.", "kind", "state")
        self._health = gauge("health_problems", "Why /healthz is not ok.", "cause")
        self._success = gauge("last_success_timestamp_seconds", "When a tick last ended well.")

    def count_tick(self, outcome: str, seconds: float) -> None:
        self._ticks.labels(outcome).inc()
        self._seconds.observe(seconds)

    def set_plan(self, plan: Plan, waiting: int) -> None:
        """`waiting` counts all objects without a pool; a plan names those that it tried."""
        self._unschedulable.set(waiting)
        self._pending.set(len(plan.awaiting))
        self._held.set(len(plan.holds))
        counts = Tally(problem.severity.value for problem in plan.problems)
        for severity in ("error", "warning", "notice"):
            self._problems.labels(severity).set(counts[severity])

    def count_changes(self, plan: Plan) -> None:
        """Called once the plan is on the target branch, and not for a push that lost."""
        for action, count in Tally(change.action.value for change in plan.changes).items():
            self._changes.labels(action).inc(count)

    def set_success(self, at: float, objects: Mapping[str, int]) -> None:
        """A tick ended well, and left so many objects of each kind on the target branch."""
        self._success.set(at)
        for kind, count in objects.items():
            self._objects.labels(kind).set(count)

    def set_states(self, counts: Mapping[tuple[Kind, str], int]) -> None:
        """States that no object has any more stay, with 0: a series that ends looks like a reconciler that is gone."""
        for (kind, state), count in counts.items():
            self._states.labels(kind.value, state).set(count)

    def set_health(self, causes: Iterable[str]) -> None:
        """How many problems of each cause /healthz has."""
        counts = Tally(causes)
        for cause in set(HealthCause) - {
            HealthCause.NO_SUCCESS
        }:  # gitvirt_last_success_timestamp_seconds tells that
            self._health.labels(cause.value).set(counts[cause.value])

    def exposition(self) -> bytes:
        return generate_latest(self.registry)
