"""Labels and taints of pools, matched with the selectors and tolerations of machines and volumes.

These functions answer for one object, and name the first thing that does not match, for a message: here, and where the
reconciler evicts a machine from a tainted pool. The scheduler has its own, for many objects at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemas.model import Taint, Toleration

TWIN, OURS = "topology.openkcm.dev/", "topology.ironcore.dev/"


def label_value(labels: Mapping[str, str], key: str) -> str | None:
    """The value of a label. The two topology prefixes are synonyms."""
    if key in labels:
        return labels[key]
    if key.startswith(OURS):
        return labels.get(TWIN + key.removeprefix(OURS))
    return labels.get(OURS + key.removeprefix(TWIN)) if key.startswith(TWIN) else None


def missing_label(selector: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """The first label of the selector that `labels` does not have, or an empty text."""
    for key, value in selector.items():
        if label_value(labels, key) != value:
            return f"{key}={value}"
    return ""


def untolerated_taint(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> str:
    """The first taint that is not tolerated and excludes the object, or an empty text. A taint that only asks pools to be
    avoided (`PreferNoSchedule`) never excludes: that is for the scheduler's scores."""
    for taint in taints:
        if taint.effect != "PreferNoSchedule" and not any(each.tolerates(taint) for each in tolerations):
            return (
                f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
            )
    return ""
