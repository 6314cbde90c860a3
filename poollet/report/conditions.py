"""Names and reasons of conditions, and how they are made. Conditions carry no times here: `assemble` knows when each one changed.

The reason is one word that programs compare, the message a sentence for people. No message repeats its
reason, and no program reads a message. The one exception, for runtimes of others, is `poollet.decide.create_errors.is_quoted`.
"""

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
DUPLICATES = "DuplicateObjects"  # a reason
DELETED = "Deleted"  # a reason: a machine that is kept for an undo is off
LOST = "Lost"  # a reason: an object with data is missing
NO_EFFECT = "NoEffect"  # a reason: the runtime accepted a call again and again, and nothing changed
PENDING = (
    "Pending"  # a reason: on its way; the message is what its provider said last, unless that was a warning
)
FAILED = "Failed"  # a reason of an event: a call failed
# Reasons that tell of a call, by the classes of errors; all others follow from what `live` says.
CALL_REASONS = frozenset(
    (
        NO_EFFECT,
        *(name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)),
    )
)

Truth = Literal["True", "False", "Unknown"]


def condition(type: str, status: Truth | bool, reason: str, message: str = "") -> report.ReportedCondition:
    """A condition without times. The message is cut to what a report can carry: a report with a longer one
    would be unreadable."""
    value: Truth = status if isinstance(status, str) else "True" if status else "False"
    return report.ReportedCondition(type=type, status=value, reason=reason, message=message[:MAX_TEXT])


def summarize_problems(type: str, problems: Iterable[tuple[str, str]]) -> report.ReportedCondition:
    """True if there are no problems, else the reason of the first problem and the messages of all."""
    found = tuple(dict.fromkeys(problems))
    if not found:
        return condition(type, True, type)
    return condition(type, False, found[0][0], "; ".join(message for _, message in found))


def duplicates_condition(objects: Iterable[tuple[str, str]]) -> report.ReportedCondition:
    """`objects`: the runtime and the id of each object that has the uid."""
    ids = ", ".join(f"{runtime}: {id}" for runtime, id in objects)
    message = f"several objects have this uid: {ids}; remove all but one on the host"
    return condition(UP_TO_DATE, False, DUPLICATES, message)


def unknown_pool_condition(pool: str) -> report.ReportedCondition:
    """Of an object that waits for the first answer of its runtime: a pool of unknown capacity admits nothing
    and rejects nothing."""
    return condition(CLASS_READY, False, "PoolUnknown", f"the capacity of pool {pool} is not known yet")


def sort_conditions(found: Iterable[report.ReportedCondition]) -> tuple[report.ReportedCondition, ...]:
    """By type, so that the same conditions are the same bytes."""
    return tuple(sorted(found, key=lambda one: one.type))
