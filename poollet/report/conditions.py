"""Statements about an object. They carry no times: whoever publishes them knows when each began to hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from iri import errors
from schemas import report
from schemas.live_layout import MAX_TEXT

VOLUMES_READY = "VolumesReady"
INTERFACES_READY = "NetworkInterfacesReady"
READY = "Ready"
CLASS_READY = "ClassReady"
SECRETS_READY = "SecretsReady"
SOURCE_READY = "DataSourceReady"
IMAGE_READY = "ImageReady"
UP_TO_DATE = "UpToDate"
ACCESS_SECRET = "AccessSecret"
OTHER_HOST = "OtherHost"  # a reason
NO_EFFECT = "NoEffect"  # a reason: the runtime accepted a call again and again, and nothing changed
# Reasons that tell of a call, by the classes of errors; all others follow from what `live` says.
CALL_REASONS = frozenset(
    (
        NO_EFFECT,
        *(name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)),
    )
)

Truth = Literal["True", "False", "Unknown"]


def condition(type: str, status: Truth | bool, reason: str, message: str = "") -> report.ReportedCondition:
    said: Truth = status if isinstance(status, str) else "True" if status else "False"
    return report.ReportedCondition(type=type, status=said, reason=reason, message=message[:MAX_TEXT])


def summarize_problems(type: str, faults: Iterable[tuple[str, str]]) -> report.ReportedCondition:
    """True when there are no faults; else the first one's reason and every one's message."""
    found = tuple(dict.fromkeys(faults))
    if not found:
        return condition(type, True, type)
    return condition(type, False, found[0][0], "; ".join(message for _, message in found))
