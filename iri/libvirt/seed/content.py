"""Which of the two languages a machine's first-boot data is written in. The content decides; there is no setting. Pure."""

from __future__ import annotations

from enum import Enum

# As cloud-init tells its own forms apart, by how they begin.
CLOUD_INIT = (
    b"#cloud-config",
    b"#!",
    b"#include",
    b"#cloud-boothook",
    b"#part-handler",
    b"#upstart-job",
    b"## template:",
    b"content-type:",
    b"mime-version:",
)
GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Language(Enum):
    NONE = "none"
    CLOUD_INIT = "cloud-init"
    IGNITION = "ignition"


def language(data: bytes) -> Language:
    """Whatever is not cloud-init's goes to Ignition unread: stock clients send it as it is, and the guest reports errors."""
    if not data:
        return Language.NONE
    if data.startswith(GZIP):
        return Language.CLOUD_INIT
    start = data.removeprefix(BYTE_ORDER_MARK).lstrip()[:32].lower()
    return Language.CLOUD_INIT if start.startswith(CLOUD_INIT) else Language.IGNITION
