"""What the reconciler itself keeps about one object, as it is on the target branch: read from a document, written as fields.

Pure. `record_of` the edited text is the record that was written, so that writing it again changes nothing.
"""

from reconciler.world.record.condition import (
    condition,
    merge_conditions,
    own,
    with_condition,
    without_condition,
)
from reconciler.world.record.documents import fields, record_of
from reconciler.world.record.record import (
    ASSIGNABLE,
    ASSIGNED,
    NOTHING,
    PLACED,
    Record,
    Status,
    assignment_of,
    empty_status,
)
from reconciler.world.record.timestamps import moment, stamp
